/* watch/watch.h: a job being watched from outside: its processes, its series, its verdict. */
#ifndef TIDEMARK_WATCH_H
#define TIDEMARK_WATCH_H

#include "advice/advice.h"
#include "base/base.h"
#include "deputy/deputy.h"
#include "ledger/ledger.h"
#include "proc/proc.h"
#include "store/store.h"
#include "verdict/verdict.h"
#include "wire/wire.h"
#include "words/words.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Glossary:
 *   job      the watched process tree; under `run` it ends when the command ends
 *   tick     one look at the cheap counters of every process
 *   round    one look at the dear ones (PSS), spaced so that the job is not held up
 *   seconds  since watching began, on a clock that neither jumps nor counts suspension
 */

/* ---- watching ---- */

/* 0 and NULL: not said. The texts must outlive the watch. */
struct watch_options {
    const char *proc_root; /* "/proc" */
    double interval;       /* seconds between ticks; 0: 20 ms at first, stretching to 1 s */
    double horizon, epoch; /* in steps, or seconds where there are none */
    double plan_steps, plan_seconds;
    double limit_bytes;
    const char *step_regex; /* checked by progress_new() before */
    const char *command;    /* for people, redacted */
    const char *arguments;  /* the same as a JSON array */
    struct store *store;    /* not owned; NULL: nothing is recorded */
    const char *rings;      /* directory where processes of the job keep their rings */
    bool speaks;            /* leaks are told beside the output of the job */
    uint64_t began;         /* second 0 by wire_now(), for what the rings tell */
    bool hears_forks;       /* of the whole machine, where the kernel reports them: for orphans */
    bool no_gpu;            /* the driver is not asked */
    bool no_inspect;        /* processes do not look at their objects */
    enum wire_wanted wants; /* whatever is suspected: at least that */
    unsigned acts;          /* enum wire_act: what they try out while they look for holders */
    const char *note;       /* one more sentence for the report */
};

/*
 * The watcher of one job. It opens no terminal, prints nothing, and sleeps nowhere: the caller
 * says what time it is. One owner, one thread.
 */
struct watch;

int watch_new(const struct watch_options *options, struct watch **ret); /* -errno */
struct watch *watch_free(struct watch *w);                              /* accepts NULL */

/* Follows a process and all that descend from it. -ESRCH. See proc_tree_add_root(). */
int watch_add_root(struct watch *w, pid_t pid, bool children_only);

/* What the program wrote, and when: the step clock is read from it. True: the clock moved. */
bool watch_feed_output(struct watch *w, double seconds, const char *bytes, size_t len);

/*
 * The program that watches itself: its own ring, not owned. Rings of other processes are found in
 * the directory of the options. Steps told from inside replace those read from output; what is in
 * the rings is read at every tick.
 */
int watch_add_ring(struct watch *w, struct wire_ring *ring);

/* What a process of the job has found out about its objects, where that lies in no file beside its
 * ring: see wire_census_replace(). A text that is none is passed over. -ESRCH. */
int watch_take_census(struct watch *w, pid_t pid, const char *text, size_t len);

/* The last census of a process, valid until the next tick; NULL: there is none. */
const struct wire_census *watch_census(const struct watch *w, pid_t pid);

/* A child of this process that counts for it, before it has said so by its name; 0: none. */
void watch_census_by(struct watch *w, pid_t pid);

/* Readable when a process has opened its ring, or made the steps it was asked to tell at once; -1:
 * there are no rings. Call watch_tick() then. */
int watch_wake_fd(const struct watch *w);
void watch_wake_at(struct watch *w, double steps); /* as watch_steps() counts them */

/* Does what is due at this moment. Returns the second at which to call it again. */
double watch_tick(struct watch *w, double seconds);

/* Processes of the job that are alive. */
size_t watch_alive(const struct watch *w);

/* -EMFILE or -ENFILE: for want of descriptors, processes were not looked at; 0: never. */
int watch_unread(const struct watch *w);

/* Steps made since watching began, by the program's own count; NAN: it tells none. */
double watch_steps(const struct watch *w);

/* Sends a signal to every process of the job. */
void watch_signal(struct watch *w, int number);

/* What is worth telling at once. Texts are valid until the next tick. */
enum watch_news_kind {
    NEWS_LEAK,       /* a series has turned to leak: once for each, and once more where it was
                        negligible then and no longer is */
    NEWS_WITHDRAWN,  /* a series that was announced as a leak has turned out to be none */
    NEWS_NEAR_LIMIT, /* memory is nearly used up, whatever the verdict */
    NEWS_ELSEWHERE,  /* the system grows and the job does not: who does */
    NEWS_COPIES,     /* data workers copy what they could share */
    NEWS_CAUSE,      /* what grows, and who holds it: known after the leak was told */
    NEWS_STORE,      /* the run file cannot be written, or can again */
    NEWS_END,        /* no more news */
};

struct watch_news {
    enum watch_news_kind kind;
    size_t series; /* NEWS_LEAK, NEWS_WITHDRAWN: the id of the series in a view */
    const char *text;
};

struct watch_news watch_next_news(struct watch *w);

/* ---- how it ended ---- */

struct watch_end {
    bool known;       /* the command's status is known */
    int status;       /* as waitpid() gives it */
    bool interrupted; /* by the user, or by --duration and the like */
    const char *by;   /* what ended it, in words; NULL: it ended itself */
};

/* The job is over, or watching ends: conclusions are drawn. */
void watch_finish(struct watch *w, double seconds, const struct watch_end *end);

/* ---- what is known ---- */

/* One judged series. Texts and history belong to the view. */
struct watch_series {
    size_t id; /* the same in views of the same tick */
    struct series_info info;
    struct answer answer;
    struct history history;
    enum job_part part;
};

/* A line of the balance sheet: a process, or all of one role. Bytes; NAN: not known. */
struct watch_row {
    char *label; /* "trainer 4242", "3 data workers" */
    enum proc_role role;
    int64_t pid; /* 0: several */
    unsigned processes;
    double pss_first, pss;          /* its share of what it shares, so that rows add up */
    double anon, file, shmem, swap; /* of the same sum */
    double rss;                     /* for the eye: shared pages counted for each */
    double gpu;
    bool grows; /* a series of it leaks or is suspect */
};

/* A series in a phase, by its stays that were looked at: some may be too short for that. */
struct watch_phase_series {
    size_t series; /* of the view */
    double height; /* most above the floor around a stay, in bytes */
    double kept;   /* what there was more after it than before, on average */
    uint64_t looked_at, given_back;
};

/* What the program said it did beside its steps: "evaluate". */
struct watch_phase {
    char *name;
    uint64_t times, ended; /* entered, and left again */
    double seconds;        /* of those that ended, in all */
    struct watch_phase_series *series;
    size_t count;
};

#define WATCH_NOTES 12
#define WATCH_PATTERNS 8

/* What memory does in a job that is not known to leak. */
struct watch_pattern {
    enum pattern pattern;
    char *text; /* which memory, and how far it went, with the name of the pattern */
};

/* Everything a report needs; it owns all of it. */
struct watch_view {
    struct watch_series *series;
    size_t count;
    struct job_answer answer;

    char *command, *arguments;           /* for people; as a JSON array of texts */
    double started;                      /* wall clock */
    double seconds, steps, step, epochs; /* watched; steps made meanwhile; where it stands */
    char *steps_from; /* "output", "optimizer", "framework", "watcher"; NULL: there are none */
    unsigned processes, most_processes;
    uint64_t processes_seen;
    double limit;
    char *limit_source;

    struct watch_phase *phases; /* in the order they were first told */
    size_t phase_count;
    struct watch_found found;

    struct watch_row *rows;
    size_t row_count;
    struct watch_row total;
    double system_first, system_last, system_total; /* RAM in use */
    double shm_first, shm_last;                     /* in /dev/shm */
    double unexplained; /* growth of the system that neither the job nor /dev/shm explains */

    double watcher_cpu_seconds, watcher_bytes, stall_seconds;

    bool ended;               /* the command's end is known */
    int status;               /* as waitpid() gives it */
    char *ending;             /* what is known about its end, in a sentence; NULL: nothing to say */
    char *unread;             /* why processes could not be read; NULL: all were */
    char *notes[WATCH_NOTES]; /* what else the user should know, a sentence each */
    unsigned note_count;
    struct watch_pattern patterns[WATCH_PATTERNS]; /* the one that moved most first */
    unsigned pattern_count;
};

/* Every member: what is shown of them as JSON, and kept in a run file. */
extern const struct field_table watch_view_fields, watch_pattern_fields;

void watch_view_init(struct watch *w, double seconds, struct watch_view *ret);
void watch_view_release(struct watch_view *v);

/* One line's worth, cheap enough for every second. NAN: not known. */
struct watch_status {
    double total, floor; /* bytes, of the whole job */
    double step, step_total;
    size_t processes;
    enum verdict verdict;
    enum severity severity;
    bool suspect;
    struct series_info series; /* the one that decides; texts are valid until the next call */
    double rate;               /* of it, per unit of its clock */
    double needs;              /* until it can be judged, in units of its clock */
    double limit, limit_seconds;
};

void watch_status(struct watch *w, struct watch_status *ret);

/*
 * What the driver says now of a process of the job: its memory on all devices, and how busy the
 * busiest of those is, 0 to 1. NAN: not known.
 */
void watch_look_at_gpu(struct watch *w, pid_t pid, double *ret_bytes, double *ret_busy);

/* ---- the account of a process's memory ---- */

#define ACCOUNT_HOLDERS 64u

/* What the engine saw, what was measured over one window, the parts, and what follows. Not to be
 * copied: the evidence points into it. */
struct account {
    struct answer engine;   /* of the series that speaks loudest ... */
    const struct track *by; /* ... which is the one that is judged */
    bool is_by_heap;        /* the process stands still; malloc's in-use bytes grow inside it */
    double from, to;        /* the window, in seconds of the run */
    struct ledger_holder holders[ACCOUNT_HOLDERS];
    const struct wire_census_growing *growing[ACCOUNT_HOLDERS]; /* of each; the run's own */
    struct ledger_evidence evidence;
    struct ledger ledger;
    struct ledger_judgement judgement;
};

/* ---- a recorded run ---- */

/*
 * A run file as it was seen: what each series is called, and at which step each of its samples was
 * taken. The store must outlive it. One owner, one thread.
 */
struct recording;

struct recorded_series {
    struct series_info info; /* named as in a view; texts belong to the recording */
    bool judged; /* by `run`, or told by the program itself; false: recorded for the eye, or the sum
                    of a single process */
    double limit; /* as last known; 0: not known */
};

int recording_new(struct store *store, struct recording **ret); /* -errno of reading */
struct recording *recording_free(struct recording *r);          /* accepts NULL, returns NULL */

size_t recording_count(const struct recording *r);
const struct recorded_series *recording_series(const struct recording *r, size_t index);
bool recording_has_steps(const struct recording *r);
bool recording_has_evidence(const struct recording *r);         /* censuses of its processes */
bool recording_has_foreign_censuses(const struct recording *r); /* which cannot be read */
double recording_steps(const struct recording *r); /* between the first and the last; NAN: none */
/* Where it would be by then at its mean pace; 0: not known. */
double recording_step_by(const struct recording *r, double seconds);

/* Every sample or block in order of time, with its step; NAN: not known. A negative return stops
 * and is handed on. */
int recording_each_sample(struct recording *r, size_t index,
                          int (*visit)(void *c, double step, const struct store_sample *x),
                          void *c);

/* Every mark in order of time. `begins`: what follows is counted by somebody else, and may be other
 * steps; such a mark has no step. A negative return stops and is handed on. */
int recording_each_mark(const struct recording *r,
                        int (*visit)(void *c, double seconds, double step, bool begins), void *c);

/* 0 and NULL: as it was recorded. */
struct recording_options {
    double horizon, epoch, plan_steps, plan_seconds, limit_bytes;
    bool by_time;                                                   /* as if no steps were known */
    bool (*wanted)(void *context, const struct recorded_series *s); /* NULL: what `run` judges */
    void *context;
};

/*
 * Judges it again by what is recorded: the same rules, parts and false-alarm budget as `run` has,
 * so that the answer is the same but for what has been thinned since. Fills the view's series and
 * answer, nothing else. At most once a recording. -errno of reading.
 */
int recording_judge(struct recording *r, const struct recording_options *options,
                    struct watch_view *ret);

/* After recording_judge(): the account of this series' growth. False: it has none, as counters
 * that no evidence is kept of. */
bool recording_account(struct recording *r, size_t index, struct account *ret);

/*
 * What a run took, to be compared with other runs of the same job. The first fifth of its steps is
 * left out as warm-up. Step time is the mean of the others; a floor is the lowest value in the
 * second half of these, so that memory that grows or is given back shows in it; a peak is the
 * highest value from the start of the run to the last step. Host memory is that of the whole job;
 * of torch's counters the largest of a process and device. The time in cleanup, as told from
 * inside, is compared with the rest of the time. NAN: not recorded.
 */
struct measured_run {
    double steps;      /* made in the time that is measured; 0: the run told too few */
    double steps_told; /* in the whole run; the last few may not have been */
    double values[TRADEOFF_MEASURES];
};

#define MEASURE_LEAST_STEPS 10 /* told by a run; with fewer nothing is measured */

/* `most_steps`: what came after them is not looked at; 0: all. -errno of reading. */
int recording_measure(struct recording *r, double most_steps, struct measured_run *ret);
/* ---- what a recorded run says about the memory it takes ---- */

#define EVIDENCE_PARTS 8

/* The facts that advice rests on. Points into itself, the view and the recording. */
struct evidence {
    struct size_facts sizes[1 + ADVICE_DEVICES]; /* the host first, where it is known */
    size_t size_count;
    char device_names[1 + ADVICE_DEVICES][48]; /* of devices that several processes call alike */
    struct part_facts parts[EVIDENCE_PARTS];
    size_t part_count;
    struct setting_facts settings;
    double plan;                  /* the last step, or second, of the plan; NAN: none is known */
    enum series_clock clock;      /* of the plan */
    struct worker_copies *copies; /* of the workers that copied most; NULL: nothing to tell */
};

/* After recording_judge(), which filled the view. `failed`: the command did. -errno of reading. */
int evidence_init(struct evidence *e, struct recording *r, const struct watch_view *view,
                  double limit_bytes, bool failed);
void evidence_release(struct evidence *e);

/* ---- inside a command ---- */

/*
 * What lets the processes of a command tell us what they do: a directory for their rings, which the
 * environment names, and the probe, which the environment makes the loader bring into them.
 */
struct inside;

int inside_new(struct inside **ret);          /* -errno: no directory could be made */
struct inside *inside_free(struct inside *s); /* as inside_remove(); accepts NULL */

const char *inside_directory(const struct inside *s);
const char *inside_probe_copy(const struct inside *s);   /* see probe_copy.h; NULL: none was made */
char *const *inside_environment(const struct inside *s); /* for the command and nobody else */
const char *inside_why(const struct inside *s);          /* the probe is there and cannot be used */

/* For those who are left when we are gone. Does nothing where it is not there any more, or another
 * user's. The copy of the probe (NULL: none) stays while this process has children. */
void inside_remove(const char *directory, const char *probe_copy);

/* Where the probe is. -ENOENT, -EINVAL: *ret_why says it in words. */
int inside_find_probe(struct buf *ret_path, struct buf *ret_why);

/* ---- going into processes that run already ---- */

/*
 * Processes that were not started by `run` can be entered while they run (attach/attach.h): the
 * probe is brought in, and tells what it would have told from the start. A folder for their rings
 * is made where they see it, by a deputy with their user's rights (deputy/deputy.h).
 */
struct visit;

#define VISIT_MOST 64u

/* So long it is waited for the main thread of each to get to it, in seconds. */
struct visit *visit_new(double patience);
/* Waits for who is being entered, and removes the folder; accepts NULL, returns NULL. */
struct visit *visit_free(struct visit *v);

/* Makes the folder, where there is none yet. -errno: *why says it in words. */
int visit_prepare(struct visit *v, pid_t pid, struct buf *why);
/* For watch_use_rings(), before anybody is entered. */
struct deputy_folder *visit_folder(struct visit *v);

/* Enters these, one after the other, in a thread of its own. -errno: there is none. */
int visit_enter(struct visit *v, const pid_t *pids, size_t count);
/* Some have not been tried yet, or not been asked for by visit_next(). */
bool visit_is_busy(const struct visit *v);
bool visit_has_to_wait(struct visit *v); /* it takes long; true once for each time it does */
/* Who is being entered is let go, and nobody else is tried: soon, visit_await() has no more. */
void visit_cancel(struct visit *v);

struct visit_result {
    pid_t pid;
    uid_t uid; /* for whom files were handled; meaningful where error is 0 */
    int error; /* 0, or -errno: `why` says it in words, with the way out */
    char why[400];
    char python[32];
    double stopped, longest_stop; /* seconds that it stood still */
    unsigned stops;
};

/* What came of the next. False: nothing new. */
bool visit_next(struct visit *v, struct visit_result *ret);
/* The same, and waits for it. False: all have been told. */
bool visit_await(struct visit *v, struct visit_result *ret);

/*
 * The processes of the job that should be entered, and were not tried yet: those of which a series
 * leaks or is suspect, or whose memory has risen evenly for most of a minute, and where that is the
 * sum of all, the trainers; `all`: every trainer and rank. Returns how many.
 */
size_t watch_worth_entering(struct watch *w, bool all, pid_t *ret, size_t most);

/* Where the rings of processes are that were not started with one: takes the fifo over. Does
 * nothing where there is such a place already. -errno. */
int watch_use_rings(struct watch *w, struct deputy_folder *folder);

/* A process was entered, or, with `why`, could not be: for the report. Texts are copied. */
struct watch_entry {
    pid_t pid;
    const char *python, *why;
    bool passes; /* it could not be now: it is worth another try in a minute */
    double stopped, longest_stop;
    unsigned stops;
};

void watch_note_entry(struct watch *w, const struct watch_entry *e);

/* "trainer 4242"; of one that is not the one that was asked for also its command, and that. */
void watch_name_process(const struct watch *w, pid_t pid, struct buf *out);

/* After watch_finish(): all that were entered shall be left, which is waited for so long. */
void watch_leave(struct watch *w, double seconds);

/* ---- the relay ---- */

/*
 * Starts a command with a relay between it and us. The relay owns the command's terminal or pipes
 * and its wait status; it is a process of its own, so that the end of the watcher does not reach
 * the command. What is a terminal stays one for the command (of the same size), a file stays the
 * very file, a pipe stays a pipe. The command stays in the caller's session and process group:
 * keys such as Ctrl-C and Ctrl-Z reach it as they would without us.
 */
struct relay;

struct relay_options {
    char *const *argv;        /* NULL-terminated */
    bool status_line;         /* keep the last row of the terminal for relay_show() */
    char *const *environment; /* of the command; NULL: ours */
    const char *directory;    /* inside_remove() it when all is over; NULL: none */
    const char *probe_copy;   /* the same; NULL: none */
};

/* The signals that are for the command, whoever gets them. */
void relay_signal_set(sigset_t *ret);

/* 0; -errno: no process or terminal could be made. A command that cannot be executed ends with
 * status 126 or 127 as in a shell, relay_exec_error() says why. The signals that are for the
 * command are blocked in the caller from now on: it takes them from a signalfd. */
int relay_start(const struct relay_options *options, struct relay **ret);
struct relay *relay_free(struct relay *r); /* the command goes on; accepts NULL */

pid_t relay_pid(const struct relay *r); /* parent of the command, subreaper of its kin */
pid_t relay_command_pid(const struct relay *r);
int relay_fd(const struct relay *r);         /* readable when relay_read() has something; negative:
                                                the relay is gone, SIGCHLD says so instead */
int relay_exec_error(const struct relay *r); /* errno of execvp(), 0: it runs */
bool relay_has_row(const struct relay *r);   /* relay_show() shows something */

/*
 * What the command wrote since, for the step clock: whole lines, of a flood not all; nothing is
 * lost to the user if nobody reads. > 0: so many bytes; 0: the command has ended, *ret_status is
 * its wait status; -EAGAIN: nothing now; -EPIPE: nobody knows how it ended.
 */
struct relay_lines {
    uint64_t time; /* by wire_now(): when the last of them came, whenever it is read */
    char text[8192];
};

ssize_t relay_read(struct relay *r, struct relay_lines *ret_lines, int *ret_status);

/* The status line, in place of the last; empty: none. Only with `status_line` on a terminal. */
void relay_show(struct relay *r, const char *line);

/* Text for the user between the lines of the command's output. False: there is no terminal, or
 * nobody who could. */
bool relay_print(struct relay *r, const char *text);

/* A signal that came to us and is meant for the command. Not sent where the sender sent it to the
 * whole process group, and thereby to the command. */
void relay_signal(struct relay *r, int number);

/* Reads what a regular file got appended since: the output of a command that writes to one. */
struct tail;

/* Takes over the descriptor. From there on; TAIL_END: from its present end. -EINVAL: no regular
 * file. */
#define TAIL_END ((off_t) -1)
int tail_open(int fd, off_t from, struct tail **ret);
struct tail *tail_free(struct tail *t);
bool tail_is_same(const struct tail *a, const struct tail *b); /* of one file */
int tail_changes(const struct tail *t); /* readable when there is more; -1: look now and then */

/* 0: nothing new. Of a flood the last megabyte. */
ssize_t tail_read(struct tail *t, char *bytes, size_t size);

/* Passes over a text that somebody else has just written to the file, if it is there. What the
 * program wrote before it is passed over with it: read that first. */
void tail_skip(struct tail *t, const char *text, size_t len);

#endif
