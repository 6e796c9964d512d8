/* view/series.h: how the parts of a view are made from a job. Private to view/. */
#ifndef TIDEMARK_VIEW_SERIES_H
#define TIDEMARK_VIEW_SERIES_H

#include "job/job.h"
#include "judge/judge.h"
#include "view/view.h"

/* activity_rows.c: what each activity did to the series; `tracks`: one per series, same order. */
void view_activities(const struct job *j, struct track *const *tracks, struct view *v);

#endif
