/* plot/lines.c: a text in lines of a width. */
#include "plot/lines.h"
#include "report/report.h"

#include <ctype.h>
#include <string.h>

/* What lines_wrap() is doing. */
struct wrap {
    struct lines *lines;
    struct canvas *canvas;
    const struct text_style *style;
    double indent, width;
    unsigned most;
};

static double room(const struct wrap *w)
{
    return w->width - (w->lines->count <= 1 ? w->indent : 0);
}

static bool fits(const struct wrap *w, const char *line, const char *word, const char *end)
{
    struct buf text = BUF_INIT;
    buf_addf(&text, "%s%s%s%s", line, *line ? " " : "", word, end);
    bool result = canvas_text_width(w->canvas, buf_text(&text), w->style) <= room(w);
    buf_release(&text);
    return result;
}

/* Ends the last line with "…", without its last words where that needs the room. */
static void cut_line(const struct wrap *w)
{
    struct buf *line = &w->lines->text[w->lines->count - 1];
    while (line->len > 0 && !fits(w, buf_text(line), "", "…")) {
        char *blank = strrchr(line->text, ' ');
        line->len = blank ? (size_t) (blank - line->text) : 0;
        line->text[line->len] = '\0';
    }
    buf_adds(line, line->len > 0 ? " …" : "…");
    w->lines->is_cut = true;
}

/* False: there is no room for it. */
static bool add_word(const struct wrap *w, const char *word)
{
    struct lines *l = w->lines;
    struct buf *line = &l->text[l->count - 1];
    bool is_full = !fits(w, buf_text(line), word, "");
    if (is_full && l->count == w->most && line->len > 0)
        return false;
    /* Beside the indent even the first word may lack room. */
    if (is_full && l->count < w->most && (line->len > 0 || (l->count == 1 && w->indent > 0)))
        line = &l->text[l->count++];
    if (line->len > 0)
        buf_addc(line, ' ');
    if (line->len == 0)
        canvas_cut(w->canvas, line, word, room(w), w->style);
    else
        buf_adds(line, word);
    return true;
}

static bool is_time_unit(const char *word, size_t len)
{
    static const char *const units[] = {"ms", "s", "min", "h", "days"};
    while (len > 0 && ispunct((unsigned char) word[len - 1]))
        len--;
    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strlen(units[i]) == len && memcmp(units[i], word, len) == 0)
            return true;
    return false;
}

/* What stays on one line: a word, a number with its unit. */
static size_t piece_length(const char *text)
{
    size_t len = format_piece_length(text), next;
    if (!isdigit((unsigned char) text[len - 1]) || text[len] != ' ')
        return len;
    next = strcspn(text + len + 1, " ");
    return is_time_unit(text + len + 1, next) ? len + 1 + next : len;
}

void lines_wrap(struct lines *l, struct canvas *c, const char *text, double indent, double width,
                unsigned most, const struct text_style *style)
{
    *l = (struct lines){.count = 1};
    struct wrap w = {l, c, style, indent, width, most < LINES_MOST ? most : LINES_MOST};
    struct buf clean = BUF_INIT, word = BUF_INIT;
    utf8_add_clean(&clean, text, false);
    const char *at = buf_text(&clean) + strspn(buf_text(&clean), " ");
    for (; *at && !l->is_cut; at += strspn(at, " ")) {
        size_t len = piece_length(at);
        buf_clear(&word);
        buf_add(&word, at, len);
        at += len;
        if (!add_word(&w, buf_text(&word)))
            cut_line(&w);
    }
    l->count = l->text[l->count - 1].len > 0 ? l->count : 0;
    buf_release(&clean);
    buf_release(&word);
}

void lines_release(struct lines *l)
{
    for (unsigned i = 0; i < LINES_MOST; i++)
        buf_release(&l->text[i]);
    l->count = 0;
}
