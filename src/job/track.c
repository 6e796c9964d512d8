/* job/track.c: one watched series: its samples on both clocks, and its answer. */
#include "job/track.h"

#include "base/base.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Workers of one loader, or ranks of one job, do the same work and grow within this factor. */
#define ALIKE_FACTOR 2

/* A counter that stays this close to its start is flat; of bytes that are counted exactly, every
 * one matters. */
#define STILL_BYTES (512.0 * 1024)
#define STILL_COUNT 1.0

/* A step clock that has not moved for this long says nothing any more. */
#define STALE_SECONDS 900.0

/* ---- how it is read ---- */

/* The words of run files. */
static const char *const excuse_names[LEDGER_KINDS] = {
    [LEDGER_HOLDER] = "filling",
    [LEDGER_FREE_HEAP] = "heap free",
    [LEDGER_FREE_ARENAS] = "arenas free",
    [LEDGER_FIRST_TOUCH] = "touched",
    [LEDGER_FILE_PAGES] = "file pages",
    [LEDGER_COPIED] = "private copy",
    [LEDGER_RESERVED] = "retained",
    [LEDGER_OTHERS] = "foreign",
    [LEDGER_SITE] = "traced",
    [LEDGER_REST] = "judged",
};
static const char *const use_names[] = {
    [TRACK_SHOWN] = "shown",
    [TRACK_JUDGED] = "judged",
    [TRACK_WITNESS] = "witness",
};
static const char announced[] = "announced"; /* judged, and its leak was announced */

void track_judge(struct track *t, const struct ledger_judgement *j)
{
    t->is_accounted = j != NULL;
    if (j)
        t->judgement = *j;
}

void track_excuse(struct track *t, enum ledger_kind kind)
{
    struct ledger_judgement j = ledger_excuse(kind);
    track_judge(t, &j);
}

bool track_is_excused(const struct track *t, enum ledger_kind *ret)
{
    if (!t->is_accounted || t->judgement.verdict != VERDICT_NO_LEAK ||
        t->judgement.rule == RULE_NO_GROWTH)
        return false;
    *ret = t->judgement.excuse;
    return true;
}

bool track_is_foreign(const struct track *t)
{
    enum ledger_kind kind;
    return track_is_excused(t, &kind) && kind == LEDGER_OTHERS;
}

const char *track_reading(const struct track *t)
{
    enum ledger_kind kind;
    if (t->use != TRACK_JUDGED)
        return use_names[t->use];
    return track_is_excused(t, &kind) ? excuse_names[kind]
           : t->alarmed               ? announced
                                      : use_names[t->use];
}

void track_restore(struct track *t, const char *reading)
{
    for (enum track_use use = TRACK_SHOWN; use <= TRACK_WITNESS; use++)
        if (strcmp(use_names[use], reading) == 0)
            t->use = use;
    if (strcmp(announced, reading) == 0) {
        t->use = TRACK_JUDGED;
        t->alarmed = true;
    }
    for (enum ledger_kind kind = 0; kind < LEDGER_REST; kind++)
        if (strcmp(excuse_names[kind], reading) == 0) {
            t->use = TRACK_JUDGED;
            track_excuse(t, kind);
        }
}

/* ---- points ---- */

static void points_clear(struct track_points *p)
{
    free(p->points);
    *p = (struct track_points){0};
}

static void points_thin(struct track_points *p)
{
    for (unsigned i = 0; i < p->count / 2; i++)
        p->points[i] = p->points[2 * i];
    p->count /= 2;
    p->every *= 2;
}

static void points_add(struct track_points *p, double seconds, double value)
{
    if (!p->points) {
        p->points = malloc(TRACK_POINTS * sizeof(*p->points));
        if (!p->points)
            base_out_of_memory();
        p->every = 1;
    }
    if (++p->skipped < p->every)
        return;
    p->skipped = 0;
    if (p->count == TRACK_POINTS)
        points_thin(p);
    p->points[p->count].seconds = seconds;
    p->points[p->count++].value = value;
}

/* ---- engines ---- */

static double plan_of(const struct track_terms *terms, enum series_clock clock)
{
    if (clock == CLOCK_SECONDS)
        return terms->plan_seconds;
    if (terms->plan_steps > 0)
        return terms->plan_steps;
    return isfinite(terms->clock->total) ? terms->clock->total : 0;
}

/* Each process creeps on its own, so a sum creeps by that much per process. */
static double resolution_of(const struct track *t)
{
    return t->parts * series_kind_resolution(t->kind);
}

/* A horizon or plan larger than an engine accepts means the same: never. */
static double bounded(double amount)
{
    return fmin(fmax(amount, 0), ENGINE_MAX_NUMBER);
}

static struct engine *new_engine(const struct track *t, const struct track_terms *terms,
                                 enum series_clock clock)
{
    double epoch = terms->epoch > 0 ? terms->epoch : terms->clock->epoch_length;
    struct engine_options options = {
        .clock = clock,
        .unit = t->unit,
        .epoch_length = clock == CLOCK_STEP ? bounded(epoch) : 0,
        .horizon = bounded(terms->horizon),
        .plan = bounded(plan_of(terms, clock)),
        .plan_reported = !(terms->plan_steps > 0),
        .limit = bounded(t->limit),
        .resolution = resolution_of(t),
        .job_series = terms->series,
        .activities = terms->activities,
    };
    struct engine *e;
    int r = engine_new(&options, &e);
    if (r == -ENOMEM)
        base_out_of_memory();
    assert(r == 0);
    /* The series may start to move in a later epoch. */
    const struct clock_mark *begin = &terms->clock->epoch_begin, *end = &terms->clock->epoch_end;
    engine_epoch_mark(e, clock == CLOCK_STEP ? begin->step : begin->seconds);
    engine_epoch_mark(e, clock == CLOCK_STEP ? end->step : end->seconds);
    return e;
}

static void push_by_step(struct track *t, const struct track_terms *terms, double seconds,
                         double value)
{
    double step = clock_step_lately(terms->clock, seconds);
    if (isnan(step))
        step = clock_step_at(terms->clock, seconds);
    if (isnan(step))
        return;
    if (!t->by_step)
        t->by_step = new_engine(t, terms, CLOCK_STEP);
    t->step_seconds = seconds;
    engine_push(t->by_step, step, seconds, value);
}

static void drop_engines(struct track *t)
{
    t->by_time = engine_free(t->by_time);
    t->by_step = engine_free(t->by_step);
}

static void push_early(struct track *t, const struct track_terms *terms, double seconds,
                       double value)
{
    engine_push(t->by_time, NAN, seconds, value);
    if (seconds <= terms->clock->now.seconds)
        push_by_step(t, terms, seconds, value);
    else
        points_add(&t->pending, seconds, value);
}

/* A flat value is sampled rarely, which an engine would take for gaps: fills them in. */
static void push_between(struct track *t, const struct track_terms *terms, double from, double to,
                         double value)
{
    double spacing = (t->last_seconds - t->first_seconds) / TRACK_POINTS;
    unsigned pieces = (unsigned) ceil((to - from) / spacing - 0.5);
    for (unsigned i = 1; i < pieces; i++)
        push_early(t, terms, from + i * spacing, value);
}

/* Starts engines and feeds them the early points. */
static void start_engines(struct track *t, const struct track_terms *terms)
{
    const struct track_points *p = &t->early;
    drop_engines(t);
    t->pending.count = 0;
    t->by_time = new_engine(t, terms, CLOCK_SECONDS);
    double before_seconds = NAN, before = NAN;
    for (unsigned i = 0; i <= p->count; i++) {
        double seconds = i < p->count ? p->points[i].seconds : t->last_seconds;
        double value = i < p->count ? p->points[i].value : t->last;
        if (seconds == before_seconds)
            continue;
        if (value == before)
            push_between(t, terms, before_seconds, seconds, value);
        push_early(t, terms, seconds, value);
        before_seconds = seconds;
        before = value;
    }
}

/* From here on the engines get every sample as it comes. */
static void begin_to_move(struct track *t, const struct track_terms *terms)
{
    start_engines(t, terms);
    points_clear(&t->early);
    t->moves = true;
}

/* ---- samples ---- */

void track_init(struct track *t, const char *kind, enum series_unit unit, enum track_use use)
{
    *t = (struct track){.kind = kind, .unit = unit, .use = use, .parts = 1};
    t->min = INFINITY;
    t->max = -INFINITY;
    t->first = t->last = t->first_seconds = t->last_seconds = NAN;
    t->written = t->written_seconds = NAN;
}

void track_release(struct track *t)
{
    points_clear(&t->early);
    points_clear(&t->pending);
    drop_engines(t);
    free(t->device);
    free(t->own_kind);
    free(t->stays);
    t->device = t->own_kind = NULL;
    t->stays = NULL;
}

static void note(struct track *t, double seconds, double value)
{
    if (t->samples++ == 0) {
        t->first = value;
        t->first_seconds = seconds;
    }
    t->last = value;
    t->last_seconds = seconds;
    t->sum += value;
    t->min = fmin(t->min, value);
    t->max = fmax(t->max, value);
}

bool track_would_move(const struct track *t, double min, double max)
{
    if (t->unit == SERIES_COUNT)
        return max - min > STILL_COUNT;
    return max - min > (series_kind_resolution(t->kind) > 0 ? STILL_BYTES : 0);
}

void track_push(struct track *t, const struct track_terms *terms, double seconds, double value)
{
    if (!isfinite(value))
        return;
    note(t, seconds, value);
    if (t->use == TRACK_SHOWN)
        return;
    if (t->moves) {
        engine_push(t->by_time, NAN, seconds, value);
        points_add(&t->pending, seconds, value);
        return;
    }
    points_add(&t->early, seconds, value);
    drop_engines(t);
    if (track_would_move(t, t->min, t->max))
        begin_to_move(t, terms);
}

void track_note_peak(struct track *t, const struct track_terms *terms, double value)
{
    if (t->use == TRACK_SHOWN || !isfinite(value))
        return;
    t->max = fmax(t->max, value);
    if (!t->moves && t->early.count > 0 && track_would_move(t, t->min, t->max))
        begin_to_move(t, terms);
    if (t->by_time)
        engine_note_peak(t->by_time, value, t->activity);
    if (t->by_step)
        engine_note_peak(t->by_step, value, t->activity);
}

void track_mark(struct track *t, const struct track_terms *terms)
{
    struct track_points *p = &t->pending;
    unsigned passed = 0;
    while (passed < p->count && p->points[passed].seconds <= terms->clock->now.seconds) {
        push_by_step(t, terms, p->points[passed].seconds, p->points[passed].value);
        passed++;
    }
    if (passed == 0)
        return;
    p->count -= passed;
    memmove(p->points, p->points + passed, p->count * sizeof(*p->points));
    p->skipped = 0;
    p->every = 1;
}

void track_renew_terms(struct track *t, const struct track_terms *terms)
{
    if (t->by_step) {
        engine_set_bounds(t->by_step, plan_of(terms, CLOCK_STEP), t->limit);
        engine_set_resolution(t->by_step, resolution_of(t));
        engine_expect_epoch(t->by_step, terms->clock->epoch_length);
        engine_share_budget(t->by_step, terms->series);
    }
    if (t->by_time) {
        engine_set_bounds(t->by_time, plan_of(terms, CLOCK_SECONDS), t->limit);
        engine_set_resolution(t->by_time, resolution_of(t));
        engine_share_budget(t->by_time, terms->series);
    }
}

void track_epoch(struct track *t, const struct track_terms *terms)
{
    if (t->by_step)
        engine_epoch_mark(t->by_step, terms->clock->now.step);
    if (t->by_time)
        engine_epoch_mark(t->by_time, terms->clock->now.seconds);
}

void track_restart(struct track *t)
{
    if (t->by_step)
        engine_restart(t->by_step);
}

void track_begin_count(struct track *t)
{
    t->by_step = engine_free(t->by_step);
}

void track_finish(struct track *t)
{
    if (t->by_time)
        engine_finish(t->by_time);
    if (t->by_step)
        engine_finish(t->by_step);
}

void track_settle(struct track *t, const struct track_terms *terms)
{
    if (t->moves || t->early.count == 0)
        return;
    start_engines(t, terms);
    points_clear(&t->early);
    track_finish(t);
}

/* ---- the answer ---- */

static struct engine *deciding_engine(const struct track *t)
{
    return t->by_step && t->last_seconds - t->step_seconds < STALE_SECONDS ? t->by_step
                                                                           : t->by_time;
}

enum series_clock track_clock(const struct track *t, const struct track_terms *terms)
{
    if (!t->by_time)
        return clock_runs(terms->clock) ? CLOCK_STEP : CLOCK_SECONDS;
    return deciding_engine(t) == t->by_step ? CLOCK_STEP : CLOCK_SECONDS;
}

static bool is_judged_a_leak(const struct track *t)
{
    return t->is_accounted && t->judgement.verdict == VERDICT_LEAK;
}

bool track_is_silent(const struct track *t)
{
    return t->use == TRACK_SHOWN || (t->use == TRACK_WITNESS && !is_judged_a_leak(t));
}

bool track_is_judged(const struct track *t)
{
    enum ledger_kind kind;
    return !track_is_silent(t) && !track_is_excused(t, &kind);
}

bool track_leaks(const struct track *t)
{
    return t->moves && !track_is_silent(t) && (!t->is_accounted || is_judged_a_leak(t)) &&
           engine_leaks(deciding_engine(t));
}

bool track_grows(const struct track *t)
{
    if (!t->moves || t->use == TRACK_SHOWN)
        return false;
    const struct engine *e = deciding_engine(t);
    return engine_leaks(e) || engine_suspects(e);
}

bool track_is_wary(const struct track *t)
{
    enum ledger_kind kind;
    return !track_is_excused(t, &kind) && track_grows(t);
}

bool track_will_be_announced(const struct track *t)
{
    return !track_is_silent(t) && !t->quiet && track_is_wary(t);
}

const struct phase *track_growing_since(const struct answer *a)
{
    const struct phase *first = &a->phases[a->phase_count - 1];
    bool is_known = a->verdict == VERDICT_LEAK; /* the onset is known too: its last phase */
    while (!is_known && first > a->phases && first->name == PHASE_GROWING &&
           first[-1].name == PHASE_GROWING)
        first--;
    return first;
}

double track_rise(const struct answer *a)
{
    if (a->phase_count == 0)
        return a->floor_last - a->floor_first;
    const struct phase *last = &a->phases[a->phase_count - 1], *first = track_growing_since(a);
    double since = isnan(a->onset_at) ? last->from : a->onset_at;
    return fmax(a->rate * (a->last_at - since), last->level_to - first->level_from);
}

bool track_grows_alike(const struct answer *a, const struct answer *b)
{
    return a->rate > 0 && b->rate > 0 &&
           fmax(a->rate, b->rate) <= ALIKE_FACTOR * fmin(a->rate, b->rate);
}

double track_horizons(const struct track *t, const struct answer *a)
{
    bool is_leak = a->verdict == VERDICT_LEAK;
    double since = isnan(a->onset_at) ? a->first_at : a->onset_at;
    double until = is_leak ? engine_grows_until(deciding_engine(t)) : a->last_at;
    return a->horizon > 0 ? (until - since) / a->horizon : 0;
}

static bool has_grown(const struct track *t, const struct answer *a)
{
    return a->floor_last - a->floor_first > (t->unit == SERIES_COUNT ? STILL_COUNT : STILL_BYTES);
}

static const struct history *ask_engine(struct track *t, const struct track_terms *terms,
                                        struct answer *ret)
{
    if (!t->moves && t->early.count > 0)
        start_engines(t, terms);
    if (!t->by_time) {
        answer_clear(ret);
        return NULL;
    }
    struct engine *e = deciding_engine(t);
    engine_answer(e, ret);
    if (ret->verdict == VERDICT_NO_LEAK && engine_has_teeth(t->by_time))
        ret->pattern = PATTERN_SAWTOOTH;
    return engine_history(e);
}

void track_answer(struct track *t, const struct track_terms *terms, struct answer *ret,
                  const struct history **ret_history)
{
    *ret_history = ask_engine(t, terms, ret);
    if (t->by_time && t->is_accounted)
        ledger_answer(&t->judgement, track_clock(t, terms), has_grown(t, ret), ret);
}

void track_engine_answer(struct track *t, const struct track_terms *terms, struct answer *ret)
{
    ask_engine(t, terms, ret);
}
