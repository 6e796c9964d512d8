/* input/reader.h: what every format implements, and how the format is found. Inside input only. */
#ifndef TIDEMARK_INPUT_READER_H
#define TIDEMARK_INPUT_READER_H

#include "input/collect.h"

/*
 * A reader is fed line after line and keeps no more than it needs to understand the next one.
 * Its state is private to its file.
 */
struct reader {
    const char *name; /* for input_summary.format */
    int (*open)(struct collector *c, void **ret_state);
    /* Negative: the sink's return, or -EINVAL after collect_error(). */
    int (*line)(void *state, const struct line *line);
    /* Only called where no series was found: says why, and returns -EINVAL. */
    int (*explain)(void *state);
    void (*close)(void *state);
};

extern const struct reader csv_reader;
extern const struct reader json_lines_reader;
extern const struct reader mprof_reader;
extern const struct reader text_log_reader;

/*
 * Judges the lines from the beginning of a source; to be asked again after every line, with all
 * of them, and at last with `final`. NULL: not to be said yet. *ret_first is the line it begins at.
 */
const struct reader *detect_format(const struct line *lines, size_t count, bool final,
                                   size_t *ret_first);

/* csv.c: 1: a header and a row of numbers below it; 2: two rows without a header; 0: neither. */
int csv_looks_like(const struct line *first, const struct line *second);
bool csv_looks_like_header(const struct line *line);

/* json_lines.c: an object that holds a series or a memory value. */
bool json_lines_looks_like(const struct line *line);

/* mprof.c: a line of memory_profiler. */
bool mprof_looks_like(const struct line *line);

/* text_log.c: a line with a clock and a memory value. */
bool text_log_looks_like(const struct line *line);

#endif
