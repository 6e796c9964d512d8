/* screen/paint.c: text on the screen. */
#include "screen/paint.h"

#include "base/base.h"

#include <ncursesw/curses.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define LINE_MOST 1024

static bool has_color;

void paint_start(bool color)
{
    has_color = color && has_colors() && start_color() == OK;
    if (!has_color)
        return;
    use_default_colors();
    init_pair(INK_RED, COLOR_RED, -1);
    init_pair(INK_GREEN, COLOR_GREEN, -1);
    init_pair(INK_YELLOW, COLOR_YELLOW, -1);
    init_pair(INK_SELECTED, COLOR_WHITE, COLOR_BLUE);
}

unsigned paint_rows(void)
{
    return (unsigned) getmaxy(stdscr);
}

unsigned paint_columns(void)
{
    return (unsigned) getmaxx(stdscr);
}

/* Without colours a leak is bold, and everything has a word of its own. */
static attr_t attributes_of(enum ink ink)
{
    switch (ink) {
    case INK_BOLD:
    case INK_RED:
        return A_BOLD;
    case INK_DIM:
        return A_DIM;
    case INK_TITLE:
        return A_REVERSE;
    case INK_SELECTED:
        return has_color ? A_NORMAL : A_REVERSE;
    default:
        return A_NORMAL;
    }
}

static bool is_color(enum ink ink)
{
    return ink == INK_RED || ink == INK_GREEN || ink == INK_YELLOW || ink == INK_SELECTED;
}

/* The selected row has one colour; its words still carry every verdict. */
static void set_ink(enum ink ink, bool selected)
{
    attr_t bold = attributes_of(ink) & A_BOLD;
    if (selected)
        attr_set(attributes_of(INK_SELECTED) | bold, has_color ? INK_SELECTED : 0, NULL);
    else
        attr_set(attributes_of(ink), has_color && is_color(ink) ? (short) ink : 0, NULL);
}

/* Returns the columns; *ret gets the characters. */
static unsigned fit(const char *text, unsigned width, wchar_t ret[LINE_MOST])
{
    struct buf clean = BUF_INIT;
    mbstate_t state = {0};
    unsigned used = 0, count = 0;
    utf8_add_clean(&clean, text, false);
    const char *s = buf_text(&clean);
    while (*s && count + 1 < LINE_MOST) {
        wchar_t c;
        size_t len = mbrtowc(&c, s, MB_CUR_MAX, &state);
        if (len == 0 || len > MB_CUR_MAX) {
            c = L'?';
            len = 1;
            state = (mbstate_t){0};
        }
        int columns = wcwidth(c);
        if (columns < 0) {
            c = L'?';
            columns = 1;
        }
        if (used + (unsigned) columns > width)
            break;
        used += (unsigned) columns;
        ret[count++] = c;
        s += len;
    }
    ret[count] = L'\0';
    buf_release(&clean);
    return used;
}

static void put(unsigned row, unsigned column, const wchar_t *text, enum ink ink, bool selected)
{
    set_ink(ink, selected);
    mvaddwstr((int) row, (int) column, text);
    attr_set(A_NORMAL, 0, NULL);
}

unsigned paint_text(unsigned row, unsigned column, unsigned width, const char *text, enum ink ink,
                    bool selected)
{
    wchar_t line[LINE_MOST];
    if (row >= paint_rows() || column >= paint_columns())
        return 0;
    if (width > paint_columns() - column)
        width = paint_columns() - column;
    unsigned used = fit(text, width, line);
    put(row, column, line, ink, selected);
    return used;
}

void paint_right(unsigned row, unsigned column, unsigned width, const char *text, enum ink ink,
                 bool selected)
{
    wchar_t line[LINE_MOST];
    unsigned used = fit(text, width, line);
    if (row < paint_rows() && column + width <= paint_columns())
        put(row, column + width - used, line, ink, selected);
}

void paint_blank(unsigned row, unsigned column, unsigned width, enum ink ink)
{
    if (row >= paint_rows() || column >= paint_columns())
        return;
    set_ink(ink, false);
    move((int) row, (int) column);
    for (unsigned i = 0; i < width && column + i < paint_columns(); i++)
        addch(' ');
    attr_set(A_NORMAL, 0, NULL);
}

enum ink ink_of_verdict(enum verdict verdict, enum severity severity, bool suspect)
{
    if (verdict == VERDICT_LEAK)
        return severity == SEVERITY_NEGLIGIBLE ? INK_PLAIN : INK_RED;
    if (suspect)
        return INK_YELLOW;
    return verdict == VERDICT_NO_LEAK ? INK_GREEN : INK_PLAIN;
}
