/* stat/segment.h: the floor of a run, and its division into straight segments. Pure. */
#ifndef TIDEMARK_STAT_SEGMENT_H
#define TIDEMARK_STAT_SEGMENT_H

#include <stddef.h>

#define SEGMENT_POINTS 192
#define SEGMENT_MAX 5

/*
 * The floor of a run from its block minima: cuts off every upward excursion of fewer than `width`
 * blocks (a morphological opening). Ramps, steps and falls remain unchanged.
 * n <= SEGMENT_POINTS, 1 <= width <= SEGMENT_POINTS.
 */
void floor_of(const double *min, size_t n, size_t width, double *ret_floor);

/* Points first..last, and the line through them. */
struct segment {
    size_t first, last;
    double slope, error; /* of the line; its standard error */
    double from, to;     /* the line's values at both ends */
};

/* Fits one line through points first..end-1. */
void segment_fit(const double *x, const double *y, size_t first, size_t end, double grain,
                 struct segment *ret);

/*
 * The best piecewise-linear fit with free joints, by dynamic programming. Uses as many pieces (at
 * most SEGMENT_MAX) as improve the BIC score. `grain` is the smallest meaningful deviation.
 * Returns the number of segments, at least 1. 1 <= n <= SEGMENT_POINTS.
 */
size_t segment_lines(const double *x, const double *y, size_t n, double grain,
                     struct segment ret_segments[SEGMENT_MAX]);

#endif
