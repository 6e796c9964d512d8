/* verdict/answer.c: the numbers of an answer. */
#include "verdict/conclude.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Growth accelerates if its second half climbs this many times as fast as its first. */
#define FASTER 1.3

/* A spike rises at least this far above the floor: in units of noise, and as a share of the floor.
 */
#define SPIKE_NOISE 6.0
#define SPIKE_SHARE 0.05

/* A tooth climbs over at least TOOTH_BLOCKS blocks, no one of which adds more than TOOTH_STEEPEST
 * of its height; it ends where it has fallen to TOOTH_END of that. A sawtooth has at least
 * TEETH_LEAST teeth, whose usual height exceeds TEETH_SHARE of the floor's own rise. */
#define TOOTH_BLOCKS 3u
#define TOOTH_STEEPEST 0.6
#define TOOTH_END 0.25
#define TEETH_LEAST 3u
#define TEETH_SHARE 0.5

/* Two rates that differ by less than this share read the same. */
#define STEADY 0.02

/* Growth has slackened below this share of its pace, and has stopped once that has lasted this many
 * horizons. */
#define SLACKENED 0.25
#define STOPPED_FOR 0.5

/* ---- the leak as it is now ---- */

/* What the growth did since the alarm's fit. */
struct growth_course {
    bool bent;        /* it is not a straight line */
    bool accelerates; /* it bends upwards, markedly */
    bool stopped;     /* it has been level for a while */
    double until;     /* where it became level, else the last sample */
};

/* The finest level of the alarm's pyramid that reaches back to its onset. */
static void window_since(const struct engine *e, const struct alarm *alarm, struct window *ret)
{
    const struct pyramid *p = &e->pyramids[alarm->source];
    for (unsigned level = 0; level < p->count; level++) {
        window_take(p, level, ret);
        bool whole_run = p->levels[level]->completed <= PYRAMID_RING;
        if (whole_run || ret->at[0] <= alarm->onset)
            return;
    }
}

/* The stairs up to now. A line through blocks would take the last stair for a bend. */
static bool stairs_by_now(const struct engine *e, const struct alarm *alarm, struct alarm *ret,
                          struct growth_course *ret_course)
{
    struct stairs all, s;
    if (alarm != &e->alarm || !engine_stairs(e, &all))
        return false;
    bool is_habit =
        stairs_habit(&all, &e->history, &s) && s.at[0] <= alarm->onset + s.usual_interval;
    if (!is_habit && !(alarm->by_stairs && stairs_since(&all, alarm->onset, &s)))
        return false;
    *ret = *alarm;
    ret->by_stairs = true;
    ret->onset = s.at[0];
    ret->growth.slope = s.slope;
    ret->growth.intercept = s.intercept;
    ret->growth.error = s.error;
    ret_course->stopped = stairs_behind(&s, e->last_at) > STAIRS_STOPPED;
    return true;
}

/* Where the growth has a kink and is level after it; else the last sample. */
static double grows_until(const struct engine *e, const struct alarm *alarm,
                          const struct end_fit *end)
{
    bool is_level =
        end->shape == END_KINK && end->slope + 2 * end->error < SLACKENED * alarm->growth.slope;
    return is_level ? end->knot : e->last_at;
}

/*
 * Fits the history since the onset. Its blocks are finer than those of the pyramid that reach
 * back as far, and include the newest sample. False: too few blocks.
 */
static bool fit_history(const struct engine *e, const struct alarm *alarm, struct end_fit *ret)
{
    const struct history *h = &e->history;
    double at[HISTORY_BLOCKS], y[HISTORY_BLOCKS];
    size_t n = 0;
    for (size_t i = 0; i < h->count; i++) {
        const struct history_block *b = &h->blocks[i];
        if (b->at < alarm->onset)
            continue;
        at[n] = b->at;
        y[n++] = alarm->growth.channel == CHANNEL_MIN ? b->min : b->mean;
    }
    if (n == 0 || n < engine_least_blocks(SOURCE_BLOCKS))
        return false;
    fit_end(at, y, n, growth_grain(e->quantum, y[n - 1]), ret);
    return true;
}

/* Only base blocks are refined by the history: in epochs and valleys, finer blocks would show what
 * happens within them. */
static void note_end(const struct engine *e, const struct alarm *alarm, const struct end_fit *end,
                     struct growth_course *course)
{
    struct end_fit finer;
    bool is_finer = alarm->source == SOURCE_BLOCKS && fit_history(e, alarm, &finer);
    course->until = grows_until(e, alarm, is_finer ? &finer : end);
    course->stopped = e->last_at - course->until > STOPPED_FOR * e->horizon;
}

/*
 * The growth, fitted again to all blocks since its onset, because the alarm's own fit is as old
 * as the last checkpoint. Where it bends or has a kink, the rate at the end counts.
 */
static struct alarm leak_by_now(const struct engine *e, const struct alarm *alarm,
                                struct growth_course *ret_course)
{
    struct alarm now = *alarm;
    struct window w = {.n = 0};
    *ret_course = (struct growth_course){.until = e->last_at};
    if (stairs_by_now(e, alarm, &now, ret_course))
        return now;
    if (alarm == &e->alarm)
        window_since(e, alarm, &w);
    size_t first = 0;
    while (first < w.n && w.at[first] < alarm->onset)
        first++;
    if (w.n < first + engine_least_blocks(alarm->source))
        return now;
    const double *y = window_channel(&w, alarm->growth.channel);
    double noise = growth_grain(e->quantum, y[w.n - 1]);
    struct end_fit end;
    fit_end(w.at + first, y + first, w.n - first, noise, &end);
    note_end(e, alarm, &end, ret_course);
    if (!(end.slope > SLACKENED * end.mean_slope))
        return now;
    growth_trend(&w, alarm->growth.channel, first, e->quantum, &now.growth);
    ret_course->accelerates = end.shape == END_PARABOLA && end.slope > FASTER * end.mean_slope;
    ret_course->bent = end.shape != END_LINE;
    if (ret_course->bent) {
        now.growth.slope = end.slope;
        now.growth.intercept = y[w.n - 1] - end.slope * w.at[w.n - 1];
        now.growth.error = fmax(now.growth.error, end.error);
    }
    /* Almost nothing of the rise came before the kink: the growth began there. */
    double before = end.before * (end.knot - w.at[first]), rise = y[w.n - 1] - y[first];
    if (end.shape == END_KINK && end.before < SLACKENED * end.slope && before < 0.1 * rise)
        now.onset = end.knot;
    return now;
}

double engine_grows_until(const struct engine *e)
{
    struct growth_course course = {.until = e->last_at};
    if (e->alarm.set)
        leak_by_now(e, &e->alarm, &course);
    return course.until;
}

/* ---- pieces of the answer ---- */

static double known(double option)
{
    return option > 0 ? option : NAN;
}

static void fill_facts(const struct engine *e, const struct floor_line *f, struct answer *a)
{
    a->samples = e->total;
    a->refused = e->refused;
    a->restarts = e->restarts;
    a->horizon = e->horizon;
    a->epoch_length = known(e->epoch_length);
    a->plan = known(e->options.plan);
    a->limit = known(e->options.limit);
    a->suspect_at = e->suspect_at;
    a->alarm_at = e->alarm_at;
    if (e->total > 0) {
        a->min = e->total_min;
        a->max = e->total_max;
        a->mean = e->total_sum / (double) e->total;
    }
    if (e->samples == 0)
        return;
    a->first_at = e->first_at;
    a->last_at = e->last_at;
    a->first_seconds = e->first_seconds;
    a->last_seconds = e->last_seconds;
    a->last = e->last_value;
    a->floor_first = f->floor[0];
    a->floor_last = f->floor[f->n - 1];
    a->noise = f->noise;
}

/* NAN: not known. */
static double seconds_per_unit(const struct engine *e)
{
    if (e->options.clock == CLOCK_SECONDS)
        return 1;
    double seconds = (e->last_seconds - e->first_seconds) / (e->last_at - e->first_at);
    return seconds > 0 && isfinite(seconds) ? seconds : NAN;
}

/* A run whose first sample lies within the first epoch began at 0; any other was resumed. */
static void fill_warm_up(struct answer *a)
{
    for (unsigned i = 0; i < a->phase_count; i++)
        if (a->phases[i].name == PHASE_WARM_UP)
            a->warm_up_end = a->phases[i].to;
    double begin = a->first_at <= a->epoch_length ? 0 : a->first_at;
    a->warm_up_epochs = (a->warm_up_end - begin) / a->epoch_length;
}

/*
 * The most it may still grow per clock unit without showing: the upper end of the last phase's
 * rate. Where the last phase is short, the last horizon since the warm-up counts instead.
 */
static double rate_bound(const struct engine *e, const struct floor_line *f,
                         const struct phase *last, double warm_up_end)
{
    double settled = isnan(warm_up_end) ? e->first_at : warm_up_end;
    double from = fmax(settled, fmin(last->from, e->last_at - e->horizon));
    double bound = last->rate_high, span = e->last_at - from;
    if (from < last->from || isnan(bound)) {
        size_t first = 0;
        while (first + 3 < f->n && f->at[first] <= from)
            first++;
        while (first > 0 && f->at[first] == e->last_at) /* several samples at one position */
            first--;
        struct segment whole;
        segment_fit(f->at, f->floor, first, f->n, growth_grain(e->quantum, e->last_value), &whole);
        bound = whole.slope + Z95 * whole.error;
    }
    return fmax(bound, span > 0 ? e->quantum / span : 0);
}

/* The leak's rates, perhaps from the run before a restart; else those of the last phase. */
static void fill_rates(const struct engine *e, const struct phase *last, const struct growth *leak,
                       struct answer *a)
{
    if (leak) {
        a->rate = leak->slope;
        a->rate_low = leak->slope - Z95 * leak->error;
        a->rate_high = leak->slope + Z95 * leak->error;
    } else if (last->name != PHASE_START) {
        a->rate = last->rate;
        a->rate_low = last->rate_low;
        a->rate_high = last->rate_high;
    }
    a->rate_per_step = e->options.clock == CLOCK_STEP ? a->rate : NAN;
    a->rate_per_epoch = a->rate * a->epoch_length;
    a->rate_per_second = a->rate / seconds_per_unit(e);
}

/* `alarm` found the leak. The seconds of a run before a restart are not kept. */
static void fill_onset(const struct engine *e, const struct alarm *alarm, double onset,
                       struct answer *a)
{
    a->onset_at = onset;
    if (e->options.clock == CLOCK_SECONDS)
        a->onset_seconds = onset;
    else if (alarm == &e->alarm)
        a->onset_seconds = e->first_seconds + (onset - e->first_at) * seconds_per_unit(e);
}

double answer_mean_rate(const struct answer *a)
{
    const struct phase *last = a->phase_count > 0 ? &a->phases[a->phase_count - 1] : NULL;
    bool is_leak = a->verdict == VERDICT_LEAK && last && last->from == a->onset_at;
    double mean = is_leak ? (last->level_to - last->level_from) / (last->to - last->from) : NAN;
    return fabs(mean - a->rate) > STEADY * fabs(a->rate) ? mean : NAN;
}

double answer_limit(const struct answer *a)
{
    return isfinite(a->limit_shared) ? a->limit_shared : a->limit;
}

double possible_level(const struct engine *e, double level)
{
    return fmax(level, fmin(0, e->total_min));
}

/* From the last phase only. A series that does not rise stays at its level, or grows by its upper
 * bound. */
static void fill_forecast(const struct engine *e, bool steady, struct answer *a)
{
    double rate = steady ? 0 : a->rate, level = a->floor_last;
    double low = steady ? 0 : a->rate_low, high = steady ? a->rate_upper : a->rate_high;
    double left = a->plan - a->last_at;
    if (isnan(rate) || isnan(high))
        return;
    if (left > 0) {
        a->forecast.plan_value = possible_level(e, level + rate * left);
        a->forecast.plan_low = possible_level(e, level + low * left);
        a->forecast.plan_high = possible_level(e, level + high * left);
    }
    double headroom = a->limit - level;
    if (!(headroom > 0))
        return;
    a->forecast.limit_at = rate > 0 ? a->last_at + headroom / rate : INFINITY;
    a->forecast.limit_low = high > 0 ? a->last_at + headroom / high : INFINITY;
    a->forecast.limit_high = low > 0 ? a->last_at + headroom / low : INFINITY;
    a->forecast.limit_seconds = (a->forecast.limit_at - a->last_at) * seconds_per_unit(e);
}

/* How much the floor itself climbs within a block. */
static double ramp_within(const struct floor_line *f, size_t i)
{
    size_t before = i > 0 ? i - 1 : 0, after = i + 1 < f->n ? i + 1 : i;
    return fabs(f->floor[after] - f->floor[before]);
}

/* Counts a spike of this activity; activities beyond ANSWER_ACTIVITIES are dropped. */
static void count_activity(const struct engine *e, unsigned activity, struct answer *a)
{
    if (activity == 0 || !e->options.activities)
        return;
    const char *name = e->options.activities[activity - 1];
    unsigned i = 0;
    while (i < a->spikes.during_count && strcmp(a->spikes.during[i].name, name) != 0)
        i++;
    if (i == ANSWER_ACTIVITIES)
        return;
    if (i == a->spikes.during_count)
        snprintf(a->spikes.during[a->spikes.during_count++].name, ANSWER_ACTIVITY_LENGTH, "%s",
                 name);
    a->spikes.during[i].count++;
}

static void sort_activities(struct answer *a)
{
    for (unsigned i = 1; i < a->spikes.during_count; i++)
        for (unsigned k = i; k > 0; k--) {
            struct spike_activity *x = &a->spikes.during[k - 1], *y = &a->spikes.during[k], swapped;
            if (x->count >= y->count)
                break;
            swapped = *x;
            *x = *y;
            *y = swapped;
        }
}

static double spike_least(const struct floor_line *f, size_t i)
{
    return fmax(fmax(SPIKE_NOISE * f->noise, f->tolerance), SPIKE_SHARE * fabs(f->floor[i]));
}

/* Neighbouring blocks are one spike, with the height and the activity of its top. */
static void fill_spikes(const struct engine *e, const struct floor_line *f, struct answer *a)
{
    double heights[HISTORY_BLOCKS];
    unsigned activities[HISTORY_BLOCKS];
    size_t count = 0;
    bool inside = false;
    for (size_t i = 0; i < f->n; i++) {
        double height = e->history.blocks[i].peak - f->floor[i] - ramp_within(f, i);
        bool spike = height > spike_least(f, i);
        bool begins = spike && !inside;
        count += begins;
        if (begins || (spike && height > heights[count - 1])) {
            heights[count - 1] = height;
            activities[count - 1] = e->history.blocks[i].activity;
        }
        inside = spike;
    }
    for (size_t i = 0; i < count; i++)
        count_activity(e, activities[i], a);
    sort_activities(a);
    a->spikes.count = (unsigned) count;
    a->spikes.height = fit_median(heights, count);
    a->spikes.recovered = a->spikes.count > 0 && e->last_value - a->floor_last <=
                                                     fmax(f->tolerance, 0.25 * a->spikes.height);
}

static double floor_at(const struct floor_line *f, double at)
{
    size_t i = 0;
    while (i + 1 < f->n && f->at[i] < at)
        i++;
    return f->floor[i];
}

/* The average over the whole run, as a script would compute it, and the share of warm-up in it. */
static void fill_naive(const struct engine *e, const struct floor_line *f, struct answer *a)
{
    double rise = e->last_value - e->first_value, rate = rise / (e->last_at - e->first_at);
    if (!isfinite(rate))
        return;
    a->naive.rate = rate;
    if (rise <= f->tolerance || isnan(a->warm_up_end))
        return;
    double warm_up = floor_at(f, a->warm_up_end) - e->first_value;
    a->naive.warm_up_share = fmin(1, fmax(0, warm_up / rise));
    /* The warm-up is over once the time since is as long as it took. */
    bool is_over = e->last_at - a->warm_up_end >= a->warm_up_end - e->first_at;
    a->naive.misleads = (is_over || a->verdict != VERDICT_INCONCLUSIVE) &&
                        a->naive.warm_up_share > 0.5 && a->rate < 0.5 * a->naive.rate;
}

/* ---- the pattern ---- */

/* Most of the rise comes in a few jumps between level stretches. */
static bool climbs_in_steps(const struct floor_line *f, double onset)
{
    double rise = 0, jumps = 0;
    size_t blocks = 0, jumped = 0;
    double least = fmax(4 * f->noise, f->tolerance / 10);
    for (size_t i = 1; i < f->n; i++) {
        if (f->at[i - 1] < onset)
            continue;
        double d = f->floor[i] - f->floor[i - 1];
        rise += d;
        blocks++;
        if (d > least) {
            jumps += d;
            jumped++;
        }
    }
    return blocks >= 12 && jumped >= 2 && jumps > 0.8 * rise &&
           (double) jumped < 0.25 * (double) blocks;
}

static bool has_phase(const struct answer *a, enum phase_name name)
{
    for (unsigned i = 0; i < a->phase_count; i++)
        if (a->phases[i].name == name)
            return true;
    return false;
}

/* The blocks from `from` on that lie above the floor, up to where most of the climb is undone. */
struct tooth {
    size_t end; /* behind the last of them */
    double height, steepest;
    size_t climb; /* blocks up to the top */
};

static struct tooth tooth_at(const struct history *h, const struct floor_line *f, size_t from)
{
    struct tooth t = {.end = from};
    double before = 0, steepest = 0;
    for (; t.end < f->n; t.end++) {
        double height = h->blocks[t.end].mean - f->floor[t.end];
        if (height <= fmax(spike_least(f, t.end), TOOTH_END * t.height))
            break;
        steepest = fmax(steepest, height - before);
        before = height;
        if (height > t.height) {
            t.height = height;
            t.steepest = steepest;
            t.climb = t.end + 1 - from;
        }
    }
    return t;
}

/* The series rises gradually and falls back, repeatedly, and its teeth are large beside its floor's
 * own rise. A spike reaches its top at once. */
static bool has_teeth(const struct engine *e, const struct floor_line *f)
{
    double heights[HISTORY_BLOCKS];
    size_t teeth = 0, others = 0, first = 0;
    for (size_t i = 0; i < f->n;) {
        struct tooth t = tooth_at(&e->history, f, i);
        bool climbs = t.climb >= TOOTH_BLOCKS && t.steepest < TOOTH_STEEPEST * t.height;
        if (climbs) {
            first = teeth == 0 ? i : first;
            heights[teeth++] = t.height;
        }
        others += t.end > i && !climbs;
        i = t.end > i ? t.end : i + 1;
    }
    return teeth >= TEETH_LEAST && teeth > others &&
           fit_median(heights, teeth) > TEETH_SHARE * (f->floor[f->n - 1] - f->floor[first]);
}

bool engine_has_teeth(const struct engine *e)
{
    struct floor_line floor;
    floor_line_take(e, &floor);
    return has_teeth(e, &floor);
}

static enum pattern pattern_without_leak(const struct engine *e, const struct floor_line *f,
                                         const struct answer *a)
{
    if (has_teeth(e, f))
        return PATTERN_SAWTOOTH;
    if (has_phase(a, PHASE_WARM_UP))
        return e->fading || a->warm_up_end - a->first_at > 1.2 * e->horizon ? PATTERN_BOUNDED_CACHE
                                                                            : PATTERN_WARM_UP;
    if (has_phase(a, PHASE_LEVEL_SHIFT))
        return PATTERN_LEVEL_SHIFT;
    if (a->phases[a->phase_count - 1].level_to < a->phases[0].level_from - f->tolerance)
        return PATTERN_SHRINKING;
    if (a->spikes.count == 0)
        return PATTERN_FLAT;
    double typical = e->total_sum / (double) e->total - a->floor_last;
    return typical > 0.25 * a->spikes.height ? PATTERN_SAWTOOTH : PATTERN_SPIKES;
}

static enum pattern pattern_of(const struct engine *e, const struct floor_line *f,
                               const struct answer *a, const struct growth_course *course,
                               bool by_stairs)
{
    if (a->verdict == VERDICT_LEAK && course->accelerates)
        return PATTERN_ACCELERATING;
    if (a->verdict == VERDICT_LEAK)
        return by_stairs || climbs_in_steps(f, a->onset_at) ? PATTERN_STAIRCASE : PATTERN_LINEAR;
    return a->verdict == VERDICT_NO_LEAK ? pattern_without_leak(e, f, a) : PATTERN_UNKNOWN;
}

/* For a leak, by how far it exceeds the test; for no leak, by how long there has been none. */
static double confidence_of(const struct engine *e, const struct conclusion *c,
                            const struct answer *a)
{
    double excess = e->alarm.growth.z / engine_threshold(e);
    switch (c->basis) {
    case BASIS_GROWS:
        return fmin(0.999, 0.99 + 0.0045 * fmax(0, excess - 1));
    case BASIS_PREVIOUS_RUN:
        return 0.8;
    case BASIS_NO_RISE:
    case BASIS_PLAN_COVERED:
        return 0.9 + 0.09 * fmin(1, (a->last_at - a->first_at) / (5 * e->horizon));
    default:
        return NAN;
    }
}

/* ---- what is missing ---- */

static double growth_needs(const struct engine *e, const struct answer *a)
{
    const struct phase *last = &a->phases[a->phase_count - 1];
    bool grows = last->name == PHASE_GROWING;
    double seen = fmax(grows ? e->last_at - last->from : 0, engine_suspected_for(e));
    double asked = fmax(1.6 * e->horizon, grows ? engine_patience(e, last->rate) : 0);
    return fmax(asked - seen, 0.25 * e->horizon);
}

static double needs_of(const struct engine *e, const struct conclusion *c, const struct answer *a)
{
    double length = e->last_at - e->first_at;
    double spacing = e->samples > 1 ? length / (double) (e->samples - 1) : 1;
    switch (c->basis) {
    case BASIS_TOO_SHORT: {
        double few = fmax(0, LEAST_SAMPLES - (double) e->samples) * spacing;
        bool grows = a->phase_count > 0 &&
                     (a->phases[a->phase_count - 1].name == PHASE_GROWING || engine_suspects(e));
        return fmax(few, grows ? growth_needs(e, a) : e->horizon - (e->samples ? length : 0));
    }
    case BASIS_ROUNDED:
        return length;
    case BASIS_ROSE_LATELY:
        return growth_needs(e, a);
    case BASIS_JUST_STOPPED:
        return fmax(ACQUITTAL * e->horizon - (e->last_at - c->stopped_at), 0.25 * e->horizon);
    case BASIS_NEW_MAXIMUM:
        return fmax(4 * spacing, 0.25 * e->horizon);
    case BASIS_WEAK_GROWTH:
        /* The error of a slope falls with the power 3/2 of the time. */
        return c->weak.span * fmax(0.1, pow(engine_threshold(e) / c->weak.z, 2.0 / 3) - 1);
    case BASIS_STAIRS:
        return stairs_acquit(&c->stairs) - e->last_at;
    case BASIS_PLAN_TOO_LONG: {
        double headroom = 0.1 * (a->limit - e->last_value);
        double excess = a->rate_high * (a->plan - a->last_at) / fmax(headroom, 1);
        return length * fmin(10, pow(fmax(1, excess), 2.0 / 3) - 1 + 0.1);
    }
    default:
        return NAN;
    }
}

/* ---- the answer ---- */

/*
 * For a series that does not rise, though its run may end within a spike or on the way back from
 * a dip: the floor is the usual one of the last half horizon, and the last phase is stable.
 */
static void settle_end(const struct floor_line *f, double horizon, struct answer *a)
{
    double floors[HISTORY_BLOCKS];
    size_t count = 0;
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i] >= a->last_at - 0.5 * horizon)
            floors[count++] = f->floor[i];
    if (count > 0)
        a->floor_last = fit_median(floors, count);
    struct phase *last = &a->phases[a->phase_count - 1];
    if (last->name == PHASE_GROWING)
        last->name = PHASE_STABLE;
}

void engine_answer(const struct engine *e, struct answer *ret)
{
    struct answer *a = ret;
    answer_clear(a);
    struct floor_line floor;
    floor_line_take(e, &floor);
    fill_facts(e, &floor, a);

    const struct alarm *standing = standing_alarm(e);
    struct alarm leak = {.set = false};
    struct growth_course course = {.until = e->last_at};
    if (standing)
        leak = leak_by_now(e, standing, &course);
    bool stands = e->alarm.set && !course.stopped;
    a->phase_count = phases_find(e, &floor, stands ? &leak : NULL, a->phases);
    struct phase none = {.name = PHASE_START, .from = NAN, .to = NAN, .rate_high = NAN};
    struct phase *last = a->phase_count > 0 ? &a->phases[a->phase_count - 1] : &none;
    if (stands && course.bent)
        last->level_from = floor_at(&floor, last->from);

    struct conclusion c;
    conclude(e, &floor, last, stands, &c);
    a->verdict = c.verdict;
    if (c.basis == BASIS_NO_RISE && last->name != PHASE_SHRINKING)
        settle_end(&floor, e->horizon, a);
    a->suspect = a->verdict != VERDICT_LEAK && engine_suspects(e);
    fill_warm_up(a);
    fill_rates(e, last, a->verdict == VERDICT_LEAK ? &leak.growth : NULL, a);
    if (a->verdict == VERDICT_LEAK)
        fill_onset(e, standing, stands && a->phase_count > 0 ? last->from : leak.onset, a);
    if (c.basis == BASIS_PLAN_COVERED)
        a->rate_upper = fmax(0, a->rate_high);
    else if (a->verdict == VERDICT_NO_LEAK)
        a->rate_upper = fmax(rate_bound(e, &floor, last, a->warm_up_end), a->rate);
    if (e->samples > 0) {
        fill_spikes(e, &floor, a);
        fill_naive(e, &floor, a);
        fill_forecast(e, a->verdict == VERDICT_NO_LEAK && last->name != PHASE_GROWING, a);
    }
    if (a->verdict == VERDICT_LEAK)
        a->severity = severity_of(a, e->options.unit, e->options.clock);
    a->pattern = pattern_of(e, &floor, a, &course, leak.by_stairs);
    a->confidence = confidence_of(e, &c, a);
    a->needs.at_least = needs_of(e, &c, a);
    a->needs.seconds = a->needs.at_least * seconds_per_unit(e);
    /* A clock that hardly moves gives rates too large for a double: not known. */
    fields_drop_infinite(&answer_fields, a);
    explain(e, &c, a);
}
