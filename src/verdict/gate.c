/* verdict/gate.c: limits that a run has to keep, for CI. */
#include "verdict/verdict.h"

#include <math.h>
#include <stdio.h>

enum { GATE_FINE = 0, GATE_BROKEN = 3, GATE_TOO_SHORT = 4 };

/* Adds "rate 7.00 MB/step exceeds 5.00 MB/step" to the line of what broke. */
struct gate_line {
    struct buf broken, held;
    enum series_unit unit;
    enum series_clock clock;
};

static void add_rate(struct buf *b, const struct gate_line *g, double rate)
{
    series_add_rate(b, rate, g->unit, g->clock);
}

static void add_value(struct buf *b, const struct gate_line *g, double value)
{
    series_add_value(b, value, g->unit);
}

static void add_position(struct buf *b, const struct gate_line *g, double at)
{
    if (g->clock == CLOCK_STEP)
        buf_addf(b, "step %.0f", at);
    else
        units_add_duration(b, at);
}

typedef void add_number(struct buf *b, const struct gate_line *g, double number);

static void check_limit(struct gate_line *g, const char *what, double value, double limit,
                        add_number *add)
{
    if (isnan(limit))
        return;
    bool broke = value > limit;
    struct buf *b = broke ? &g->broken : &g->held;
    buf_addf(b, "%s%s ", b->len > 0 ? "; " : "", what);
    add(b, g, value);
    buf_adds(b, broke ? " exceeds " : " within ");
    add(b, g, limit);
    if (broke && add != add_position) {
        buf_adds(b, " by ");
        add(b, g, value - limit);
    }
}

static bool inside(const struct gate_limits *l, double at)
{
    return isnan(l->window_from) || (at >= l->window_from && at <= l->window_to);
}

/*
 * How far the floor rose over the window: the lowest of its last twentieth against that of its
 * first. Without a window: since the warm-up's end. NAN: fewer than two samples lie there.
 */
static double rise_of(const struct gate_limits *l, const struct answer *a, const struct history *h)
{
    double from = isnan(l->window_from) && !isnan(a->warm_up_end) ? a->warm_up_end : -INFINITY;
    unsigned first = 0, end = h->count;
    while (first < end && (h->blocks[first].at <= from || !inside(l, h->blocks[first].at)))
        first++;
    while (end > first && !inside(l, h->blocks[end - 1].at))
        end--;
    if (end - first < 2)
        return NAN;
    unsigned part = (end - first) / 20 > 0 ? (end - first) / 20 : 1;
    double before = INFINITY, after = INFINITY;
    for (unsigned i = 0; i < part; i++) {
        before = fmin(before, h->blocks[first + i].min);
        after = fmin(after, h->blocks[end - 1 - i].min);
    }
    return after - before;
}

/* It has grown from the start to the end: the warm-up, if it is one, is not over. */
static bool still_warming_up(const struct answer *a)
{
    return isnan(a->warm_up_end) && a->phase_count == 1 && a->phases[0].name == PHASE_GROWING;
}

static void check_warm_up(struct gate_line *g, const struct gate_limits *l, const struct answer *a)
{
    double end = still_warming_up(a) ? a->last_at : a->warm_up_end;
    check_limit(g, "warm-up until", isnan(end) ? a->first_at : end, l->max_warm_up, add_position);
}

/* From one sample before the first: a run resumed at 50,000 has not done 50,000 steps here. */
static double steps_seen(const struct answer *a)
{
    double span = a->last_at - a->first_at;
    return a->samples > 1 ? span + span / ((double) a->samples - 1) : (double) a->samples;
}

/* Says that there is too little to judge by; false if there is enough. */
static bool is_too_short(const struct gate_limits *l, const struct answer *a, double rise,
                         enum series_clock clock, struct gate_result *ret)
{
    const char *unit = clock == CLOCK_STEP ? "step" : "second";
    char *line = ret->line;
    size_t size = sizeof ret->line;
    if (a->samples == 0 || steps_seen(a) < l->min_steps)
        snprintf(line, size, "too short: %.0f %ss; at least %.0f are required", steps_seen(a), unit,
                 fmax(l->min_steps, 1));
    else if (!isnan(l->max_rate) && isnan(a->rate))
        snprintf(line, size, "too short: a rate needs three samples");
    else if (!isnan(l->max_rise) && isnan(rise))
        snprintf(line, size, "too short: the rise needs two samples; the run ends at %s %.0f", unit,
                 a->last_at);
    else if (still_warming_up(a) && a->last_at <= l->max_warm_up)
        snprintf(line, size, "too short: still growing at %s %.0f; the warm-up may last until %.0f",
                 unit, a->last_at, l->max_warm_up);
    else
        return false;
    ret->exit_status = GATE_TOO_SHORT;
    return true;
}

void gate_check(const struct gate_limits *limits, const struct answer *a,
                const struct history *history, enum series_unit unit, enum series_clock clock,
                struct gate_result *ret)
{
    struct gate_line g = {BUF_INIT, BUF_INIT, unit, clock};
    double rise = rise_of(limits, a, history);
    *ret = (struct gate_result){.exit_status = GATE_FINE};
    if (is_too_short(limits, a, rise, clock, ret))
        return;
    check_limit(&g, "rate", a->rate, limits->max_rate, add_rate);
    check_limit(&g, "rise of the floor", rise, limits->max_rise, add_value);
    check_warm_up(&g, limits, a);
    if (g.broken.len + g.held.len == 0)
        buf_addf(&g.held, "%.0f %ss measured", steps_seen(a),
                 clock == CLOCK_STEP ? "step" : "second");
    bool broke = g.broken.len > 0;
    ret->exit_status = broke ? GATE_BROKEN : GATE_FINE;
    snprintf(ret->line, sizeof ret->line, "%s", buf_text(broke ? &g.broken : &g.held));
    buf_release(&g.broken);
    buf_release(&g.held);
}
