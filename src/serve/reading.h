/* serve/reading.h: a forked process that reads run files for the server. */
#ifndef TIDEMARK_SERVE_READING_H
#define TIDEMARK_SERVE_READING_H

#include "base/base.h"

#include <stddef.h>

/*
 * The server itself opens no run file: it forks a reader for every piece of work, which writes its
 * result into a pipe and ends. A file that crashes, hangs or bloats its reader costs that one
 * answer; memory goes back to the system with the process, and SQLite never learns that files stay
 * open across a fork. A reader has neither the server's connections nor its output, and bounded
 * time, memory and priority.
 */
struct reading;

#define READER_MOST ((size_t) 16 << 20) /* bytes of a result */

/* Runs in the reader. It may write with reading_write(), and returns 0 if the result is complete.
 */
typedef int (*reading_work)(void *context);

/* -errno: no process. `context` is read in the reader alone, as it was at this moment. */
int reading_start(reading_work work, void *context, struct reading **ret);
struct reading *reading_free(struct reading *r); /* ends the process; accepts NULL, returns NULL */

/* In the reader: adds to the result. */
void reading_write(const void *bytes, size_t len);

int reading_fd(const struct reading *r); /* readable when reading_collect() has something to do */

struct reading_result {
    struct buf bytes; /* what was written, also if it is not complete; the caller releases it */
    bool is_complete;
    double cpu_seconds;
};

/* -EAGAIN: not yet. 0: it has ended, *ret is filled, and the reader is to be freed. */
int reading_collect(struct reading *r, struct reading_result *ret);

/* Ends it: the next reading_collect() has the incomplete result. */
void reading_stop(struct reading *r);

#endif
