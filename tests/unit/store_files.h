/* tests/unit/store_files.h: run files in a folder of their own, and what a reader makes of them. */
#ifndef TIDEMARK_TEST_STORE_FILES_H
#define TIDEMARK_TEST_STORE_FILES_H

#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A folder for one case; folder_end() removes it with what is in it. */
struct folder {
    char path[64];
    char file[96]; /* of the run file in it */
};

static inline struct folder folder_begin(void)
{
    struct folder f = {.path = "/tmp/tidemark-store-XXXXXX"};
    if (!mkdtemp(f.path))
        abort();
    snprintf(f.file, sizeof f.file, "%s/run.tide", f.path);
    return f;
}

static inline void folder_end(const struct folder *f)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->path);
    if (system(command) != 0) /* NOLINT: a name of our own */
        abort();
}

/* Bytes of the run file with `suffix`; -1: there is none. */
static inline double file_bytes(const struct folder *f, const char *suffix)
{
    char path[128];
    struct stat st;
    snprintf(path, sizeof path, "%s%s", f->file, suffix);
    return stat(path, &st) < 0 ? -1 : (double) st.st_size;
}

/* A run of which only the title is known. */
static inline struct store_run plain_run(void)
{
    return (struct store_run){.title = "python train.py",
                              .started = 1.75e9,
                              .limit_bytes = NAN,
                              .plan_steps = NAN,
                              .plan_seconds = NAN,
                              .horizon = NAN,
                              .epoch_length = NAN};
}

/* NULL where it cannot be made. */
static inline struct store *create_plain(const struct folder *f)
{
    struct store_run run = plain_run();
    struct store *s = NULL;
    (void) store_create(f->file, &run, &s);
    return s;
}

static inline struct store *open_plain(const struct folder *f)
{
    struct store_error error;
    struct store *s = NULL;
    (void) store_open(f->file, &s, &error);
    return s;
}

/* A series of the job as a whole. */
static inline int64_t add_series(struct store *s, const char *kind)
{
    return store_add_series(s, &(struct store_series){.kind = kind});
}

/* What all samples and blocks of a series come to. */
struct total {
    double rows, count, sum, floor, max, last_seconds, last_value;
    int disordered; /* rows that are not later than the one before, or not within floor and max */
};

static inline int add_to_total(void *c, const struct store_sample *x)
{
    struct total *t = c;
    t->disordered += !(x->seconds > t->last_seconds && x->floor <= x->value && x->value <= x->max);
    t->rows++;
    t->count += x->count;
    t->sum += x->value * x->count;
    t->floor = fmin(t->floor, x->floor);
    t->max = fmax(t->max, x->max);
    t->last_seconds = x->seconds;
    t->last_value = x->value;
    return 0;
}

static inline struct total series_total(struct store *s, int64_t series)
{
    struct total t = {.floor = INFINITY, .max = -INFINITY, .last_seconds = -INFINITY};
    if (store_each_sample(s, series, add_to_total, &t) < 0)
        t.rows = NAN;
    return t;
}

/* Runs `visit` as a user who is not root. Skipped (0) where that cannot be. */
static inline int as_nobody(int (*visit)(const struct folder *f), const struct folder *f)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
            _exit(0);
        _exit(visit(f));
    }
    return pid < 0 || waitpid(pid, &status, 0) < 0 ? 0 : status;
}

#endif
