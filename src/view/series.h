/* view/series.h: how the parts of a view are made from a job. Private to view/. */
#ifndef TIDEMARK_VIEW_SERIES_H
#define TIDEMARK_VIEW_SERIES_H

#include "job/job.h"
#include "judge/judge.h"
#include "view/view.h"

/* sheet.c: adds a process's memory to a row: its shares, or what stands in where they are unknown.
 */
void sheet_add_member(struct view_row *row, const struct member *m);

/* activity_rows.c: what each activity did to the series; `tracks`: one per series, same order. */
void view_activities(const struct job *j, struct track *const *tracks, struct view *v);

/* sites.c: what the tracer of a process did, and the lines it saw, added to the findings. */
void view_tracer(const struct member *m, struct findings *all);
void view_sites(const struct job *j, const struct member *m, const struct traced *t,
                struct findings *all);
/* Of a process that grows no more: the lines that have stopped. */
void view_warm_up(const struct job *j, const struct member *m, struct findings *all);
/* The line that allocates what this holder keeps: one that has the holder's function on its stack;
 * NULL: none. */
const struct traced_line *view_line_of(const struct traced *t, const struct wire_census_holder *h);
/* Names the line as the finding's place. */
void view_place_of(const struct traced_line *l, struct finding *f);
/* Nothing is known of who holds the memory: the line is all that the finding is about. */
void view_line_is_cause(const struct traced_line *l, struct finding *f);
char *view_site_what(const struct site *s);

#endif
