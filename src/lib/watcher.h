/* lib/watcher.h: the state of a watcher, and how a call comes to it. Private to lib/. */
#ifndef TIDEMARK_LIB_WATCHER_H
#define TIDEMARK_LIB_WATCHER_H

#include "run/run.h"

#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <tidemark.h>

/* What is around the process, in parts of 1 and bytes; NAN: not known. */
struct surroundings {
    double system_used, cpu_used, gpu_used, gpu_bytes;
};

/*
 * A program that watches itself runs the code of `tidemark run`: a struct watch over its own
 * process and children, fed by its own ring, recorded in a run file. This file is the border only:
 * when a look is affordable, locks, forks, and what the caller must not notice (errno, locale).
 */
struct tidemark_watcher {
    atomic_bool forked; /* this process is a child of the one that opened it */
    bool lost;          /* memory ran out in the middle of a call: watch and store are unusable */
    pthread_mutex_t lock;
    tidemark_watcher *next; /* of all that are open; for fork() */

    struct wire_ring *ring;
    bool watched_outside; /* `tidemark run` watches from outside, and records */
    double step, epochs;
    uint64_t began;        /* wire_now() of second 0 */
    uint64_t next_look;    /* wire_now() from which on the next look may come; 0: there was none */
    uint64_t records_read; /* of the ring, by the last look */

    struct watch *watch;
    struct store *store; /* NULL: none */
    struct buf run_file; /* its path; empty: none */
    struct buf command, arguments;
    bool finished;
    double seconds_finished;

    /* The caller's own counters: when each was last put into the ring. */
    uint64_t moment;           /* steps that were reported ... */
    uint64_t reported;         /* ... the last of them at this time */
    uint64_t activity_changed; /* when an activity last began or ended; 0: a step came since */
    struct {
        uint64_t moment, time;
    } counted[WIRE_NAMES];
    int loss; /* its number among the ring's names; negative: none yet */

    tidemark_leak_callback *on_leak;
    void *on_leak_context;
    bool hears_negligible; /* it is called for negligible leaks too */

    struct proc *self;   /* for tidemark_look(); NULL: cannot be read */
    struct proc_cpu cpu; /* at the last look around the process */
    struct surroundings surroundings;
    uint64_t next_surroundings; /* wire_now() from which on they may be read again */
    locale_t plain;             /* numbers are written as in C, whatever the program's language */
};

/* ---- calls ---- */

/* One call from outside: what it found. */
struct visit {
    struct tidemark_verdict *leaks; /* for the callback, once the lock is free */
    size_t leak_count;
};

typedef int visit_work(tidemark_watcher *w, struct visit *v, void *context);

/*
 * Does the work of one call from outside with the lock held and the C locale set; then releases
 * both, restores the caller's errno and calls back for the leaks. Returns what `work` returns.
 * -EINVAL: no watcher; -ECHILD: not this process's; -ENOMEM: memory ran out in `work` or in an
 * earlier call, and the watcher is lost (base/failure.h).
 */
int watcher_visit(tidemark_watcher *w, visit_work *work, void *context);

/* Reports the present step, as of `time`: the last one reported may be some steps ago. */
void watcher_report_step(tidemark_watcher *w, uint64_t time);

/* Samples what is due and judges, with all steps until now. */
void watcher_look_now(tidemark_watcher *w, struct visit *v);

double watcher_seconds(const tidemark_watcher *w); /* since it was opened, until it was finished */

/* ---- answers ---- */

/* Takes the news of the watch: leaks join those of the visit, and all are events of the run file.
 */
void answer_take_news(tidemark_watcher *w, struct visit *v, double seconds);

/* Everything that is known by now. The caller releases the view. */
void answer_look(tidemark_watcher *w, struct visit *v, struct view *ret);

/* The text of a buffer, which is released, as the caller's own. -ENOMEM. */
int answer_hand_over(struct buf *text, char **ret);

/*
 * Structs of the caller begin with their size. Copies what both sides know of `known`, whose first
 * member is its size, to *ret. -EINVAL: smaller than there ever was one.
 */
int answer_copy(void *ret, const void *known);

#endif
