/* serve/runs.h: the runs that a server shows, and the list of them. */
#ifndef TIDEMARK_SERVE_RUNS_H
#define TIDEMARK_SERVE_RUNS_H

#include "serve/place.h"

#include <stdbool.h>
#include <stddef.h>

/* A run that was found. Only these can be asked for. Texts are owned. */
struct run {
    char *name; /* in addresses; unique */
    char *root; /* its file is `file` below this folder */
    char *file;
    char *summary;           /* its object in the list, as JSON; NULL: not read yet */
    char *problem;           /* why it cannot be read; NULL: it can, or nobody tried */
    char stamp[PLACE_STAMP]; /* when `summary` was made */
    double started;          /* wall clock; NAN: not known */
    unsigned long judged;    /* the scan that last summed it up */
    bool is_found;           /* by the scan that is being taken over */
};

/* One owner, one thread. */
struct runs {
    char *folder; /* scanned for run files; NULL: the runs are the ones that were added */
    char *title;
    char *note; /* about what was left out; NULL: nothing */
    struct run *items;
    size_t count;
    unsigned long scans;
};

/* `folder` NULL: runs_add() says which. Texts are copied. -errno: the folder cannot be resolved. */
int runs_init(struct runs *r, const char *folder, const char *title);
void runs_release(struct runs *r);

/* A run file given by its path; called by the last part of it. -errno: the folder cannot be
 * resolved. */
int runs_add(struct runs *r, const char *path);

bool runs_is_read(const struct runs *r); /* every run was summed up at least once */
const struct run *runs_find(const struct runs *r, const char *name); /* NULL: there is none */

/* In a reader: finds the runs, sums up those that changed, and writes what runs_take() reads. 0. */
int runs_scan(struct runs *r);

/* Takes over what a scan wrote. If the scan died, the run that it was reading is at fault.
 * `bytes` end with a NUL. */
void runs_take(struct runs *r, const char *bytes, size_t len, bool is_complete);

/* The list as docs/PAGE.md has it. */
void runs_json(const struct runs *r, struct buf *out);

#endif
