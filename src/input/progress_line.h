/* input/progress_line.h: one line of a program's output: which count of the training it tells. */
#ifndef TIDEMARK_INPUT_PROGRESS_LINE_H
#define TIDEMARK_INPUT_PROGRESS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How sure it is that a number counts steps of the training; the surest last. */
enum progress_kind {
    PROGRESS_SAMPLES, /* "Train Epoch: 1 [640/60000 (1%)]": goes with the steps */
    PROGRESS_BAR,     /* a bar that does not say what it counts */
    PROGRESS_STEP,    /* "step 12", "batch 40/782", a bar that says "Training" */
    PROGRESS_GLOBAL,  /* "global_step 822": does not begin anew with the epoch */
};

struct progress_line {
    double step, total; /* as they stand; NAN: not told */
    double epoch, epoch_total;
    enum progress_kind kind;
    uint64_t shape;    /* the same for all lines that count the same thing; of `step` */
    bool epoch_ended;  /* `epoch` counts epochs that are over, not the one at work */
    bool is_bar;       /* closed: nothing is missing of it */
    bool is_per_epoch; /* the line tells its epoch: the count may be of it alone */
    size_t length;     /* what was read; behind a bar something else may follow */
};

/*
 * Reads a line without escape sequences, NUL-terminated. False: it tells neither a step nor an
 * epoch of the training. What is of validation, downloads or the preparation of data is neither.
 */
bool progress_line_parse(const char *text, struct progress_line *ret);

/* A number at `p` as counts are written: "12", "1,234", "1.2k"; NULL: none, else behind it. */
const char *progress_number(const char *p, double *ret, bool *ret_is_whole);

#endif
