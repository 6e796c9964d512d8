/* probe/census/points.h: growths from census to census. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_POINTS_H
#define TIDEMARK_PROBE_CENSUS_POINTS_H

#include "probe/census/survey.h"

/*
 * Notes `value` at this census and `before` at an earlier time. If it is more, the growth gains a
 * point; if it is less, the growth is forgotten. A thing that did not change keeps its points for
 * some censuses.
 */
void growth_note(struct survey *c, enum survey_form form, uintptr_t key, uint64_t time_before,
                 uint64_t before, uint64_t value);

/* In a pair: a container that did not exist before. */
void growth_note_new(struct survey *c, uintptr_t key, uint64_t value);

/* It may have grown beyond what can be counted: keeps its growth. */
void growth_keep(struct survey *c, enum survey_form form, uintptr_t key);

/* Is a growth of it known? */
bool growth_knows(struct survey *c, enum survey_form form, uintptr_t key);

/* After a census: forgets growths without a recent point. */
void growth_settle(struct survey *c);

/* The growth since its first point, for ranking. */
uint64_t growth_amount(const struct survey_growth *g);

/* It has enough points, and a recent one. */
bool growth_is_steady(const struct survey *c, const struct survey_growth *g);

#endif
