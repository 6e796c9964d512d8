/* input/progress_line.h: finds the training count in one line of a program's output. */
#ifndef TIDEMARK_INPUT_PROGRESS_LINE_H
#define TIDEMARK_INPUT_PROGRESS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How sure it is that a number counts training steps, the surest last. */
enum progress_kind {
    PROGRESS_SAMPLES, /* "Train Epoch: 1 [640/60000 (1%)]": advances with the steps */
    PROGRESS_BAR,     /* a bar that does not say what it counts */
    PROGRESS_STEP,    /* "step 12", "batch 40/782", a bar that says "Training" */
    PROGRESS_GLOBAL,  /* "global_step 822": does not restart with the epoch */
};

struct progress_line {
    double step, total; /* as printed; NAN: none */
    double epoch, epoch_total;
    enum progress_kind kind;
    uint64_t shape;    /* of `step`: the same for all lines that count the same thing */
    bool epoch_ended;  /* `epoch` counts finished epochs, not the current one */
    bool is_bar;       /* a complete, closed bar */
    bool is_per_epoch; /* the line has an epoch: the count may be of that epoch alone */
    size_t length;     /* bytes read; more may follow a bar */
};

/*
 * Reads a NUL-terminated line without escape sequences. False: it has neither a step nor an epoch
 * of the training. Validation, downloads and data preparation do not count.
 */
bool progress_line_parse(const char *text, struct progress_line *ret);

/* Reads a number at `p` as counts are printed: "12", "1,234", "1.2k". Its end; NULL: none. */
const char *progress_number(const char *p, double *ret, bool *ret_is_whole);

#endif
