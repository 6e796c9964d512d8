/* report/table.c: rows of cells, aligned. */
#include "report/table.h"
#include "report/report.h"

#include <string.h>

#define TABLE_MAX_COLUMNS 8u

void table_add(struct table *t, const char *text)
{
    utf8_add_clean(&t->cells, text, false);
    buf_addc(&t->cells, '\0');
}

void table_end_cell(struct table *t)
{
    buf_add(&t->cells, buf_text(&t->cell), t->cell.len);
    buf_addc(&t->cells, '\0');
    buf_clear(&t->cell);
}

/* The cell after `cell`, NULL after the last. */
static const char *next_cell(const struct table *t, const char *cell)
{
    const char *next = cell + strlen(cell) + 1;
    return next < t->cells.text + t->cells.len ? next : NULL;
}

static void measure(const struct table *t, unsigned *widths)
{
    unsigned column = 0;
    for (const char *cell = t->cells.text; cell; cell = next_cell(t, cell)) {
        unsigned columns = format_columns(cell);
        widths[column] = columns > widths[column] ? columns : widths[column];
        column = (column + 1) % t->columns;
    }
}

unsigned table_width(const struct table *t)
{
    unsigned widths[TABLE_MAX_COLUMNS] = {0}, width = 2 * (t->columns - 1);
    measure(t, widths);
    for (unsigned i = 0; i < t->columns; i++)
        width += widths[i];
    return width;
}

void table_clear(struct table *t)
{
    buf_clear(&t->cells);
    buf_clear(&t->cell);
}

/* Drops blanks at the end of the current line. */
static void trim(struct buf *out)
{
    while (out->len > 0 && out->text[out->len - 1] == ' ')
        out->text[--out->len] = '\0';
}

void table_render(struct table *t, struct buf *out, unsigned indent)
{
    unsigned widths[TABLE_MAX_COLUMNS] = {0}, column = 0;

    measure(t, widths);
    for (const char *cell = t->cells.text; cell; cell = next_cell(t, cell)) {
        if (column == 0)
            buf_repeat(out, " ", indent);
        buf_adds(out, cell);
        buf_repeat(out, " ", widths[column] - format_columns(cell) + 2);
        column = (column + 1) % t->columns;
        if (column == 0) {
            trim(out);
            buf_addc(out, '\n');
        }
    }
    buf_release(&t->cells);
    buf_release(&t->cell);
}
