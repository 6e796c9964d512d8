/* plot/timeline.h: from the clock of a verdict to that of an axis. Private. */
#ifndef TIDEMARK_PLOT_TIMELINE_H
#define TIDEMARK_PLOT_TIMELINE_H

#include "report/report.h"

/* A verdict by steps can be shown over time: each block of the history knows both. */
struct timeline {
    const struct history *history;
    enum series_clock shown; /* on the axis */
    bool is_mapped;          /* ... which is not the verdict's */
    double pace;             /* seconds a step, before and after what was recorded */
};

/* -ENOTSUP: times are wanted and were not recorded. */
int timeline_init(struct timeline *c, const struct report_series *s, bool by_time);

/* Where a position of the verdict's clock is on the axis. */
double timeline_position(const struct timeline *c, double at);

#endif
