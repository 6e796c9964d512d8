/*
 * tidemark.h: watch the memory of a training loop from inside, and be told whether it leaks.
 *
 *     #include <tidemark.h>
 *
 *     tidemark_watcher *w;
 *     if (tidemark_open(NULL, &w) < 0)
 *         w = NULL;                               // training goes on without it
 *     for (long i = 0; i < steps; i++) {
 *         double loss = train_one_batch();
 *         tidemark_step(w, loss);
 *     }
 *     tidemark_finish(w);                         // training is over: judge by what there is
 *     struct tidemark_verdict v = {.size = sizeof(v)};
 *     if (tidemark_judge(w, &v) == 0)
 *         puts(v.summary);
 *     tidemark_close(w);
 *
 * Build with `pkg-config --cflags --libs tidemark`.
 *
 * Errors: 0 or positive on success, -errno on failure, outputs untouched. No function prints,
 * exits, raises a signal, starts a thread or changes errno. Every function accepts a NULL watcher
 * and answers -EINVAL, so that a loop need not ask whether watching works. -ENOMEM from any of
 * them: memory ran out. The program goes on and the watcher does not: all later calls return
 * -ENOMEM too, and tidemark_close() releases what it safely can. Another watcher may be opened.
 *
 * Threads: one watcher may be used by several threads; a lock of its own is held for the moment.
 * A leak's callback comes in the thread whose call found it, with that lock free. Only
 * tidemark_close() must be the last call of all.
 *
 * fork(): the child of a fork has no watcher: every call there answers -ECHILD and does nothing;
 * tidemark_close() lets go of the memory. It may open one of its own. Under `tidemark run` nothing
 * is written to a file by this library: the watcher outside hears the steps and does it.
 *
 * Versions: structs that cross this border begin with their size, set by the caller; later versions
 * add at the end only. -EINVAL: the size was not set. What is promised begins with the release of
 * 0.1.0: programs built against an earlier header have a smaller struct tidemark_verdict and are
 * answered -EINVAL, so they never misread one. Severities and kinds are texts, so that new ones
 * change no number: compare them, and take one you do not know for "low".
 */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TIDEMARK_API __attribute__((visibility("default")))
#else
#define TIDEMARK_API
#endif

/* "0.1.0". */
TIDEMARK_API const char *tidemark_version(void);

/* ---- a watcher ---- */

typedef struct tidemark_watcher tidemark_watcher;

/* 0 and NULL everywhere: the sensible thing. */
struct tidemark_options {
    size_t size;          /* sizeof(struct tidemark_options) */
    const char *run_file; /* record here, for `tidemark show`; NULL: nothing is recorded */
    double start_step;    /* steps made before this program began: a resumed training */
    double plan_steps;    /* the step at which training will end */
    double horizon;       /* the longest ramp that may still be harmless, in steps */
    double epoch;         /* steps of an epoch, if known */
    double limit_bytes;   /* what the job may use; 0: from the cgroup, or the machine's memory */
    int no_gpu;           /* do not ask the driver */
};

/*
 * Watches this process and those it starts. Takes some milliseconds, more where a GPU's driver has
 * to wake up first. Several watchers may be open, each with its own count of steps; a watcher
 * outside is told those of the first, and once that is finished, of the next that is opened.
 * -EEXIST: the run file is there, and is left alone; -EACCES, -ENOENT, ...: it cannot be made;
 * -EINVAL: a number that is negative or none; -E2BIG: an option that this version does not know.
 */
TIDEMARK_API int tidemark_open(const struct tidemark_options *options, tidemark_watcher **ret);

/*
 * Training is over, nothing more will come: what was only watched, because waiting cost nothing, is
 * judged by what there is, and the run file is completed. The answers below are final from here on;
 * steps, epochs, counters and phases are refused with -ESHUTDOWN. -errno: the run file lacks its
 * end.
 */
TIDEMARK_API int tidemark_finish(tidemark_watcher *w);

/* Finishes, and lets go of everything. Accepts NULL. */
TIDEMARK_API void tidemark_close(tidemark_watcher *w);

/* ---- in the loop ---- */

/*
 * One step has been made. `loss` NAN: not known (it costs the same). Takes well under a
 * microsecond; now and then the memory is looked at, within half a percent of the time.
 * 1: this was such a moment, and counters of the caller's own belong here; 0: it was not.
 */
TIDEMARK_API int tidemark_step(tidemark_watcher *w, double loss);

/* An epoch is over. */
TIDEMARK_API int tidemark_epoch_end(tidemark_watcher *w);

/* A counter of the caller's own at this moment: memory in a pool, entries of a cache. */
enum tidemark_unit {
    TIDEMARK_BYTES,
    TIDEMARK_COUNT,
};

/*
 * `name`: up to 47 bytes, "pool.bytes", none that begins with "host."; `device`: up to 22,
 * "cuda:0", or NULL. Growth that lasts is a leak. Best called when tidemark_step() returned 1; what
 * comes faster than is worth keeping is passed over. -EINVAL: not a number, or no such name;
 * -ENOSPC: all of about 60 names are taken; -EAGAIN: another thread is naming one at this very
 * moment.
 */
TIDEMARK_API int tidemark_count(tidemark_watcher *w, const char *name, const char *device,
                                enum tidemark_unit unit, double value);

/*
 * What the program does beside its steps, by a name of its own: "evaluate", "save". Memory that is
 * taken in a phase has that name in the report, with whether it was given back. `name`: 1 to 47
 * bytes. Phases may lie in one another, also those of one name, which ends with its last end. An
 * end without a beginning is nothing. From the 17th name on all are "other". Takes about 0.1 ms;
 * under a microsecond where a name comes more often than every 20 ms: then all are counted, and
 * some are looked at. Counters that follow at once are of the phase, and not judged. -EINVAL: no
 * such name.
 */
TIDEMARK_API int tidemark_phase_begin(tidemark_watcher *w, const char *name);
TIDEMARK_API int tidemark_phase_end(tidemark_watcher *w, const char *name);

/* ---- the answer ---- */

enum tidemark_answer {
    TIDEMARK_NO_LEAK,
    TIDEMARK_LEAK,
    TIDEMARK_INCONCLUSIVE,
};

struct tidemark_verdict {
    size_t size; /* sizeof(struct tidemark_verdict), set by the caller */
    enum tidemark_answer answer;
    char severity[16];   /* "negligible", "low", "medium", "high"; empty: no leak */
    double confidence;   /* 0 to 1; NAN: not given */
    char kind[48];       /* of the series that decides: "host.anon"; empty: none does */
    char device[24];     /* of it; empty: none */
    double rate;         /* of it, in its unit per step (per second where there are no steps) */
    double rate_upper;   /* grows at most so fast, where it is no leak; NAN: not known */
    double needs_steps;  /* steps until it can be judged; NAN: not known or not needed */
    double limit_step;   /* the step at which memory runs out; NAN: not in sight */
    double suspect_step; /* first suspected at; NAN: never */
    double alarm_step;   /* called a leak at; NAN: never */
    char summary[512];   /* one sentence for people */
};

/* The answer for the whole job by what has been seen so far. A millisecond or so. */
TIDEMARK_API int tidemark_judge(tidemark_watcher *w, struct tidemark_verdict *ret);

/* The answer of one series, of this process where it has one of that kind. -ENOENT: there is none
 * of that kind (and device; NULL: any). */
TIDEMARK_API int tidemark_judge_series(tidemark_watcher *w, const char *kind, const char *device,
                                       struct tidemark_verdict *ret);

/* Called once for every series that turns to leak while the training goes on, by the call that
 * finds it: mostly tidemark_step(), also the last look of tidemark_finish(). Not for a negligible
 * leak, until it becomes more: tidemark_judge() and the report name it. Not for what is a leak
 * only because nothing more will come: judge after tidemark_finish(). It may call anything but
 * tidemark_close(), and must return. NULL: no more. */
typedef void tidemark_leak_callback(void *context, const struct tidemark_verdict *v);
TIDEMARK_API int tidemark_on_leak(tidemark_watcher *w, tidemark_leak_callback *call, void *context);

/* Everything, as docs/JSON.md describes it; as text, the short report of `tidemark run`. The caller
 * frees the text with tidemark_free(). */
TIDEMARK_API int tidemark_json(tidemark_watcher *w, char **ret);
TIDEMARK_API int tidemark_report(tidemark_watcher *w, char **ret);
TIDEMARK_API void tidemark_free(void *text);

/* ---- the moment ---- */

/*
 * What a line about now is made of. NAN: not known. Of what surrounds the process the last reading
 * is told until another is paid for by the time that has gone by: after 5 seconds at most.
 */
struct tidemark_now {
    size_t size;         /* sizeof(struct tidemark_now), set by the caller */
    double step, epochs; /* made so far, with those before the start */
    double host_bytes;   /* private memory of this process */
    double system_used;  /* share of the machine's memory in use, 0 to 1 */
    double cpu_used;     /* share of the machine's processors, since the last reading, 0 to 1 */
    double gpu_bytes;    /* of this process on its devices, by the driver */
    double gpu_used;     /* the busiest device's utilisation, 0 to 1 */
};

TIDEMARK_API int tidemark_look(tidemark_watcher *w, struct tidemark_now *ret);

#ifdef __cplusplus
}
#endif

#endif
