/* sample/schedule.c: decides what is read when. */
#include "sample/sampler.h"

#include <math.h>

/* Largest shares of one core for ticks and scans. */
#define TICK_SHARE 0.002
#define SCAN_SHARE 0.001

/* The same while the run may be over soon. */
#define EARLY_SHARE 0.05
#define EARLY_SECONDS 5.0

/* Without arrivals or departures, scans are skipped, except for one this often. */
#define FULL_SCAN_SECONDS 60.0

/* Surroundings are read this often. They are read every second if the job's memory has changed
 * by this share since, or if this much of its limit is used. */
#define REVIEW_MOST 5.0
#define REVIEW_CHANGE 0.01
#define REVIEW_USED 0.8

void schedule_init(struct schedule *s)
{
    *s = (struct schedule){.last_scan = -INFINITY, .next_survey = 2};
}

/* The first seconds of training may be the whole run. */
static bool is_early(const struct sampler *sam, double seconds)
{
    const struct clock_mark *first = clock_first(&sam->job->clock);
    return first && seconds - first->seconds < EARLY_SECONDS;
}

static double tick_share(const struct sampler *sam, double seconds)
{
    return is_early(sam, seconds) ? EARLY_SHARE : TICK_SHARE;
}

/* ---- processes ---- */

/*
 * The end of a step is the best moment to sample. If steps are that fast, it samples every
 * millisecond at first, since the whole run may be short. The longer the run, the rarer the
 * samples.
 */
static double mark_spacing(const struct sampler *sam, double seconds)
{
    const struct clock_mark *first = clock_first(&sam->job->clock);
    double since = first ? seconds - first->seconds : 0;
    double cost = sam->schedule.tick_cost / tick_share(sam, seconds);
    return fmin(fmax(fmax(0.001, since / 1000), cost), 1);
}

void schedule_hurry(struct sampler *sam, double seconds)
{
    struct schedule *s = &sam->schedule;
    if (sam->options.interval == 0)
        s->next_tick = fmin(s->next_tick, sam->job->now + mark_spacing(sam, seconds));
}

/* 20 ms at first, stretching to a second, and less in the first seconds of training. Ticks never
 * cost more of a core than TICK_SHARE. */
static double tick_interval(const struct sampler *sam, double seconds)
{
    if (sam->options.interval > 0)
        return sam->options.interval;
    const struct clock_mark *first = clock_first(&sam->job->clock);
    double wanted = fmin(fmax(0.02, seconds / 500), 1);
    if (first)
        wanted = fmin(wanted, fmax(0.005, (seconds - first->seconds) / 250));
    return fmax(wanted, fmin(sam->schedule.tick_cost / tick_share(sam, seconds), 5));
}

static void tick(struct sampler *sam, double seconds)
{
    struct schedule *s = &sam->schedule;
    struct job *j = sam->job;
    double before = sampler_cpu_seconds();
    j->now = seconds;
    sam->shares_cpu = 0;
    members_tick(sam, seconds);
    if (j->alive > j->most_processes)
        j->most_processes = (unsigned) j->alive;
    j->sums[JOB_ANON].parts = fmax(1, j->most_processes);
    /* Shares have a pace of their own. */
    double cost = sampler_cpu_seconds() - before - sam->shares_cpu;
    s->tick_cost = s->tick_cost == 0 ? cost : 0.8 * s->tick_cost + 0.2 * cost;
    s->next_tick = seconds + tick_interval(sam, seconds);
}

static bool scan_is_needed(const struct sampler *sam, double seconds)
{
    return sam->wants_scan || seconds - sam->schedule.last_scan >= FULL_SCAN_SECONDS ||
           proc_tree_has_arrivals(sam->tree);
}

static void scan(struct sampler *sam, double seconds)
{
    struct schedule *s = &sam->schedule;
    double share = seconds < EARLY_SECONDS ? EARLY_SHARE : SCAN_SHARE;
    double allowed = s->last_scan + fmin(s->scan_cost / share, 5);
    if (seconds < allowed) {
        s->next_scan = allowed;
        return;
    }
    s->next_scan =
        seconds + fmax(fmin(fmax(0.05, seconds / 50), 1), fmin(sam->options.interval, 5));
    if (!scan_is_needed(sam, seconds))
        return;
    double before = sampler_cpu_seconds();
    sam->job->now = s->last_scan = seconds;
    sam->wants_scan = false;
    proc_tree_scan(sam->tree);
    s->scan_cost = sampler_cpu_seconds() - before;
}

static void judge_roles(struct sampler *sam, double seconds)
{
    members_judge_roles(sam, seconds);
    sam->wants_roles = false;
    sam->schedule.next_roles = seconds + fmin(fmax(0.5, seconds / 2), 60);
}

/* ---- what surrounds them ---- */

/* Samples the GPU as often as is cheap, and at both ends of an activity. */
static void look_at_gpu(struct sampler *sam, double seconds)
{
    struct schedule *s = &sam->schedule;
    bool is_due = seconds >= s->next_gpu;
    if (!is_due && !(sam->looks.changed && activities_may_sample(sam, seconds)))
        return;
    double before = sampler_cpu_seconds();
    machine_read_gpu(sam, seconds);
    double cost = sampler_cpu_seconds() - before;
    sam->looks.changed = false;
    sam->looks.spent += is_due ? 0 : cost;
    bool hurries = is_early(sam, seconds) && !sam->job->is_inside;
    double wanted = hurries ? 0.01 : fmin(fmax(0.1, seconds / 500), 1);
    s->next_gpu = seconds + fmax(wanted, cost / (hurries ? EARLY_SHARE : TICK_SHARE));
}

/* Whether reads that cost more than a tick are worth it every second. */
static bool is_restless(const struct sampler *sam)
{
    double moved = fabs(sam->job->sums[JOB_ANON].last - sam->schedule.anon_at_review);
    return moved > REVIEW_CHANGE * sam->schedule.anon_at_review ||
           machine_used(sam) > REVIEW_USED * sam->job->limit;
}

static double least_review(const struct sampler *sam, double seconds)
{
    return fmax(fmin(1, fmax(0.25, seconds / 20)), fmin(sam->options.interval, 5));
}

static void review(struct sampler *sam, double seconds)
{
    struct schedule *s = &sam->schedule;
    machine_tick(sam, seconds, false);
    machine_attribute_gpu(sam);
    s->anon_at_review = sam->job->sums[JOB_ANON].last;
    s->next_review = seconds + fmax(least_review(sam, seconds), fmin(seconds / 4, REVIEW_MOST));
}

/* Reads what costs more than a tick and changes slowly. True: all of it was read. */
static bool look_around(struct sampler *sam, double seconds)
{
    struct schedule *s = &sam->schedule;
    bool is_due = seconds >= s->next_restless;
    bool reviews = seconds >= s->next_review || (is_due && is_restless(sam));
    if (reviews)
        review(sam, seconds);
    else if (is_due && sam->job->sums[JOB_SHM].moves)
        shared_tick(sam, seconds, false);
    else
        return false;
    s->next_restless = seconds + least_review(sam, seconds);
    return reviews;
}

/* ---- all of it ---- */

/* Ticks, ring contents and activities are worth a wake-up; the rest can wait a second. */
static double next_call(const struct sampler *sam, double seconds)
{
    const struct schedule *s = &sam->schedule;
    double rest = fmin(s->next_scan, s->next_review);
    if (sam->machine.gpu)
        rest = fmin(rest, s->next_gpu);
    double next = fmin(fmin(s->next_tick, sam->rings.next), sam->looks.next);
    return fmin(next, fmax(rest, seconds + 1));
}

static bool read_processes(struct sampler *sam, double seconds)
{
    bool ticks = seconds >= sam->schedule.next_tick;
    if (sam->wants_roles || seconds >= sam->schedule.next_roles)
        judge_roles(sam, seconds);
    if (ticks)
        tick(sam, seconds);
    if (sam->wants_scan)
        scan(sam, seconds);
    activities_sample(sam, seconds);
    return ticks;
}

struct sampled sampler_tick(struct sampler *sam, double seconds)
{
    struct schedule *s = &sam->schedule;
    struct sampled done = {0};
    rings_find(sam, seconds, seconds >= s->next_scan);
    if (seconds >= s->next_scan || sam->wants_scan)
        scan(sam, seconds);
    done.has_evidence = rings_read(sam, seconds);
    traces_tick(sam, seconds);
    done.ticked = read_processes(sam, seconds) || sam->rings.count > 0;
    if (sam->machine.gpu)
        look_at_gpu(sam, seconds);
    done.reviewed = look_around(sam, seconds);
    if (seconds >= s->next_survey)
        s->next_survey = machine_survey(sam, seconds);
    done.next = next_call(sam, seconds);
    return done;
}
