/* tests/unit/test_screen_layout.c: which columns and panes fit on a terminal. */
#include "screen/layout.h"
#include "unit.h"

#include <limits.h>

static const struct columns_wanted usual = {.name = 19},
                                   all = {.name = 19, .gpu = true, .swap = true};
static struct columns c;
static struct panes p;

/* Every column begins after the one before it, and the last ends inside. */
static bool is_in_order(unsigned width)
{
    unsigned end = 0;
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (c.width[i] == 0)
            continue;
        if (c.at[i] < end || c.at[i] + c.width[i] > width)
            return false;
        end = c.at[i] + c.width[i] + 1;
    }
    return true;
}

TEST(columns__never_overlap_or_end_beyond_the_terminal)
{
    for (unsigned name = 0; name < 300; name += 7) {
        for (unsigned width = 1; width <= 400; width++) {
            columns_fit(width, &(struct columns_wanted){name, width % 2, width % 3 == 0}, &c);
            CHECK(is_in_order(width));
            CHECK(c.width[COLUMN_VERDICT] > 0);
        }
    }
}

TEST(columns__keep_process_memory_and_verdict_in_forty)
{
    columns_fit(40, &usual, &c);
    CHECK(c.width[COLUMN_PROCESS] >= 16 && c.width[COLUMN_MEMORY] == 8 &&
          c.width[COLUMN_VERDICT] > 0);
    CHECK(c.width[COLUMN_RATE] == 0 && c.width[COLUMN_HISTORY] == 0);
}

TEST(columns__have_rate_history_and_limit_in_eighty)
{
    columns_fit(80, &usual, &c);
    CHECK(c.width[COLUMN_RATE] > 0 && c.width[COLUMN_HISTORY] > 0 && c.width[COLUMN_LIMIT] > 0);
    CHECK(c.width[COLUMN_PROCESS] >= 19);
    CHECK(c.width[COLUMN_COMMAND] == 0);
}

TEST(columns__show_everything_on_a_wide_terminal)
{
    columns_fit(300, &all, &c);
    for (unsigned i = 0; i < COLUMNS; i++)
        CHECK(c.width[i] > 0);
}

TEST(columns__take_no_room_for_what_the_job_does_not_have)
{
    columns_fit(300, &usual, &c);
    CHECK(c.width[COLUMN_GPU] == 0 && c.width[COLUMN_SWAP] == 0);
    CHECK(c.width[COLUMN_KIND] > 0);
}

TEST(columns__only_come_as_the_terminal_gets_wider)
{
    unsigned before = 0;
    for (unsigned width = 1; width <= 200; width++) {
        unsigned count = 0;
        columns_fit(width, &all, &c);
        for (unsigned i = 0; i < COLUMNS; i++)
            count += c.width[i] > 0;
        CHECK(count >= before);
        before = count;
    }
}

/* No part overlaps another, and all rows are inside. */
static bool is_stacked(unsigned rows)
{
    unsigned top = p.head + p.heads;
    if (p.header != UINT_MAX && (p.header < top || p.list != p.header + 1))
        return false;
    if (p.lists > 0 && p.list + p.lists > p.pane)
        return false;
    if (p.details > 0 && (p.pane < top || p.pane + p.details > p.footer))
        return false;
    return p.footer < rows && (rows < 3 || top <= p.footer);
}

static void fit(unsigned rows, unsigned heads, unsigned processes, bool pane)
{
    panes_fit(rows, &(struct panes_wanted){heads, processes, pane}, &p);
}

TEST(panes__fit_on_every_terminal)
{
    for (unsigned rows = 1; rows <= 200; rows++) {
        for (unsigned heads = 0; heads <= 9; heads++) {
            for (unsigned processes = 0; processes < 300; processes += 13) {
                fit(rows, heads, processes, false);
                CHECK(is_stacked(rows));
                fit(rows, heads, processes, true);
                CHECK(is_stacked(rows));
            }
        }
    }
}

TEST(panes__keep_a_list_in_ten_rows)
{
    fit(10, 6, 9, false);
    CHECK(p.heads == 2 && p.lists >= 5 && p.details == 0);
}

TEST(panes__give_a_low_screen_to_the_open_pane)
{
    fit(10, 6, 9, true);
    CHECK(p.lists == 0 && p.header == UINT_MAX && p.details >= 6);
}

TEST(panes__share_a_high_screen)
{
    fit(40, 6, 300, true);
    CHECK(p.heads == 6 && p.lists >= 10 && p.details >= 15);
}

TEST(panes__give_the_pane_what_the_list_does_not_need)
{
    fit(40, 6, 1, true);
    CHECK(p.lists == 1 && p.details == 30);
}
