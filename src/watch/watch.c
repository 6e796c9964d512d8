/* watch/watch.c: one pass over a watched job: read, judge, announce, record. */
#include "watch/state.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* Above this share of the limit comes a warning; below the second share it may come again. */
#define NEAR_LIMIT 0.9
#define NEAR_LIMIT_OVER 0.8

/* A changed value is in the run file a second later. */
#define COMMIT_SECONDS 1.0

/* ---- beginning and end ---- */

static void set_terms(struct job *j, const struct watch_options *o)
{
    j->began = o->began;
    j->is_profiled = o->wants == WIRE_CENSUS_PROFILE;
    j->terms.horizon = o->horizon;
    j->terms.epoch = o->epoch;
    j->terms.plan_steps = o->plan_steps;
    j->terms.plan_seconds = o->plan_seconds;
}

static int open_sampler(struct watch *w)
{
    const struct watch_options *o = &w->options;
    const struct sample_options options = {
        .proc_root = o->proc_root,
        .interval = o->interval,
        .limit_bytes = o->limit_bytes,
        .step_regex = o->step_regex,
        .store = o->store,
        .rings = o->rings,
        .speaks = o->speaks,
        .hears_forks = o->hears_forks,
        .no_gpu = o->no_gpu,
        .no_inspect = o->no_inspect,
        .wants = o->wants,
        .acts = o->acts,
        .no_trace = o->no_trace,
        .trace_bytes = o->trace_bytes,
    };
    return sampler_new(&options, &w->job, &w->sampler);
}

int watch_new(const struct watch_options *options, struct watch **ret)
{
    struct watch *w = calloc(1, sizeof(*w));
    if (!w)
        base_out_of_memory();
    w->options = *options;
    job_init(&w->job);
    set_terms(&w->job, options);
    int r = open_sampler(w);
    if (r < 0) {
        watch_free(w);
        return r;
    }
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    w->started = (double) wall.tv_sec + 1e-9 * (double) wall.tv_nsec;
    *ret = w;
    return 0;
}

struct watch *watch_free(struct watch *w)
{
    if (!w)
        return NULL;
    sampler_free(w->sampler);
    job_release(&w->job);
    entries_release(w);
    sheet_release(&w->sheet);
    view_release_info(&w->status_series);
    free(w);
    return NULL;
}

int watch_add_root(struct watch *w, pid_t pid, bool children_only)
{
    return sampler_add_root(w->sampler, pid, children_only);
}

void watch_finish(struct watch *w, double seconds, const struct watch_end *end)
{
    w->end = *end;
    sampler_finish(w->sampler, seconds);
    settle_job(&w->job);
    recorder_store_evidence(w->sampler);
    recorder_set_terms(w->sampler, true);
}

/* ---- what is due ---- */

static void check_limit(struct watch *w)
{
    struct job *j = &w->job;
    double used = machine_used(w->sampler), share = used / j->limit;
    if (share < NEAR_LIMIT_OVER)
        w->near_limit_announced = false;
    if (!(share >= NEAR_LIMIT) || w->near_limit_announced)
        return;
    w->near_limit_announced = true;
    struct buf text = BUF_INIT;
    note_near_limit(&text, used, j->limit, j->limit_source);
    job_add_news(j, NEWS_NEAR_LIMIT, 0, "%s", buf_text(&text));
    buf_release(&text);
}

static void count_engine(struct job *j, struct track *t, void *c)
{
    (void) c;
    j->terms.series += track_is_judged(t);
}

/* The limit of a host series: its own memory and what is free. Memory that it gave back before the
 * machine was read, as when its process ends, would count twice: so at most the job's limit. */
static void renew_terms(struct job *j, struct track *t, void *c)
{
    double used = *(const double *) c;
    if (job_shares_limit(j, t) && isfinite(used))
        t->limit = fmin(fmax(0, t->last + j->limit - used), j->limit);
    track_renew_terms(t, &j->terms);
}

static void take_sheet(struct watch *w, double seconds)
{
    double shm = sampler_surroundings(w->sampler)->shm_used;
    sheet_take(&w->sheet, &w->job, seconds, shm, SHARES_LATE);
}

/* Announced once: the growing process may change, the advice does not. */
static void announce_elsewhere(struct watch *w)
{
    const struct elsewhere_facts *f = &sampler_surroundings(w->sampler)->elsewhere;
    if (f->pid == 0 || w->elsewhere_announced)
        return;
    w->elsewhere_announced = true;
    struct buf text = BUF_INIT;
    note_elsewhere(&text, f);
    job_add_news(&w->job, NEWS_ELSEWHERE, 0, "%s", buf_text(&text));
    buf_release(&text);
}

/* Takes over the surroundings of the job that were just read. */
static void review(struct watch *w, double seconds)
{
    double used = machine_used(w->sampler);
    w->job.terms.series = 0;
    job_each_moving_track(&w->job, true, count_engine, NULL);
    job_each_moving_track(&w->job, true, renew_terms, &used);
    check_limit(w);
    workers_review(&w->job);
    take_sheet(w, seconds);
    recorder_set_terms(w->sampler, false);
}

static double do_what_is_due(struct watch *w, double seconds)
{
    struct sampled done = sampler_tick(w->sampler, seconds);
    if (done.has_evidence)
        settle_growth(&w->job);
    view_review_findings(&w->job);
    announce_elsewhere(w);
    if (done.reviewed)
        review(w, seconds);
    if (done.ticked)
        announce(&w->job, seconds);
    if (seconds >= w->next_commit) {
        w->next_commit = seconds + COMMIT_SECONDS;
        recorder_commit(w->sampler, seconds);
    }
    return done.next;
}

double watch_tick(struct watch *w, double seconds)
{
    double before = sampler_cpu_seconds();
    double next = do_what_is_due(w, seconds);
    w->cpu_seconds += sampler_cpu_seconds() - before;
    return next;
}

struct news watch_next_news(struct watch *w)
{
    struct news news = job_next_news(&w->job);
    if (news.kind != NEWS_END)
        recorder_note_news(w->sampler); /* the caller will note it in the run file */
    return news;
}

/* ---- what is handed on ---- */

bool watch_feed_output(struct watch *w, double seconds, const char *bytes, size_t len)
{
    return sampler_feed_output(w->sampler, seconds, bytes, len);
}

int watch_add_ring(struct watch *w, struct wire_ring *ring)
{
    return sampler_add_ring(w->sampler, ring);
}

int watch_use_rings(struct watch *w, struct deputy_folder *folder)
{
    return sampler_use_rings(w->sampler, folder);
}

int watch_take_census(struct watch *w, pid_t pid, const char *text, size_t len)
{
    return sampler_take_census(w->sampler, pid, text, len);
}

const struct wire_census *watch_census(const struct watch *w, pid_t pid)
{
    const struct member *m = job_find_last(&w->job, pid);
    return m && m->evidence ? m->evidence->census : NULL;
}

void watch_census_by(struct watch *w, pid_t pid)
{
    sampler_exclude(w->sampler, pid);
}

int watch_wake_fd(const struct watch *w)
{
    return sampler_wake_fd(w->sampler);
}

void watch_wake_at(struct watch *w, double steps)
{
    sampler_wake_at(w->sampler, steps);
}

double watch_steps(const struct watch *w)
{
    return sampler_steps(w->sampler);
}

size_t watch_alive(const struct watch *w)
{
    return w->job.alive;
}

int watch_unread(const struct watch *w)
{
    return sampler_unread(w->sampler);
}

void watch_signal(struct watch *w, int number)
{
    sampler_signal(w->sampler, number);
}

void watch_sample_gpu(struct watch *w, pid_t pid, double *ret_bytes, double *ret_busy)
{
    machine_sample_gpu(w->sampler, pid, ret_bytes, ret_busy);
}

void watch_name_process(const struct watch *w, pid_t pid, struct buf *out)
{
    job_name_process(&w->job, pid, out);
}

void watch_status(struct watch *w, struct view_status *ret)
{
    view_release_info(&w->status_series);
    view_fill_status(&w->job, sampler_step(w->sampler), ret);
    w->status_series = ret->series;
}

void watch_tree(const struct watch *w, struct view_tree *ret)
{
    view_fill_tree(&w->job, ret);
}
