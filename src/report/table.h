/* report/table.h: rows of cells, aligned. Private. */
#ifndef TIDEMARK_REPORT_TABLE_H
#define TIDEMARK_REPORT_TABLE_H

#include "base/base.h"

/*
 * Cells are added row by row and copied. Columns are as wide as their widest cell and two spaces
 * apart; nothing follows the last cell of a row. Initialise with TABLE_INIT(columns).
 */
struct table {
    unsigned columns;
    struct buf cells; /* NUL-terminated texts one after another */
    struct buf cell;  /* the cell being written */
};

#define TABLE_INIT(columns_) ((struct table){(columns_), BUF_INIT, BUF_INIT})

/* Adds a whole cell, cleaned: the text may come from outside. */
void table_add(struct table *t, const char *text);

/* Ends the cell written to t->cell since the last one. It is not cleaned and may have colours. */
void table_end_cell(struct table *t);

/* Columns of its longest row. */
unsigned table_width(const struct table *t);

/* Forgets the cells; the table may be filled again. */
void table_clear(struct table *t);

/* Writes the table, each row `indent` columns from the left, and releases it. */
void table_render(struct table *t, struct buf *out, unsigned indent);

#endif
