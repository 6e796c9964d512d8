/* screen/rows.h: the tree of processes as rows: order, sort, fold, filter, scrolling. Pure. Private
 * to screen/. */
#ifndef TIDEMARK_SCREEN_ROWS_H
#define TIDEMARK_SCREEN_ROWS_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sort_key { SORT_MEMORY, SORT_RATE, SORT_VERDICT, SORT_PID, SORT_KEYS };

const char *sort_name(enum sort_key key); /* "memory" */

/* What rows are made of: one process. Texts are not owned. */
struct item {
    int64_t pid, parent;    /* parent 0: none in the list */
    double keys[SORT_KEYS]; /* NAN sorts last; the pid ascends, the others descend */
    const char *name, *command;
};

#define ROW_LEVELS 24u

struct row {
    size_t item;
    size_t worst; /* the item in the folded subtree whose verdict is the most urgent; or `item` */
    unsigned depth;
    uint32_t lines; /* bit n: a line runs through level n, because a sibling follows there */
    bool has_children, is_folded;
    bool is_context; /* does not fit the filter; shown for the sake of a descendant */
};

struct rows {
    struct row *list;
    size_t count;
};

/* How the user wants to see the tree. */
struct arrangement {
    enum sort_key sort;
    bool reversed;
    bool flat;          /* a plain list: no tree, nothing folded */
    const char *filter; /* a part of name, command or pid, of either case; "": none */
    int64_t *folded;    /* pids */
    size_t folded_count;
};

void arrangement_release(struct arrangement *a);
/* Folds or unfolds. */
void arrangement_fold(struct arrangement *a, int64_t pid, bool folded);
bool arrangement_is_folded(const struct arrangement *a, int64_t pid);

/* In a tree siblings are sorted by the first of their subtrees, so that what matters is on top.
 * Processes in a circle of parents, which cannot be, are left out. */
void rows_arrange(const struct item *items, size_t count, const struct arrangement *a,
                  struct rows *ret);
void rows_release(struct rows *r);

/* "├─ ", "│  ├─ ": what stands before the name, in at most `columns`. */
void row_add_lines(struct buf *out, const struct row *r, unsigned columns, bool ascii);

/* ---- scrolling ---- */

struct scroll {
    size_t at;    /* the selected row */
    size_t first; /* the first one shown */
};

/* Keeps the selected row inside the list and on the screen of `height` rows. */
void scroll_settle(struct scroll *s, size_t count, size_t height);
void scroll_move(struct scroll *s, long rows, size_t count);

#endif
