/* report/curve.h: what a chart of a series shows, whatever draws it. */
#ifndef TIDEMARK_REPORT_CURVE_H
#define TIDEMARK_REPORT_CURVE_H

#include "words/words.h"

#include <stdbool.h>

/* False: there is no sample, or labels would become unreadable; real sizes and steps stay far
 * below. */
bool curve_can_draw(const struct history *h);

/*
 * The low-water mark of the minima, one value a block. At each block it is the highest level that
 * the series never falls below in some stretch of 2 * half + 1 blocks that contains it (a
 * morphological opening). Spikes narrower than the stretch vanish and ramps stay; stretches may
 * reach past the ends.
 */
void report_floor(const struct history *h, double *ret_floor);

/* The values to show. A flat series must look flat: one that is not a leak is not magnified beyond
 * 2 % of its level. */
void curve_range(const struct report_series *s, double *ret_low, double *ret_high);

#endif
