/* sample/sampler.h: the state of a sampler, one part for each of its readers. Private to sample/.
 */
#ifndef TIDEMARK_SAMPLE_SAMPLER_H
#define TIDEMARK_SAMPLE_SAMPLER_H

#include "gpu/gpu.h"
#include "input/input.h"
#include "sample/sample.h"
#include "sample/shm.h"

#include <sys/stat.h>

/* ---- processes: members.c ---- */

struct member_reading {
    struct proc *proc; /* NULL once it has ended */
    struct buf arguments;
    size_t *cuda; /* the driver's numbers of its devices cuda:0, cuda:1, ...; NULL: not asked */
    size_t cuda_count;
    double anon_reported; /* when it last told host.anon itself; NAN: never */
    bool is_seen_aside;   /* between two ticks, and not pushed yet */
    double fds;
    double counts_seconds, next_counts; /* when fds, threads or swap were last others */
    double shares_rest;                 /* to the next reading of its shares */
    uint64_t faults;                    /* when that was asked last */
    uint64_t faults_at_shares;
    double changed_seconds;  /* when it was last seen to hold, or to have touched, other pages */
    double mapped_at_shares; /* pages of files and shared memory */
    double taken_over;       /* of what it inherited it had so much for itself then ... */
    double left_to_it;       /* ... and so much of it without having copied it */
    double written;          /* at most, into files, up to the last look at /dev/shm */
    double own_shared;       /* of its shared memory, what the probe keeps there */
    bool is_ours;            /* of our user, and sees the files that we see; false: not known */
    char *last_text, *searched_text; /* censuses that the run file lacks; owned; NULL: none */
};

void members_joined(void *context, struct proc_member *m);
void members_left(void *context, struct proc_member *m);
void members_tick(struct sampler *sam, double seconds);
/* Only at the memory, and only for what is in an activity. */
void members_sample_memory(struct sampler *sam);
void members_judge_roles(struct sampler *sam, double seconds);
void members_finish(struct sampler *sam);
void members_release(struct sampler *sam);
void member_start_tracks(struct sampler *sam, struct member *m);
/* Gives it a place in the run file at its first value. */
void member_push(struct sampler *sam, struct member *m, struct track *t, double seconds,
                 double value);

/* ---- what processes report: rings.c ---- */

struct ring_activity {
    unsigned place; /* among the names of all, from 1; 0: not told yet */
    bool is_in;
    double since;
};

/* The ring of one process and what it has told so far; NAN: nothing. */
struct ring {
    struct wire_reader *reader;
    struct proc_id id;
    char *file;                  /* in the directory of rings; NULL: `own` */
    struct wire_ring *own;       /* of this very process; NULL: `file` */
    struct member *member;       /* NULL: not met yet */
    size_t reported[WIRE_NAMES]; /* which of the member's told tracks, from 1; 0: not known yet */
    struct stat census;          /* the file that was last read; st_size 0: none */

    enum wire_source source, epoch_source;
    double step, first_seconds; /* when it told its first step */
    double epoch_length, plan;

    struct ring_activity activities[WIRE_PHASES];        /* by the ring's own numbers */
    struct wire_phase_count counted_before[WIRE_PHASES]; /* when watching began */
};

struct rings {
    int directory;       /* -1: none */
    int wake, wake_held; /* both ends of the fifo: with ours open it never hangs up */
    int voice;           /* -1: we do not speak */
    struct ring **list;
    size_t count;

    struct proc_id *foreign; /* processes whose rings were made by another version of the probe */
    size_t foreign_count;

    double woken_since; /* the second of which the wakings are counted */
    unsigned woken;
    bool wants_listing;  /* somebody has called since the directory was last listed */
    double next_listing; /* not before: one that takes long is listed more rarely */
    double next;         /* when they are to be read again, lest something is overwritten */
    double next_objects; /* when to look for what processes tell of their objects */
};

void rings_open(struct sampler *sam);
void rings_release(struct sampler *sam);
void rings_find(struct sampler *sam, double seconds, bool scan_is_due); /* new ones */
bool rings_read(struct sampler *sam, double seconds); /* true: censuses were looked for, too */
/* A process has ended: what it told last is read. Its ring is gone then. */
void rings_end(struct sampler *sam, struct member *m, double seconds);
/* Is there a child that counts the objects of the process, and shares its pages? */
bool rings_have_copy(const struct sampler *sam, const struct member *m);
/* What of `device` they take up: it is not the job's. */
double rings_bytes(const struct sampler *sam, dev_t device);
void rings_note_foreign(struct sampler *sam, struct proc_id id);

/* ---- what they hold: censuses.c, source_lines.c ---- */

/* Whose process it is, while it can be asked: its source may be read after its end. */
void lines_note_owner(const struct sampler *sam, struct member *m);
/* The lines of the source that add to the holders of its last census, where they are not known. */
void lines_find(const struct sampler *sam, struct member *m);

/* Reads it where there is a new one. The ring's process is known. */
void censuses_read(struct sampler *sam, struct ring *r);
/* Waits, a second and a half at most, for a child of the process that still works on its census. */
void censuses_await(const struct ring *r);
/* Its file is of no use any more. */
void censuses_remove(struct sampler *sam, const struct ring *r);
/* Every process shall find out what is worth its time now. */
void censuses_want(struct sampler *sam);
/* What the run file lacks of a process's evidence goes there. */
void censuses_store(struct sampler *sam, struct member *m);

/* ---- steps: steps.c ---- */

/*
 * The one count of steps. `source` is WIRE_NOBODY as long as they are read from the output. Of
 * those that count inside one leads: the best source, then the lowest rank, then the first.
 */
struct step_count {
    struct ring *leader; /* NULL: none, or it has ended */
    enum wire_source source;
    int rank;              /* of the leader; negative: none */
    double before, origin; /* at step S so many have been made: before + (S - origin) + 1 */
    double last;           /* S, as exact as it was known when the leader ended */
    double wake_at;        /* be woken when so many have been made; INFINITY: never */

    double printed; /* so many were made by the output; NAN: it tells none */

    /* As long as the output counts and an optimizer steps beside it. */
    bool prints_each;                   /* every step is printed */
    double reported_first, reported_at; /* of the optimizer; NAN: none yet */
    double printed_first, printed_at;   /* steps of the output then */
};

void steps_init(struct step_count *s);
/* A ring told something about the steps. */
void steps_take(struct sampler *sam, struct ring *r, double seconds, const struct wire_record *x);
/* No step has been made since the last that was told. */
void steps_stand(struct sampler *sam, const struct ring *r, double seconds);
/* The process will count no more. */
void steps_lose(struct sampler *sam, struct ring *r);
void steps_ask(struct sampler *sam); /* the leader, to wake us when it is time */

/* ---- activities: activity_rings.c ---- */

struct activity_sampling {
    struct activity_total ended[WIRE_PHASES]; /* told by processes that have ended ... */
    int ended_rank; /* ... of this rank, the lowest that was; INT_MAX: none */
    double since;   /* when the last one began */
    double next;    /* when to look at the memory; INFINITY: as ever */
    double spent;   /* CPU seconds of such looks */
    bool changed;   /* one began or ended, and no device was looked at since */
};

void activities_open(struct sampler *sam);
/* What the ring has counted so far is not this watch's. */
void activities_attach(struct ring *r);
/* A ring told of an activity. */
void activities_take(struct sampler *sam, struct ring *r, double seconds,
                     const struct wire_record *x);
/* The process has ended, whatever it was doing. */
void activities_lose(struct sampler *sam, struct ring *r, double seconds);
/* In an activity, and at its ends, the memory is looked at more often, where that is due. */
void activities_sample(struct sampler *sam, double seconds);
bool activities_may_sample(const struct sampler *sam,
                           double seconds); /* it has cost little so far */

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
/* Returns when to look again. */
double machine_survey(struct sampler *sam, double seconds);

/* ---- /dev/shm: shared.c ---- */

struct shm {
    struct shm_files files;
    struct shm_writers writers;
    dev_t device;
    bool is_begun; /* what was there before watching is known */
    bool was_looked_at;
    double looked_seconds;
    double survey_spent;  /* CPU seconds of asking all processes, which is in none of the above */
    unsigned surveys;     /* so often they were asked */
    enum shm_owner guess; /* whose it is that nobody was seen to hold */
    double wrote, guessed_first; /* by the job since the first of them; what was there then */
    double spent;                /* CPU seconds of looks */
    double all, sizes;  /* what was in the job's at the last look; how large they were at most */
    unsigned creations; /* looks at which they had become larger */
    bool is_filled;     /* when there last was more in them, they had not */
};

void shared_open(struct sampler *sam);
void shared_release(struct sampler *sam);
/* Looks at /dev/shm where something has moved there; with `finally` in any case. */
void shared_tick(struct sampler *sam, double seconds, bool finally);

/* ---- the run file: recorder.c ---- */

struct recorded_terms {
    double limit, total, epoch_length;
};

struct recorder {
    bool unsaved; /* something new waits to be committed */
    int error;
    double last_commit;
    struct recorded_terms terms; /* what it was last told */
};

/* The series of the job, of a device, of a process: they get a place in the run file. */
void recorder_open(struct sampler *sam);
void recorder_open_device(struct sampler *sam, struct track *t);
void recorder_open_series(struct sampler *sam, const struct member *m, struct track *t);

void recorder_add(struct sampler *sam, struct track *t, double seconds, double value);
void recorder_add_last(struct sampler *sam, const struct track *t);
void recorder_mark(struct sampler *sam, double seconds, double step, double epoch);
/* "evaluate 3.2 s". There is a run file. */
void recorder_add_activity(struct sampler *sam, double seconds, const char *text);
void recorder_store_member(struct sampler *sam, struct member *m);

/* ---- what is due when: schedule.c ---- */

/* In seconds. */
struct schedule {
    double next_tick, next_scan, next_gpu, next_roles, next_survey;
    double next_review, next_restless; /* restless: the job has moved since, or is near its limit */
    double last_scan;
    double scan_cost;      /* CPU seconds of the last one */
    double anon_at_review; /* what the job held */
    double tick_cost;      /* CPU seconds of one tick, smoothed, without those of shares */
};

void schedule_init(struct schedule *s);
/* A step is over: the best moment to look. */
void schedule_hurry(struct sampler *sam, double seconds);

/* ---- all of it ---- */

struct sampler {
    struct sample_options options;
    struct job *job;
    struct proc_tree *tree;
    struct progress *progress;
    struct step_count steps;
    struct rings rings;
    struct activity_sampling looks;
    struct machine machine;
    struct shm shm;
    struct recorder recorder;
    struct schedule schedule;

    bool wants_scan;      /* a process has ended, or one is there that is not known */
    bool wants_roles;     /* one has come, or has begun to count steps */
    int unread;           /* -EMFILE, -ENFILE: that has kept us from a process; 0: never */
    double next_round;    /* of reading the shares of a process, from inside; 0: any time */
    double shares_cpu;    /* of this tick, for shares */
    double shares_spent;  /* CPU seconds of all readings of shares */
    double stall_seconds; /* wall clock of the same: it held the job up for at most so long */
};

/* A value of a track: recorded, judged, and seen by its activities. */
void sampler_push(struct sampler *sam, struct track *t, double seconds, double value);

#endif
