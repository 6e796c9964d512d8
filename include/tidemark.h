/*
 * tidemark.h: watch the memory of a training loop from inside, and report whether it leaks.
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
 *     tidemark_finish(w);                         // training is over: judge with the data so far
 *     struct tidemark_verdict v = {.size = sizeof(v)};
 *     if (tidemark_judge(w, &v) == 0)
 *         puts(v.summary);
 *     tidemark_close(w);
 *
 * Build with `pkg-config --cflags --libs tidemark`.
 *
 * Errors: 0 or positive on success, -errno on failure, outputs untouched. No function prints,
 * exits, raises a signal, starts a thread or changes errno. Every function accepts a NULL watcher
 * and returns -EINVAL, so a loop need not check whether watching works. -ENOMEM from any of them:
 * memory ran out. The program continues and the watcher does not: all later calls return -ENOMEM
 * too, and tidemark_close() releases what it safely can. You may open another watcher.
 *
 * Threads: several threads may use one watcher; its own lock is held briefly. The thread whose call
 * found a leak calls the callback, without holding that lock. tidemark_close() must be the very
 * last call.
 *
 * fork(): a forked child has no watcher. Every call there returns -ECHILD and does nothing, but
 * tidemark_close() frees the memory. The child may open its own watcher. Under `tidemark run` this
 * library writes no file: the outside watcher receives the steps and records them.
 *
 * Versions: structs passed to this library begin with their size, set by the caller; later versions
 * add members only at the end. -EINVAL: the size was not set. These promises begin with the release
 * of 0.1.0. Programs built against an earlier header have a smaller struct tidemark_verdict and get
 * -EINVAL, so they never misread one. Severities and kinds are texts, so that new ones change no
 * number: compare them, and treat an unknown one as "low".
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

/* 0 and NULL everywhere select sensible defaults. */
struct tidemark_options {
    size_t size;          /* sizeof(struct tidemark_options) */
    const char *run_file; /* record here, for `tidemark show`; NULL: nothing is recorded */
    double start_step;    /* steps made before this program began, in resumed training */
    double plan_steps;    /* the step at which training will end */
    double horizon;       /* the longest ramp that may still be harmless, in steps */
    double epoch;         /* steps of an epoch, if known */
    double limit_bytes;   /* the job's memory limit; 0: from the cgroup, or the machine's memory */
    int no_gpu;           /* do not query the driver */
};

/*
 * Watches this process and those it starts. Takes some milliseconds, more if a GPU driver has to
 * wake up first. Several watchers may be open, each with its own count of steps. An outside watcher
 * receives the steps of the first, and once that is finished, of the next one opened.
 * -EEXIST: the run file exists, and stays unchanged; -EACCES, -ENOENT, ...: it cannot be created;
 * -EINVAL: a number is negative or not finite; -E2BIG: an option that this version does not know.
 */
TIDEMARK_API int tidemark_open(const struct tidemark_options *options, tidemark_watcher **ret);

/*
 * Training is over. Judges growth that was still under observation, because waiting cost nothing,
 * with the data so far, and completes the run file. From here on the answers below are final, and
 * steps, epochs, counters and phases return -ESHUTDOWN. -errno: the run file lacks its end.
 */
TIDEMARK_API int tidemark_finish(tidemark_watcher *w);

/* Finishes, and releases everything. Accepts NULL. */
TIDEMARK_API void tidemark_close(tidemark_watcher *w);

/* ---- in the loop ---- */

/*
 * One step is done. `loss` may be NAN: not known (it costs the same). Takes well under a
 * microsecond; now and then the watcher samples memory, within half a percent of the time. 1:
 * this call sampled, so report your own counters now; 0: it did not.
 */
TIDEMARK_API int tidemark_step(tidemark_watcher *w, double loss);

/* An epoch is over. */
TIDEMARK_API int tidemark_epoch_end(tidemark_watcher *w);

/* The caller's own counter at this moment: memory in a pool, entries of a cache. */
enum tidemark_unit {
    TIDEMARK_BYTES,
    TIDEMARK_COUNT,
};

/*
 * `name`: up to 47 bytes, "pool.bytes", not beginning with "host."; `device`: up to 22,
 * "cuda:0", or NULL. Lasting growth is a leak. Best called when tidemark_step() returned 1;
 * samples that come faster than needed are dropped. -EINVAL: not a number, or an invalid name;
 * -ENOSPC: all of about 60 names are taken; -EAGAIN: another thread is registering a name at
 * this moment.
 */
TIDEMARK_API int tidemark_count(tidemark_watcher *w, const char *name, const char *device,
                                enum tidemark_unit unit, double value);

/*
 * Work of the program outside its steps, under its own name: "evaluate", "save". The report gives
 * the memory used in a phase, and says whether it was freed. `name`: 1 to 47 bytes. Phases may
 * nest, also under one name, which then ends with its last end. An end without a beginning is
 * ignored. All names from the 17th on are "other". Takes about 0.1 ms. If a name comes more often
 * than every 20 ms, takes under a microsecond: then all are counted and some are sampled.
 * Counters that follow immediately belong to the phase and are not judged. -EINVAL: an invalid
 * name.
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
    char kind[48];       /* of the deciding series: "host.anon"; empty: none decides */
    char device[24];     /* of it; empty: none */
    double rate;         /* of it, in its unit per step (per second without steps) */
    double rate_upper;   /* upper bound of the rate if it is not a leak; NAN: not known */
    double needs_steps;  /* steps until it can be judged; NAN: not known or not needed */
    double limit_step;   /* the step at which memory runs out; NAN: none predicted */
    double suspect_step; /* step of the first suspicion; NAN: never */
    double alarm_step;   /* step at which it was called a leak; NAN: never */
    char summary[512];   /* one sentence for people */
};

/* The answer for the whole job so far. Takes about a millisecond. */
TIDEMARK_API int tidemark_judge(tidemark_watcher *w, struct tidemark_verdict *ret);

/* The answer for one series; this process's own, if it has one of that kind. -ENOENT: no series of
 * that kind (and device; NULL: any). */
TIDEMARK_API int tidemark_judge_series(tidemark_watcher *w, const char *kind, const char *device,
                                       struct tidemark_verdict *ret);

/* Called once for every series that becomes a leak during training, by the call that finds it:
 * mostly tidemark_step(), also the last check of tidemark_finish(). Not called while a leak is
 * negligible; tidemark_judge() and the report name it. Not called for a leak found only because
 * training is over: judge after tidemark_finish(). The callback may call anything except
 * tidemark_close(), and must return. NULL: none. */
typedef void tidemark_leak_callback(void *context, const struct tidemark_verdict *v);
TIDEMARK_API int tidemark_on_leak(tidemark_watcher *w, tidemark_leak_callback *call, void *context);

/* The full report as JSON (see docs/JSON.md); the short report of `tidemark run` as text. The
 * caller frees the text with tidemark_free(). */
TIDEMARK_API int tidemark_json(tidemark_watcher *w, char **ret);
TIDEMARK_API int tidemark_report(tidemark_watcher *w, char **ret);
TIDEMARK_API void tidemark_free(void *text);

/* ---- the moment ---- */

/*
 * The numbers for a status line. NAN: not known. Values from outside the process are those of
 * the last reading, at most about 5 seconds old: enough time must pass before the next reading to
 * keep its overhead low.
 */
struct tidemark_now {
    size_t size;         /* sizeof(struct tidemark_now), set by the caller */
    double step, epochs; /* done so far, including those before the start */
    double host_bytes;   /* private memory of this process */
    double system_used;  /* share of the machine's memory in use, 0 to 1 */
    double cpu_used;     /* share of the machine's processors, since the last reading, 0 to 1 */
    double gpu_bytes;    /* of this process on its devices, from the driver */
    double gpu_used;     /* the busiest device's utilisation, 0 to 1 */
};

TIDEMARK_API int tidemark_look(tidemark_watcher *w, struct tidemark_now *ret);

#ifdef __cplusplus
}
#endif

#endif
