/* sample/sample.h: reads a running job, each thing as often as it is worth its cost. */
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
 * A sampler fills a job from /proc, the GPU's driver, and what its processes report from inside.
 * It judges nothing. It writes every value into the run file as well. One owner, one thread: the
 * job's.
 */
struct sampler;

/* 0 and NULL: not said. The texts must outlive the sampler. */
struct sample_options {
    const char *proc_root;  /* "/proc" */
    double interval;        /* seconds between ticks; 0: 20 ms at first, stretching to 1 s */
    double limit_bytes;     /* of the host's memory, as the user said */
    const char *step_regex; /* checked by progress_new() before */
    struct store *store;    /* not owned; NULL: nothing is recorded */
    const char *rings;      /* directory where processes of the job keep their rings */
    bool speaks;            /* leaks are announced beside the output of the job */
    bool hears_forks;       /* of the whole machine, where the kernel reports them: for orphans */
    bool no_gpu;            /* the driver is not asked */
    bool no_inspect;        /* processes do not look at their objects */
    enum wire_wanted wants; /* whatever is suspected: at least that */
    unsigned acts;          /* enum wire_act: what they try out while they look for holders */
};

/* The job must outlive it. -errno. */
int sampler_new(const struct sample_options *options, struct job *j, struct sampler **ret);
struct sampler *sampler_free(struct sampler *sam); /* accepts NULL */

/* ---- what belongs to the job ---- */

/* Follows a process and all that descend from it. -ESRCH. See proc_tree_add_root(). */
int sampler_add_root(struct sampler *sam, pid_t pid, bool children_only);
/* It works for tidemark, and is no part of the job. */
void sampler_exclude(struct sampler *sam, pid_t pid);
uint64_t sampler_processes_seen(const struct sampler *sam);
/* -EMFILE or -ENFILE: for want of descriptors, processes were not read; 0: never. */
int sampler_unread(const struct sampler *sam);
void sampler_signal(struct sampler *sam, int number);

/* ---- reading ---- */

/* What was done at a tick, for those who judge. */
struct sampled {
    double next;       /* call again at that second */
    bool ticked;       /* processes were read, or may have reported something */
    bool reviewed;     /* what surrounds the job was read, too */
    bool has_evidence; /* censuses were looked for */
};

struct sampled sampler_tick(struct sampler *sam, double seconds);
/* The job is over, or watching ends: everything once more. */
void sampler_finish(struct sampler *sam, double seconds);

/* CPU seconds of this thread so far: a training may run in others. */
double sampler_cpu_seconds(void);
/* What the readings of shares may have held the job up, in seconds. */
double sampler_stall_seconds(const struct sampler *sam);

/* ---- what processes report from inside ---- */

/* Of the program that watches itself: its own ring, not owned. */
int sampler_add_ring(struct sampler *sam, struct wire_ring *ring);
/* Where the rings of attached processes are: takes the fifo over. Does nothing where there is such
 * a place already. -errno. */
int sampler_use_rings(struct sampler *sam, struct deputy_folder *folder);
int sampler_wake_fd(const struct sampler *sam); /* -1: there are no rings */
void sampler_wake_at(struct sampler *sam, double steps);
/* From now on nobody reads: processes that were attached to detach. */
void sampler_hang_up(struct sampler *sam);
bool sampler_has_detached(const struct sampler *sam, struct proc_id id);

/* Nothing that this process reports can be read: it has the probe of another version loaded. */
bool sampler_is_foreign(const struct sampler *sam, struct proc_id id);
const struct proc_id *sampler_foreign(const struct sampler *sam, size_t *ret_count);

/* The census of a process, where that is in no file beside its ring. A text that is none is passed
 * over. -ESRCH. */
int sampler_take_census(struct sampler *sam, pid_t pid, const char *text, size_t len);

/* How often each activity was entered, by the processes of the lowest rank that reports any: into
 * the job's activities. */
void sampler_count_activities(struct sampler *sam);

/* ---- steps ---- */

/* What the program wrote, and when: the step clock is read from it. True: the clock moved. */
bool sampler_feed_output(struct sampler *sam, double seconds, const char *bytes, size_t len);

/* Steps made since watching began, by the program's own count; NAN: it tells none. */
double sampler_steps(const struct sampler *sam);
double sampler_step(const struct sampler *sam); /* the one it stands at; NAN: not known */
const char *sampler_steps_from(const struct sampler *sam); /* "output", "optimizer", ... */

/* ---- what surrounds the job ---- */

struct surroundings {
    struct proc_meminfo memory_first, memory_now;
    struct cgroup_memory cgroup_first, cgroup_now;
    double shm_first, shm_used;       /* in /dev/shm, by all jobs */
    double oom_kills_first;           /* of the machine; NAN: the kernel does not count them */
    bool has_gpu;                     /* the driver answers ... */
    char gpu_why[GPU_WHY_LENGTH];     /* ... or why not */
    struct elsewhere_facts elsewhere; /* the process that grows while the job does not */
};

const struct surroundings *sampler_surroundings(const struct sampler *sam);

double machine_used(const struct sampler *sam); /* against the job's limit; NAN: not known */
/* The counter of /proc/vmstat; NAN: an old kernel. */
double machine_oom_kills(const char *proc_root);

/* What the driver says now of a process of the job: its memory on all devices, and how busy the
 * busiest of those is, 0 to 1. NAN: not known. */
void machine_sample_gpu(struct sampler *sam, pid_t pid, double *ret_bytes, double *ret_busy);

/* What the job has left behind in /dev/shm. The name is valid until the next tick. */
void shared_gather_notes(const struct sampler *sam, struct shm_notes *ret);

/* Shares that are due and were read longer ago are late, in seconds. */
#define SHARES_LATE 30.0

/* ---- the run file ---- */

/* A value that changed is in it a second later; while none does, steps and repetitions wait for
 * some seconds. What cannot be written is news. */
void recorder_commit(struct sampler *sam, double seconds);
/* What it is judged by when it is read again; the whole truth with `finally`. */
void recorder_set_terms(struct sampler *sam, bool finally);
void recorder_store_evidence(struct sampler *sam);
void recorder_note_news(struct sampler *sam);  /* the caller has noted some in it */
int recorder_error(const struct sampler *sam); /* -errno of the last commit; 0: it worked */

#endif
