/* base/lines.h: a stream of bytes as lines, in bounded memory. */
#ifndef TIDEMARK_BASE_LINES_H
#define TIDEMARK_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest line kept whole: a JSON line may hold a whole series. Longer ones are truncated and
 * marked. */
#define LINES_MAX_BYTES ((size_t) 64 << 20)

struct line {
    const char *text; /* NUL-terminated (the line end is not part of it) */
    size_t len;
    uint64_t number; /* from 1, counted by \n as editors do */
    bool cut;        /* longer than LINES_MAX_BYTES; the rest is skipped */
    bool has_nul;    /* holds a NUL byte: not text */
    bool complete;   /* ended by a line end, not by the end of the stream */
};

/*
 * Splits at \n, \r\n and at a lone \r (progress bars); drops a byte-order mark. Starts with 64 KiB
 * and grows only for long lines. Reads the descriptor, does not own it; EINTR is retried.
 */
struct lines;

int lines_new(int fd, struct lines **ret); /* -ENOMEM */
struct lines *lines_free(struct lines *l); /* accepts NULL, returns NULL */

/*
 * 1: *ret is the next line, valid until the next call. 0: end of the stream. -errno: read failed.
 * With `partial_ok` false, an unfinished last line is kept for a later call (a growing file).
 */
int lines_next(struct lines *l, bool partial_ok, struct line *ret);

#endif
