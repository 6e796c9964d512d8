/* verdict/checkpoint.c: what the engine checks on its own: it raises, keeps and drops an alarm. */
#include "verdict/engine.h"

#include <math.h>

/* The false-alarm budget of a job, split over its series and all checks. */
#define JOB_ALPHA 3e-5
#define FIRST_LOOKS 50.0

/*
 * How long growth has to last, in horizons. A harmless ramp ends within one; the excess pays for
 * noise. Valleys are few, so chance lines up five of them more easily.
 */
#define SPAN_LEAK 1.3
#define SPAN_VALLEYS 2.0
#define SPAN_SUSPECT 0.4
#define SPAN_STOPPED 1.4

/* The test has to hold for this many horizons longer; stronger growth needs less. */
#define CONFIRM 0.15

/*
 * A candidate or a suspicion that is not renewed expires after this many horizons; a candidate
 * not before this many blocks of its level.
 */
#define CANDIDATE_LASTS 0.5
#define CANDIDATE_BLOCKS 1.5
#define SUSPICION_LASTS 0.5

/* A line that may be a buffer filling is watched for this many horizons, fewer at the end of the
 * run. */
#define PATIENCE 6.0
#define PATIENCE_AT_END 3.0

double engine_threshold(const struct engine *e)
{
    double series = e->options.job_series > 1 ? e->options.job_series : 1;
    return sqrt(2 * log(((double) e->checks + FIRST_LOOKS) * series / JOB_ALPHA));
}

size_t engine_least_blocks(enum source source)
{
    return source == SOURCE_BLOCKS ? 8 : 5;
}

/* ---- growth that fades ---- */

/* The finest level that still holds the whole run. */
static unsigned whole_run_level(const struct pyramid *p)
{
    unsigned level = 0;
    while (level + 1 < p->count && p->levels[level]->completed > PYRAMID_RING)
        level++;
    return level;
}

/*
 * The run up to now, back to where it leaves the growth's line by more than `reach`, with x from
 * 0. Returns the number of points.
 */
static size_t run_near_line(const struct engine *e, enum source source, const struct growth *g,
                            double reach, double x[PYRAMID_RING], double y[PYRAMID_RING])
{
    struct window w;
    window_take(&e->pyramids[source], whole_run_level(&e->pyramids[source]), &w);
    const double *values = window_channel(&w, g->channel);
    size_t first = w.n;
    while (first > 0 &&
           fabs(values[first - 1] - g->intercept - g->slope * w.at[first - 1]) <= reach)
        first--;
    for (size_t i = first; i < w.n; i++) {
        x[i - first] = w.at[i] - w.at[first];
        y[i - first] = values[i];
    }
    return w.n - first;
}

/*
 * A curve fades if its pace at the end is below this share of its mean pace. Growth by a power
 * below 1 keeps that share for ever, while a filling cache loses it: the longer the run, the
 * less a high share means.
 */
static double fading_ratio(double horizons)
{
    return fmin(0.88, fmax(0.72, 0.88 - 0.03 * (horizons - 2.5)));
}

/*
 * Concave growth (logarithmic, saturating) explains the rise better than one line or two, and
 * its current pace is at least `pace` of the growth's. Early on, a curve as good as the line is
 * enough reason to wait.
 */
static bool fades_within(const struct engine *e, enum source source, const struct growth *g,
                         double reach, double pace)
{
    double x[PYRAMID_RING], y[PYRAMID_RING];
    size_t n = run_near_line(e, source, g, reach, x, y);
    if (n < 8)
        return false;
    double grain = growth_grain(e->quantum, y[n - 1]), length = x[n - 1] / e->horizon;
    struct fade_fit f;
    fit_fade(x, y, n, (double) n * grain * grain, &f);
    if (!f.valid || f.fading_score >= f.kinked_score + 6 || f.end_slope < pace * g->slope)
        return false;
    double gain = f.line_score - f.fading_score;
    return (gain > 2 && f.end_ratio < fading_ratio(length)) ||
           (gain > 0 && f.end_ratio < 0.78 && length < 2.2);
}

/* The growth may fade by itself, or be the tail of one that has faded all through the run. */
static bool fades(const struct engine *e, enum source source, const struct growth *g)
{
    double rise = g->slope * g->span;
    return fades_within(e, source, g, 0.5 * rise, 0) || fades_within(e, source, g, 1.5 * rise, 0) ||
           fades_within(e, source, g, INFINITY, 0.25);
}

/* Checked again only once the run is 2 % longer: the answer does not change faster. */
static bool fades_by_now(struct engine *e, enum source source, const struct growth *g)
{
    double length = e->last_at - e->first_at;
    if (length >= e->fade_recheck) {
        e->fading = fades(e, source, g);
        e->fade_recheck = 1.02 * length;
    }
    return e->fading;
}

/* ---- where growth began, and whether it may yet be harmless ---- */

static double off_line(const struct history_block *b, const struct growth *g)
{
    double value = g->channel == CHANNEL_MIN ? b->min : b->mean;
    return value - g->intercept - g->slope * b->at;
}

/* Where the growth began: back along its line for as long as the samples lie on it. */
static double onset_of(const struct engine *e, const struct growth *g)
{
    const struct history_block *b = e->history.blocks;
    size_t n = e->history.count, k = n;
    double squares = 0;
    while (k > 0 && b[k - 1].at >= g->from) {
        k--;
        squares += off_line(&b[k], g) * off_line(&b[k], g);
    }
    double scatter = n > k ? sqrt(squares / (double) (n - k)) : 0;
    double band = 3 * scatter + e->quantum + 0.03 * g->slope * g->span;
    while (k > 0 && (fabs(off_line(&b[k - 1], g)) <= band ||
                     (k > 1 && fabs(off_line(&b[k - 2], g)) <= band)))
        k--;
    if (k == 0)
        return e->first_at;
    double before[4];
    size_t count = 0;
    for (size_t i = k > 4 ? k - 4 : 0; i < k; i++)
        before[count++] = g->channel == CHANNEL_MIN ? b[i].min : b[i].mean;
    double meets = (fit_median(before, count) - g->intercept) / g->slope;
    return fmin(fmax(meets, b[k - 1].at), k < n ? b[k].at : e->last_at);
}

/*
 * Without a known epoch the horizon is a guess, and a straight line may be a large buffer
 * filling. While the limit is a thousand times as far away as the growth is old, waiting costs
 * nothing. Six horizons are enough even then.
 */
double engine_patience(const struct engine *e, double slope)
{
    if (e->epoch_known || e->options.limit <= 0 || !(slope > 0))
        return 0;
    return fmin(PATIENCE * e->horizon, (e->options.limit - e->last_value) / slope / 1000);
}

/* The first block of the horizon before `end`. */
static size_t horizon_before(const struct engine *e, const struct window *w, double end)
{
    size_t then = w->n - 1;
    while (then > 0 && end - w->at[then] < e->horizon)
        then--;
    return then;
}

/* The current pace has to be at least this share of the growth's. */
#define GOES_ON 0.6

/* Noise may lower a single sample by this many of its deviations. */
#define SAMPLE_NOISE 3.0

/* The newest sample has its share of the growth too. Where each sample is a block, the next one
 * comes late, and three of them would reach back before the stop. */
static bool newest_goes_on(const struct engine *e, const struct window *w, const double *y,
                           double slope)
{
    if (e->block.count > 1) /* belongs to the block that was just closed */
        return true;
    size_t then = horizon_before(e, w, e->last_at);
    double share = GOES_ON * slope * (e->last_at - w->at[then]);
    return e->last_value - y[then] >= share - SAMPLE_NOISE * fit_noise(y, w->n);
}

/* At fine resolution, the last horizon has its share of the growth too: it may just have stopped.
 */
static bool goes_on_now(const struct engine *e, enum source source, const struct growth *g)
{
    if (source != SOURCE_BLOCKS)
        return true;
    struct window w;
    window_take(&e->pyramids[SOURCE_BLOCKS], 0, &w);
    const double *y = window_channel(&w, g->channel);
    size_t now = w.n - 1, then = horizon_before(e, &w, w.at[now]);
    if (then < 2)
        return true;
    double rise = (y[now] + y[now - 1] + y[now - 2] - y[then] - y[then - 1] - y[then - 2]) / 3;
    return rise >= GOES_ON * g->slope * (w.at[now] - w.at[then]) &&
           newest_goes_on(e, &w, y, g->slope);
}

/* ---- raise, keep, drop ---- */

/* Fewer stairs than this are not growth. */
#define STAIRS_FEW 4

/* Coarse levels and rare samples are checked rarely, so a candidate lasts until the next check. */
static void note_candidate(struct engine *e, enum source source, unsigned level)
{
    const struct pyramid *p = &e->pyramids[source];
    double distance = pyramid_recent(p, level, 0)->at - pyramid_recent(p, level, 1)->at;
    double lasts = fmax(CANDIDATE_LASTS * e->horizon, CANDIDATE_BLOCKS * distance);
    if (isnan(e->candidate_at))
        e->candidate_at = e->candidate_until = e->last_at;
    e->candidate_until = fmax(e->candidate_until, e->last_at + lasts);
}

/* An epoch is a whole pass over the data, so blocks of that size need no confirmation. */
static bool confirmed(const struct engine *e, enum source source, const struct growth *g)
{
    double wait = CONFIRM * fmin(1, pow(engine_threshold(e) / g->z, 1.5)) * e->horizon;
    return source == SOURCE_EPOCHS || e->last_at - e->candidate_at >= wait;
}

/* A few stairs make up the growth so far: an allocator settling may take as many. */
static bool is_few_stairs(const struct engine *e, const struct growth *g)
{
    struct stairs all, s;
    return engine_stairs(e, &all) && stairs_since(&all, g->from, &s) && s.count < STAIRS_FEW;
}

static void keep_growth(struct engine *e, enum source source, unsigned level,
                        const struct growth *g)
{
    note_candidate(e, source, level);
    if (!confirmed(e, source, g))
        return;
    double onset = onset_of(e, g);
    struct alarm found = {true, source, level, *g, onset, false};
    if (!e->alarm.set && (!goes_on_now(e, source, g) || is_few_stairs(e, g)))
        return;
    if (!e->alarm.set && e->last_at - onset < engine_patience(e, g->slope)) {
        e->waiting = found;
        return;
    }
    if (isnan(e->alarm_at))
        e->alarm_at = e->last_at;
    if (!e->alarm.set || g->span >= 0.9 * e->alarm.growth.span)
        e->alarm = found;
}

static void drop_candidate(struct engine *e)
{
    e->candidate_at = NAN;
    e->waiting.set = false;
}

/* ---- stairs ---- */

/* Checked whenever the run is longer by this share of a horizon, and of itself. */
#define STAIRS_LOOK_HORIZONS 0.2
#define STAIRS_LOOK_RUN 0.005

static struct alarm alarm_by_stairs(const struct engine *e, const struct stairs *s)
{
    return (struct alarm){
        .set = true,
        .growth = {.channel = CHANNEL_MIN,
                   .slope = s->slope,
                   .intercept = s->intercept,
                   .error = s->error,
                   .z = s->slope / s->error,
                   .from = s->at[0],
                   .span = e->last_at - s->at[0]},
        .onset = s->at[0],
        .by_stairs = true,
    };
}

static void stop_alarm(struct engine *e)
{
    e->alarm.set = false;
    drop_candidate(e);
    e->stopped_at = e->last_at;
}

/* Growth that has climbed for `enough` is called a leak, whatever patience would say. */
static void look_for_stairs(struct engine *e, double enough)
{
    struct stairs s;
    if (e->alarm.set || !engine_stairs_leak(e, &s) ||
        e->last_at - s.at[0] < fmin(engine_patience(e, s.slope), enough))
        return;
    e->alarm = alarm_by_stairs(e, &s);
    e->alarm_at = isnan(e->alarm_at) ? e->last_at : e->alarm_at;
}

/* Level right now, as it always was between two stairs. */
static bool is_between_stairs(const struct engine *e)
{
    struct stairs all, s;
    return engine_stairs(e, &all) && stairs_since(&all, e->alarm.onset, &s) &&
           (e->alarm.by_stairs || (s.count >= STAIRS_FEW && stairs_regular(&s))) &&
           stairs_behind(&s, e->last_at) <= STAIRS_STOPPED;
}

static void check_stairs(struct engine *e)
{
    double least =
        fmax(STAIRS_LOOK_HORIZONS * e->horizon, STAIRS_LOOK_RUN * (e->last_at - e->first_at));
    if (e->last_at - e->stairs_checked_at < least)
        return;
    e->stairs_checked_at = e->last_at;
    if (!e->alarm.set)
        look_for_stairs(e, INFINITY);
    else if (e->alarm.by_stairs && !is_between_stairs(e))
        stop_alarm(e);
}

void engine_finish(struct engine *e)
{
    look_for_stairs(e, PATIENCE_AT_END * e->horizon);
    bool is_old = e->last_at - e->waiting.onset >= PATIENCE_AT_END * e->horizon;
    if (e->alarm.set || !e->waiting.set || !is_old || e->last_at > e->candidate_until)
        return;
    e->alarm = e->waiting;
    e->alarm_at = isnan(e->alarm_at) ? e->last_at : e->alarm_at;
}

/* The test does not hold: growth has stopped, or is only unclear for now. */
static void review_alarm(struct engine *e, enum source source, const struct window *w)
{
    if (!e->alarm.set) {
        if (e->last_at > e->candidate_until)
            drop_candidate(e);
        return;
    }
    if (e->alarm.by_stairs || source != e->alarm.source)
        return;
    /* On fine levels a little more than a horizon: one thing kept per epoch is still growth. */
    double span = (w->level + 1 < e->alarm.level ? SPAN_STOPPED : 1) * e->horizon;
    size_t first = 0, least = engine_least_blocks(source);
    while (first + least < w->n && w->at[w->n - 1] - w->at[first + 1] >= span)
        first++;
    if (w->at[w->n - 1] - w->at[first] < span)
        return;
    struct growth now;
    growth_trend(w, e->alarm.growth.channel, first, e->quantum, &now);
    double errors = e->fading ? 1 : 2, share = e->fading ? 0.7 : 0.5;
    if (now.slope + errors * now.error < share * e->alarm.growth.slope && !is_between_stairs(e))
        stop_alarm(e);
}

bool engine_suspects(const struct engine *e)
{
    return e->last_at - e->suspect_seen_at <= SUSPICION_LASTS * e->horizon;
}

double engine_suspected_for(const struct engine *e)
{
    return engine_suspects(e) ? e->last_at - e->suspect_at + SPAN_SUSPECT * e->horizon : 0;
}

static void note_suspicion(struct engine *e)
{
    /* A known leak is checked more rarely, which does not end the suspicion. */
    if (!e->alarm.set && !engine_suspects(e))
        e->suspect_at = e->last_at;
    e->suspect_seen_at = e->last_at;
}

/*
 * Where nothing grows, every second base block is enough; so is every fourth or eighth in a long
 * run whose growth is known to go on or to fade.
 */
static bool may_skip(const struct engine *e, const struct pyramid *p, unsigned level)
{
    uint64_t completed = p->levels[level]->completed;
    if (e->alarm.set || (e->fading && e->last_at - e->first_at > 6 * e->horizon))
        return completed % (level < 2 ? 8 : 4) != 0;
    return level == 0 && completed % 2 != 0 && isnan(e->candidate_at) && !engine_suspects(e);
}

void checkpoint(struct engine *e, enum source source, unsigned level)
{
    const struct pyramid *p = &e->pyramids[source];
    if (source == SOURCE_BLOCKS && level == 0)
        check_stairs(e);
    size_t held = pyramid_held(p, level), least = engine_least_blocks(source);
    if (held < least || may_skip(e, p, level))
        return;
    double length = pyramid_recent(p, level, 0)->at - pyramid_recent(p, level, held - 1)->at;
    double least_span = (source == SOURCE_VALLEYS ? SPAN_VALLEYS : SPAN_SUSPECT) * e->horizon;
    if (length < least_span)
        return;
    if (length >= e->horizon)
        e->checks++;
    struct window w, levelled;
    window_take(p, level, &w);
    struct growth_rules rules = {
        .horizon = e->horizon,
        .quantum = e->quantum,
        .resolution = engine_resolution(e),
        .z = engine_threshold(e),
        .span = least_span,
        .blocks = least,
    };
    struct growth g;
    const struct window *seen = &levelled;
    bool grows = window_level(&w, &levelled) && growth_find(&levelled, &rules, &g);
    if (!grows) {
        seen = &w;
        grows = growth_find(&w, &rules, &g);
    }
    if (grows)
        note_suspicion(e);
    grows = grows && g.span >= SPAN_LEAK * e->horizon;
    if (grows && !growth_is_straight(seen, &g) && fades_by_now(e, source, &g)) {
        drop_candidate(e);
        grows = false;
    }
    if (grows)
        keep_growth(e, source, level, &g);
    else if (length >= e->horizon)
        review_alarm(e, source, &w);
}
