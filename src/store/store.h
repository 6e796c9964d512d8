/* store/store.h: a run on disk: one SQLite file, NAME.tide. docs/STORE.md has the schema. */
#ifndef TIDEMARK_STORE_H
#define TIDEMARK_STORE_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One watcher writes it while others read it (WAL). Seconds count from the start of the run on a
 * clock that never jumps. Samples of the last minutes are kept as they are. Older ones are thinned
 * to blocks with floor, mean and maximum, so the file stays bounded (24 hours of 25 processes:
 * under 50 MB). The final answer is stored too and never thinned. Files are 0600. A store is for
 * writing (store_create) or for reading (store_open), never for both. One owner, one thread.
 */
struct store;

#define STORE_SCHEMA 1

/* What is known when the run begins. Texts are copied. */
struct store_run {
    const char *command; /* JSON array of the arguments, redacted; NULL: watched by pid */
    const char *title;   /* for people: the command in one line, redacted */
    const char *host;
    double started;           /* wall clock, seconds since 1970 */
    double limit_bytes;       /* NAN: not known */
    const char *limit_source; /* "cgroup", "RAM", "--limit"; may be NULL */
    double plan_steps, plan_seconds, horizon, epoch_length; /* NAN: not known */
};

struct store_process {
    int64_t pid;
    uint64_t start;
    int64_t parent_pid;        /* 0: not known */
    const char *role;          /* NULL: not known yet */
    int rank;                  /* -1: none */
    const char *command, *why; /* redacted command; evidence for the role; may be NULL */
    double first_seconds, last_seconds;
    double exit_status; /* as wait() returns it; NAN: not known */
};

struct store_series {
    int64_t process; /* the id of a process, 0: of the job as a whole */
    const char *kind, *device, *name;
    enum series_unit unit;
    double limit;     /* its limit in its own unit, as last known; 0: not known */
    const char *rule; /* the ledger's rule for its growth, as last known; NULL: none */
};

/* Measured in one process at one moment; NAN: not known. */
struct store_heap_point {
    double seconds;
    double anon;                     /* its anonymous memory */
    double heap_used, heap_free;     /* malloc: in use, and free heap memory */
    double data;                     /* requested from the kernel, touched or not */
    double arenas_used, arenas_free; /* blocks of Python's arenas */
};

/* A census of a process, as wire/census.h defines the text. */
struct store_census {
    bool searched;   /* holders were searched for */
    uint64_t origin; /* second 0 of the run, on the clock of the text's times */
    const char *text;
};

/* ---- writing ---- */

/* -EEXIST: the file exists (never overwritten); -errno otherwise, and no file is left. */
int store_create(const char *path, const struct store_run *run, struct store **ret);

/* Closes without a final answer, as a crash would. Accepts NULL, returns NULL. In a forked child
 * the file is not touched and SQLite's own memory is not freed: the connection is the parent's. */
struct store *store_free(struct store *s);

/*
 * These functions only queue in memory. store_commit() writes the queue in one transaction, which
 * readers see and which survives a killed writer. While commits fail (-ENOSPC, -EIO) the queue
 * waits in bounded memory: the last 16384 samples and 8 MB of the rest. Anything beyond is lost,
 * and the run continues with a gap. Ids are positive; 0: no memory, or too much is waiting. Samples
 * come roughly in order of time. A sample is left out if it is not finite, is older than the
 * samples still kept one by one, or has the same time as another of its series.
 */
int64_t store_add_process(struct store *s, const struct store_process *p);
void store_update_process(struct store *s, int64_t id, const struct store_process *p);
int64_t store_add_series(struct store *s, const struct store_series *series);
void store_update_series(struct store *s, int64_t series, double limit, const char *rule);
void store_add_sample(struct store *s, int64_t series, double seconds, double value);
void store_add_mark(struct store *s, double seconds, double step,
                    double epoch); /* NAN: not reported */
void store_add_event(struct store *s, double seconds, const char *what, const char *text);

/* Replaces the heap points kept of a process: at most some dozens. */
void store_set_heap_points(struct store *s, int64_t process, const struct store_heap_point *points,
                           size_t count);
/* Replaces the previous census of the same process and the same `searched`. One that searched for
 * holders replaces both. */
void store_set_census(struct store *s, int64_t process, const struct store_census *census);
/* Replaces the previous traced sites of the same process; a text as sites/sites.h defines it. Each
 * one is written as a whole, so call it when the sites have changed, not every second. */
void store_set_sites(struct store *s, int64_t process, const char *text);

/* Facts that appear during the run: the memory limit, the planned number of steps, the length of an
 * epoch. NAN and NULL leave the value as it was. */
void store_set_terms(struct store *s, double limit_bytes, const char *limit_source,
                     double plan_steps, double epoch_length);

/*
 * Call about once a second. It thins some old samples, and moves the log into the file every few
 * seconds, later once a minute: the file alone is never further behind than that. 0, or -errno when
 * the file cannot be written; it retries every ten `seconds`, and returns 0 again on success.
 * -EBUSY: another program holds a write lock; the next call tries again. It may wait for the disk.
 */
int store_commit(struct store *s, double seconds);

/* Why a file cannot be written, in words, for any code the functions above return. */
const char *store_words(int code);

/*
 * The final answer: the report's JSON, and the text from which `show` rebuilds the report (NULL:
 * none).
 */
void store_set_answer(struct store *s, const char *json, const char *report);

/* Closes to one file without -wal and -shm, and always frees `s`. If another program has the file
 * open, an empty -wal and -shm may stay. */
int store_close(struct store *s, double seconds);

/* ---- reading ---- */

struct store_error {
    char text[240];
};

/* True if the file begins like one of ours (any SQLite file). Do not use it on a file that this
 * process has open: opening and closing it again drops its locks. */
bool store_is_one(const char *path);

/* -EINVAL: not a run file; -EPROTO: written by a newer tidemark; -EBADMSG: damaged; -EISDIR,
 * -ENOENT, -EACCES, ...; error->text says it in words that follow the file's name and a colon.
 * Later reads may still find damage: every function below may return -EBADMSG. */
int store_open(const char *path, struct store **ret, struct store_error *error);

/* The same words for a code that one of the functions below returned. */
void store_explain(int code, struct store_error *ret);

/* Texts belong to `s`. All functions but store_run() read again: the file may still be growing. */
const struct store_run *store_run(const struct store *s);
bool store_is_finished(const struct store *s);    /* it has its final answer */
double store_last_seconds(const struct store *s); /* of the last sample; NAN: none */

/* NULL: none. Both texts are valid until the next call. */
int store_answer(struct store *s, const char **ret_json, const char **ret_report);

/* Calls `visit` in order of id or time; texts are valid during the call. A negative return stops
 * and is returned. */
struct store_sample {
    double seconds, value; /* of a block: the means of its samples */
    double floor, max;     /* of a single sample: the value */
    double count;
};

int store_each_process(struct store *s,
                       int (*visit)(void *c, int64_t id, const struct store_process *p), void *c);
int store_each_series(struct store *s,
                      int (*visit)(void *c, int64_t id, const struct store_series *x), void *c);
int store_each_sample(struct store *s, int64_t series,
                      int (*visit)(void *c, const struct store_sample *x), void *c);
int store_each_mark(struct store *s,
                    int (*visit)(void *c, double seconds, double step, double epoch), void *c);
/* In order of process and time. A census that searched for holders comes before a later one that
 * did not. Run files from before evidence was recorded have none. */
int store_each_heap_point(struct store *s,
                          int (*visit)(void *c, int64_t process, const struct store_heap_point *x),
                          void *c);
int store_each_census(struct store *s,
                      int (*visit)(void *c, int64_t process, const struct store_census *x),
                      void *c);
/* In order of process. None: the run was not traced, or the file is older than that. */
int store_each_sites(struct store *s, int (*visit)(void *c, int64_t process, const char *text),
                     void *c);
int store_each_event(struct store *s,
                     int (*visit)(void *c, double seconds, const char *what, const char *text),
                     void *c);

#endif
