/* watch/watch.h: a job being watched: read, judged, announced and shown. */
#ifndef TIDEMARK_WATCH_H
#define TIDEMARK_WATCH_H

#include "base/base.h"
#include "deputy/deputy.h"
#include "store/store.h"
#include "view/view.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
    bool speaks;            /* leaks are announced beside the output of the job */
    uint64_t began;         /* second 0 by wire_now(), for the times in the rings */
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
 * the directory of the options. Steps reported from inside replace those read from output. The
 * rings are read at every tick.
 */
int watch_add_ring(struct watch *w, struct wire_ring *ring);

/* The census of a process of the job, where it is in no file beside the ring: see
 * wire_census_replace(). A text that is not a census is ignored. -ESRCH. */
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

/* -EMFILE or -ENFILE: processes were not read for lack of descriptors; 0: never. */
int watch_unread(const struct watch *w);

/* Steps made since watching began, by the program's own count; NAN: it tells none. */
double watch_steps(const struct watch *w);

/* Sends a signal to every process of the job. */
void watch_signal(struct watch *w, int number);

/* What is worth announcing at once. Texts are valid until the next tick. */
struct news watch_next_news(struct watch *w);

/* ---- how it ended ---- */

struct watch_end {
    bool known;       /* the command's status is known */
    int status;       /* as waitpid() gives it */
    bool interrupted; /* by the user, or by --duration and the like */
    const char *by;   /* what ended it, in words; NULL: it ended itself */
};

/* The job is over, or watching ends: reads everything once more and concludes. */
void watch_finish(struct watch *w, double seconds, const struct watch_end *end);

/* ---- what is known ---- */

void watch_view_init(struct watch *w, double seconds, struct view *ret);
/* The texts of its series are valid until the next call. */
void watch_status(struct watch *w, struct view_status *ret);

/*
 * What the driver says now of a process of the job: its memory on all devices, and how busy the
 * busiest of those is, 0 to 1. NAN: not known.
 */
void watch_sample_gpu(struct watch *w, pid_t pid, double *ret_bytes, double *ret_busy);

/* ---- attaching to processes that run already ---- */

/*
 * Processes of the job worth attaching to that were not tried yet: those with a series that leaks
 * or is suspect, or whose memory has grown evenly for most of a minute; the trainers, where the
 * job's sum is suspect; `all`: every trainer and rank. Returns how many.
 */
size_t watch_worth_attaching(struct watch *w, bool all, pid_t *ret, size_t most);

/* The folder for the rings of attached processes: takes the fifo over. Does nothing where there is
 * a folder already. -errno. */
int watch_use_rings(struct watch *w, struct deputy_folder *folder);

/* tidemark attached to a process, or could not (`why`): for the report. Texts are copied. */
struct watch_entry {
    pid_t pid;
    const char *python, *why;
    bool passes; /* the obstacle is temporary: try again in a minute */
    double stopped, longest_stop;
    unsigned stops;
};

void watch_note_entry(struct watch *w, const struct watch_entry *e);

/* "trainer 4242"; of a child of the process that was asked for, also its command and whose it is.
 */
void watch_name_process(const struct watch *w, pid_t pid, struct buf *out);

/* After watch_finish(): detaches from all processes, and waits at most that long for it. */
void watch_detach(struct watch *w, double seconds);

#endif
