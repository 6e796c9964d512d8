/* stat/segment.h: the low-water mark of a run, and the straight stretches it is made of. Pure. */
#ifndef TIDEMARK_STAT_SEGMENT_H
#define TIDEMARK_STAT_SEGMENT_H

#include <stddef.h>

#define SEGMENT_POINTS 192
#define SEGMENT_MAX 5

/*
 * The floor of a run from its block minima: what is left when every excursion upwards of fewer
 * than `width` blocks is cut off (a morphological opening). Ramps, steps and falls stay as they
 * are. n <= SEGMENT_POINTS, 1 <= width <= SEGMENT_POINTS.
 */
void floor_of(const double *min, size_t n, size_t width, double *ret_floor);

/* Points first..last with a line of their own. */
struct segment {
    size_t first, last;
    double slope, error; /* of the line; standard error */
    double from, to;     /* its values at both ends */
};

/* One line through points first..end-1. */
void segment_fit(const double *x, const double *y, size_t first, size_t end, double grain,
                 struct segment *ret);

/*
 * The best piecewise-linear fit with free joints, by dynamic programming; as many pieces (at most
 * SEGMENT_MAX) as pay for themselves by BIC. `grain` is the least deviation that means anything.
 * Returns the number of segments, at least 1. 1 <= n <= SEGMENT_POINTS.
 */
size_t segment_lines(const double *x, const double *y, size_t n, double grain,
                     struct segment ret_segments[SEGMENT_MAX]);

#endif
