/* report/axis.h: round numbers for the axes of a chart. */
#ifndef TIDEMARK_REPORT_AXIS_H
#define TIDEMARK_REPORT_AXIS_H

#include "base/base.h"

/*
 * Ticks lie at multiples of `step` in units of `scale`, counted from `origin`; `name` follows each
 * scaled number. All positions passed in and returned are unscaled.
 */
struct axis {
    double low, high; /* of the shown range */
    double origin, scale, step;
    int decimals;
    const char *name;
};

/* The values of a series from `low` to `high`: widens both ends to ticks, with at most `intervals`
 * between them. */
void axis_values(struct axis *a, double low, double high, unsigned intervals,
                 enum series_unit unit);

/* The clock from `low` to `high`: keeps both ends, with at most `intervals` from tick to tick. */
void axis_clock(struct axis *a, double low, double high, double origin, unsigned intervals,
                enum series_clock clock);

/* The first tick at or after `position`. */
double axis_next_tick(const struct axis *a, double position);

/* A tick's number: "5", "17,024", "0.5". */
void axis_add_number(const struct axis *a, double position, struct buf *out);

#endif
