/* report/axis.h: round numbers for the axes of a chart. Private. */
#ifndef TIDEMARK_REPORT_AXIS_H
#define TIDEMARK_REPORT_AXIS_H

#include "base/base.h"

/*
 * Ticks stand at multiples of `step` in units of `scale`, counted from `origin`; `name` is what a
 * scaled number is followed by. All positions handed in and out are in the axis' raw measure.
 */
struct axis {
    double low, high; /* of what is shown */
    double origin, scale, step;
    int decimals;
    const char *name;
};

/* The values of a series from `low` to `high`: both ends widened to ticks, at most `intervals`. */
void axis_values(struct axis *a, double low, double high, unsigned intervals,
                 enum series_unit unit);

/* The clock from `low` to `high`: the ends stay, at most `intervals` between ticks. */
void axis_clock(struct axis *a, double low, double high, double origin, unsigned intervals,
                enum series_clock clock);

/* The first tick at or after `position`. */
double axis_next_tick(const struct axis *a, double position);

/* A tick's number: "5", "17,024", "0.5". */
void axis_add_number(const struct axis *a, double position, struct buf *out);

#endif
