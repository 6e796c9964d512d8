/* watch/session.h: the state of a watch. Private to watch/. */
#ifndef TIDEMARK_WATCH_SESSION_H
#define TIDEMARK_WATCH_SESSION_H

#include "advice/advice.h"
#include "gpu/gpu.h"
#include "input/input.h"
#include "watch/climb.h"
#include "watch/found.h"
#include "watch/shm.h"
#include "watch/stays.h"
#include "watch/track.h"
#include "watch/watch.h"

/* ---- phases ---- */

/* The phases that a process, or any process of the job, is in. */
struct phase_scope {
    unsigned inside[WIRE_PHASES];     /* so many processes are */
    unsigned char order[WIRE_PHASES]; /* as they began */
    unsigned count;
};

struct phase_total {
    uint64_t times, ended;
    double seconds; /* of those that have ended */
};

/* Phases of all processes, by their names: the first 16, and "other". */
struct phases {
    char *names[WIRE_PHASES];
    unsigned count;
    struct phase_scope job;
    struct phase_total ended[WIRE_PHASES]; /* told by processes that have ended ... */
    int ended_rank; /* ... of this rank, the lowest that was; INT_MAX: none */
    double since;   /* when the last one began */
    double next;    /* when to look at the memory; INFINITY: as ever */
    double spent;   /* CPU seconds of such looks */
    bool changed;   /* one began or ended, and no device was looked at since */
};

/* ---- processes ---- */

/* What the memory of any program creeps by, and its descriptors and the like. */
#define LEAST_RISE 0x1p21
#define LEAST_RISE_OF_COUNTS 8

#define MEMBER_LABEL 64

/* The counters of a process, in the order of member_kinds[]. */
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
    MEMBER_COPIED, /* of what it shared at its fork, what it has for itself by copying it */
    MEMBER_LEFT,   /* ... and what because the others gave it up */
    MEMBER_KINDS,
};

struct member {
    struct proc_id id, parent;
    struct proc_id origin; /* its parent's where that forked it, and so on; else its own id */
    struct proc *proc;     /* NULL once it has ended */
    struct buf arguments;
    char *command;  /* redacted, for people */
    char start[32]; /* when it was started, as in ISO 8601 */
    struct role_finding role;
    char rank[16], local_rank[16]; /* from its environment; empty: none */
    bool is_root, forked;
    double joined, ended; /* seconds; ended NAN: alive */
    double seen_seconds;  /* of the last tick that found it alive */
    uint64_t cpu_ticks;
    int64_t stored;

    bool has_tracks, moves; /* moves: one of its tracks has an engine */
    struct track tracks[MEMBER_KINDS];
    struct track *gpu; /* one a device, or NULL */
    size_t gpu_count;
    struct track *told; /* counters that it tells from inside, or NULL */
    size_t told_count;
    bool counts_steps;
    size_t *cuda; /* the driver's numbers of its devices cuda:0, cuda:1, ...; NULL: not asked */
    size_t cuda_count;
    double anon_told; /* when it last told host.anon itself; NAN: never */
    struct phase_scope phases;

    struct climb climb;     /* of what it holds */
    struct proc_status now; /* as it was when it was last looked at: it has not changed since */
    bool is_seen_aside;     /* between two ticks, and not pushed yet */
    double fds;
    double counts_seconds, next_counts; /* when fds, threads or swap were last others */

    struct proc_rollup rollup; /* of the last round */
    double rollup_seconds, next_rollup, rollup_rest;
    uint64_t faults;        /* when that was asked last */
    double changed_seconds; /* when it was last seen to hold, or to have touched, other pages */
    double anon_at_rollup, mapped_at_rollup; /* mapped: pages of files and shared memory */
    double written;    /* at most, into files, up to the last look at /dev/shm */
    double own_shared; /* of its shared memory, what the probe keeps there */
    double inherited;  /* of its anonymous memory, from the process that forked it */
    double taken_over; /* of that it had so much for itself at the last reading of its shares ... */
    double left_to_it; /* ... and so much of it without having copied it */
    uint64_t faults_at_rollup;
    double pss_first;
    int rollup_error;
    bool copies_told;    /* of what its data workers copy */
    bool is_ours;        /* of our user, and sees the files that we see; false: not known */
    struct found *found; /* what it tells of its objects; NULL: nothing */
};

/* ---- what processes tell from inside ---- */

struct ring_phase {
    unsigned place; /* among the names of all, from 1; 0: not told yet */
    bool is_in;
    double since;
};

/* The ring of one process and what it has told so far; NAN: nothing. */
struct ring {
    struct wire_reader *reader;
    struct proc_id id;
    char *file;              /* in the directory of rings; NULL: `own` */
    struct wire_ring *own;   /* of this very process; NULL: `file` */
    struct member *member;   /* NULL: not met yet */
    size_t told[WIRE_NAMES]; /* which of the member's told tracks, from 1; 0: not known yet */

    enum wire_source source, epoch_source;
    double step, first_seconds; /* when it told its first step */
    double epoch_length, plan;

    struct ring_phase phases[WIRE_PHASES];               /* by the ring's own numbers */
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
    bool prints_each;                 /* every step is printed */
    double told_first, told_at;       /* of the optimizer; NAN: none yet */
    double printed_first, printed_at; /* steps of the output then */
};

/* ---- the job as a whole ---- */

enum job_kind {
    JOB_ANON,
    JOB_PSS,
    JOB_PROCESSES,
    JOB_SHM,
    JOB_CGROUP,
    JOB_SYSTEM,
    JOB_KINDS,
};

/* What the balance sheet was when the job was last whole. */
struct sheet {
    double seconds;
    double system, shm; /* used at that moment */
    struct watch_row *rows;
    size_t count;
    struct watch_row total;
    unsigned unread;  /* processes whose shares wait for their turn */
    unsigned late;    /* ... for their turn to be read again */
    double late_most; /* so many seconds after they were read last */
};

/* What lies in /dev/shm. */
struct shm {
    struct shm_files files;
    struct shm_writers writers;
    dev_t device;
    bool is_begun; /* what was there before watching is known */
    bool was_looked_at;
    double first, used; /* by all jobs; `used`: at the last look */
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

/* What the run file was last told. */
struct recorded_terms {
    double limit, total, epoch_length;
};

/* A process that was entered, or was to be. */
struct process_entry {
    struct proc_id id;
    char label[MEMBER_LABEL];
    char *command;
    char *python, *why; /* why: it was not */
    double stopped, longest_stop;
    unsigned stops;
    bool left, ended;
    double at;    /* when it was tried */
    double again; /* when it is worth another try; INFINITY: never */
};

struct watch {
    struct watch_options options;
    struct proc_tree *tree;
    struct progress *progress;
    struct step_clock clock;
    struct step_count steps;
    struct rings rings;
    struct phases phases;
    struct track_terms terms;

    struct member **members; /* alive and ended, in the order they joined */
    size_t member_count, alive;
    unsigned most_processes;
    uint64_t folded; /* ended members that are no longer kept */

    struct track job[JOB_KINDS];
    struct cgroup *cgroup;
    struct cgroup_memory cgroup_first, cgroup_now;
    struct proc_meminfo memory_first, memory_now;
    struct shm shm;
    double oom_kills_first; /* of the machine */
    struct gpu *gpu;
    struct track *devices; /* the whole device, where the driver names no processes */
    size_t device_count;
    char gpu_why[GPU_WHY_LENGTH];
    bool gpu_has_pids;
    struct proc_survey *survey_first;
    double tree_at_survey, system_at_survey;

    double limit;
    const char *limit_source;

    /* When what is due, in seconds. */
    double next_tick, next_scan, next_gpu, next_roles, next_survey, next_commit;
    double next_review, next_restless; /* restless: the job has moved since, or is near its limit */
    double next_round; /* of reading the shares of a process, from inside; 0: any time */
    double last_tick;
    double last_scan;
    double scan_cost;      /* CPU seconds of the last one */
    bool wants_scan;       /* a process has ended, or one is there that is not known */
    double came_or_left;   /* seconds of the last process that did */
    double anon_at_review; /* what the job held */
    double tick_cost;      /* CPU seconds of one tick, smoothed, without those of shares */
    double rollup_cpu;     /* of this tick, for shares */
    double cpu_seconds;    /* of all ticks */

    double stall_seconds; /* what the rounds may have held up */
    double started;       /* wall clock */
    double ended;         /* seconds; NAN: still going on */
    struct watch_end end;
    int store_error;
    bool unsaved; /* something new waits to be committed */
    double last_commit;
    struct recorded_terms recorded;
    bool near_limit_told;
    bool leak_told, cause_told;
    bool holders_known;   /* somebody has found out who holds something, and nobody looked yet */
    int unread;           /* -EMFILE, -ENFILE: that has kept us from a process; 0: never */
    struct buf elsewhere; /* who grows while the job does not; empty: nobody */

    struct watch_news news[16];
    unsigned news_count;
    struct buf news_texts[16];

    struct process_entry *entries;
    size_t entry_count;

    struct sheet sheet;
    struct series_info status_series; /* texts of the last status */
    double held_first;                /* by the job when watching began; 0 under `run` */
    bool joined_late;
    bool inside; /* the job watches itself */
};

void watch_init_job(struct watch *w);

/* Calls `visit` for every track of the job and its processes. */
void watch_each_track(struct watch *w, void (*visit)(struct watch *w, struct track *t, void *c),
                      void *c);

/* Only those that have engines, and only of living processes where `of_ended` is not said. */
void watch_each_moving_track(struct watch *w, bool of_ended,
                             void (*visit)(struct watch *w, struct track *t, void *c), void *c);

/* All of one process. */
void member_each_track(struct watch *w, struct member *m,
                       void (*visit)(struct watch *w, struct track *t, void *c), void *c);

double watch_cpu_seconds(void); /* of this thread so far: a training may run in others */
void watch_push(struct watch *w, struct track *t, double seconds, double value);
void watch_add_news(struct watch *w, enum watch_news_kind kind, size_t series, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

/* News of what leaks, and of what does not after all. */
void watch_look_for_alarms(struct watch *w, double seconds);

/* members.c */
void members_joined(void *context, struct proc_member *m);
void members_left(void *context, struct proc_member *m);
void members_tick(struct watch *w, double seconds);
/* Only at the memory, and only for what is in a phase. */
void members_look(struct watch *w);
void members_judge_roles(struct watch *w, double seconds);
struct member *member_free(struct member *m);
struct member *member_find(struct watch *w, struct proc_id id); /* NULL: not (or no longer) kept */
/* The first of its counters of that kind that it tells from inside; NULL: none. */
const struct track *member_told(const struct member *m, const char *kind);
struct track *member_heap(struct member *m); /* malloc's in-use bytes; NULL: not told */
void member_start_tracks(struct watch *w, struct member *m);
/* Gives it a place in the run file at its first value. */
void member_push(struct watch *w, struct member *m, struct track *t, double seconds, double value);
void member_catch_up(struct watch *w, struct member *m);
bool member_is_alive(const struct member *m);
bool member_was_there(const struct member *m, double seconds);
void member_init_tracks(struct member *m);
enum member_kind member_kind_of(const char *kind);                 /* MEMBER_KINDS: none of them */
bool member_is_trainer(const struct member *m);                    /* or a rank */
void member_label(const struct member *m, char ret[MEMBER_LABEL]); /* "trainer 4242" */
bool member_is_wary(const struct member *m);         /* one of its series leaks or is suspect */
bool member_climbs(const struct member *m);          /* what it holds, for most of a minute */
bool member_is_told_soon(const struct member *m);    /* its memory is a leak, or may be one */
bool member_is_told_quietly(const struct member *m); /* ... has been told to be a negligible one */
double member_pss(const struct member *m); /* of the last round, moved on by what anon did since */
double member_own_anon(const struct member *m); /* of a fork: what it got since */
/* Its shares are due, and wait for their turn: there are too many processes to read them all. */
bool member_awaits_shares(const struct watch *w, const struct member *m);
/* They are due again and wait for their turn, longer than even what stands still does: since when
 * they were read, in seconds; else NAN. */
double member_shares_age(const struct watch *w, const struct member *m);

/* steps.c */

/* Where the program stands: NAN: only the other is told. */
struct step_mark {
    double seconds, step, epoch;
    bool restarted;   /* the training began anew */
    bool epoch_ended; /* at this moment */
};

void steps_init(struct step_count *s);
void steps_mark(struct watch *w, const struct step_mark *mark);
/* A ring told something about the steps. */
void steps_take(struct watch *w, struct ring *r, double seconds, const struct wire_record *x);
/* No step has been made since the last that was told. */
void steps_stand(struct watch *w, const struct ring *r, double seconds);
/* The process will count no more. */
void steps_lose(struct watch *w, struct ring *r);
const char *steps_source_name(enum wire_source source);
double steps_now(const struct watch *w); /* the step it stands at; NAN: not known */
/* Whether the count of the output is of the same steps as those told from inside. */
bool steps_agree(const struct watch *w, double step);
void steps_ask(struct watch *w); /* the leader, to wake us when it is time */

/* rings.c */
void rings_open(struct watch *w);
void rings_release(struct watch *w);
void rings_find(struct watch *w, double seconds); /* new ones */
void rings_read(struct watch *w, double seconds);
/* A process has ended: what it told last is read. Its ring is gone then. */
void rings_end(struct watch *w, struct member *m, double seconds);

/* Is there a child that counts the objects of the process, and shares its pages? */
bool rings_have_copy(const struct watch *w, const struct member *m);
/* What of `device` they take up: it is not the job's. */
double rings_bytes(const struct watch *w, dev_t device);

/* From now on nobody reads: processes that were entered leave. */
void rings_hang_up(struct watch *w);
/* Nothing that this process tells can be read: it has the probe of another version loaded. */
bool rings_are_foreign(const struct watch *w, struct proc_id id);
void rings_note_foreign(struct watch *w, struct proc_id id);
#define RINGS_FOREIGN                                                                              \
    "still has the probe of another tidemark version loaded. Restart it, or use that version"

/* account.c */
/* What a track's growth is made of; `m` NULL: the job's own. False: no evidence is kept of it. */
bool watch_account(struct watch *w, struct member *m, struct track *t, struct account *ret);
/* Graphs were walked often enough to see whether they grow, or are too small to matter. There is a
 * census. */
bool account_knows_graphs(const struct member *m, const struct ledger_evidence *e);
/* What is free for certain, and the growth without that: free memory may be the holes that a leak
 * makes. */
double account_kept_free(const struct account *a);
double account_whole(const struct account *a);
/* What nothing explains, and what those items have: none where they are not in it. */
struct interval account_rest(const struct account *a);
struct interval account_bytes_of(const struct account *a, const struct wire_census_growing *g);
/* It is part of the job's sum as it is now: a process that has ended is no more. */
bool watch_is_in_sum(const struct member *m, const struct track *sum);

/* settle.c */
/* Every track is judged by the ledger of its growth, as known by now. */
void watch_settle(struct watch *w);
/* Only of what grows by its engine: nothing else can raise an alarm. */
void watch_settle_growth(struct watch *w);
/* Some of its memory grows by what has a bound: that is told, though it is no leak. */
bool watch_fills(const struct member *m);

/* entries.c */
void entries_view(const struct watch *w, struct watch_found *ret);
bool entries_have(const struct watch *w, struct proc_id id); /* it was entered, or was to be */
bool entries_climb(const struct watch *w); /* one that was, or was to be, climbs */
void entries_release(struct watch *w);

/* phases.c */
void phases_init(struct phases *p);
void phases_release(struct phases *p);
/* What the ring has counted so far is not this watch's. */
void phases_attach(struct ring *r);
/* A ring told of a phase. */
void phases_take(struct watch *w, struct ring *r, double seconds, const struct wire_record *x);
/* The process has ended, in whatever phase it was. */
void phases_lose(struct watch *w, struct ring *r, double seconds);
/* A value of a series, be it a sample or between two: for its phases. */
void phases_see(struct watch *w, struct track *t, double value);
/* The same of one that was told for a phase alone, perhaps before its first begins. */
void phases_see_aside(struct watch *w, struct track *t, double value);
/* In a phase, and at its ends, the memory is looked at more often, where that is due. */
void phases_look(struct watch *w, double seconds);
bool phases_may_look(const struct watch *w, double seconds); /* it has cost little enough so far */
/* How often each was entered, by the processes of the lowest rank that tells any. */
void phases_count(const struct watch *w, struct phase_total ret[WIRE_PHASES]);
/* What is known of each, with that of the view's series: their tracks, in its order. */
void phases_view(const struct watch *w, struct track *const *tracks, struct watch_view *v);

/* findings.c */
/* What grows and who holds it, once the view has its series and its answer. */
void findings_view(struct watch *w, struct watch_view *v);
/* News of it, once, where the leak was told before it was known. */
void findings_review(struct watch *w);

/* patterns.c */
/* The look-alikes of a leak that there are, once the view has its series and its answer. */
void patterns_view(struct watch *w, struct watch_view *v);

/* machine.c */
void machine_open(struct watch *w);
void machine_release(struct watch *w);
void machine_tick(struct watch *w, double seconds);
void machine_read_gpu(struct watch *w, double seconds);
void machine_attribute_gpu(struct watch *w);
void machine_look_elsewhere(struct watch *w, double seconds);
/* Of the system's memory: its own, what its living forks have of what they shared, what lies in
 * /dev/shm. */
double machine_held_by_job(const struct watch *w);
double machine_used(const struct watch *w); /* against w->limit; NAN: not known */
double machine_oom_kills(const char *proc_root);

/* shared.c */
void shared_open(struct watch *w);
void shared_release(struct watch *w);
/* Looks at /dev/shm where something has moved there; with `finally` in any case. */
void shared_tick(struct watch *w, double seconds, bool finally);
/* What the job has left behind there. False: nothing worth a word. */
bool shared_describe(const struct watch *w, struct buf *out);

/* workers.c */

/* The facts on the data workers of one process, forked or spawned ones. */
struct worker_copies {
    struct copy_facts facts;
    struct copies judged;
    char parent[MEMBER_LABEL], type[16], owner[WIRE_NAME_LENGTH], attribute[WIRE_NAME_LENGTH];
};

/* False: it has no such workers, or nothing is known of them. Texts of the facts are in *ret. */
bool workers_gather(struct watch *w, const struct member *parent, bool spawned,
                    struct worker_copies *ret);
/* News of what is copied, once for each process that has workers. */
void workers_review(struct watch *w);
/* Of all that is worth telling the workers that copied most. Returns of how many processes there is
 * something to tell; *ret is set where that is not 0. */
unsigned workers_find_most(struct watch *w, struct worker_copies *ret);
/* The same in words, for the report. False: nothing to tell. */
bool workers_describe(struct watch *w, struct buf *out);

/* recording.c */
struct watch *recording_watch(struct recording *r);
const struct store_run *recording_run(const struct recording *r);
/* The series of the file that a track was filled from; recording_count(): none. */
size_t recording_index_of(const struct recording *r, const struct track *t);

/* view.c */

/* A track and whose it is; member NULL: the job's own. */
struct subject {
    struct track *track;
    const struct member *member;
    size_t id;
};

/* Texts are copied; watch_release_info() frees them. */
void watch_fill_info(const struct watch *w, const struct subject *s, struct series_info *ret);
void watch_release_info(struct series_info *info);

/* It takes of the host memory that all share: of w->limit. */
bool watch_shares_limit(const struct watch *w, const struct track *t);

/* Adds every series that is worth showing, and the job's answer. */
void watch_judge(struct watch *w, struct watch_view *v);

/* sheet.c */
void sheet_take(struct watch *w, double seconds);
void sheet_release(struct sheet *s);

#endif
