/* watch/watch.h: watches a job: reads, judges, announces and shows it. */
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

/* 0 and NULL: not set. The texts must outlive the watch. */
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
    const char *rings;      /* directory of the job's rings */
    bool speaks;            /* announces leaks beside the job's output */
    uint64_t began;         /* second 0 by wire_now(), for the times in the rings */
    bool hears_forks; /* all forks of the machine, where the kernel reports them: for orphans */
    bool no_gpu;      /* does not query the driver */
    bool no_inspect;  /* processes do not inspect their objects */
    enum wire_wanted wants; /* minimum, whatever is suspected */
    unsigned acts;          /* enum wire_act: what processes try while they search for holders */
    bool no_trace;          /* no process samples its allocations */
    double
        trace_bytes;  /* every process samples from the start, once in so many bytes; 0: suspects */
    const char *note; /* one more sentence for the report */
};

/*
 * The watcher of one job. It opens no terminal and prints nothing; the caller passes the time. It
 * sleeps only in watch_detach(), and up to 1.5 s for the census of a process that ended. One owner,
 * one thread.
 */
struct watch;

int watch_new(const struct watch_options *options, struct watch **ret); /* -errno */
struct watch *watch_free(struct watch *w);                              /* accepts NULL */

/* Follows a process and all its descendants. -ESRCH. See proc_tree_add_root(). */
int watch_add_root(struct watch *w, pid_t pid, bool children_only);

/* Takes what the program wrote, and when: the source of the step clock. True: the clock moved. */
bool watch_feed_output(struct watch *w, double seconds, const char *bytes, size_t len);

/*
 * The ring of a program that watches itself; not owned. Rings of other processes are found in the
 * directory of the options. Steps reported from inside replace those read from output. The rings
 * are read at every tick.
 */
int watch_add_ring(struct watch *w, struct wire_ring *ring);

/* Takes the census of a process that has no census file beside its ring: see
 * wire_census_replace(). A text that is not a census is ignored. -ESRCH. */
int watch_take_census(struct watch *w, pid_t pid, const char *text, size_t len);

/* The last census of a process, valid until the next tick; NULL: there is none. */
const struct wire_census *watch_census(const struct watch *w, pid_t pid);

/* Leaves out a child of this process that counts for it, before its name says so; 0: none. */
void watch_census_by(struct watch *w, pid_t pid);

/* Readable when a process opened its ring, or made the steps that it reports at once; -1: there
 * are no rings. Call watch_tick() then. */
int watch_wake_fd(const struct watch *w);
void watch_wake_at(struct watch *w, double steps); /* as watch_steps() counts them */

/* Does what is due at this moment. Returns the second at which to call it again. */
double watch_tick(struct watch *w, double seconds);

/* Processes of the job that are alive. */
size_t watch_alive(const struct watch *w);

/* -EMFILE or -ENFILE: processes were not read for lack of descriptors; 0: never. */
int watch_unread(const struct watch *w);

/* Steps made since watching began, by the program's own count; NAN: it reports none. */
double watch_steps(const struct watch *w);

/* Sends a signal to every process of the job. */
void watch_signal(struct watch *w, int number);

/* The next news to announce at once. Texts are valid until the next tick. */
struct news watch_next_news(struct watch *w);

/* ---- how it ended ---- */

struct watch_end {
    bool known;       /* the command's status is known */
    int status;       /* as waitpid() gives it */
    bool interrupted; /* by the user, --duration or the like */
    const char *by;   /* what ended it, in words; NULL: it ended itself */
};

/* The job is over, or watching ends: reads everything once more and concludes. */
void watch_finish(struct watch *w, double seconds, const struct watch_end *end);

/* ---- what is known ---- */

void watch_view_init(struct watch *w, double seconds, struct view *ret);
/* The texts of its series are valid until the next call. */
void watch_status(struct watch *w, struct view_status *ret);
/* The living processes; the caller releases it: view_tree_release(). */
void watch_tree(const struct watch *w, struct view_tree *ret);

/* Reads a process from the driver: its memory on all devices, and how busy the busiest of these
 * is, 0 to 1. NAN: not known. */
void watch_sample_gpu(struct watch *w, pid_t pid, double *ret_bytes, double *ret_busy);

/* ---- attaching to processes that run already ---- */

/*
 * Processes worth attaching to that were not tried yet, or not lately: those with a leaking or
 * suspect series, or whose memory grew evenly for most of a minute; the trainers, if the job's sum
 * is suspect; with `all` every trainer and rank. Returns their number.
 */
size_t watch_worth_attaching(struct watch *w, bool all, pid_t *ret, size_t most);

/* Uses the folder for the rings of attached processes and takes its fifo over. Does nothing if
 * there is a folder already. -errno. */
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

/* "trainer 4242"; for another process than the requested one, also its command and the root. */
void watch_name_process(const struct watch *w, pid_t pid, struct buf *out);

/* After watch_finish(): detaches from all processes and waits at most `seconds` for it. */
void watch_detach(struct watch *w, double seconds);

#endif
