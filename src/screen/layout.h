/* screen/layout.h: which columns and panes fit. Pure. Private to screen/. */
#ifndef TIDEMARK_SCREEN_LAYOUT_H
#define TIDEMARK_SCREEN_LAYOUT_H

#include <stdbool.h>

/* From left to right. */
enum column {
    COLUMN_PROCESS,
    COLUMN_MEMORY,
    COLUMN_ANON,
    COLUMN_FILE,
    COLUMN_SHARED,
    COLUMN_SWAP,
    COLUMN_GPU,
    COLUMN_HISTORY,
    COLUMN_KIND,
    COLUMN_FLOOR,
    COLUMN_RATE,
    COLUMN_VERDICT,
    COLUMN_LIMIT,
    COLUMN_COMMAND,
    COLUMNS,
};

/* Where each column stands; width 0: it is not shown. */
struct columns {
    unsigned at[COLUMNS], width[COLUMNS];
};

/* What the job has: a column that would be empty takes no room. */
struct columns_wanted {
    unsigned name; /* columns that the longest name of a process takes */
    bool gpu, swap;
};

/* Process, memory and verdict always have a place; others come in the order of their use as the
 * terminal gets wider, each as a whole. No two overlap, and none ends beyond `width`. */
void columns_fit(unsigned width, const struct columns_wanted *wanted, struct columns *ret);

/* Rows of the screen from top to bottom; a count of 0: that part is not shown. */
struct panes {
    unsigned title;         /* the first row */
    unsigned head, heads;   /* the job's line, verdict, why and fix */
    unsigned header;        /* the names of the columns; UINT_MAX: none */
    unsigned list, lists;   /* processes */
    unsigned pane, details; /* the open pane, with its heading */
    unsigned footer;        /* keys and messages */
};

/* Lines that the head and the list would like. */
struct panes_wanted {
    unsigned heads, processes;
    bool pane;
};

/* A screen too low for both shows the pane instead of the processes. */
void panes_fit(unsigned rows, const struct panes_wanted *wanted, struct panes *ret);

#endif
