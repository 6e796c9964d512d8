/* stat/fit.c: lines, steps and curves through a few points. */
#include "stat/fit.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- lines ---- */

struct moments {
    double mean_x, mean_y, sxx, sxy;
};

static struct moments moments_of(const double *x, const double *y, size_t n)
{
    struct moments m = {0};
    for (size_t i = 0; i < n; i++) {
        m.mean_x += x[i];
        m.mean_y += y[i];
    }
    m.mean_x /= (double) n;
    m.mean_y /= (double) n;
    for (size_t i = 0; i < n; i++) {
        double d = x[i] - m.mean_x;
        m.sxx += d * d;
        m.sxy += d * (y[i] - m.mean_y);
    }
    return m;
}

double fit_slope(const double *x, const double *y, size_t n)
{
    if (n < 2)
        return 0;
    struct moments m = moments_of(x, y, n);
    return m.sxx > 0 ? m.sxy / m.sxx : 0;
}

void fit_line(const double *x, const double *y, size_t n, struct line_fit *ret)
{
    *ret = (struct line_fit){0};
    if (n == 0)
        return;
    struct moments m = moments_of(x, y, n);
    double slope = m.sxx > 0 ? m.sxy / m.sxx : 0;
    double intercept = m.mean_y - slope * m.mean_x;
    double rss = 0, lagged = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        double residual = y[i] - intercept - slope * x[i];
        rss += residual * residual;
        lagged += i > 0 ? residual * before : 0;
        before = residual;
    }
    double phi = rss > 0 ? lagged / rss + 2.0 / (double) n : 0;
    *ret = (struct line_fit){slope, intercept, m.sxx, rss, fmin(0.9, fmax(0, phi))};
}

/* ---- steps ---- */

struct prefix_sums {
    double sum[FIT_STEP_POINTS + 1], squares[FIT_STEP_POINTS + 1];
};

/* Residual sum of squares of y[i..j) about its mean. */
static double segment_rss(const struct prefix_sums *p, size_t i, size_t j)
{
    double sum = p->sum[j] - p->sum[i];
    double rss = p->squares[j] - p->squares[i] - sum * sum / (double) (j - i);
    return rss > 0 ? rss : 0;
}

void fit_steps(const double *y, size_t n, double ret_rss[FIT_MAX_STEPS + 1])
{
    assert(n >= 1 && n <= FIT_STEP_POINTS);
    struct prefix_sums p = {{0}, {0}};
    for (size_t i = 0; i < n; i++) {
        double v = y[i] - y[0];
        p.sum[i + 1] = p.sum[i] + v;
        p.squares[i + 1] = p.squares[i] + v * v;
    }
    double best[FIT_STEP_POINTS + 1] = {0};
    for (size_t j = 1; j <= n; j++)
        best[j] = segment_rss(&p, 0, j);
    ret_rss[0] = best[n];
    for (size_t k = 1; k <= FIT_MAX_STEPS; k++) {
        /* From the right, so that best[] still holds the fits with one step fewer. */
        for (size_t j = n; j > k; j--) {
            double least = DBL_MAX;
            for (size_t i = k; i < j; i++) {
                double rss = best[i] + segment_rss(&p, i, j);
                least = rss < least ? rss : least;
            }
            best[j] = least;
        }
        ret_rss[k] = n > k ? best[n] : 0;
    }
}

/* ---- fading growth ---- */

/* Least squares of y on 1 and one column. */
struct column_fit {
    double coefficient, rss;
};

static struct column_fit fit_column(const double *column, const double *y, size_t n)
{
    struct line_fit line;
    fit_line(column, y, n, &line);
    return (struct column_fit){line.slope, line.rss};
}

static double bic(double rss, double floor, size_t n, int parameters)
{
    double m = (double) n;
    return m * log(fmax(fmax(rss, floor), DBL_MIN) / m) + parameters * log(m);
}

enum fade_curve { FADE_LOG, FADE_EXP };

/* Tries one curve; keeps it in *ret if it is the best so far. */
static void try_fade(enum fade_curve curve, double tau, const double *x, const double *y, size_t n,
                     double floor, struct fade_fit *ret)
{
    double column[FIT_MAX_POINTS], end = x[n - 1];
    for (size_t i = 0; i < n; i++)
        column[i] = curve == FADE_LOG ? log1p(x[i] / tau) : 1 - exp(-x[i] / tau);
    struct column_fit f = fit_column(column, y, n);
    if (!(f.coefficient > 0))
        return;
    double score = bic(f.rss, floor, n, 3);
    if (ret->valid && score >= ret->fading_score)
        return;
    double steepness = curve == FADE_LOG ? 1 / (end + tau) : exp(-end / tau) / tau;
    ret->valid = true;
    ret->fading_score = score;
    ret->end_slope = f.coefficient * steepness;
    ret->end_ratio = steepness / ((column[n - 1] - column[0]) / end);
}

/*
 * One more column beside 1 and x, and how far it reduces the line's residuals (Gram-Schmidt). The
 * fitted curve is line + coefficient (column - projection of the column on 1 and x).
 */
struct extra_column {
    double coefficient, norm; /* norm: sum of squares of the column less its projection */
    double projected_slope;   /* of the column on x */
    double rss;
};

static struct extra_column add_column(const double *x, const double *y, size_t n,
                                      const struct line_fit *line, const double *column)
{
    struct line_fit on_x;
    fit_line(x, column, n, &on_x);
    double dot = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        double u = column[i] - on_x.intercept - on_x.slope * x[i];
        dot += u * (y[i] - line->intercept - line->slope * x[i]);
        norm += u * u;
    }
    if (!(norm > 0))
        return (struct extra_column){.norm = 1, .rss = line->rss};
    return (struct extra_column){dot / norm, norm, on_x.slope,
                                 fmax(0, line->rss - dot * dot / norm)};
}

/* The best pair of lines joined at one of the points, *ret_knot. */
static struct extra_column best_kink(const double *x, const double *y, size_t n,
                                     const struct line_fit *line, size_t *ret_knot)
{
    struct extra_column best = {.norm = 1, .rss = line->rss};
    *ret_knot = 0;
    for (size_t k = 1; k + 2 < n; k++) {
        double hinge[FIT_MAX_POINTS];
        for (size_t i = 0; i < n; i++)
            hinge[i] = fmax(0, x[i] - x[k]);
        struct extra_column c = add_column(x, y, n, line, hinge);
        if (c.rss < best.rss) {
            best = c;
            *ret_knot = k;
        }
    }
    return best;
}

void fit_fade(const double *x, const double *y, size_t n, double floor, struct fade_fit *ret)
{
    assert(n > 0 && n <= FIT_MAX_POINTS);
    static const double shares[] = {200, 100, 50, 25, 12, 6, 3, 1.5, 0.75};
    *ret = (struct fade_fit){.valid = false};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        try_fade(FADE_LOG, x[n - 1] / shares[i], x, y, n, floor, ret);
        try_fade(FADE_EXP, x[n - 1] / shares[i], x, y, n, floor, ret);
    }
    struct line_fit line;
    fit_line(x, y, n, &line);
    ret->line_score = bic(line.rss, floor, n, 2);
    size_t knot;
    ret->kinked_score = bic(best_kink(x, y, n, &line, &knot).rss, floor, n, 4);
}

/* ---- the slope at the end ---- */

/* By how much a curve must beat the line in BIC. */
#define CURVE_GAIN 12.0

static struct extra_column add_parabola(const double *x, const double *y, size_t n,
                                        const struct line_fit *line)
{
    double squares[FIT_MAX_POINTS];
    for (size_t i = 0; i < n; i++)
        squares[i] = (x[i] - x[0]) * (x[i] - x[0]);
    return add_column(x, y, n, line, squares);
}

/* d/dx of the fitted curve at the end; `steepness` is the extra column's derivative there. */
static void end_slope(const struct line_fit *line, const struct extra_column *c, double steepness,
                      double sigma, struct end_fit *ret)
{
    double lever = steepness - c->projected_slope;
    ret->slope = line->slope + c->coefficient * lever;
    ret->error = sigma * sqrt(1 / line->sxx + lever * lever / c->norm);
}

void fit_end(const double *x, const double *y, size_t n, double noise, struct end_fit *ret)
{
    assert(n >= 4 && n <= FIT_MAX_POINTS);
    double m = (double) n, floor = m * noise * noise;
    struct line_fit line;
    fit_line(x, y, n, &line);
    size_t knot;
    struct extra_column bent = add_parabola(x, y, n, &line);
    struct extra_column kinked = best_kink(x, y, n, &line, &knot);
    double least = bic(line.rss, floor, n, 2) - CURVE_GAIN;
    double by_bend = bic(bent.rss, floor, n, 3), by_kink = bic(kinked.rss, floor, n, 4);
    bool curved = fmin(by_bend, by_kink) < least && n >= 8;
    *ret = (struct end_fit){.mean_slope = line.slope, .slope = line.slope, .knot = x[0]};
    double sigma = sqrt(fmax(line.rss, floor) / (m - 2));
    ret->error = line.sxx > 0 ? sigma / sqrt(line.sxx) : INFINITY;
    /* A parabola that bends down never stops bending; two lines show better where growth slowed. */
    bool bends = bent.coefficient > 0 ? by_bend <= by_kink : by_bend + CURVE_GAIN < by_kink;
    if (curved && bends) {
        ret->shape = END_PARABOLA;
        end_slope(&line, &bent, 2 * (x[n - 1] - x[0]), sqrt(fmax(bent.rss, floor) / (m - 3)), ret);
    } else if (curved) {
        ret->shape = END_KINK;
        ret->knot = x[knot];
        ret->before = line.slope - kinked.coefficient * kinked.projected_slope;
        end_slope(&line, &kinked, 1, sqrt(fmax(kinked.rss, floor) / (m - 4)), ret);
    }
}

/* ---- noise ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

/* For the few values of a window, where qsort() would cost more than the fit itself. */
static void insertion_sort(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double v = values[i];
        size_t k = i;
        for (; k > 0 && values[k - 1] > v; k--)
            values[k] = values[k - 1];
        values[k] = v;
    }
}

double fit_median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    if (n <= FIT_STEP_POINTS)
        insertion_sort(values, n);
    else
        qsort(values, n, sizeof *values, compare_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double fit_noise(const double *y, size_t n)
{
    assert(n <= FIT_MAX_POINTS);
    if (n < 6)
        return NAN;
    double bends[FIT_MAX_POINTS];
    for (size_t i = 0; i + 2 < n; i++)
        bends[i] = fabs(y[i] - 2 * y[i + 1] + y[i + 2]);
    /* The second difference of white noise has variance 6; 1.4826 MAD is its deviation. */
    return 1.4826 * fit_median(bends, n - 2) / sqrt(6);
}
