/* watch/status_row.c: a line in the last row of a terminal, below the program's own output. */
#include "watch/relay.h"

#include <stdio.h>
#include <string.h>

/* In fewer rows than this every one is needed. */
#define LEAST_ROWS 6

#define SAVE_CURSOR "\0337"
#define RESTORE_CURSOR "\0338"
#define ERASE_ROW "\033[2K"

/* No escape sequence of a program is longer. */
#define LONGEST_ESCAPE 64

static bool has_room(const struct status_row *s)
{
    return s->size.ws_row >= LEAST_ROWS && s->size.ws_col >= 20;
}

unsigned status_row_program_rows(const struct status_row *s)
{
    return has_room(s) ? s->size.ws_row - 1u : s->size.ws_row;
}

/* One row down and up again: if the cursor stood in the last row, the text scrolls out of it. */
void status_row_hold(struct status_row *s, struct buf *out)
{
    if (!has_room(s))
        return;
    buf_addf(out, "\033D\033[1A" SAVE_CURSOR "\033[1;%ur" RESTORE_CURSOR, s->size.ws_row - 1u);
    s->held = true;
}

void status_row_draw(struct status_row *s, struct buf *out)
{
    if (!has_room(s))
        return;
    if (!s->held)
        status_row_hold(s, out);
    buf_addf(out, SAVE_CURSOR "\033[%u;1H\033[0m" ERASE_ROW "%s\033[0m" RESTORE_CURSOR,
             (unsigned) s->size.ws_row, s->line);
}

void status_row_drop(struct status_row *s, struct buf *out)
{
    if (!s->held)
        return;
    buf_addf(out, SAVE_CURSOR "\033[r\033[%u;1H\033[0m" ERASE_ROW RESTORE_CURSOR,
             (unsigned) s->size.ws_row);
    s->held = false;
}

/* Whether the escape sequence that begins at `text` is over within `len` bytes. */
static bool escape_is_over(const char *text, size_t len)
{
    if (len < 2)
        return false;
    if (text[1] == '[') {
        for (size_t i = 2; i < len; i++)
            if (text[i] >= '@' && text[i] <= '~')
                return true;
        return false;
    }
    if (text[1] == ']' || text[1] == 'P')
        return memchr(text, '\a', len) || memmem(text + 2, len - 2, "\033\\", 2);
    return strchr("()*+#%", text[1]) == NULL || len >= 3;
}

static bool ends_inside_character(const char *text, size_t len)
{
    size_t i = len;
    while (i > 0 && len - i < 3 && ((unsigned char) text[i - 1] & 0xc0) == 0x80)
        i--;
    if (i == 0)
        return false;
    unsigned char lead = (unsigned char) text[i - 1];
    size_t follow = len - i;
    return (lead >= 0xf0 && follow < 3) || (lead >= 0xe0 && lead < 0xf0 && follow < 2) ||
           (lead >= 0xc0 && lead < 0xe0 && follow < 1);
}

bool status_row_may_draw_after(const char *text, size_t len)
{
    size_t tail = len < LONGEST_ESCAPE ? len : LONGEST_ESCAPE;
    const char *end = text + len;
    const char *escape = memrchr(end - tail, '\033', tail);
    if (escape && !escape_is_over(escape, (size_t) (end - escape)))
        return false;
    return !ends_inside_character(text, len);
}
