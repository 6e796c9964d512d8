/* tests/unit/test_status_row.c: what may be drawn when, and what is drawn. */
#include "launch/relay.h"
#include "unit.h"

static struct status_row row(unsigned short rows, unsigned short columns)
{
    return (struct status_row){.size = {.ws_row = rows, .ws_col = columns}, .line = "status"};
}

/* Whether the row may be drawn after the text, fed in one piece and byte by byte. */
static bool is_between(const char *text)
{
    struct status_row whole = row(24, 80), pieces = row(24, 80);
    status_row_feed(&whole, text, strlen(text));
    for (const char *c = text; *c; c++)
        status_row_feed(&pieces, c, 1);
    if (status_row_is_between(&whole) != status_row_is_between(&pieces))
        printf("  pieces matter: %s\n", text);
    return status_row_is_between(&whole) && status_row_is_between(&pieces);
}

TEST(status_row__may_be_drawn_after_text)
{
    CHECK(is_between(""));
    CHECK(is_between("loss 0.5\n"));
    CHECK(is_between("half a line"));
    CHECK(is_between("\r 37%|###  | 37/100"));
    CHECK(is_between("\033[31mred\033[0m"));
    CHECK(is_between("\033]0;title\a"));
    CHECK(is_between("\033]0;title\033\\"));
    CHECK(is_between("\033(B"));
    CHECK(is_between("\xe2\x96\x88\xc3\xa9\xf0\x9f\x98\x80"));
}

TEST(status_row__waits_inside_an_escape_sequence)
{
    CHECK(!is_between("\033"));
    CHECK(!is_between("\033["));
    CHECK(!is_between("\033[38;5;1"));
    CHECK(!is_between("\033(")); /* the character set follows */
    CHECK(!is_between("\033]0;a title"));
    CHECK(!is_between("\033]0;a title\033"));
    CHECK(!is_between(
        "\033Psixel data of any length ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"));
}

TEST(status_row__waits_inside_a_character)
{
    CHECK(!is_between("\xe2"));
    CHECK(!is_between("\xe2\x96"));
    CHECK(!is_between("\xf0\x9f\x98"));
    CHECK(!is_between("\xc3"));
    /* Invalid UTF-8 must not block the row forever. */
    CHECK(is_between("\xe9t\xe9."));
    CHECK(is_between("\x96\x96"));
    CHECK(is_between("\xff"));
}

TEST(status_row__an_abandoned_sequence_is_over)
{
    CHECK(is_between("\033[12\030"));
    CHECK(is_between("\033]0;\032"));
    CHECK(is_between("\033[1\033[0m"));
    CHECK(!is_between("\033\033"));
}

/* A terminal drops NULs. A NUL was once taken for a member of every set of characters. */
TEST(status_row__ignores_nul)
{
    static const struct {
        const char *text;
        size_t len;
        bool between;
    } cases[] = {
        {"\033\0[31m", 6, true},      {"\033\0", 2, false},
        {"\033\0(B", 4, true},        {"\033[\0r", 4, true},
        {"\033[\0002;10r", 8, false}, {"\033[?10\00049h", 9, false},
        {"\033]0;t\0\a", 7, true},    {"a\0b", 3, true},
        {"\033\0c", 3, true},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct status_row s = row(24, 80);
        status_row_feed(&s, cases[i].text, cases[i].len);
        if (status_row_is_between(&s) != cases[i].between)
            printf("  case %u\n", i);
        CHECK(status_row_is_between(&s) == cases[i].between);
    }
    struct status_row s = row(24, 80);
    status_row_feed(&s, "\0", 1);
    CHECK(!s.mid_line);
}

/* What ends a string in a terminal ends it here too, or the row would never be drawn again. */
TEST(status_row__a_sequence_ends_a_string_and_half_a_character)
{
    CHECK(is_between("\033]0;title without an end\033[0m"));
    CHECK(is_between("\xe2\033[0m"));
    CHECK(is_between("\xe2\030"));
    CHECK(!is_between("\033]0;title\033[?1049h"));
}

TEST(status_row__waits_on_the_other_screen)
{
    CHECK(!is_between("\033[?1049h"));
    CHECK(is_between("\033[?1049hfull screen\033[?1049l"));
    CHECK(!is_between("\033[?47h"));
    CHECK(is_between("\033[?25l")); /* hiding the cursor does not switch screens */
    CHECK(is_between("\033[?1049h\033c"));
}

TEST(status_row__waits_while_the_cursor_is_saved)
{
    CHECK(!is_between("\0337"));
    CHECK(is_between("\0337there\0338"));
    CHECK(!is_between("\033[s"));
    CHECK(is_between("\033[s\033[u"));
    CHECK(is_between("\033[?2004s")); /* saves a mode */
}

TEST(status_row__leaves_a_region_of_the_program_alone)
{
    CHECK(!is_between("\033[2;10r"));
    CHECK(is_between("\033[2;10r\033[r"));
    CHECK(is_between("\033[?1r")); /* restores a mode */
}

TEST(status_row__knows_where_a_line_begins)
{
    struct status_row s = row(24, 80);
    CHECK(!s.mid_line);
    status_row_feed(&s, "abc", 3);
    CHECK(s.mid_line);
    status_row_feed(&s, "\033[0m", 4);
    CHECK(s.mid_line);
    status_row_feed(&s, "\r", 1);
    CHECK(s.mid_line); /* the line still has its text */
    status_row_feed(&s, "\n", 1);
    CHECK(!s.mid_line);
    status_row_feed(&s, "\033[0m", 4);
    CHECK(!s.mid_line);
}

TEST(status_row__holds_the_row_once)
{
    struct status_row s = row(24, 80);
    struct buf out = BUF_INIT;
    status_row_draw(&s, &out);
    CHECK(s.held);
    CHECK(strstr(buf_text(&out), "\033[1;23r"));
    CHECK(strstr(buf_text(&out), "\033[24;1H"));
    CHECK(strstr(buf_text(&out), "status"));
    buf_clear(&out);
    status_row_draw(&s, &out);
    CHECK(!strstr(buf_text(&out), "\033[1;23r"));
    buf_clear(&out);
    status_row_drop(&s, &out);
    CHECK(strstr(buf_text(&out), "\033[r"));
    CHECK(!strstr(buf_text(&out), "status"));
    buf_clear(&out);
    status_row_drop(&s, &out);
    CHECK(out.len == 0);
    buf_release(&out);
}

TEST(status_row__holds_again_after_a_reset)
{
    static const char *const resets[] = {"\033c", "\033[r", "\033[!p", "\033[1;5r\033[r"};
    for (unsigned i = 0; i < sizeof(resets) / sizeof(resets[0]); i++) {
        struct status_row s = row(24, 80);
        struct buf out = BUF_INIT;
        status_row_draw(&s, &out);
        buf_clear(&out);
        status_row_feed(&s, resets[i], strlen(resets[i]));
        status_row_draw(&s, &out);
        bool held = strstr(buf_text(&out), "\033[1;23r") != NULL;
        buf_release(&out);
        CHECK(held);
    }
}

TEST(status_row__leaves_small_terminals_alone)
{
    static const unsigned short sizes[][2] = {{0, 0}, {1, 1}, {5, 80}, {24, 19}};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct status_row s = row(sizes[i][0], sizes[i][1]);
        struct buf out = BUF_INIT;
        status_row_draw(&s, &out);
        status_row_drop(&s, &out);
        CHECK(out.len == 0 && !s.held);
        CHECK(status_row_program_rows(&s) == sizes[i][0]);
    }
    struct status_row s = row(6, 20);
    CHECK(status_row_program_rows(&s) == 5);
}

TEST(status_row__draws_nothing_without_a_line)
{
    struct status_row s = row(24, 80);
    struct buf out = BUF_INIT;
    s.line[0] = '\0';
    status_row_draw(&s, &out);
    CHECK(out.len == 0 && !s.held);
}
