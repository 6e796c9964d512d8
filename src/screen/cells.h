/* screen/cells.h: what a process shows in each column. Pure. Private to screen/. */
#ifndef TIDEMARK_SCREEN_CELLS_H
#define TIDEMARK_SCREEN_CELLS_H

#include "screen/layout.h"
#include "screen/rows.h"
#include "view/view.h"

/* A process, and the series that decides on it. */
struct entry {
    const struct view_process *process;
    const struct view_series *series; /* NULL: the view shows none of it */
    struct job_answer answer;
};

/* Its order among the verdicts: the more urgent the higher; above URGENT it wants to be looked at.
 */
#define URGENT 8
double entry_urgency(const struct entry *e);

const char *column_title(enum column column);
bool column_is_right(enum column column); /* numbers stand at the right end */

/* The text of a cell. `worst`: whose verdict it shows, of a folded subtree; otherwise `e`. */
void cell_text(struct buf *out, enum column column, const struct entry *e,
               const struct entry *worst, const struct row *row, unsigned width, bool ascii);

/* "LEAK low", "suspect", "no leak", "too early", "flat". */
const char *cell_verdict(const struct entry *e);

#endif
