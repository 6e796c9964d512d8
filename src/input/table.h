/* input/table.h: turns rows with named columns into samples. CSV and JSON lines are such rows. */
#ifndef TIDEMARK_INPUT_TABLE_H
#define TIDEMARK_INPUT_TABLE_H

#include "input/collect.h"

/*
 * Finds out which column is the clock, which hold values and which name the series. Set the cells
 * of a row; table_row() then passes it on and clears them. The table does not keep the texts.
 */
struct table;

struct table_style {
    const char *columns_are; /* "column" or "field", for messages */
    bool printed_digits;     /* cells are rounded for people, so their digits show the resolution */
    bool all_columns_known;  /* before the first row, so any column of numbers may be the value */
    bool may_have_decimal_comma;
};

int table_new(struct collector *c, const struct table_style *style, struct table **ret);
struct table *table_free(struct table *t);

/* The index of the column, which is added if missing; negative: -ENOMEM, -E2BIG. */
int table_column(struct table *t, const char *name, size_t len);
size_t table_columns(const struct table *t);

/* The same name twice makes two columns here: a header is taken literally. */
int table_add_column(struct table *t, const char *name, size_t len);

/* Sets a cell of the current row; the text must stay valid until table_row(). */
void table_set(struct table *t, size_t column, const char *text, size_t len);

/* Passes the row on. -EINVAL: an option names a column that does not exist (the error is set). */
int table_row(struct table *t, uint64_t line);

/* Sets the error for a table without a sample; returns -EINVAL. */
int table_explain(struct table *t);

/* Clears the cells of the row. */
void table_clear_row(struct table *t);

/* A cell that stands for "no value": "", "-", "N/A", "[Not Supported]", "nan", "null". */
bool table_is_missing(const char *text, size_t len);

#endif
