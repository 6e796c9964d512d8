/* sample/sampler.h: the state of a sampler, one part per reader. Private to sample/. */
#ifndef TIDEMARK_SAMPLE_SAMPLER_H
#define TIDEMARK_SAMPLE_SAMPLER_H

#include "gpu/gpu.h"
#include "input/input.h"
#include "sample/sample.h"
#include "sample/shm.h"
#include "sites/sites.h"
#include "symbol/symbol.h"

#include <sys/stat.h>

/* ---- where they allocate: traces.c ---- */

/* The orders to the tracers of all processes, as they were last written. */
struct trace_orders {
    int fd;         /* of the file; -1: none could be made */
    double filters; /* of our own system calls; a process of the job begins with as many */
    struct wire_trace_orders file;
    double next;         /* when to look at the processes again */
    double next_removal; /* ... and for files that nobody writes any more */
};

/* For how long something is traced, in seconds of the run. */
struct trace_span {
    double since, enough; /* when it was ordered; from when on a leak is settled */
    bool is_settled;      /* its leak was traced for long enough */
};

/* How a process is traced. */
struct trace_reading {
    uint64_t interval; /* as ordered, in bytes; 0: it is not to sample */
    bool wants_blocks; /* as ordered: those of torch on devices, and pinned on the host */
    struct trace_span samples, blocks;
    double next;              /* when to look at its file again */
    struct site_looks *looks; /* NULL: none yet */
    struct symbols *symbols;  /* NULL: none yet */
    bool is_named;            /* its native functions have names */
    bool is_sandboxed;        /* it has given up system calls, and is never traced */
    double file_bytes;        /* that its file takes; 0: none was there when we looked */
};

void traces_open(struct sampler *sam);
void traces_release(struct sampler *sam);
/* Arms the tracers of suspect processes, disarms those that are settled, and reads their files. */
void traces_tick(struct sampler *sam, double seconds);
/* The process has ended, or watching does: reads its file for the last time. */
void traces_end(struct sampler *sam, struct member *m);
/* Bytes of the process's shared memory that are its tracer's. */
double traces_shared(const struct sampler *sam, struct member *m);
void traces_store(struct sampler *sam, struct member *m);
void trace_reading_release(struct trace_reading *t);

/* ---- processes: members.c ---- */

struct member_reading {
    struct proc *proc; /* NULL after it ended */
    struct buf arguments;
    size_t *cuda; /* driver indices of its devices cuda:0, cuda:1, ...; NULL: not read */
    size_t cuda_count;
    double anon_reported; /* when it last reported host.anon itself; NAN: never */
    bool is_seen_aside;   /* sampled between two ticks, not pushed yet */
    double fds;
    double counts_seconds, next_counts; /* when fds, threads or swap last changed */
    double shares_rest;                 /* until its shares are read again */
    uint64_t faults;                    /* as last read */
    uint64_t faults_at_shares;
    double changed_seconds;  /* when it was last seen to hold or touch other pages */
    double mapped_at_shares; /* pages of files and shared memory */
    double taken_over;       /* bytes of the inheritance that were its own then ... */
    double left_to_it;       /* ... and how many of them it got without copying */
    double written;          /* most it wrote into files, up to the last check of /dev/shm */
    double own_shared;       /* of its shared memory, what the probe keeps there */
    bool is_ours;            /* our user's, and sees our files; false: not known */
    char *last_text, *searched_text; /* censuses not yet in the run file; owned; NULL: none */
    struct trace_reading trace;
};

void members_joined(void *context, struct proc_member *m);
void members_left(void *context, struct proc_member *m);
void members_tick(struct sampler *sam, double seconds);
/* Samples only memory, and only of what is in an activity. */
void members_sample_memory(struct sampler *sam);
void members_judge_roles(struct sampler *sam, double seconds);
void members_finish(struct sampler *sam);
void members_release(struct sampler *sam);
void member_start_tracks(struct sampler *sam, struct member *m);
/* Pushes a value; the first one opens the series in the run file. */
void member_push(struct sampler *sam, struct member *m, struct track *t, double seconds,
                 double value);

/* ---- what processes report: rings.c ---- */

struct ring_activity {
    unsigned place; /* index among all names, from 1; 0: not reported yet */
    bool is_in;
    double since;
};

/* The ring of one process and what it reported so far; NAN: nothing. */
struct ring {
    struct wire_reader *reader;
    struct proc_id id;
    char *file;                  /* in the ring directory; NULL: `own` */
    struct wire_ring *own;       /* of this process itself; NULL: `file` */
    struct member *member;       /* NULL: not in the job yet */
    size_t reported[WIRE_NAMES]; /* member's reported track, from 1; 0: not known */
    struct stat census;          /* last file read; st_size 0: none */

    enum wire_source source, epoch_source;
    double step, first_seconds; /* when it reported its first step */
    double epoch_length, plan;

    struct ring_activity activities[WIRE_PHASES];        /* by the ring's numbers */
    struct wire_phase_count counted_before[WIRE_PHASES]; /* when watching began */
};

struct rings {
    int directory;       /* -1: none */
    int wake, wake_held; /* both ends of the fifo: while ours is open it never hangs up */
    int voice;           /* -1: no announcements */
    struct ring **list;
    size_t count;

    struct proc_id *foreign; /* processes with the probe of another version */
    size_t foreign_count;

    double woken_since; /* start of the second whose wake-ups are counted */
    unsigned woken;
    bool wants_listing;  /* a wake-up or scan came since the last listing */
    double next_listing; /* earliest next one: slow listings are repeated less often */
    double next;         /* when to read the rings again, before records are overwritten */
    double next_objects; /* when to check for new censuses */
};

void rings_open(struct sampler *sam);
void rings_release(struct sampler *sam);
void rings_find(struct sampler *sam, double seconds, bool scan_is_due); /* finds new ones */
bool rings_read(struct sampler *sam, double seconds); /* true: censuses were checked too */
/* A process has ended: reads its last records and drops its ring. */
void rings_end(struct sampler *sam, struct member *m, double seconds);
/* Whether a child that shares its pages is counting the objects of the process. */
bool rings_have_copy(const struct sampler *sam, const struct member *m);
/* Bytes of `device` that the rings use: they are not the job's. */
double rings_bytes(const struct sampler *sam, dev_t device);
bool rings_have_file(const struct sampler *sam, uint64_t inode); /* on the directory's device */
/* How the process names itself in the directory, where its pid may be another one; without a
 * ring, as we know it. */
struct proc_id rings_own_id(const struct sampler *sam, const struct member *m);
void rings_note_foreign(struct sampler *sam, struct proc_id id);

/* ---- what they hold: censuses.c, source_lines.c ---- */

/* Notes whose process it is while it runs: its source may be read after its end. */
void lines_note_owner(const struct sampler *sam, struct member *m);
/* Finds the source lines that add to the holders of its last census, where they are not known. */
void lines_find(const struct sampler *sam, struct member *m);

/* Reads a new census if there is one. Requires the ring's process to be known. */
void censuses_read(struct sampler *sam, struct ring *r);
/* Waits at most 1.5 s for a child of the process that still works on its census. */
void censuses_await(const struct ring *r);
/* Removes the census file of a ring that is dropped. */
void censuses_remove(struct sampler *sam, const struct ring *r);
/* Requests from every process the census that is worth its time now. */
void censuses_want(struct sampler *sam);
/* Writes the evidence of a process that is not yet in the run file. */
void censuses_store(struct sampler *sam, struct member *m);

/* ---- steps: steps.c ---- */

/*
 * The one count of steps. `source` is WIRE_NOBODY while steps are read from the output. Of the
 * processes that count from inside, one leads: the best source, then the lowest rank, then the
 * first.
 */
struct step_count {
    struct ring *leader; /* NULL: none, or it has ended */
    enum wire_source source;
    int rank;              /* of the leader; negative: none */
    double before, origin; /* at step S, before + (S - origin) + 1 have been made */
    double last;           /* S, as exactly as it was known when the leader ended */
    double wake_at;        /* wake-up after this many steps; INFINITY: never */

    double printed; /* steps made by the output; NAN: it reports none */

    /* While the output counts and an optimizer steps beside it. */
    bool prints_each;                   /* every step is printed */
    double reported_first, reported_at; /* of the optimizer; NAN: none yet */
    double printed_first, printed_at;   /* steps of the output at that time */
};

void steps_init(struct step_count *s);
/* Takes a ring's record about steps. */
void steps_take(struct sampler *sam, struct ring *r, double seconds, const struct wire_record *x);
/* Notes that no step was made since the last reported one. */
void steps_stand(struct sampler *sam, const struct ring *r, double seconds);
/* The process counts no more. */
void steps_lose(struct sampler *sam, struct ring *r);
void steps_ask(struct sampler *sam); /* asks the leader to wake us in time */

/* ---- activities: activity_rings.c ---- */

struct activity_sampling {
    struct activity_total ended[WIRE_PHASES]; /* of processes that have ended ... */
    int ended_rank; /* ... of this rank, the lowest so far; INT_MAX: none */
    double since;   /* when the last one began */
    double next;    /* when to sample memory again; INFINITY: at ticks only */
    double spent;   /* CPU seconds of these samples */
    bool changed;   /* one began or ended since a device was last sampled */
};

void activities_open(struct sampler *sam);
/* Leaves out what the ring counted before this watch. */
void activities_attach(struct ring *r);
/* Takes a ring's record about an activity. */
void activities_take(struct sampler *sam, struct ring *r, double seconds,
                     const struct wire_record *x);
/* The process has ended: ends its activities. */
void activities_lose(struct sampler *sam, struct ring *r, double seconds);
/* Samples memory more often during an activity and at its ends, if due. */
void activities_sample(struct sampler *sam, double seconds);
bool activities_may_sample(const struct sampler *sam,
                           double seconds); /* their cost is low so far */

/* ---- the machine: machine.c ---- */

struct machine {
    struct surroundings around;
    struct cgroup *cgroup;
    struct gpu *gpu;
    struct proc_survey *survey_first;
    double tree_at_survey, system_at_survey;
};

void machine_open(struct sampler *sam);
void machine_release(struct sampler *sam);
void machine_tick(struct sampler *sam, double seconds, bool finally);
void machine_read_gpu(struct sampler *sam, double seconds);
void machine_attribute_gpu(struct sampler *sam);
/* Returns when to survey again. */
double machine_survey(struct sampler *sam, double seconds);

/* ---- /dev/shm: shared.c ---- */

struct shm {
    struct shm_files files;
    struct shm_writers writers;
    dev_t device;
    bool is_begun; /* the state before watching is known */
    bool was_looked_at;
    double looked_seconds;
    double survey_spent;         /* CPU seconds of surveying all processes, not included above */
    unsigned surveys;            /* number of surveys */
    enum shm_owner guess;        /* the owner of what nobody was seen to hold */
    double wrote, guessed_first; /* job's writes since survey 1; bytes at 2 */
    double spent;                /* CPU seconds of checks */
    double all, sizes;  /* bytes in the job's files at the last check; their largest total size */
    unsigned creations; /* checks that found them larger */
    bool is_filled;     /* at the last growth their sizes had not risen */
};

void shared_open(struct sampler *sam);
void shared_release(struct sampler *sam);
/* Checks /dev/shm if its use changed; with `finally` in any case. */
void shared_tick(struct sampler *sam, double seconds, bool finally);

/* ---- the run file: recorder.c ---- */

struct recorded_terms {
    double limit, total, epoch_length;
};

struct recorder {
    bool unsaved; /* new data waits to be committed */
    int error;
    double last_commit;
    struct recorded_terms terms; /* last written to the run file */
};

/* Open the series of the job, of a device and of a process in the run file. */
void recorder_open(struct sampler *sam);
void recorder_open_device(struct sampler *sam, struct track *t);
void recorder_open_series(struct sampler *sam, const struct member *m, struct track *t);

void recorder_add(struct sampler *sam, struct track *t, double seconds, double value);
void recorder_add_last(struct sampler *sam, const struct track *t);
void recorder_mark(struct sampler *sam, double seconds, double step, double epoch);
/* "evaluate 3.2 s". Requires a run file. */
void recorder_add_activity(struct sampler *sam, double seconds, const char *text);
void recorder_store_member(struct sampler *sam, struct member *m);

/* ---- what is due when: schedule.c ---- */

/* In seconds. */
struct schedule {
    double next_tick, next_scan, next_gpu, next_roles, next_survey;
    double next_review, next_restless; /* restless: memory moved, or near its limit */
    double last_scan;
    double scan_cost;      /* CPU seconds of the last scan */
    double anon_at_review; /* the job's memory then */
    double tick_cost;      /* CPU seconds of one tick, smoothed, without reading shares */
};

void schedule_init(struct schedule *s);
/* A step is over: the best moment to sample. */
void schedule_hurry(struct sampler *sam, double seconds);

/* ---- all of it ---- */

struct sampler {
    struct sample_options options;
    struct job *job;
    struct proc_tree *tree;
    struct progress *progress;
    struct step_count steps;
    struct rings rings;
    struct trace_orders traces;
    struct activity_sampling looks;
    struct machine machine;
    struct shm shm;
    struct recorder recorder;
    struct schedule schedule;

    bool wants_scan;      /* a process ended, or an unknown one appeared */
    bool wants_roles;     /* one joined, or began to count steps */
    int unread;           /* -EMFILE, -ENFILE: a process could not be read; 0: never */
    double next_round;    /* when to read shares next, if the job watches itself; 0: any time */
    double shares_cpu;    /* in this tick, for shares */
    double shares_spent;  /* CPU seconds spent on shares in total */
    double stall_seconds; /* the same in wall time: most that it held the job up */
};

/* Records a value of a track, pushes it to its engines, and notes it for its activities. */
void sampler_push(struct sampler *sam, struct track *t, double seconds, double value);

#endif
