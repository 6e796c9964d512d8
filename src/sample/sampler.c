/* sample/sampler.c: a sampler's life: opening, adding roots of the job, finishing, closing. */
#include "sample/sampler.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int open_readers(struct sampler *sam)
{
    const struct sample_options *o = &sam->options;
    struct proc_tree_hooks hooks = {sam, members_joined, members_left};
    char error[160];
    int r = proc_tree_new(o->proc_root, &hooks, &sam->tree);
    if (r == 0 && o->hears_forks)
        (void) proc_tree_hear_forks(sam->tree);
    return r < 0 ? r : progress_new(o->step_regex, error, &sam->progress);
}

int sampler_new(const struct sample_options *options, struct job *j, struct sampler **ret)
{
    struct sampler *sam = calloc(1, sizeof(*sam));
    if (!sam)
        base_out_of_memory();
    sam->options = *options;
    sam->job = j;
    steps_init(&sam->steps);
    activities_open(sam);
    rings_open(sam);
    traces_open(sam);
    recorder_open(sam);
    schedule_init(&sam->schedule);
    int r = open_readers(sam);
    if (r < 0) {
        sampler_free(sam);
        return r;
    }
    machine_open(sam);
    *ret = sam;
    return 0;
}

struct sampler *sampler_free(struct sampler *sam)
{
    if (!sam)
        return NULL;
    members_release(sam);
    machine_release(sam);
    traces_release(sam);
    rings_release(sam);
    proc_tree_free(sam->tree);
    progress_free(sam->progress);
    free(sam);
    return NULL;
}

/* ---- what belongs to the job ---- */

int sampler_add_root(struct sampler *sam, pid_t pid, bool children_only)
{
    /* The watcher is no part of the job, unless the job watches itself. */
    sam->job->is_inside = pid == getpid();
    if (!sam->job->is_inside)
        proc_tree_exclude(sam->tree, getpid());
    proc_tree_exclude_name(sam->tree, WIRE_CENSUS_PROCESS);
    return proc_tree_add_root(sam->tree, pid, children_only);
}

void sampler_exclude(struct sampler *sam, pid_t pid)
{
    proc_tree_exclude_one(sam->tree, pid);
}

uint64_t sampler_processes_seen(const struct sampler *sam)
{
    return proc_tree_total_members(sam->tree);
}

int sampler_unread(const struct sampler *sam)
{
    return sam->unread < 0 ? sam->unread : proc_tree_unread(sam->tree);
}

void sampler_signal(struct sampler *sam, int number)
{
    proc_tree_scan(sam->tree);
    for (size_t i = 0; i < sam->job->member_count; i++)
        if (member_is_alive(sam->job->members[i]))
            kill(sam->job->members[i]->id.pid, number);
}

/* ---- what it costs ---- */

double sampler_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

double sampler_stall_seconds(const struct sampler *sam)
{
    return sam->stall_seconds;
}

/* ---- values ---- */

void sampler_push(struct sampler *sam, struct track *t, double seconds, double value)
{
    if (isfinite(value))
        recorder_add(sam, t, seconds, value);
    track_push(t, &sam->job->terms, seconds, value);
    job_see(sam->job, t, value);
}

static void finish_track(struct job *j, struct track *t, void *context)
{
    recorder_add_last(context, t);
    track_mark(t, &j->terms);
    track_finish(t);
}

void sampler_finish(struct sampler *sam, double seconds)
{
    sam->job->ended = sam->job->now = seconds;
    rings_find(sam, seconds, true);
    proc_tree_scan(sam->tree);
    sam->rings.next_objects = 0;
    rings_read(sam, seconds);
    machine_tick(sam, seconds, true);
    machine_attribute_gpu(sam);
    machine_survey(sam, seconds);
    members_finish(sam);
    for (size_t i = 0; i < sam->job->member_count; i++)
        if (member_is_alive(sam->job->members[i]))
            traces_end(sam, sam->job->members[i]);
    job_each_track(sam->job, finish_track, sam);
}
