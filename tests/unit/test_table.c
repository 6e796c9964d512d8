/* tests/unit/test_table.c: rows of cells, aligned. */
#include "report/table.h"

#include "unit.h"

TEST(table__aligns_columns_by_what_is_seen)
{
    struct table t = TABLE_INIT(2);
    struct buf out = BUF_INIT;
    table_add(&t, "caf\xc3\xa9");
    table_add(&t, "x");
    buf_adds(&t.cell, "\033[1mab\033[0m");
    table_end_cell(&t);
    table_add(&t, "y");
    table_render(&t, &out, 1);
    CHECK_TEXT(buf_text(&out), " caf\xc3\xa9  x\n \033[1mab\033[0m    y\n");
    buf_release(&out);
}

TEST(table__leaves_no_blanks_at_the_end_of_a_line)
{
    struct table t = TABLE_INIT(2);
    struct buf out = BUF_INIT;
    table_add(&t, "a");
    table_add(&t, "");
    table_add(&t, "b");
    table_add(&t, "long");
    table_render(&t, &out, 0);
    CHECK_TEXT(buf_text(&out), "a\nb  long\n");
    buf_release(&out);
}

TEST(table__may_be_empty)
{
    struct table t = TABLE_INIT(3);
    struct buf out = BUF_INIT;
    table_render(&t, &out, 2);
    CHECK_TEXT(buf_text(&out), "");
    buf_release(&out);
}

TEST(table__knows_its_width_before_it_is_written)
{
    struct table t = TABLE_INIT(2);
    struct buf out = BUF_INIT;
    table_add(&t, "long name");
    table_add(&t, "x");
    CHECK(table_width(&t) == 12);
    table_clear(&t);
    table_add(&t, "a");
    table_add(&t, "b");
    CHECK(table_width(&t) == 4);
    table_render(&t, &out, 0);
    CHECK_TEXT(buf_text(&out), "a  b\n");
    buf_release(&out);
}
