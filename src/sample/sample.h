/* sample/sample.h: reads a running job, each value as often as it is worth the cost. */
#ifndef TIDEMARK_SAMPLE_SAMPLE_H
#define TIDEMARK_SAMPLE_SAMPLE_H

#include "base/base.h"
#include "deputy/deputy.h"
#include "gpu/gpu.h"
#include "job/job.h"
#include "proc/proc.h"
#include "store/store.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A sampler fills a job from /proc, the GPU driver, and what its processes report from inside. It
 * judges nothing. It also writes every value into the run file. One owner, one thread: the job's.
 */
struct sampler;

/* 0 and NULL: not set. The texts must outlive the sampler. */
struct sample_options {
    const char *proc_root;  /* "/proc" */
    double interval;        /* seconds between ticks; 0: 20 ms at first, stretching to 1 s */
    double limit_bytes;     /* of host memory, as the user set it */
    const char *step_regex; /* progress_new() has checked it */
    struct store *store;    /* not owned; NULL: nothing is recorded */
    const char *rings;      /* directory of the job's rings */
    bool speaks;            /* announces leaks beside the job's output */
    bool hears_forks; /* all forks of the machine, where the kernel reports them: for orphans */
    bool no_gpu;      /* does not query the driver */
    bool no_inspect;  /* processes do not inspect their objects */
    enum wire_wanted wants; /* minimum, whatever is suspected */
    unsigned acts;          /* enum wire_act: what processes try while they search for holders */
    bool no_trace;          /* no process samples its allocations */
    double
        trace_bytes; /* every process samples from the start, once in so many bytes; 0: suspects */
};

/* The job must outlive it. -errno. */
int sampler_new(const struct sample_options *options, struct job *j, struct sampler **ret);
struct sampler *sampler_free(struct sampler *sam); /* accepts NULL */

/* ---- what belongs to the job ---- */

/* Follows a process and all its descendants. -ESRCH. See proc_tree_add_root(). */
int sampler_add_root(struct sampler *sam, pid_t pid, bool children_only);
/* Leaves out a process that works for tidemark and is no part of the job. */
void sampler_exclude(struct sampler *sam, pid_t pid);
uint64_t sampler_processes_seen(const struct sampler *sam);
/* -EMFILE or -ENFILE: processes were not read for lack of descriptors; 0: never. */
int sampler_unread(const struct sampler *sam);
void sampler_signal(struct sampler *sam, int number);

/* ---- reading ---- */

/* What a tick did, for the code that judges. */
struct sampled {
    double next;       /* call again at that second */
    bool ticked;       /* processes were read, or may have reported something */
    bool reviewed;     /* the job's surroundings were read too */
    bool has_evidence; /* new censuses were checked for */
};

struct sampled sampler_tick(struct sampler *sam, double seconds);
/* The job is over, or watching ends: reads everything once more. */
void sampler_finish(struct sampler *sam, double seconds);

/* CPU seconds of this thread so far: a training may run in other threads. */
double sampler_cpu_seconds(void);
/* Most seconds that reading shares may have held up the job. */
double sampler_stall_seconds(const struct sampler *sam);

/* ---- what processes report from inside ---- */

/* The ring of a program that watches itself; not owned. */
int sampler_add_ring(struct sampler *sam, struct wire_ring *ring);
/* Uses the folder for the rings of attached processes and takes its fifo over. Does nothing if
 * there is a folder already. -errno. */
int sampler_use_rings(struct sampler *sam, struct deputy_folder *folder);
int sampler_wake_fd(const struct sampler *sam); /* -1: there are no rings */
void sampler_wake_at(struct sampler *sam, double steps);
/* Stops listening: attached processes detach. */
void sampler_hang_up(struct sampler *sam);
bool sampler_has_detached(const struct sampler *sam, struct proc_id id);

/* Whether nothing this process reports can be read: it has the probe of another version loaded. */
bool sampler_is_foreign(const struct sampler *sam, struct proc_id id);
const struct proc_id *sampler_foreign(const struct sampler *sam, size_t *ret_count);

/* Takes the census of a process that has no census file beside its ring. Ignores a text that is
 * not a census. -ESRCH. */
int sampler_take_census(struct sampler *sam, pid_t pid, const char *text, size_t len);

/* Counts how often each activity began in the processes of the lowest rank that reports any,
 * into the job's activities. */
void sampler_count_activities(struct sampler *sam);

/* ---- steps ---- */

/* Takes what the program wrote, and when: the source of the step clock. True: the clock moved. */
bool sampler_feed_output(struct sampler *sam, double seconds, const char *bytes, size_t len);

/* Steps made since watching began, by the program's own count; NAN: it reports none. */
double sampler_steps(const struct sampler *sam);
double sampler_step(const struct sampler *sam);            /* the current step; NAN: not known */
const char *sampler_steps_from(const struct sampler *sam); /* "output", "optimizer", ... */

/* ---- what surrounds the job ---- */

struct surroundings {
    struct proc_meminfo memory_first, memory_now;
    struct cgroup_memory cgroup_first, cgroup_now;
    double shm_first, shm_used;       /* in /dev/shm, of all jobs */
    double oom_kills_first;           /* on the machine; NAN: the kernel does not count them */
    bool has_gpu;                     /* the driver responds */
    char gpu_why[GPU_WHY_LENGTH];     /* ... or why not */
    struct elsewhere_facts elsewhere; /* the process that grows while the job does not */
};

const struct surroundings *sampler_surroundings(const struct sampler *sam);

double
machine_used(const struct sampler *sam); /* counted against the job's limit; NAN: not known */
/* The oom_kill counter of /proc/vmstat; NAN: an old kernel. */
double machine_oom_kills(const char *proc_root);

/* Reads a process from the driver: its memory on all devices, and how busy the busiest of these
 * is, 0 to 1. NAN: not known. */
void machine_sample_gpu(struct sampler *sam, pid_t pid, double *ret_bytes, double *ret_busy);

/* What the job left behind in /dev/shm. The name is valid until the next tick. */
void shared_gather_notes(const struct sampler *sam, struct shm_notes *ret);

/* Shares that are due are late when they were read longer ago than this, in seconds. */
#define SHARES_LATE 30.0

/* ---- the run file ---- */

/* Commits a changed value within a second. While none changes, steps and repetitions wait some
 * seconds. A failed write is news. */
void recorder_commit(struct sampler *sam, double seconds);
/* Records the terms for judging the run file later; with `finally`, exactly. */
void recorder_set_terms(struct sampler *sam, bool finally);
void recorder_store_evidence(struct sampler *sam);
void recorder_note_news(struct sampler *sam);  /* the caller wrote news into the file */
int recorder_error(const struct sampler *sam); /* -errno of the last commit; 0: it worked */

#endif
