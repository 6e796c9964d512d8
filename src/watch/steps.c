/* watch/steps.c: the one count of steps: who counts, and what a new mark does. */
#include "watch/session.h"

#include <math.h>
#include <stdlib.h>

/* A step that falls back by less is two threads that told theirs in the wrong order. */
#define DISORDER 3.0

/* Processes that train together are about as far: so many steps and that share of them. */
#define TOGETHER_STEPS 16.0
#define TOGETHER_SHARE 0.02

/* Rounds of a loop for each step of its optimizer, from which on they are counted instead: known
 * after so many steps; and how many of them without a round that is printed. */
#define ROUNDS_LEAST 1.5
#define COMPARED_STEPS 8.0
#define SILENT_STEPS 64.0

void steps_init(struct step_count *s)
{
    *s = (struct step_count){.rank = -1,
                             .last = NAN,
                             .origin = NAN,
                             .wake_at = INFINITY,
                             .printed = NAN,
                             .told_first = NAN,
                             .printed_first = NAN};
}

/* ---- marks ---- */

static void restart_track(struct watch *w, struct track *t, void *c)
{
    (void) w, (void) c;
    track_restart(t);
}

static void begin_track(struct watch *w, struct track *t, void *c)
{
    (void) w, (void) c;
    track_begin_count(t);
}

static void mark_track(struct watch *w, struct track *t, void *c)
{
    const struct step_mark *mark = c;
    track_mark(t, &w->terms);
    if (mark->epoch_ended)
        track_epoch(t, &w->terms);
}

static void settle_track(struct watch *w, struct track *t, void *c)
{
    (void) c;
    track_settle(t, &w->terms);
}

/* The clock is about to forget its steps. */
static void settle_ended(struct watch *w)
{
    for (size_t i = 0; i < w->member_count; i++)
        if (!member_is_alive(w->members[i]))
            member_each_track(w, w->members[i], settle_track, NULL);
}

void steps_mark(struct watch *w, const struct step_mark *mark)
{
    w->clock.epoch = mark->epoch;
    if (mark->restarted) {
        settle_ended(w);
        watch_each_moving_track(w, false, restart_track, NULL);
    }
    if (isfinite(mark->step))
        clock_mark(&w->clock, mark->seconds, mark->step);
    else
        w->clock.now.seconds = mark->seconds;
    if (mark->epoch_ended)
        clock_end_epoch(&w->clock);
    /* What has ended is judged by the steps of its own time. */
    watch_each_moving_track(w, false, mark_track, (void *) mark);
    if (w->options.store)
        store_add_mark(w->options.store, mark->seconds, mark->step, mark->epoch);
}

/* ---- who counts ---- */

static int rank_of(const struct ring *r)
{
    return r->member && r->member->rank[0] ? atoi(r->member->rank) : -1;
}

/* The same source and rank: who came first stays. A process with a rank is one that trains. */
static bool outranks(const struct ring *r, enum wire_source source, const struct step_count *s)
{
    int rank = rank_of(r);
    if (source != s->source)
        return source > s->source;
    return rank >= 0 && (s->rank < 0 || rank < s->rank);
}

static double made(const struct step_count *s, double step)
{
    return s->before + (step - s->origin) + 1;
}

/*
 * Steps that are counted from now on are others than those so far, or numbered otherwise: engines
 * on the step clock begin anew. `before`: made until now.
 */
static void begin_count(struct watch *w, double seconds, double step, double before)
{
    w->steps.before = before;
    w->steps.origin = step;
    settle_ended(w);
    clock_begin_count(&w->clock);
    watch_each_moving_track(w, false, begin_track, NULL);
    if (w->options.store)
        store_add_mark(w->options.store, seconds, NAN, NAN);
}

static bool is_together(double a, double b)
{
    return fabs(a - b) <= TOGETHER_STEPS + TOGETHER_SHARE * fmax(a, b);
}

/* What the leader knows of its epochs and its end holds for the job. */
static void adopt(struct watch *w, const struct ring *r)
{
    w->clock.epoch_length = r->epoch_length;
    w->clock.total = r->plan;
}

/*
 * A process that has not led so far counts from now on, or another source of the leader does. A new
 * source that goes on where the old one was, of which not every step was told, has the same count.
 * Otherwise the step that it tells first is the one that the old source made last: an optimizer
 * steps before its loop says so.
 */
static void follow(struct watch *w, struct ring *r, double seconds, const struct wire_record *x)
{
    struct step_count *s = &w->steps;
    double reached = w->clock.now.step, step = x->value;
    if (s->source == WIRE_NOBODY) {
        w->clock.epoch = NAN;
        begin_count(w, seconds, step, step > s->told_first ? step - s->told_first : 0);
    } else if (x->source != s->source) {
        if (!(step >= reached && is_together(step, reached)))
            begin_count(w, seconds, step, made(s, s->last) - 1);
    } else if (!is_together(step, reached)) {
        begin_count(w, seconds, step, made(s, s->last));
    }
    s->leader = r;
    s->source = x->source;
    s->rank = rank_of(r);
    adopt(w, r);
}

/* A process was entered in the middle of the run: what was judged by the steps of the output so far
 * goes on to be. */
static bool goes_on_by_output(const struct watch *w)
{
    return w->steps.source == WIRE_NOBODY && clock_runs(&w->clock) && !w->options.rings &&
           w->rings.directory >= 0 && w->options.wants == WIRE_CENSUS_NONE;
}

/* As far as it was printed by then. */
static double printed_at(const struct watch *w, double seconds)
{
    const struct clock_mark *first = clock_first(&w->clock);
    double step = clock_step_at(&w->clock, seconds);
    if (isfinite(step) || !first)
        return step;
    return seconds < first->seconds ? first->step : w->clock.now.step;
}

/*
 * A loop that prints every round, of which only some end with a step of the optimizer (gradients
 * are accumulated), goes on to be counted by its rounds: these are the steps that its user knows.
 * What is printed in larger strides may be anything, samples for one.
 */
static bool prints_its_rounds(struct watch *w, double seconds, const struct wire_record *x)
{
    struct step_count *s = &w->steps;
    double printed = printed_at(w, seconds);
    if (s->source != WIRE_NOBODY || x->source != WIRE_OPTIMIZER || !s->prints_each)
        return false;
    if (isnan(s->told_first)) {
        s->told_first = s->told_at = x->value;
        s->printed_first = s->printed_at = printed;
    }
    if (printed > s->printed_at) {
        s->printed_at = printed;
        s->told_at = x->value;
    }
    double told = x->value - s->told_first;
    return x->value - s->told_at < SILENT_STEPS &&
           (told < COMPARED_STEPS || printed - s->printed_first >= ROUNDS_LEAST * told);
}

static void take_step(struct watch *w, struct ring *r, double seconds, const struct wire_record *x)
{
    struct step_count *s = &w->steps;
    if (isnan(r->step))
        r->first_seconds = seconds;
    r->step = x->value;
    r->source = x->source;
    if (r->member && !r->member->counts_steps) {
        r->member->counts_steps = true;
        w->next_roles = seconds;
    }
    if (goes_on_by_output(w) || prints_its_rounds(w, seconds, x))
        return;
    bool leads = r == s->leader && x->source == s->source;
    if (!leads && s->leader && !(r == s->leader || outranks(r, x->source, s)))
        return;
    if (!leads)
        follow(w, r, seconds, x);
    bool restarted = x->value < w->clock.now.step - DISORDER && leads;
    if (restarted) { /* and so are its epochs */
        s->before = made(s, s->last);
        s->origin = x->value;
        w->clock.epoch = NAN;
    } else if (x->value < w->clock.now.step) {
        return; /* and where it is the same, it is still that one */
    }
    s->last = x->value;
    steps_mark(w, &(struct step_mark){.seconds = fmax(seconds, w->clock.now.seconds),
                                      .step = x->value,
                                      .epoch = w->clock.epoch,
                                      .restarted = restarted});
}

void steps_stand(struct watch *w, const struct ring *r, double seconds)
{
    if (r == w->steps.leader && isfinite(w->clock.now.step))
        steps_mark(w, &(struct step_mark){.seconds = fmax(seconds, w->clock.now.seconds),
                                          .step = w->clock.now.step,
                                          .epoch = w->clock.epoch});
}

/* That an epoch ended can only be told from the one before: the first is told as two marks. */
static void take_epoch(struct watch *w, struct ring *r, double seconds, const struct wire_record *x)
{
    if (r != w->steps.leader || x->source < r->epoch_source)
        return;
    r->epoch_source = x->source;
    struct step_mark mark = {
        .seconds = fmax(seconds, w->clock.now.seconds), .step = NAN, .epoch = x->value - 1};
    if (isnan(w->clock.epoch))
        steps_mark(w, &mark);
    mark.epoch_ended = x->value > w->clock.epoch;
    mark.epoch = x->value;
    steps_mark(w, &mark);
}

void steps_take(struct watch *w, struct ring *r, double seconds, const struct wire_record *x)
{
    switch (x->kind) {
    case WIRE_STEP:
        take_step(w, r, seconds, x);
        break;
    case WIRE_EPOCH:
        take_epoch(w, r, seconds, x);
        break;
    case WIRE_EPOCH_LENGTH:
        r->epoch_length = x->value > 0 ? x->value : NAN;
        break;
    case WIRE_PLAN:
        r->plan = x->value > 0 ? x->value : NAN;
        break;
    case WIRE_SAMPLE:
    case WIRE_PHASE:
    case WIRE_ASIDE:
        break;
    }
    if (r == w->steps.leader && (x->kind == WIRE_EPOCH_LENGTH || x->kind == WIRE_PLAN))
        adopt(w, r);
}

/* Whoever of the others tells the next step leads from then on. */
void steps_lose(struct watch *w, struct ring *r)
{
    struct step_count *s = &w->steps;
    if (r != s->leader)
        return;
    double step = wire_reader_step(r->reader);
    if (step >= s->last)
        s->last = step;
    s->leader = NULL;
    s->rank = -1;
}

/* ---- how many ---- */

/* Exact where the leader lives: not every step is told. */
static double leaders_step(const struct step_count *s)
{
    double step = s->leader ? wire_reader_step(s->leader->reader) : NAN;
    return step >= s->last ? step : s->last;
}

double watch_steps(const struct watch *w)
{
    if (w->steps.source != WIRE_NOBODY)
        return made(&w->steps, leaders_step(&w->steps));
    return w->steps.printed;
}

double steps_now(const struct watch *w)
{
    return w->steps.source != WIRE_NOBODY ? leaders_step(&w->steps) : w->clock.now.step;
}

const char *steps_source_name(enum wire_source source)
{
    static const char *const names[] = {
        [WIRE_NOBODY] = "output",
        [WIRE_OPTIMIZER] = "optimizer",
        [WIRE_FRAMEWORK] = "framework",
        [WIRE_WATCHER] = "watcher",
    };
    return names[source];
}

bool steps_agree(const struct watch *w, double step)
{
    return is_together(step, leaders_step(&w->steps)) && step > 2 * TOGETHER_STEPS;
}

void watch_wake_at(struct watch *w, double steps)
{
    w->steps.wake_at = steps;
    steps_ask(w);
}

/* Before there is a leader, whoever makes a step shall say so at once, if it is one of ours: what
 * is told by others is not read. */
void steps_ask(struct watch *w)
{
    const struct step_count *s = &w->steps;
    if (isinf(s->wake_at))
        return;
    for (size_t i = 0; i < w->rings.count; i++) {
        struct ring *r = w->rings.list[i];
        if (!r->member)
            continue;
        double at = r == s->leader ? s->wake_at - s->before - 1 + s->origin : INFINITY;
        wire_reader_wake_at(r->reader, s->source == WIRE_NOBODY ? -INFINITY : at);
    }
}
