/* serve/content.h: what is read from run files. For readers alone. */
#ifndef TIDEMARK_SERVE_CONTENT_H
#define TIDEMARK_SERVE_CONTENT_H

#include "serve/address.h"
#include "serve/place.h"

#include <stdbool.h>

/* ---- the list ---- */

/* A run in the list. */
struct content_summary {
    struct buf text;   /* its object; empty: it has no final answer, and it may not be judged now */
    double started;    /* wall clock */
    char problem[240]; /* why it cannot be read */
};

/* Sums a run up into an empty *ret, which the caller releases. -errno: only `problem` is set. */
int content_summary(const struct place *p, const char *name, bool may_judge,
                    struct content_summary *ret);

/* Add the object of a run that was not read yet, and of one that cannot be read. */
void content_unread(const char *name, struct buf *out);
void content_problem(const char *name, const char *why, struct buf *out);

/* What is wrong with a file whose reader did not come to its end. */
#define CONTENT_READER_DIED "is damaged, or reading it takes too much time or memory"

/* ---- one run ---- */

enum content_kind {
    CONTENT_LIST, /* of all runs: runs_scan() makes it */
    CONTENT_DOCUMENT,
    CONTENT_ANSWER,
    CONTENT_SPAN,
};

/* Texts are not owned. */
struct content_wanted {
    enum content_kind kind;
    const char *root, *file;
    struct span_wanted span;
    const char *stamp; /* of the content that is known; "": none */
    bool may_compute;  /* false: only where the run has ended since */
};

/* What the result begins with, before the content. */
struct content_head {
    int status; /* of HTTP; CONTENT_SAME and CONTENT_LATER: there is no content */
    bool is_finished, is_live;
    char stamp[PLACE_STAMP];
};

#define CONTENT_SAME 304  /* the file has not changed */
#define CONTENT_LATER 202 /* it has, but may not be computed now */

/* Writes head and content with reading_write(). 0. */
int content_read(const struct content_wanted *wanted);

#endif
