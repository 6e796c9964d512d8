/* store/store.h: a run on disk: one SQLite file, NAME.tide. docs/STORE.md has the schema. */
#ifndef TIDEMARK_STORE_H
#define TIDEMARK_STORE_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Written by one watcher, read by anybody at the same time (WAL). Seconds count from the start of
 * the run on a clock that never jumps. Samples of the last minutes stand as they are; older ones
 * are thinned to blocks with floor, mean and maximum, so that a file has a bounded size (24 hours
 * of 25 processes: under 50 MB). The final answer is kept beside them and never thinned.
 * Files are 0600. A store is for writing (store_create) or for reading (store_open), never for
 * both. One owner, one thread.
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
    double exit_status; /* as wait() tells; NAN: not known */
};

struct store_series {
    int64_t process; /* the id of a process, 0: of the job as a whole */
    const char *kind, *device, *name;
    enum series_unit unit;
    double limit;     /* what it may take, in its unit, as last known; 0: not known */
    const char *rule; /* how its growth is to be read, as last known; NULL: not told */
};

/* What was measured of one process at one moment; NAN: not known. */
struct store_heap_point {
    double seconds;
    double anon;                     /* its anonymous memory */
    double heap_used, heap_free;     /* what malloc has given out, and has free */
    double data;                     /* what it asked the kernel for, touched or not */
    double arenas_used, arenas_free; /* blocks of Python's arenas */
};

/* A census of a process, as wire/census.h defines the text. */
struct store_census {
    bool searched;   /* holders were searched for */
    uint64_t origin; /* second 0 of the run, on the clock of the text's times */
    const char *text;
};

/* ---- writing ---- */

/* -EEXIST: there is such a file (never overwritten); -errno otherwise, and no file is left. */
int store_create(const char *path, const struct store_run *run, struct store **ret);

/* Closes without a final answer, as a crash would. Accepts NULL, returns NULL. In the child of a
 * fork the file is not touched, and SQLite's own memory stays: the connection is the parent's. */
struct store *store_free(struct store *s);

/*
 * All of these only queue in memory; store_commit() writes them in one transaction, which readers
 * see and a killed writer leaves behind. While commits fail (-ENOSPC, -EIO) all of it waits for one
 * that works, in bounded memory: the last 16384 samples, 8 MB of the rest. What is beyond is lost,
 * and the run goes on with a gap. Ids are positive; 0: no memory, or too much waits already.
 * Samples come in the order of time, more or less. Left out is one that is not finite, that is
 * older than what is still kept sample by sample, or that has a sibling at the very same time.
 */
int64_t store_add_process(struct store *s, const struct store_process *p);
void store_update_process(struct store *s, int64_t id, const struct store_process *p);
int64_t store_add_series(struct store *s, const struct store_series *series);
void store_update_series(struct store *s, int64_t series, double limit, const char *rule);
void store_add_sample(struct store *s, int64_t series, double seconds, double value);
void store_add_mark(struct store *s, double seconds, double step, double epoch); /* NAN: not told */
void store_add_event(struct store *s, double seconds, const char *what, const char *text);

/* Replaces the heap points kept of a process: at most some dozens. */
void store_set_heap_points(struct store *s, int64_t process, const struct store_heap_point *points,
                           size_t count);
/* In place of the one before, of the same process and the same `searched`; one that was searched
 * takes the place of both. */
void store_set_census(struct store *s, int64_t process, const struct store_census *census);

/* What turns out while it runs: the memory there is, how many steps the program itself says it will
 * make, how long its epochs are. NAN and NULL: as it was. */
void store_set_terms(struct store *s, double limit_bytes, const char *limit_source,
                     double plan_steps, double epoch_length);

/*
 * Call about once a second; thins old samples a little at a time, and puts the log into the file
 * every few seconds, later once a minute: the file alone lacks no more than that. 0, or -errno once
 * the file cannot be written; 0 again when it can, which is tried every ten `seconds`. -EBUSY:
 * somebody else holds a lock for writing; tried again by the next call. It may wait for the disk.
 */
int store_commit(struct store *s, double seconds);

/* Why a file cannot be written, in words, for any code that the calls above return. */
const char *store_words(int code);

/*
 * The final answer: the report's JSON, and the text from which `show` makes the report again (NULL:
 * none).
 */
void store_set_answer(struct store *s, const char *json, const char *report);

/* Closes to one file without -wal and -shm. Frees `s` in any case. Where somebody has the file
 * open, an empty -wal and -shm may stay. */
int store_close(struct store *s, double seconds);

/* ---- reading ---- */

struct store_error {
    char text[240];
};

/* True if the file begins as one of ours (any SQLite file). Not for a file that this process has
 * open: to open and close it once more takes its locks away. */
bool store_is_one(const char *path);

/* -EINVAL: not a run file; -EPROTO: made by a newer tidemark; -EBADMSG: damaged; -EISDIR, -ENOENT,
 * -EACCES, ...; error->text says it in words, to stand after the name of the file and a colon. What
 * is read later may turn out to be damaged, too: -EBADMSG from any of the calls below. */
int store_open(const char *path, struct store **ret, struct store_error *error);

/* The same words for what one of the calls below has returned. */
void store_explain(int code, struct store_error *ret);

/* Texts are owned by `s`. All but store_run() look anew: a file that is being written grows. */
const struct store_run *store_run(const struct store *s);
bool store_is_finished(const struct store *s);    /* it has its final answer */
double store_last_seconds(const struct store *s); /* of the last sample; NAN: none */

/* NULL: none. Both are valid until the next call. */
int store_answer(struct store *s, const char **ret_json, const char **ret_report);

/* Calls back in order of id or time; texts are valid during the call. A negative return stops and
 * is handed on. */
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
/* In the order of process and time: a census that was searched for comes before a later one that
 * was not. A run file from before evidence was kept has none. */
int store_each_heap_point(struct store *s,
                          int (*visit)(void *c, int64_t process, const struct store_heap_point *x),
                          void *c);
int store_each_census(struct store *s,
                      int (*visit)(void *c, int64_t process, const struct store_census *x),
                      void *c);
int store_each_event(struct store *s,
                     int (*visit)(void *c, double seconds, const char *what, const char *text),
                     void *c);

#endif
