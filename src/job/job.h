/* job/job.h: what is known of a job: its processes, their series, its steps. No I/O, no clock. */
#ifndef TIDEMARK_JOB_JOB_H
#define TIDEMARK_JOB_JOB_H

#include "base/base.h"
#include "job/activities.h"
#include "job/climb.h"
#include "job/clock.h"
#include "job/evidence.h"
#include "job/stays.h"
#include "job/track.h"
#include "proc/proc.h"
#include "wire/wire.h"
#include "words/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Glossary:
 *   job       the watched process tree; under `run` it ends when the command ends
 *   member    a process of the job, alive or ended
 *   track     one counter of one process or of the job: its samples and engines
 *   seconds   since watching began, on a clock that neither jumps nor counts suspension
 *
 * sample/ fills a job from a running one, replay/ from a run file. judge/ and view/ read it.
 */

/* The memory of any program creeps by this much, and so do its counts of descriptors and the
 * like. */
#define LEAST_RISE 0x1p21
#define LEAST_RISE_OF_COUNTS 8

/* ---- processes ---- */

#define MEMBER_LABEL 64

/* Counters of a process, in the order of member_kinds[]. */
enum member_kind {
    MEMBER_ANON,
    MEMBER_SHMEM,
    MEMBER_FDS,
    MEMBER_THREADS,
    MEMBER_FILE,
    MEMBER_PRIVATE,
    MEMBER_PSS,
    MEMBER_SWAP,
    MEMBER_RSS,
    MEMBER_VSIZE,
    MEMBER_PEAK,
    MEMBER_COPIED, /* pages shared at fork, private now because it copied them */
    MEMBER_LEFT,   /* ... and because the other processes gave them up */
    MEMBER_KINDS,
};

/* Its shares of memory (PSS and the like), as last read. Bytes; NAN: never. */
struct member_shares {
    struct proc_rollup rollup;
    double pss_first;
    double anon;          /* at that time: the shares have changed with it since */
    double seconds, next; /* when they were read, and when they are due again */
    int error;
};

struct member_reading; /* how sample/ reads the process */

struct member {
    struct proc_id id, parent;
    struct proc_id origin; /* its parent's origin if the parent forked it; else its own id */
    char *command;         /* redacted, for people */
    char start[32];        /* start time, ISO 8601 */
    struct role_finding role;
    char rank[16], local_rank[16]; /* from its environment; empty: none */
    bool is_root, forked;
    double joined, ended; /* in seconds; ended NAN: alive */
    double seen_seconds;  /* last tick at which it was alive */
    int64_t stored;       /* number in the run file; 0: none */

    bool has_tracks, moves; /* moves: at least one of its tracks has an engine */
    struct track tracks[MEMBER_KINDS];
    struct track *gpu; /* one per device, or NULL */
    size_t gpu_count;
    struct track *reported; /* reported from inside, or NULL */
    size_t reported_count;
    bool counts_steps;
    struct activity_scope activities;

    struct climb climb;     /* of its anonymous memory */
    struct proc_status now; /* as last read, unchanged since */
    struct member_shares shares;
    double inherited; /* anonymous memory it got from the process that forked it; NAN: not known */

    struct evidence *evidence; /* measured from inside; NULL: none */
    bool is_attached;          /* tidemark attached to it, or tried to */
    bool copies_announced;     /* what its data workers copy was announced */

    struct member_reading *reading; /* owned by sample/; NULL: nobody reads it */
};

/* The caller adds it to a job. */
struct member *member_new(struct proc_id id);
struct member *member_free(struct member *m); /* does not free its reading; returns NULL */
void member_init_tracks(struct member *m);
enum member_kind member_kind_of(const char *kind); /* MEMBER_KINDS: no such kind */

bool member_is_alive(const struct member *m);
bool member_was_there(const struct member *m, double seconds);
bool member_is_trainer(const struct member *m);                    /* or a rank */
void member_label(const struct member *m, char ret[MEMBER_LABEL]); /* "trainer 4242" */

double member_held(const struct member *m);     /* anonymous memory, resident or swapped */
double member_own_anon(const struct member *m); /* of a forked process: since its fork */
double member_pss(const struct member *m);      /* as last read, plus the change of anon since */
bool member_shares_are_due(const struct member *m, double now); /* overdue: awaiting their turn */

/* The first counter of that kind that it reports from inside; NULL: none. */
const struct track *member_reported(const struct member *m, const char *kind);
struct track *member_heap(struct member *m); /* malloc's in-use bytes; NULL: not reported */
bool member_has_reported(const struct member *m, const struct track *t);

/* Data workers or ranks started by one process: they run the same code. */
bool member_is_sibling(const struct member *a, const struct member *b);
bool member_owns(const struct member *m, const struct track *t);

bool member_leaks(const struct member *m);             /* at least one series does */
bool member_is_wary(const struct member *m);           /* ... or is suspected to */
bool member_climbs(const struct member *m);            /* its memory, for most of a minute */
bool member_will_be_announced(const struct member *m); /* its memory leaks, or may */
bool member_is_announced_quietly(
    const struct member *m);               /* ... it was announced as a negligible leak */
bool member_fills(const struct member *m); /* some of its growth is bounded */
/* Whether the job's current sum includes it: a process that has ended does not count. */
bool member_is_in_sum(const struct member *m, const struct track *sum);

/* ---- news ---- */

#define JOB_NEWS 16u

/* ---- the job ---- */

enum job_kind {
    JOB_ANON,
    JOB_PSS,
    JOB_PROCESSES,
    JOB_SHM,
    JOB_CGROUP,
    JOB_SYSTEM,
    JOB_KINDS,
};

/* One owner, one thread. */
struct job {
    struct step_clock clock;
    struct track_terms terms;
    struct activities activities;

    struct member **members; /* alive and ended, in the order they joined */
    size_t member_count, alive;
    unsigned most_processes;
    uint64_t folded; /* ended members that were dropped */

    struct track sums[JOB_KINDS];
    struct track *devices; /* whole devices, where the driver names no processes */
    size_t device_count;
    bool gpu_has_pids; /* whether the driver names them */

    double limit; /* of host memory, in bytes; 0: not known */
    const char *limit_source;
    double now;          /* the last tick, in seconds */
    double ended;        /* in seconds; NAN: still running */
    uint64_t began;      /* second 0 by wire_now(), the clock of censuses */
    double came_or_left; /* when a process last joined or ended */
    bool is_inside;      /* the job watches itself */
    bool is_profiled;    /* `tidemark profile`: all growth matters, leak or not */

    bool leak_announced, cause_announced;
    bool holders_known; /* a search found holders that no finding uses yet */

    struct news news[JOB_NEWS];
    unsigned news_count;
    struct buf news_texts[JOB_NEWS];
};

void job_init(struct job *j); /* the caller sets its terms, except for the clock */
void job_release(struct job *j);

void job_add_member(struct job *j, struct member *m);            /* takes ownership */
void job_remove_member(struct job *j, size_t index);             /* does not free it */
struct member *job_find(const struct job *j, struct proc_id id); /* NULL: not (or no longer) kept */
struct member *job_find_alive(const struct job *j, pid_t pid);   /* NULL: none */
struct member *job_find_last(const struct job *j, pid_t pid); /* the last of that pid; NULL: none */
bool job_any_attached_climbs(const struct job *j);

/* Its name among the job's processes: "trainer 4242". If it is not the root, adds its command
 * and the root. */
void job_name_process(const struct job *j, pid_t pid, struct buf *out);

/* The job's part of system memory: its own, what its living forks still have of what they
 * shared, and what it has in /dev/shm. */
double job_held(const struct job *j);

/* Whether the series uses the host memory that the job's limit covers. */
bool job_shares_limit(const struct job *j, const struct track *t);

typedef void (*job_visit)(struct job *j, struct track *t, void *context);

/* Visits every track of the job and its processes. */
void job_each_track(struct job *j, job_visit visit, void *context);
/* Visits only tracks that have engines, of living processes only unless `of_ended`. */
void job_each_moving_track(struct job *j, bool of_ended, job_visit visit, void *context);
void member_each_track(struct job *j, struct member *m, job_visit visit, void *context);

/* Where the program is: step or epoch is NAN if only the other was reported. */
struct step_mark {
    double seconds, step, epoch;
    bool restarted;   /* training restarted */
    bool epoch_ended; /* at this moment */
};

/* Gives the mark to all tracks; an ended process is judged by the steps of its own time. */
void job_mark(struct job *j, const struct step_mark *mark);
/* A new count of steps begins: engines on the step clock start over. */
void job_begin_count(struct job *j);

void job_add_news(struct job *j, enum news_kind kind, size_t series, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The text is valid until the next tick. */
struct news job_next_news(struct job *j);

#endif
