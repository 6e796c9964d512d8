/* stat/fit.h: lines, steps and curves through a few points. Pure; nothing is allocated. */
#ifndef TIDEMARK_STAT_FIT_H
#define TIDEMARK_STAT_FIT_H

#include <stdbool.h>
#include <stddef.h>

/* An ordinary least-squares line y = intercept + slope x, and its residuals. */
struct line_fit {
    double slope, intercept;
    double sxx;             /* sum of squares of x about its mean */
    double rss;             /* residual sum of squares */
    double autocorrelation; /* of the residuals at lag 1, corrected for the fit's bias; 0 to 0.9 */
};

/* Needs n >= 2 and two different x; otherwise slope 0. */
void fit_line(const double *x, const double *y, size_t n, struct line_fit *ret);

/* Only the slope: cheaper, for callers that need nothing else. */
double fit_slope(const double *x, const double *y, size_t n);

#define FIT_MAX_POINTS 192
#define FIT_MAX_STEPS 3

/*
 * ret_rss[k]: the smallest residual sum of squares of a piecewise-constant fit with k steps up or
 * down, k = 0..FIT_MAX_STEPS. n <= FIT_STEP_POINTS.
 */
#define FIT_STEP_POINTS 32
void fit_steps(const double *y, size_t n, double ret_rss[FIT_MAX_STEPS + 1]);

/*
 * Compares fading growth with continuing growth, over the points of one growth (x from 0).
 * `fading`: a + c log(1 + x/tau) or a + c (1 - exp(-x/tau)), the better of both over a grid of
 * tau. `kinked`: two lines that meet in a point. Scores are BIC; smaller is better. `floor` is the
 * smallest meaningful residual sum of squares (the counter's resolution).
 */
struct fade_fit {
    bool valid;
    double fading_score, kinked_score, line_score;
    double end_slope; /* of the fading curve */
    double end_ratio; /* end_slope divided by the curve's mean slope */
};

void fit_fade(const double *x, const double *y, size_t n, double floor, struct fade_fit *ret);

/*
 * The slope at the end of the points: of a line, of a parabola or of the second of two joined
 * lines, whichever fits best (by BIC; in doubt the line). `noise` is the smallest meaningful
 * deviation. n >= 4.
 */
enum end_shape { END_LINE, END_PARABOLA, END_KINK };

struct end_fit {
    enum end_shape shape;
    double slope, error; /* at the end; its standard error */
    double mean_slope;   /* of the line */
    double knot;         /* END_KINK: where the lines meet; else the first x */
    double before;       /* END_KINK: slope of the first line */
};

void fit_end(const double *x, const double *y, size_t n, double noise, struct end_fit *ret);

/*
 * The standard deviation of the noise in y, from the median of absolute second differences. Level,
 * slope and single steps do not affect it. NAN with fewer than 6 points; n <= FIT_MAX_POINTS.
 */
double fit_noise(const double *y, size_t n);

/* Median of n values (reorders them). NAN if n is 0. */
double fit_median(double *values, size_t n);

#endif
