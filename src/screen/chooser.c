/* screen/chooser.c: jobs to choose from. */
#include "screen/state.h"

#include <stdio.h>

enum { PID_COLUMNS = 8, MEMORY_COLUMNS = 9, ROLE_COLUMNS = 9 };

static void draw_offer(const struct screen *s, unsigned row, size_t i)
{
    const struct proc_match *m = &s->offers[i];
    unsigned columns = paint_columns(), at = 1;
    bool selected = i == s->choice.at;
    struct buf text = BUF_INIT;
    if (selected)
        paint_blank(row, 0, columns, INK_SELECTED);
    buf_addf(&text, "%d", (int) m->id.pid);
    paint_right(row, at, PID_COLUMNS, buf_text(&text), INK_PLAIN, selected);
    at += PID_COLUMNS + 1;
    buf_clear(&text);
    units_add_bytes(&text, m->rss);
    paint_right(row, at, MEMORY_COLUMNS, buf_text(&text), INK_PLAIN, selected);
    at += MEMORY_COLUMNS + 2;
    if (columns >= 60) {
        paint_text(row, at, ROLE_COLUMNS, proc_role_name(m->role), INK_DIM, selected);
        at += ROLE_COLUMNS + 1;
    }
    if (columns > at)
        paint_text(row, at, columns - at, m->command, INK_PLAIN, selected);
    buf_release(&text);
}

void chooser_draw(struct screen *s)
{
    unsigned columns = paint_columns(), rows = paint_rows();
    paint_text(0, 1, columns - 1, "tidemark top: which job?", INK_BOLD, false);
    unsigned height = rows > 4 ? rows - 4 : 1;
    scroll_settle(&s->choice, s->offer_count, height);
    for (unsigned i = 0; i < height && s->choice.first + i < s->offer_count; i++)
        draw_offer(s, 2 + i, s->choice.first + i);
    if (s->offer_count == 0)
        paint_text(2, 1, columns - 2, "They have ended.", INK_DIM, false);
    paint_text(rows - 1, 1, columns - 2, "Enter watch  q quit", INK_DIM, false);
}
