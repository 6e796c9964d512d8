/* cli/output.h: where a command writes what was asked for: a file, or standard output. */
#ifndef TIDEMARK_CLI_OUTPUT_H
#define TIDEMARK_CLI_OUTPUT_H

#include "base/base.h"

#include <stdbool.h>

/* Whether two names are of one file that exists. */
bool output_is_same(const char *a, const char *b);

/* One owner, one thread. */
struct output {
    const char *name; /* not owned; NULL: standard output */
    int fd;
    char *draft; /* the file that takes its place when it is whole; NULL: written in place */
    bool failed;
};

/*
 * `name` NULL or "-": standard output. A new file is for its owner alone; one that exists is
 * replaced when all was written, and keeps its mode. Until then, and on an error, it is as it was.
 * `source`: what is read, and must not be written. -errno, with a message.
 */
int output_open(struct output *o, const char *name, const char *source);

/* Writes all of `text` and empties it. -errno, with a message. */
int output_write(struct output *o, struct buf *text);

/* -errno, with a message. Call it once after output_open() succeeded. */
int output_close(struct output *o);

/* All three at once. */
int output_put(const char *name, const char *source, struct buf *text);

/* Adds the name of a file beside `source`, without the ending .tide: "train.html" for
 * "train.tide" and the ending ".html". */
void output_add_name(struct buf *out, const char *source, const char *ending);

#endif
