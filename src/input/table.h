/* input/table.h: rows with named columns as samples; CSV and JSON lines are such rows. */
#ifndef TIDEMARK_INPUT_TABLE_H
#define TIDEMARK_INPUT_TABLE_H

#include "input/collect.h"

/*
 * Finds out which column is the clock, which hold values and which name the series. Cells are set
 * for one row, then table_row() passes it on and clears them. The texts given are not kept.
 */
struct table;

struct table_style {
    const char *columns_are; /* "column" or "field", for messages */
    bool printed_digits;     /* cells are as a person printed them: they tell the resolution */
    bool all_columns_known;  /* before the first row; then any column of numbers may be the value */
    bool may_have_decimal_comma;
};

int table_new(struct collector *c, const struct table_style *style, struct table **ret);
struct table *table_free(struct table *t);

/* The column's index, also where there is one of that name; negative: -ENOMEM, -E2BIG. */
int table_column(struct table *t, const char *name, size_t len);
size_t table_columns(const struct table *t);

/* The same name twice makes two columns here: a header is taken as it stands. */
int table_add_column(struct table *t, const char *name, size_t len);

/* The cell of the current row; the text must stay until table_row(). */
void table_set(struct table *t, size_t column, const char *text, size_t len);

/* Passes the row on. -EINVAL: an option names a column that is not there (the error is set). */
int table_row(struct table *t, uint64_t line);

/* Sets the error for a table without a sample; -EINVAL. */
int table_explain(struct table *t);

/* Forgets what the cells hold. */
void table_clear_row(struct table *t);

/* A cell that says it holds nothing: "", "-", "N/A", "[Not Supported]", "nan", "null". */
bool table_is_missing(const char *text, size_t len);

#endif
