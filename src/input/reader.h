/* input/reader.h: what every format implements, and how the format is found. Inside input only. */
#ifndef TIDEMARK_INPUT_READER_H
#define TIDEMARK_INPUT_READER_H

#include "input/collect.h"

/*
 * A reader gets line after line and keeps no more than it needs for the next one. Its state is
 * private to its file.
 */
struct reader {
    const char *name; /* for input_summary.format */
    int (*open)(struct collector *c, void **ret_state);
    /* Negative: the sink's return, or -EINVAL after collect_error(). */
    int (*line)(void *state, const struct line *line);
    /* Called only if no series was found: sets the error, and returns -EINVAL. */
    int (*explain)(void *state);
    void (*close)(void *state);
};

extern const struct reader csv_reader;
extern const struct reader json_lines_reader;
extern const struct reader mprof_reader;
extern const struct reader text_log_reader;

/*
 * Judges the first lines of a source. Call it again after every line, with all of them, and at the
 * end with `final`. NULL: undecided. *ret_first is the line where the format begins.
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
