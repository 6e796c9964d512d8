/* tests/unit/test_screen_rows.c: the tree of processes as rows. */
#include "screen/rows.h"
#include "unit.h"

#define ITEMS 16u

static struct item items[ITEMS];
static size_t count;
static struct arrangement by;
static struct rows rows;

static void start(void)
{
    rows_release(&rows);
    arrangement_release(&by);
    count = 0;
    by = (struct arrangement){.sort = SORT_MEMORY, .filter = ""};
}

static void add(int64_t pid, int64_t parent, double memory, double verdict, const char *name)
{
    items[count++] = (struct item){.pid = pid,
                                   .parent = parent,
                                   .keys = {memory, memory / 10, verdict, (double) pid},
                                   .name = name,
                                   .command = "python train.py"};
}

/* A launcher with two trainers, one of which has three workers. */
static void add_family(void)
{
    add(1, 0, 5, 0, "wrapper 1");
    add(2, 1, 100, 2, "trainer 2");
    add(3, 1, 200, 2, "trainer 3");
    add(4, 2, 20, 2, "worker 4");
    add(5, 2, 900, 14, "worker 5");
    add(6, 2, 30, 2, "worker 6");
}

/* The pids of the rows, as one text. */
static const char *arranged(void)
{
    static char text[256];
    size_t len = 0;
    rows_release(&rows);
    rows_arrange(items, count, &by, &rows);
    text[0] = '\0';
    for (size_t i = 0; i < rows.count; i++)
        len += (size_t) snprintf(text + len, sizeof(text) - len, "%s%lld", i ? " " : "",
                                 (long long) items[rows.list[i].item].pid);
    return text;
}

static const char *lines_of(size_t row, unsigned columns, bool ascii)
{
    static struct buf out;
    buf_clear(&out);
    row_add_lines(&out, &rows.list[row], columns, ascii);
    return buf_text(&out);
}

TEST(rows__sort_siblings_by_the_first_of_their_subtrees)
{
    start();
    add_family();
    CHECK_TEXT(arranged(), "1 2 5 6 4 3");
    by.reversed = true;
    CHECK_TEXT(arranged(), "1 2 4 6 5 3");
}

TEST(rows__sort_by_each_key)
{
    start();
    add_family();
    by.sort = SORT_PID;
    CHECK_TEXT(arranged(), "1 2 4 5 6 3");
    by.reversed = true;
    CHECK_TEXT(arranged(), "1 2 6 5 4 3");
    by = (struct arrangement){.sort = SORT_VERDICT, .filter = ""};
    CHECK_TEXT(arranged(), "1 2 5 4 6 3");
    by.sort = SORT_RATE;
    CHECK_TEXT(arranged(), "1 2 5 6 4 3");
}

TEST(rows__put_the_unknown_last_in_both_directions)
{
    start();
    add(1, 0, NAN, 0, "a");
    add(2, 0, 5, 0, "b");
    add(3, 0, 9, 0, "c");
    CHECK_TEXT(arranged(), "3 2 1");
    by.reversed = true;
    CHECK_TEXT(arranged(), "2 3 1");
}

TEST(rows__are_a_plain_list_where_asked)
{
    start();
    add_family();
    by.flat = true;
    CHECK_TEXT(arranged(), "5 3 2 6 4 1");
    CHECK(rows.list[0].depth == 0 && !rows.list[0].has_children);
    CHECK_TEXT(lines_of(0, 20, false), "");
}

TEST(rows__fold_and_show_the_worst_of_what_is_hidden)
{
    start();
    add_family();
    arrangement_fold(&by, 2, true);
    CHECK_TEXT(arranged(), "1 2 3");
    CHECK(rows.list[1].is_folded && items[rows.list[1].worst].pid == 5);
    CHECK(!rows.list[2].is_folded && items[rows.list[2].worst].pid == 3);
    arrangement_fold(&by, 2, true);
    CHECK(by.folded_count == 1);
    arrangement_fold(&by, 2, false);
    CHECK_TEXT(arranged(), "1 2 5 6 4 3");
    CHECK(items[rows.list[1].worst].pid == 2);
}

TEST(rows__fold_nothing_without_children)
{
    start();
    add_family();
    arrangement_fold(&by, 4, true);
    CHECK_TEXT(arranged(), "1 2 5 6 4 3");
    CHECK(!rows.list[4].is_folded);
}

TEST(rows__filter_by_name_command_and_pid_and_keep_the_way_to_it)
{
    start();
    add_family();
    by.filter = "WORKER 6";
    CHECK_TEXT(arranged(), "1 2 6");
    CHECK(rows.list[0].is_context && rows.list[1].is_context && !rows.list[2].is_context);
    by.filter = "train.py";
    CHECK_TEXT(arranged(), "1 2 5 6 4 3");
    by.filter = "nothing";
    CHECK_TEXT(arranged(), "");
}

TEST(rows__filter_inside_what_is_folded)
{
    start();
    add_family();
    arrangement_fold(&by, 1, true);
    by.filter = "worker 6";
    CHECK_TEXT(arranged(), "1 2 6");
}

TEST(rows__draw_the_lines_of_the_tree)
{
    start();
    add_family();
    arranged(); /* 1 2 5 6 4 3 */
    CHECK_TEXT(lines_of(0, 20, false), "");
    CHECK_TEXT(lines_of(1, 20, false), "├─");
    CHECK_TEXT(lines_of(2, 20, false), "│ ├─");
    CHECK_TEXT(lines_of(4, 20, false), "│ └─");
    CHECK_TEXT(lines_of(5, 20, false), "└─");
    CHECK_TEXT(lines_of(4, 20, true), "| `-");
    CHECK_TEXT(lines_of(4, 2, false), "└─");
    CHECK_TEXT(lines_of(4, 1, false), "");
}

TEST(rows__end_the_line_of_a_level_that_has_ended)
{
    start();
    add(1, 0, 1, 0, "a");
    add(2, 1, 9, 0, "b");
    add(3, 1, 5, 0, "c");
    add(4, 3, 1, 0, "d");
    CHECK_TEXT(arranged(), "1 2 3 4");
    CHECK_TEXT(lines_of(3, 20, false), "  └─");
}

TEST(rows__leave_out_a_circle_of_parents)
{
    start();
    add(1, 2, 1, 0, "a");
    add(2, 1, 1, 0, "b");
    add(3, 3, 1, 0, "its own parent");
    add(4, 77, 1, 0, "of nobody known");
    CHECK_TEXT(arranged(), "3 4");
}

TEST(rows__follow_a_long_chain)
{
    enum { LONG = 20000 };
    static struct item chain[LONG];
    start();
    for (int i = 0; i < LONG; i++)
        chain[i] = (struct item){.pid = i + 1, .parent = i, .name = "p", .command = "c"};
    struct rows got;
    arrangement_fold(&by, 100, true);
    by.sort = SORT_PID;
    rows_arrange(chain, 200, &by, &got);
    CHECK(got.count == 100 && got.list[99].depth == 99 && got.list[99].is_folded);
    rows_release(&got);
    arrangement_release(&by);
    rows_arrange(chain, 2000, &by, &got);
    CHECK(got.count == 2000);
    struct buf out = BUF_INIT;
    row_add_lines(&out, &got.list[1999], 80, false);
    CHECK(out.len > 0);
    buf_release(&out);
    rows_release(&got);
}

TEST(rows__of_nothing_are_none)
{
    start();
    CHECK_TEXT(arranged(), "");
}

/* ---- scrolling ---- */

TEST(scroll__keeps_the_selected_row_on_the_screen)
{
    struct scroll s = {0};
    scroll_move(&s, 12, 100);
    scroll_settle(&s, 100, 10);
    CHECK(s.at == 12 && s.first == 3);
    scroll_move(&s, -10, 100);
    scroll_settle(&s, 100, 10);
    CHECK(s.at == 2 && s.first == 2);
}

TEST(scroll__stops_at_both_ends)
{
    struct scroll s = {0};
    scroll_move(&s, -5, 100);
    CHECK(s.at == 0);
    scroll_move(&s, 1000, 100);
    scroll_settle(&s, 100, 10);
    CHECK(s.at == 99 && s.first == 90);
}

TEST(scroll__survives_a_list_that_gets_shorter)
{
    struct scroll s = {.at = 99, .first = 90};
    scroll_settle(&s, 5, 10);
    CHECK(s.at == 4 && s.first == 0);
    scroll_settle(&s, 0, 10);
    CHECK(s.at == 0 && s.first == 0);
    scroll_move(&s, 3, 0);
    CHECK(s.at == 0);
    scroll_settle(&s, 7, 0);
    CHECK(s.first == 0 || s.first <= 7);
}
