/* sample/steps.c: the one count of steps: which process counts, and what a new mark does. */
#include "sample/sampler.h"

#include <math.h>
#include <stdlib.h>

/* A step that falls back by less comes from two threads that reported in the wrong order. */
#define DISORDER 3.0

/* Processes that train together are at most this many steps apart, plus this share of them. */
#define TOGETHER_STEPS 16.0
#define TOGETHER_SHARE 0.02

/*
 * With this many loop rounds per optimizer step, rounds are counted instead. That is known after
 * COMPARED_STEPS optimizer steps, of which at most SILENT_STEPS in a row may pass without a printed
 * round.
 */
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
                             .reported_first = NAN,
                             .printed_first = NAN};
}

/* ---- marks ---- */

static void take_mark(struct sampler *sam, const struct step_mark *mark)
{
    job_mark(sam->job, mark);
    recorder_mark(sam, mark->seconds, mark->step, mark->epoch);
}

/* ---- who counts ---- */

static int rank_of(const struct ring *r)
{
    return r->member && r->member->rank[0] ? atoi(r->member->rank) : -1;
}

/* With the same source and rank, the first stays. A process that has a rank trains. */
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

/* Steps counted from now on differ from the earlier ones, or are numbered differently: engines
 * on the step clock start over. `before`: steps made until now. */
static void begin_count(struct sampler *sam, double seconds, double step, double before)
{
    sam->steps.before = before;
    sam->steps.origin = step;
    job_begin_count(sam->job);
    recorder_mark(sam, seconds, NAN, NAN);
}

static bool is_together(double a, double b)
{
    return fabs(a - b) <= TOGETHER_STEPS + TOGETHER_SHARE * fmax(a, b);
}

/* The leader's epochs and plan hold for the job. */
static void adopt(struct sampler *sam, const struct ring *r)
{
    sam->job->clock.epoch_length = r->epoch_length;
    sam->job->clock.total = r->plan;
}

/*
 * A new process leads from now on, or another source of the leader counts. A new source that
 * continues where the old one was has the same count; not every step of the old one was reported.
 * Otherwise the first step it reports is the last one of the old source: an optimizer steps before
 * its loop reports it.
 */
static void follow(struct sampler *sam, struct ring *r, double seconds, const struct wire_record *x)
{
    struct step_count *s = &sam->steps;
    double reached = sam->job->clock.now.step, step = x->value;
    if (s->source == WIRE_NOBODY) {
        sam->job->clock.epoch = NAN;
        begin_count(sam, seconds, step, step > s->reported_first ? step - s->reported_first : 0);
    } else if (x->source != s->source) {
        if (!(step >= reached && is_together(step, reached)))
            begin_count(sam, seconds, step, made(s, s->last) - 1);
    } else if (!is_together(step, reached)) {
        begin_count(sam, seconds, step, made(s, s->last));
    }
    s->leader = r;
    s->source = x->source;
    s->rank = rank_of(r);
    adopt(sam, r);
}

/* The probe was attached in the middle of the run: series judged by the output's steps stay on
 * them. */
static bool goes_on_by_output(const struct sampler *sam)
{
    return sam->steps.source == WIRE_NOBODY && clock_runs(&sam->job->clock) &&
           !sam->options.rings && sam->rings.directory >= 0 &&
           sam->options.wants == WIRE_CENSUS_NONE;
}

/* The step printed by then. */
static double printed_at(const struct sampler *sam, double seconds)
{
    const struct clock_mark *first = clock_first(&sam->job->clock);
    double step = clock_step_at(&sam->job->clock, seconds);
    if (isfinite(step) || !first)
        return step;
    return seconds < first->seconds ? first->step : sam->job->clock.now.step;
}

/*
 * A loop may print every round and step its optimizer only in some of them (gradient accumulation).
 * It is still counted by its rounds: these are the steps its user knows. Numbers printed in larger
 * strides may be anything, such as samples.
 */
static bool prints_its_rounds(struct sampler *sam, double seconds, const struct wire_record *x)
{
    struct step_count *s = &sam->steps;
    double printed = printed_at(sam, seconds);
    if (s->source != WIRE_NOBODY || x->source != WIRE_OPTIMIZER || !s->prints_each)
        return false;
    if (isnan(s->reported_first)) {
        s->reported_first = s->reported_at = x->value;
        s->printed_first = s->printed_at = printed;
    }
    if (printed > s->printed_at) {
        s->printed_at = printed;
        s->reported_at = x->value;
    }
    double reported = x->value - s->reported_first;
    return x->value - s->reported_at < SILENT_STEPS &&
           (reported < COMPARED_STEPS || printed - s->printed_first >= ROUNDS_LEAST * reported);
}

static void take_step(struct sampler *sam, struct ring *r, double seconds,
                      const struct wire_record *x)
{
    struct step_count *s = &sam->steps;
    if (isnan(r->step))
        r->first_seconds = seconds;
    r->step = x->value;
    r->source = x->source;
    if (r->member && !r->member->counts_steps) {
        r->member->counts_steps = true;
        sam->wants_roles = true;
    }
    if (goes_on_by_output(sam) || prints_its_rounds(sam, seconds, x))
        return;
    bool leads = r == s->leader && x->source == s->source;
    if (!leads && s->leader && !(r == s->leader || outranks(r, x->source, s)))
        return;
    if (!leads)
        follow(sam, r, seconds, x);
    bool restarted = x->value < sam->job->clock.now.step - DISORDER && leads;
    if (restarted) { /* its epochs restart too */
        s->before = made(s, s->last);
        s->origin = x->value;
        sam->job->clock.epoch = NAN;
    } else if (x->value < sam->job->clock.now.step) {
        return; /* the same step is still that step */
    }
    s->last = x->value;
    take_mark(sam, &(struct step_mark){.seconds = fmax(seconds, sam->job->clock.now.seconds),
                                       .step = x->value,
                                       .epoch = sam->job->clock.epoch,
                                       .restarted = restarted});
}

void steps_stand(struct sampler *sam, const struct ring *r, double seconds)
{
    if (r == sam->steps.leader && isfinite(sam->job->clock.now.step))
        take_mark(sam, &(struct step_mark){.seconds = fmax(seconds, sam->job->clock.now.seconds),
                                           .step = sam->job->clock.now.step,
                                           .epoch = sam->job->clock.epoch});
}

/* The end of an epoch shows only against the one before: the first is reported as two marks. */
static void take_epoch(struct sampler *sam, struct ring *r, double seconds,
                       const struct wire_record *x)
{
    if (r != sam->steps.leader || x->source < r->epoch_source)
        return;
    r->epoch_source = x->source;
    struct step_mark mark = {
        .seconds = fmax(seconds, sam->job->clock.now.seconds), .step = NAN, .epoch = x->value - 1};
    if (isnan(sam->job->clock.epoch))
        take_mark(sam, &mark);
    mark.epoch_ended = x->value > sam->job->clock.epoch;
    mark.epoch = x->value;
    take_mark(sam, &mark);
}

void steps_take(struct sampler *sam, struct ring *r, double seconds, const struct wire_record *x)
{
    switch (x->kind) {
    case WIRE_STEP:
        take_step(sam, r, seconds, x);
        break;
    case WIRE_EPOCH:
        take_epoch(sam, r, seconds, x);
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
    if (r == sam->steps.leader && (x->kind == WIRE_EPOCH_LENGTH || x->kind == WIRE_PLAN))
        adopt(sam, r);
}

/* Of the others, the first to report a step leads from then on. */
void steps_lose(struct sampler *sam, struct ring *r)
{
    struct step_count *s = &sam->steps;
    if (r != s->leader)
        return;
    double step = wire_reader_step(r->reader);
    if (step >= s->last)
        s->last = step;
    s->leader = NULL;
    s->rank = -1;
}

/* ---- how many ---- */

/* Exact while the leader lives: not every step is reported. */
static double leaders_step(const struct step_count *s)
{
    double step = s->leader ? wire_reader_step(s->leader->reader) : NAN;
    return step >= s->last ? step : s->last;
}

double sampler_steps(const struct sampler *sam)
{
    if (sam->steps.source != WIRE_NOBODY)
        return made(&sam->steps, leaders_step(&sam->steps));
    return sam->steps.printed;
}

double sampler_step(const struct sampler *sam)
{
    return sam->steps.source != WIRE_NOBODY ? leaders_step(&sam->steps) : sam->job->clock.now.step;
}

const char *sampler_steps_from(const struct sampler *sam)
{
    static const char *const names[] = {
        [WIRE_NOBODY] = "output",
        [WIRE_OPTIMIZER] = "optimizer",
        [WIRE_FRAMEWORK] = "framework",
        [WIRE_WATCHER] = "watcher",
    };
    return names[sam->steps.source];
}

/* ---- by the output ---- */

/* Whether the output counts the same steps as the processes inside. */
static bool steps_agree(const struct sampler *sam, double step)
{
    return is_together(step, leaders_step(&sam->steps)) && step > 2 * TOGETHER_STEPS;
}

/* The output may count other things: micro-batches, samples. */
static void hear_plan(struct sampler *sam, const struct progress_mark *mark)
{
    const struct ring *leader = sam->steps.leader;
    if (isnan(leader ? leader->plan : NAN) && steps_agree(sam, mark->step))
        sam->job->clock.total = mark->total;
}

bool sampler_feed_output(struct sampler *sam, double seconds, const char *bytes, size_t len)
{
    struct step_clock *clock = &sam->job->clock;
    struct progress_mark mark;
    if (!progress_feed(sam->progress, bytes, len, &mark))
        return false;
    if (sam->steps.source != WIRE_NOBODY) {
        hear_plan(sam, &mark);
        return false;
    }
    clock->epoch_length = mark.epoch_length;
    clock->total = mark.total;
    sam->steps.printed = mark.made;
    sam->steps.prints_each = mark.is_each;
    take_mark(sam, &(struct step_mark){.seconds = fmax(seconds, clock->now.seconds),
                                       .step = mark.step,
                                       .epoch = mark.epoch,
                                       .restarted = mark.restarted,
                                       .epoch_ended = mark.epoch > clock->epoch});
    schedule_hurry(sam, seconds);
    return true;
}

/* ---- being woken ---- */

void sampler_wake_at(struct sampler *sam, double steps)
{
    sam->steps.wake_at = steps;
    steps_ask(sam);
}

/* Until there is a leader, every process of the job should report a step at once. Rings of other
 * processes are not read. */
void steps_ask(struct sampler *sam)
{
    const struct step_count *s = &sam->steps;
    if (isinf(s->wake_at))
        return;
    for (size_t i = 0; i < sam->rings.count; i++) {
        struct ring *r = sam->rings.list[i];
        if (!r->member)
            continue;
        double at = r == s->leader ? s->wake_at - s->before - 1 + s->origin : INFINITY;
        wire_reader_wake_at(r->reader, s->source == WIRE_NOBODY ? -INFINITY : at);
    }
}
