/* stat/segment.c: the floor of a run, and its division into straight segments. */
#include "stat/segment.h"

#include "stat/fit.h"

#include <assert.h>
#include <float.h>
#include <math.h>

/* The least points of a piece: two always lie on a line, and in a long run a few more are only an
 * episode. */
static size_t least_points(size_t n)
{
    return n / 24 > 3 ? n / 24 : 3;
}

/* A further piece costs this times log(n); BIC's own price for 3 parameters is 3. */
#define PIECE_PRICE 5.0

/* ---- the floor ---- */

void floor_of(const double *min, size_t n, size_t width, double *ret_floor)
{
    assert(n <= SEGMENT_POINTS && width > 0 && width <= SEGMENT_POINTS);
    /* lowest[i]: the minimum over the window that ends at i, also beyond the run's end. */
    double lowest[2 * SEGMENT_POINTS] = {0};
    for (size_t end = 0; end < n + width - 1; end++) {
        double low = INFINITY;
        for (size_t i = end + 1 >= width ? end + 1 - width : 0; i <= end && i < n; i++)
            low = fmin(low, min[i]);
        lowest[end] = low;
    }
    for (size_t i = 0; i < n; i++) {
        double high = -INFINITY;
        for (size_t end = i; end < i + width; end++)
            high = fmax(high, lowest[end]);
        ret_floor[i] = high;
    }
}

/* ---- the pieces ---- */

/* Running sums: the line through any stretch costs the same few operations. */
struct sums {
    double x[SEGMENT_POINTS + 1], y[SEGMENT_POINTS + 1];
    double xx[SEGMENT_POINTS + 1], xy[SEGMENT_POINTS + 1], yy[SEGMENT_POINTS + 1];
};

static void sums_init(struct sums *s, const double *x, const double *y, size_t n)
{
    s->x[0] = s->y[0] = s->xx[0] = s->xy[0] = s->yy[0] = 0;
    double scale = x[n - 1] > x[0] ? x[n - 1] - x[0] : 1;
    for (size_t i = 0; i < n; i++) {
        double u = (x[i] - x[0]) / scale, v = y[i] - y[0];
        s->x[i + 1] = s->x[i] + u;
        s->y[i + 1] = s->y[i] + v;
        s->xx[i + 1] = s->xx[i] + u * u;
        s->xy[i + 1] = s->xy[i] + u * v;
        s->yy[i + 1] = s->yy[i] + v * v;
    }
}

/* Residual sum of squares of the line through points i..j-1. */
static double line_rss(const struct sums *s, size_t i, size_t j)
{
    double n = (double) (j - i), sx = s->x[j] - s->x[i], sy = s->y[j] - s->y[i];
    double cxx = s->xx[j] - s->xx[i] - sx * sx / n, cxy = s->xy[j] - s->xy[i] - sx * sy / n;
    double cyy = s->yy[j] - s->yy[i] - sy * sy / n;
    double rss = cxx > 0 ? cyy - cxy * cxy / cxx : cyy;
    return rss > 0 ? rss : 0;
}

struct plan {
    double rss[SEGMENT_MAX][SEGMENT_POINTS + 1];   /* of the best k + 1 pieces over the first j */
    size_t start[SEGMENT_MAX][SEGMENT_POINTS + 1]; /* where the last piece begins */
};

/* Tries i as the beginning of the last piece over the first j points. The pieces before i are the
 * best found for each number of pieces that fits. `line`: the residual sum of squares of the line
 * from i to j. */
static void plan_last_piece(struct plan *p, size_t least, size_t i, size_t j, double line)
{
    for (size_t k = 1; k < SEGMENT_MAX && k * least <= i; k++) {
        double rss = p->rss[k - 1][i] + line;
        if (rss < p->rss[k][j]) {
            p->rss[k][j] = rss;
            p->start[k][j] = i;
        }
    }
}

static void plan_pieces(const struct sums *s, size_t n, struct plan *p)
{
    size_t least = least_points(n);
    for (size_t j = 0; j <= n; j++) {
        p->rss[0][j] = j > 0 ? line_rss(s, 0, j) : 0;
        p->start[0][j] = 0;
        for (size_t k = 1; k < SEGMENT_MAX; k++)
            p->rss[k][j] = DBL_MAX;
        for (size_t i = least; i + least <= j; i++)
            plan_last_piece(p, least, i, j, line_rss(s, i, j));
    }
}

static size_t pieces_that_pay(const struct plan *p, size_t n, double grain)
{
    double m = (double) n, best = DBL_MAX;
    size_t pieces = 1;
    for (size_t k = 0; k < SEGMENT_MAX && (k + 1) * least_points(n) <= n; k++) {
        double rss = p->rss[k][n] + m * grain * grain;
        double score = m * log(fmax(rss, DBL_MIN) / m) + PIECE_PRICE * (double) k * log(m);
        if (score < best) {
            best = score;
            pieces = k + 1;
        }
    }
    return pieces;
}

void segment_fit(const double *x, const double *y, size_t first, size_t end, double grain,
                 struct segment *ret)
{
    struct line_fit line;
    size_t n = end - first;
    fit_line(x + first, y + first, n, &line);
    double sigma = fmax(n > 2 ? sqrt(line.rss / (double) (n - 2)) : 0, grain);
    double phi = line.autocorrelation;
    double inflation = sqrt((1 + phi) / (1 - phi));
    *ret = (struct segment){
        .first = first,
        .last = end - 1,
        .slope = line.slope,
        .error = line.sxx > 0 ? sigma / sqrt(line.sxx) * inflation : INFINITY,
        .from = line.intercept + line.slope * x[first],
        .to = line.intercept + line.slope * x[end - 1],
    };
}

/*
 * A joint lies on both lines, and least squares may give it to either. So the first segment takes
 * points of the second as long as they stay on its line, within its own scatter.
 */
static void settle_joint(const double *x, const double *y, double grain, size_t least,
                         struct segment *a, struct segment *b)
{
    while (b->last - b->first >= least) {
        double scatter = 0, n = (double) (a->last - a->first + 1);
        for (size_t i = a->first; i <= a->last; i++)
            scatter += pow(y[i] - a->from - a->slope * (x[i] - x[a->first]), 2);
        scatter = fmax(sqrt(scatter / (n - 2)), grain);
        double expected = a->from + a->slope * (x[b->first] - x[a->first]);
        if (fabs(y[b->first] - expected) > 2 * scatter)
            return;
        segment_fit(x, y, a->first, a->last + 2, grain, a);
        segment_fit(x, y, b->first + 1, b->last + 1, grain, b);
    }
}

size_t segment_lines(const double *x, const double *y, size_t n, double grain,
                     struct segment ret_segments[SEGMENT_MAX])
{
    assert(n >= 1 && n <= SEGMENT_POINTS);
    struct sums sums;
    struct plan plan;
    sums_init(&sums, x, y, n);
    plan_pieces(&sums, n, &plan);
    size_t pieces = pieces_that_pay(&plan, n, grain), end = n;
    for (size_t k = pieces; k-- > 0;) {
        size_t first = plan.start[k][end];
        segment_fit(x, y, first, end, grain, &ret_segments[k]);
        end = first;
    }
    for (size_t k = 0; k + 1 < pieces; k++)
        settle_joint(x, y, grain, least_points(n), &ret_segments[k], &ret_segments[k + 1]);
    return pieces;
}
