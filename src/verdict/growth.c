/* verdict/growth.c: is there growth that goes on? docs/VERDICT.md, "The test", has the reasons. */
#include "verdict/growth.h"

#include <math.h>
#include <string.h>

/* The suffixes of a window that are tested differ by this many blocks. */
#define SUFFIX_STRIDE 2

/* A block that adds this share of the whole rise is a jump; more jumps than this are a slope. */
#define JUMP_SHARE 0.1
#define MOST_JUMPS 6

void window_take(const struct pyramid *p, unsigned level, struct window *ret)
{
    ret->pyramid = p;
    ret->level = level;
    struct block blocks[PYRAMID_RING];
    ret->n = pyramid_blocks(p, level, blocks);
    for (size_t i = 0; i < ret->n; i++) {
        ret->at[i] = blocks[i].at;
        ret->min[i] = blocks[i].min;
        ret->mean[i] = blocks[i].mean;
    }
}

/* ---- a window without its jump ---- */

/* A jump is this many times the usual change between blocks, with this many blocks on each side. */
#define JUMP_LEAST 6
#define JUMP_SIDE 4

/* The slope on each side has to be at least this share of the other's. */
#define JUMP_SLOPES 0.5

/* The block before the largest rise, if that may be a jump. False: none. */
static bool find_rise(const struct window *w, size_t *ret)
{
    size_t jump = 0;
    double highest = -INFINITY, sum = 0;
    for (size_t i = 0; i + 1 < w->n; i++) {
        double change = w->min[i + 1] - w->min[i];
        sum += fabs(change);
        if (change > highest) {
            highest = change;
            jump = i;
        }
    }
    *ret = jump;
    /* The usual change is hardly ever above the mean one. */
    return highest * (double) w->n >= 4 * sum;
}

bool window_level(const struct window *w, struct window *ret)
{
    size_t jump;
    if (w->n < 2 * JUMP_SIDE || w->min[w->n - 1] <= w->min[0] || !find_rise(w, &jump))
        return false;
    size_t before = jump + 1, after = w->n - before;
    if (before < JUMP_SIDE || after < JUMP_SIDE)
        return false;
    double slope = fit_slope(w->at, w->min, before);
    double then = fit_slope(w->at + before, w->min + before, after);
    if (!(fmin(slope, then) > JUMP_SLOPES * fmax(slope, then)))
        return false;
    double changes[PYRAMID_RING], sizes[PYRAMID_RING];
    for (size_t i = 0; i + 1 < w->n; i++) {
        changes[i] = w->min[i + 1] - w->min[i];
        sizes[i] = fabs(changes[i]);
    }
    double height = changes[jump];
    height -= fit_median(changes, w->n - 1); /* which sorts them */
    if (height < JUMP_LEAST * fit_median(sizes, w->n - 1))
        return false;
    *ret = *w;
    for (size_t i = 0; i < w->n; i++)
        ret->min[i] = ret->mean[i] = w->min[i] + (i < before ? height : 0);
    return true;
}

const double *window_channel(const struct window *w, enum channel channel)
{
    return channel == CHANNEL_MIN ? w->min : w->mean;
}

double growth_grain(double quantum, double level)
{
    return fmax(quantum, 1e-9 * fabs(level)) / sqrt(12);
}

/* ---- the slope and its error ---- */

/*
 * The error where neighbouring blocks err alike: from the sums of residuals over batches of an
 * eighth of the window.
 */
static double batch_error(const double *x, const double *y, size_t n, const struct line_fit *line)
{
    size_t width = n / 8;
    if (width < 2)
        return 0;
    size_t count = n / width, offset = n - count * width;
    double rss = 0;
    for (size_t b = 0; b < count; b++) {
        double sum = 0;
        for (size_t i = offset + b * width; i < offset + (b + 1) * width; i++)
            sum += y[i] - line->intercept - line->slope * x[i];
        rss += sum * sum / (double) width;
    }
    return sqrt(rss / (double) (count - 2) / line->sxx);
}

static void trend_of(const struct window *w, enum channel channel, size_t first, double quantum,
                     struct line_fit *ret_line, struct growth *ret)
{
    const double *x = w->at + first, *y = window_channel(w, channel) + first;
    size_t n = w->n - first;
    fit_line(x, y, n, ret_line);
    double grain = growth_grain(quantum, y[n - 1]);
    double phi = ret_line->rss > (double) n * grain * grain ? ret_line->autocorrelation : 0;
    double sigma = fmax(sqrt(ret_line->rss / (double) (n - 2)), grain);
    double error = sigma / sqrt(ret_line->sxx) * sqrt((1 + phi) / (1 - phi));
    error = fmax(error, batch_error(x, y, n, ret_line));
    *ret = (struct growth){
        .channel = channel,
        .slope = ret_line->slope,
        .intercept = ret_line->intercept,
        .error = error,
        .z = ret_line->slope / error,
        .from = x[0],
        .span = x[n - 1] - x[0],
    };
}

/*
 * Noise on scales four and eight times as coarse as the window's, over the part of the series
 * near the growth's line (warm-up and restarts before it are another regime). Slow drift is
 * invisible inside the window and plain there.
 */
static double coarse_noise(const struct window *w, const struct growth *g)
{
    double noise = 0, band = 1.5 * fabs(g->slope) * g->span;
    for (unsigned coarse = w->level + 2; coarse <= w->level + 3; coarse++) {
        size_t held = pyramid_held(w->pyramid, coarse), n = 0;
        double y[PYRAMID_RING];
        for (; n < held; n++) {
            const struct block *b = pyramid_recent(w->pyramid, coarse, n);
            y[n] = g->channel == CHANNEL_MIN ? b->min : b->mean;
            if (fabs(y[n] - g->intercept - g->slope * b->at) > band)
                break;
        }
        noise = fmax(noise, fit_noise(y, n)); /* fmax() skips the NAN of too few blocks */
    }
    return noise;
}

static void widen_by_wander(const struct window *w, struct growth *g)
{
    double wander = sqrt(2) * coarse_noise(w, g) / (0.75 * g->span);
    if (wander > g->error) {
        g->error = wander;
        g->z = g->slope / wander;
    }
}

void growth_trend(const struct window *w, enum channel channel, size_t first, double quantum,
                  struct growth *ret)
{
    struct line_fit line;
    trend_of(w, channel, first, quantum, &line, ret);
    widen_by_wander(w, ret);
}

/* ---- what growth has to be beyond significant ---- */

/* Both sides of a long gap have to grow: else it may be one step that happened in the gap. */
static bool grows_on_both_sides_of_gaps(const double *x, const double *y, size_t n, double slope,
                                        double horizon)
{
    double mean_gap = (x[n - 1] - x[0]) / (double) n;
    for (size_t k = 1; k < n; k++) {
        double gap = x[k] - x[k - 1];
        if (gap <= 1.5 * horizon || gap <= 3 * mean_gap)
            continue;
        if (k < 4 || n - k < 4 || fit_slope(x, y, k) < 0.4 * slope ||
            fit_slope(x + k, y + k, n - k) < 0.4 * slope)
            return false;
    }
    return true;
}

static double mean_of(const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += y[i];
    return sum / (double) n;
}

/* The last `part` blocks (at least four) climb with at least the slope `least`. */
static bool end_climbs(const double *x, const double *y, size_t n, size_t part, double least)
{
    part = part < 4 ? 4 : part;
    return fit_slope(x + n - part, y + n - part, part) >= least;
}

/* The growth has not died down in its last half, quarter or eighth, nor from third to third. */
static bool still_grows(const double *x, const double *y, size_t n, double slope)
{
    if (!end_climbs(x, y, n, n / 2, 0.6 * slope) || !end_climbs(x, y, n, n / 4, 0.4 * slope) ||
        !end_climbs(x, y, n, n / 8, 0.2 * slope))
        return false;
    size_t third = n / 3;
    double first = mean_of(y, third), middle = mean_of(y + third, third);
    double before_last = mean_of(y + n - 2 * third, third), last = mean_of(y + n - third, third);
    return last - before_last >= 0.5 * (middle - first);
}

/* A true floor does not sink when blocks get longer: minima over 2 and 4 blocks climb too. */
static bool floor_holds_when_coarsened(const double *x, const double *y, size_t n, double slope)
{
    for (size_t width = 2; width <= 4; width *= 2) {
        size_t count = n / width, offset = n - count * width;
        if (count < 4)
            continue;
        double xs[PYRAMID_RING], ys[PYRAMID_RING];
        for (size_t i = 0; i < count; i++) {
            const double *part = y + offset + i * width;
            xs[i] = mean_of(x + offset + i * width, width);
            ys[i] = part[0];
            for (size_t k = 1; k < width; k++)
                ys[i] = fmin(ys[i], part[k]);
        }
        if (fit_slope(xs, ys, count) < (width == 2 ? 0.7 : 0.55) * slope)
            return false;
    }
    return true;
}

/* Steps are not leaks: the line has to beat every piecewise-constant fit, by BIC. */
static bool line_beats_steps(const double *y, size_t n, double rss, double grain)
{
    double m = (double) n, least = m * grain * grain, steps[FIT_MAX_STEPS + 1];
    double line = m * log(fmax(rss, least) / m) + 2 * log(m);
    fit_steps(y, n, steps);
    for (int k = 0; k <= FIT_MAX_STEPS; k++)
        if (line + 6 > m * log(fmax(steps[k], least) / m) + (2 * k + 1) * log(m))
            return false;
    return true;
}

/* Standard deviation over mean. */
static double variation(const double *y, size_t n)
{
    double mean = mean_of(y, n), squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (y[i] - mean) * (y[i] - mean);
    return sqrt(squares / (double) n) / mean;
}

/*
 * A few jumps that make up the whole rise, with quiet between them, are a habit only if they
 * come at regular intervals and in one size: one thing kept per epoch. Otherwise they are
 * records being broken, which get rarer by themselves.
 */
static bool is_irregular_jumps(const double *x, const double *y, size_t n, double slope)
{
    double rise = slope * (x[n - 1] - x[0]), jumped = 0, unrest = 0, before = NAN;
    double sizes[MOST_JUMPS], intervals[MOST_JUMPS];
    size_t jumps = 0, spaces = 0;
    for (size_t i = 1; i < n; i++) {
        double size = y[i] - y[i - 1];
        if (size < JUMP_SHARE * rise) {
            unrest += fabs(size);
            continue;
        }
        if (jumps == MOST_JUMPS)
            return false;
        jumped += size;
        sizes[jumps++] = size;
        if (!isnan(before))
            intervals[spaces++] = x[i] - before;
        before = x[i];
    }
    if (jumped < 0.8 * rise || unrest > 0.3 * rise)
        return false;
    return jumps < 4 || variation(sizes, jumps) > 0.4 || variation(intervals, spaces) > 0.4;
}

/* Removes the point farthest from the line. */
static size_t drop_outlier(double *x, double *y, size_t n)
{
    struct line_fit line;
    fit_line(x, y, n, &line);
    size_t worst = 0;
    double farthest = -1;
    for (size_t i = 0; i < n; i++) {
        double off = fabs(y[i] - line.intercept - line.slope * x[i]);
        if (off > farthest) {
            farthest = off;
            worst = i;
        }
    }
    for (size_t i = worst; i + 1 < n; i++) {
        x[i] = x[i + 1];
        y[i] = y[i + 1];
    }
    return n - 1;
}

/*
 * The mean counts only if the floor does not contradict it. One block in sixteen is forgiven:
 * the last, smaller batch of an epoch is a dip, not the floor.
 */
static bool floor_agrees(const struct window *w, size_t first, const struct growth_rules *rules,
                         double slope)
{
    double x[PYRAMID_RING], y[PYRAMID_RING];
    size_t n = w->n - first, drop = n / 16;
    memcpy(x, w->at + first, n * sizeof *x);
    memcpy(y, w->min + first, n * sizeof *y);
    while (drop-- > 0)
        n = drop_outlier(x, y, n);
    struct line_fit line;
    fit_line(x, y, n, &line);
    double grain = growth_grain(rules->quantum, y[n - 1]);
    double sigma = fmax(sqrt(line.rss / (double) (n - 2)), grain);
    return line.slope >= 0.5 * slope && line.slope >= 2 * sigma / sqrt(line.sxx);
}

/* ---- the test ---- */

/* Student's quantile from the normal one (Cornish-Fisher), where a window is short. */
static double widen_for_few(double z, size_t n)
{
    return n < 12 ? z * (1 + (z * z + 1) / (4 * (double) (n - 2))) : z;
}

static bool passes(const struct window *w, enum channel channel, size_t first,
                   const struct growth_rules *rules, struct growth *ret)
{
    const double *x = w->at + first, *y = window_channel(w, channel) + first;
    size_t n = w->n - first;
    double z = widen_for_few(rules->z, n);
    struct line_fit line;
    struct growth g;
    trend_of(w, channel, first, rules->quantum, &line, &g);
    if (g.z < z || g.slope * g.span < fmax(3 * rules->quantum, rules->resolution))
        return false;
    widen_by_wander(w, &g);
    if (g.z < z || !grows_on_both_sides_of_gaps(x, y, n, g.slope, rules->horizon) ||
        !still_grows(x, y, n, g.slope))
        return false;
    if (channel == CHANNEL_MIN && !floor_holds_when_coarsened(x, y, n, g.slope))
        return false;
    if (channel == CHANNEL_MEAN && !floor_agrees(w, first, rules, g.slope))
        return false;
    if (n >= 2 * MOST_JUMPS && is_irregular_jumps(x, y, n, g.slope))
        return false;
    if (!line_beats_steps(y, n, line.rss, growth_grain(rules->quantum, y[n - 1])))
        return false;
    *ret = g;
    return true;
}

/* A straight line's second half climbs like its first, almost without noise. */
#define STRAIGHT_Z 40.0
#define STRAIGHT_HALVES 0.97

bool growth_is_straight(const struct window *w, const struct growth *g)
{
    const double *y = window_channel(w, g->channel);
    size_t first = 0;
    while (first < w->n && w->at[first] < g->from)
        first++;
    size_t half = (w->n - first) / 2, middle = w->n - half;
    return g->z >= STRAIGHT_Z && half >= 6 &&
           fit_slope(w->at + middle, y + middle, half) >=
               STRAIGHT_HALVES * fit_slope(w->at + first, y + first, half);
}

/*
 * Which suffixes are worth the whole test: those whose slope has this many ordinary standard
 * errors, that is b^2 sxx (n - 2) >= z^2 rss. One pass from the end computes all of them, with
 * all terms times n^2 to save the divisions. On an exact line the sums lose digits; such
 * suffixes pass.
 */
typedef double both __attribute__((vector_size(2 * sizeof(double)))); /* floor and mean at once */

static bool screen(const struct window *w, double z, bool ret_worth[2][PYRAMID_RING])
{
    const size_t last = w->n - 1;
    const both end = {w->min[last], w->mean[last]};
    const double bar = 0.98 * z * z;
    double n = 0, sx = 0, sxx = 0;
    both sy = {0, 0}, sxy = {0, 0}, syy = {0, 0};
    bool any = false;
    for (size_t i = w->n; i-- > 0;) {
        double dx = w->at[i] - w->at[last];
        both dy = (both){w->min[i], w->mean[i]} - end;
        n += 1;
        sx += dx;
        sxx += dx * dx;
        sy += dy;
        sxy += dx * dy;
        syy += dy * dy;
        if (i % SUFFIX_STRIDE != 0)
            continue;
        both cxy = n * sxy - sx * sy, cyy = n * syy - sy * sy;
        both excess = cxy * cxy * (n - 2 + bar) - bar * (n * sxx - sx * sx) * cyy;
        for (int c = CHANNEL_MIN; c <= CHANNEL_MEAN; c++) {
            ret_worth[c][i] = dy[c] < 0 && cxy[c] > 0 && excess[c] >= 0;
            any = any || ret_worth[c][i];
        }
    }
    return any;
}

bool growth_find(const struct window *w, const struct growth_rules *rules, struct growth *ret)
{
    bool worth[2][PYRAMID_RING];
    if (!screen(w, rules->z, worth))
        return false;
    for (size_t first = 0; first + rules->blocks <= w->n; first += SUFFIX_STRIDE) {
        if (w->at[w->n - 1] - w->at[first] < rules->span)
            return false;
        struct growth floor, mean;
        bool by_floor = worth[CHANNEL_MIN][first] && passes(w, CHANNEL_MIN, first, rules, &floor);
        bool by_mean = worth[CHANNEL_MEAN][first] && passes(w, CHANNEL_MEAN, first, rules, &mean);
        if (by_floor || by_mean) {
            *ret = by_floor && (!by_mean || floor.z >= mean.z) ? floor : mean;
            return true;
        }
    }
    return false;
}
