/* verdict/conclude.c: leak, no leak, or what is missing. */
#include "verdict/conclude.h"

#include <math.h>

/* After a restart, the leak of the previous run stands for this many horizons. */
#define PREVIOUS_STANDS 3.0

/* Growth this significant is not a leak yet, but rules out "no leak". */
#define WEAK_Z 3.5
#define WEAK_SPAN 1.2
#define WEAK_BLOCKS 8

/* Growth by the plan's end does not matter below this share of the headroom. */
#define MATTERS 0.1

/*
 * Stairs have to span this many horizons, since a harmless ramp within one may come in stairs;
 * and the last may be at most this many usual intervals ago.
 */
#define STAIRS_SPAN 2.0
#define STAIRS_LATE 1.5

/* A series with this many stairs may take another. */
#define STAIRS_SEEN 4

/* Excursions upwards shorter than this share of the horizon, or of the run, are not the floor. */
#define SPIKE_HORIZONS 0.5
#define SPIKE_RUN 0.125

/* ---- the floor ---- */

static size_t spike_blocks(const struct engine *e)
{
    const struct history *h = &e->history;
    double spacing = (e->last_at - e->first_at) / fmax(1, (double) h->count - 1);
    double blocks = spacing > 0 ? SPIKE_HORIZONS * e->horizon / spacing : 1;
    blocks = fmin(blocks, SPIKE_RUN * (double) h->count);
    return blocks < 1 ? 1 : (size_t) blocks;
}

/* How much noise and the counter's grain move a floor that stays level. */
static double unrest_of(const struct engine *e, double noise)
{
    double level = fabs(e->last_value), resolution = engine_resolution(e);
    double least = fmax(5 * noise, 1e-6 * level);
    return resolution > 0 ? fmax(least, fmax(resolution, 1e-3 * level)) : least;
}

static double tolerance_of(const struct engine *e, double noise)
{
    /* A single change does not show the counter's grain. */
    double quantum = e->changes < 2 ? e->options.rounding : e->quantum;
    return fmax(unrest_of(e, noise), 3 * quantum);
}

static double noise_of(const double *min, size_t n)
{
    return n >= 6 ? fit_noise(min, n) : 0;
}

void floor_line_take(const struct engine *e, struct floor_line *ret)
{
    const struct history *h = &e->history;
    double min[HISTORY_BLOCKS];
    ret->n = h->count;
    for (size_t i = 0; i < h->count; i++) {
        ret->at[i] = h->blocks[i].at;
        min[i] = h->blocks[i].min;
    }
    if (h->count > 0)
        floor_of(min, h->count, spike_blocks(e), ret->floor);
    ret->noise = noise_of(min, h->count);
    ret->tolerance = tolerance_of(e, ret->noise);
}

/* ---- stairs ---- */

bool engine_stairs(const struct engine *e, struct stairs *ret)
{
    double min[HISTORY_BLOCKS];
    for (size_t i = 0; i < e->history.count; i++)
        min[i] = e->history.blocks[i].min;
    /* Where a counter moves only at its stairs, their height is its grain. */
    double least = unrest_of(e, noise_of(min, e->history.count));
    return stairs_find(&e->history, least, ret);
}

/* The last horizon never went as low as the run before it: a quick check that spares most others.
 */
static bool rose_at_all(const struct engine *e)
{
    double then = INFINITY, now = INFINITY;
    for (size_t i = 0; i < e->history.count; i++) {
        const struct history_block *b = &e->history.blocks[i];
        if (b->at < e->last_at - e->horizon)
            then = fmin(then, b->min);
        else
            now = fmin(now, b->min);
    }
    return now - then > unrest_of(e, 0);
}

bool engine_stairs_leak(const struct engine *e, struct stairs *ret)
{
    struct stairs all;
    return e->last_at - e->first_at >= STAIRS_SPAN * e->horizon && rose_at_all(e) &&
           engine_stairs(e, &all) && stairs_habit(&all, &e->history, ret) &&
           e->last_at - ret->at[0] >= STAIRS_SPAN * e->horizon &&
           e->last_at - ret->at[ret->count] <= STAIRS_LATE * ret->usual_interval;
}

/* ---- what stands against "no leak" ---- */

/* The current floor is the lowest value over this share of the last horizon. */
#define LATELY 0.25

/* The rise is one or two units of the last printed digit: it may be rounding. */
static bool only_rounding(const struct engine *e)
{
    double rise = e->max - e->min;
    if (!e->monotone || rise <= engine_resolution(e) || rise > 2.01 * e->quantum)
        return false;
    return e->options.rounding > 0 || (e->options.unit == SERIES_BYTES && e->grain == GRAIN_MB);
}

/* Compares the floor now with the highest floor of a while, a horizon ago. */
static bool rose_lately(const struct engine *e, const struct floor_line *f)
{
    const struct history_block *b = e->history.blocks;
    double now = INFINITY, then = -INFINITY;
    unsigned seen = 0;
    for (size_t i = f->n; i-- > 0 && seen < 16;) {
        if (b[i].at > e->last_at - LATELY * e->horizon)
            now = fmin(now, b[i].min);
        if (b[i].at <= e->last_at - e->horizon) {
            then = fmax(then, b[i].min);
            seen++;
        }
    }
    if (isinf(now))
        now = b[f->n - 1].min;
    return seen == 0 || now - then > f->tolerance;
}

/* The last two samples lie above all before a while ago: a step just taken, or a spike. */
static bool at_new_maximum(const struct engine *e, const struct floor_line *f)
{
    const struct history_block *b = e->history.blocks;
    if (f->n < 7)
        return false;
    double lowest =
        fmin(e->recent[(e->samples - 1) % RECENT], e->recent[(e->samples - 2) % RECENT]);
    double highest = -INFINITY;
    for (size_t i = 0; i + 5 < f->n && b[i].at <= e->last_at - LATELY * e->horizon; i++)
        highest = fmax(highest, b[i].max);
    return lowest - highest > f->tolerance;
}

static bool grows_weakly(const struct engine *e, struct growth *ret)
{
    struct growth_rules rules = {
        .horizon = e->horizon,
        .quantum = e->quantum,
        .resolution = engine_resolution(e),
        .z = WEAK_Z,
        .span = WEAK_SPAN * e->horizon,
        .blocks = WEAK_BLOCKS,
    };
    for (enum source source = 0; source < SOURCE_COUNT && !e->fading; source++) {
        const struct pyramid *p = &e->pyramids[source];
        for (unsigned level = 0; level < p->count; level++) {
            struct window w;
            window_take(p, level, &w);
            if (w.n >= rules.blocks && growth_find(&w, &rules, ret))
                return true;
        }
    }
    return false;
}

/* Growth whose pace at the end is below this share of its mean pace has faded. */
#define UNFADED 0.72

/*
 * The last phase climbs by more than the floor's own noise, though no single horizon of it does.
 * The engine has suspected it lately, and it is about as fast as the whole run: like a table
 * that grows between its resizings.
 */
static bool climbs_slowly(const struct engine *e, const struct floor_line *f,
                          const struct phase *last, struct growth *ret)
{
    if (f->n == 0)
        return false;
    double span = last->to - last->from, error = (last->rate_high - last->rate_low) / (2 * Z95);
    double pace = (f->floor[f->n - 1] - f->floor[0]) / (e->last_at - e->first_at);
    if (!engine_suspects(e) || !(last->rate_low > UNFADED * fmax(pace, 0)) ||
        span < WEAK_SPAN * e->horizon || last->level_to - last->level_from <= f->tolerance)
        return false;
    *ret = (struct growth){.slope = last->rate,
                           .error = error,
                           .z = last->rate / error,
                           .from = last->from,
                           .span = span};
    return true;
}

/*
 * The series rose several times and lies where those stairs would have brought it. A larger
 * rise, of memory that is free again, may hide growth that fills it.
 */
static bool may_climb_on(const struct engine *e, struct stairs *ret)
{
    return engine_stairs(e, ret) && ret->count >= STAIRS_SEEN && stairs_go_on(ret) &&
           stairs_behind(ret, e->last_at) < STAIRS_OVER;
}

double stairs_acquit(const struct stairs *s)
{
    return (s->reached + STAIRS_OVER * s->usual_height - s->intercept) / s->slope;
}

/* ---- the plan ---- */

static bool has_plan(const struct engine *e)
{
    return e->options.plan > e->last_at && e->options.limit > 0;
}

/* The last phase may be short: its own pace counts here, not a horizon's. */
static bool fits_plan(const struct engine *e, const struct phase *last)
{
    double left = fmax(0, e->options.plan - e->last_at);
    double headroom = e->options.limit - e->last_value;
    return headroom > 0 && last->rate_high * left < MATTERS * headroom;
}

/* A user who gives the length of the job asks about that length; a job that merely prints its
 * length does not. */
static bool plan_covered(const struct engine *e, const struct phase *last)
{
    return fits_plan(e, last) && !(e->options.plan_reported && last->rate_low > 0);
}

/* ---- the conclusion ---- */

const struct alarm *standing_alarm(const struct engine *e)
{
    if (e->alarm.set)
        return &e->alarm;
    bool young = e->samples == 0 || e->last_at - e->first_at < PREVIOUS_STANDS * e->horizon;
    return e->previous.set && young ? &e->previous : NULL;
}

/* Since when the floor has been where it is now. */
static double level_since(const struct floor_line *f)
{
    size_t i = f->n - 1;
    while (i > 0 && fabs(f->floor[i - 1] - f->floor[f->n - 1]) <= f->tolerance)
        i--;
    return f->at[i];
}

/* When a leak stopped; the engine notices that later. NAN: it has not. */
static double stop_of(const struct engine *e, const struct floor_line *f)
{
    if (!e->alarm.set && isnan(e->stopped_at))
        return NAN;
    return fmin(level_since(f), e->alarm.set ? e->last_at : e->stopped_at);
}

/* Growth that shows elsewhere than in the current floor; BASIS_NO_RISE: none. */
static enum basis basis_of_growth(const struct engine *e, const struct floor_line *f,
                                  const struct phase *last, struct growth *ret_weak,
                                  struct stairs *ret_stairs)
{
    if (grows_weakly(e, ret_weak) || climbs_slowly(e, f, last, ret_weak))
        return BASIS_WEAK_GROWTH;
    return may_climb_on(e, ret_stairs) ? BASIS_STAIRS : BASIS_NO_RISE;
}

static enum basis basis_without_leak(const struct engine *e, const struct floor_line *f,
                                     const struct phase *last, struct growth *ret_weak,
                                     struct stairs *ret_stairs)
{
    double first_step = e->options.clock == CLOCK_STEP; /* from 1 to 150 there are 150 of them */
    bool is_short =
        e->samples < LEAST_SAMPLES || e->last_at - e->first_at + first_step < e->horizon;
    enum basis growth = basis_of_growth(e, f, last, ret_weak, ret_stairs);
    bool excused = !e->options.plan_reported || growth == BASIS_NO_RISE;
    if (has_plan(e) && last->name != PHASE_START && plan_covered(e, last) && excused)
        return BASIS_PLAN_COVERED;
    if (is_short)
        return BASIS_TOO_SHORT;
    if (only_rounding(e))
        return BASIS_ROUNDED;
    if (rose_lately(e, f))
        return BASIS_ROSE_LATELY;
    if (at_new_maximum(e, f))
        return BASIS_NEW_MAXIMUM;
    if (e->last_at - stop_of(e, f) < ACQUITTAL * e->horizon)
        return BASIS_JUST_STOPPED;
    if (growth != BASIS_NO_RISE)
        return growth;
    return has_plan(e) && !fits_plan(e, last) ? BASIS_PLAN_TOO_LONG : BASIS_NO_RISE;
}

void conclude(const struct engine *e, const struct floor_line *f, const struct phase *last,
              bool stands, struct conclusion *ret)
{
    *ret = (struct conclusion){.verdict = VERDICT_LEAK, .stopped_at = NAN};
    if (e->alarm.set && stands) {
        ret->basis = BASIS_GROWS;
        return;
    }
    if (!e->alarm.set && standing_alarm(e)) {
        ret->basis = BASIS_PREVIOUS_RUN;
        return;
    }
    ret->basis = e->alarm.set ? BASIS_JUST_STOPPED
                              : basis_without_leak(e, f, last, &ret->weak, &ret->stairs);
    if (ret->basis == BASIS_JUST_STOPPED)
        ret->stopped_at = stop_of(e, f);
    bool fine = ret->basis == BASIS_PLAN_COVERED || ret->basis == BASIS_NO_RISE;
    ret->verdict = fine ? VERDICT_NO_LEAK : VERDICT_INCONCLUSIVE;
}
