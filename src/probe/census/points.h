/* probe/census/points.h: what grows from census to census. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_POINTS_H
#define TIDEMARK_PROBE_CENSUS_POINTS_H

#include "probe/census/survey.h"

/*
 * There were `value` at this census and `before` at an earlier time. More: another point. Fewer:
 * what was known of its growth is forgotten. A thing that stood still keeps its points for some
 * censuses.
 */
void growth_note(struct survey *c, enum survey_form form, uintptr_t key, uint64_t time_before,
                 uint64_t before, uint64_t value);

/* Of a pair: a container that was not there before. */
void growth_note_new(struct survey *c, uintptr_t key, uint64_t value);

/* It may have grown further than can be seen: what is known of its growth stays. */
void growth_keep(struct survey *c, enum survey_form form, uintptr_t key);

/* It has grown before, and what is known of that is not forgotten. */
bool growth_knows(struct survey *c, enum survey_form form, uintptr_t key);

/* After a census: forgets what has not grown for long. */
void growth_settle(struct survey *c);

/* So many times as much as at its first point, for ranking: the growth. */
uint64_t growth_amount(const struct survey_growth *g);

/* It has grown again and again, and lately. */
bool growth_is_steady(const struct survey *c, const struct survey_growth *g);

#endif
