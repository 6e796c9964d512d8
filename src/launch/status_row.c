/* launch/status_row.c: a line in the last row of a terminal, below the program's own output. */
#include "launch/relay.h"

#include <stdio.h>
#include <string.h>

/* With fewer rows or columns than these the program needs them all. */
#define LEAST_ROWS 6
#define LEAST_COLUMNS 20

#define SAVE_CURSOR "\0337"
#define RESTORE_CURSOR "\0338"
#define ERASE_ROW "\033[2K"
#define RESET_REGION "\033[r"

/* ---- what the program does to the terminal ---- */

static bool sequence_is(const struct status_row *s, const char *text)
{
    return s->sequence_len == strlen(text) && memcmp(s->sequence, text, s->sequence_len) == 0;
}

static void reset(struct status_row *s)
{
    s->held = s->other_screen = s->saved_cursor = s->own_region = false;
}

static void end_control(struct status_row *s, char final)
{
    bool plain = s->sequence_len == 0;
    bool screen = sequence_is(s, "?1049") || sequence_is(s, "?1047") || sequence_is(s, "?47");
    s->state = ROW_TEXT;
    if (screen && (final == 'h' || final == 'l'))
        s->other_screen = final == 'h';
    else if (final == 's' && plain)
        s->saved_cursor = true;
    else if (final == 'u' && plain)
        s->saved_cursor = false;
    else if (final == 'p' && sequence_is(s, "!"))
        reset(s);
    bool private = !plain && s->sequence[0] >= '<' && s->sequence[0] <= '?';
    if (final != 'r' || private)
        return;
    /* The program set its own region; when it resets it, ours has to be set again. */
    s->own_region = !plain;
    s->held = false;
}

static void end_escape(struct status_row *s, char c)
{
    s->state = ROW_TEXT;
    if (c == '[') {
        s->state = ROW_CONTROL;
        s->sequence_len = 0;
    } else if (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_') {
        s->state = ROW_STRING;
    } else if (c >= ' ' && c <= '/') {
        s->state = ROW_DESIGNATE;
    } else if (c == '7' || c == '8') {
        s->saved_cursor = c == '7';
    } else if (c == 'c') {
        reset(s);
    }
}

static unsigned bytes_that_follow(unsigned char c)
{
    return c >= 0xf8 ? 0 : c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
}

static void feed_text(struct status_row *s, unsigned char c)
{
    bool continues = (c & 0xc0) == 0x80;
    s->follow = continues ? s->follow - (s->follow > 0) : bytes_that_follow(c);
    s->mid_line = c == '\n' ? false : c == '\r' ? s->mid_line : true;
}

/* Inside an escape sequence. */
static void feed_escape(struct status_row *s, char c)
{
    bool final = c >= '@' && c <= '~';
    if (s->state == ROW_ESCAPE) {
        end_escape(s, c);
    } else if (s->state == ROW_DESIGNATE) {
        s->state = c >= '0' && c <= '~' ? ROW_TEXT : ROW_DESIGNATE;
    } else if (s->state == ROW_CONTROL && final) {
        end_control(s, c);
    } else if (s->state == ROW_CONTROL && s->sequence_len < sizeof(s->sequence)) {
        s->sequence[s->sequence_len++] = c;
    } else if (s->state == ROW_STRING && c == '\a') {
        s->state = ROW_TEXT;
    }
}

/* ESC begins a sequence anywhere, even in a string, which it ends. */
static void feed(struct status_row *s, char c)
{
    if (c == '\030' || c == '\032' || c == '\033') {
        s->state = c == '\033' ? ROW_ESCAPE : ROW_TEXT;
        s->follow = 0;
    } else if (s->state == ROW_TEXT) {
        feed_text(s, (unsigned char) c);
    } else {
        feed_escape(s, c);
    }
}

void status_row_feed(struct status_row *s, const char *text, size_t len)
{
    /* A terminal ignores NULs, even inside a sequence. */
    for (size_t i = 0; i < len; i++)
        if (text[i] != '\0')
            feed(s, text[i]);
}

bool status_row_is_between(const struct status_row *s)
{
    return s->state == ROW_TEXT && s->follow == 0 && !s->other_screen && !s->saved_cursor &&
           !s->own_region;
}

/* ---- the row ---- */

static bool has_room(const struct status_row *s)
{
    return s->size.ws_row >= LEAST_ROWS && s->size.ws_col >= LEAST_COLUMNS;
}

unsigned status_row_program_rows(const struct status_row *s)
{
    return has_room(s) ? s->size.ws_row - 1u : s->size.ws_row;
}

/* Moves one row down and up again: a cursor in the last row scrolls the text out of it. */
static void hold(struct status_row *s, struct buf *out)
{
    buf_addf(out, "\033D\033[1A" SAVE_CURSOR "\033[1;%ur" RESTORE_CURSOR, s->size.ws_row - 1u);
    s->held = true;
}

void status_row_draw(struct status_row *s, struct buf *out)
{
    if (!has_room(s) || !s->line[0])
        return;
    if (!s->held)
        hold(s, out);
    buf_addf(out, SAVE_CURSOR "\033[%u;1H\033[0m" ERASE_ROW "%s\033[0m" RESTORE_CURSOR,
             (unsigned) s->size.ws_row, s->line);
}

void status_row_drop(struct status_row *s, struct buf *out)
{
    if (!s->held)
        return;
    buf_addf(out, SAVE_CURSOR RESET_REGION "\033[%u;1H\033[0m" ERASE_ROW RESTORE_CURSOR,
             (unsigned) s->size.ws_row);
    s->held = false;
}
