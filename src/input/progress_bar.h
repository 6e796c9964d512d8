/* input/progress_bar.h: progress bars as tqdm, rich and Keras draw them. Pure. */
#ifndef TIDEMARK_INPUT_PROGRESS_BAR_H
#define TIDEMARK_INPUT_PROGRESS_BAR_H

#include <stdbool.h>

/* A number in a line, "12" or "12/100". */
struct progress_count {
    const char *begin;
    const char *behind_n;
    const char *end; /* end of the total; `behind_n` without one */
    double n, total; /* total NAN: none */
    bool is_whole;   /* n has no decimals */
};

enum bar_unit {
    BAR_STEPS, /* "it", "batch", or no unit */
    BAR_DATA,  /* examples, files: most often the preparation of a data set */
    BAR_BYTES, /* a download */
};

struct progress_bar {
    enum bar_unit unit;
    bool is_closed;  /* its closing bracket is present */
    bool is_rich;    /* drawn by rich */
    const char *end; /* end of the bar */
};

/* Whether the count belongs to a bar in the NUL-terminated `text`. */
bool progress_bar_parse(const char *text, const struct progress_count *count,
                        struct progress_bar *ret);

#endif
