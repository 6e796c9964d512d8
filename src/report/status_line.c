/* report/status_line.c: the status line of a running job. */
#include "report/run.h"

#include <math.h>
#include <string.h>

#define EARLY_SECONDS 120.0

/* The pieces of the line, in order. */
enum piece { ELAPSED, STEP, TOTAL, FLOOR, RATE, VERDICT, NAME, NEEDS, LIMIT, PIECES };

struct row {
    struct buf pieces[PIECES];
    const struct report_style *style;
};

static void elapsed_piece(struct buf *out, double seconds)
{
    units_add_duration(out, seconds);
}

static void step_piece(struct buf *out, const struct view_status *s)
{
    if (!isfinite(s->step))
        return;
    buf_adds(out, "step ");
    units_add_count(out, s->step, 0);
    if (isfinite(s->step_total) && s->step_total >= s->step) {
        buf_addc(out, '/');
        units_add_count(out, s->step_total, 0);
    }
}

static void total_piece(struct buf *out, const struct view_status *s)
{
    buf_adds(out, "job ");
    units_add_bytes(out, s->total);
}

static void floor_piece(struct buf *out, const struct view_status *s)
{
    if (!isfinite(s->floor) || s->floor >= 0.995 * s->total)
        return;
    buf_adds(out, "floor ");
    units_add_bytes(out, s->floor);
}

static void rate_piece(struct buf *out, const struct view_status *s)
{
    if (!isfinite(s->rate))
        return;
    if (s->rate > 0)
        buf_addc(out, '+');
    format_rate(out, s->rate, &s->series);
}

static bool is_negligible(const struct view_status *s)
{
    return s->verdict == VERDICT_LEAK && s->severity == SEVERITY_NEGLIGIBLE;
}

static bool has_name(const struct view_status *s)
{
    return s->verdict == VERDICT_LEAK || s->suspect;
}

static void verdict_piece(struct row *row, const struct view_status *s)
{
    static const char *const words[] = {[VERDICT_LEAK] = "LEAK",
                                        [VERDICT_NO_LEAK] = "no leak so far",
                                        [VERDICT_INCONCLUSIVE] = "not enough data yet"};
    static const enum format_color colors[] = {[VERDICT_LEAK] = FORMAT_RED,
                                               [VERDICT_NO_LEAK] = FORMAT_GREEN,
                                               [VERDICT_INCONCLUSIVE] = FORMAT_YELLOW};
    struct buf *out = &row->pieces[VERDICT];
    bool suspect = s->suspect && s->verdict != VERDICT_LEAK;
    if (is_negligible(s)) {
        buf_adds(out, "negligible leak");
        return;
    }
    format_color(out, suspect ? FORMAT_YELLOW : colors[s->verdict], row->style);
    buf_adds(out, suspect ? "suspect" : words[s->verdict]);
    format_color(out, FORMAT_RESET, row->style);
}

static void needs_piece(struct buf *out, const struct view_status *s, double seconds)
{
    /* Before the first step only time counts, and a verdict by time takes too long. */
    bool early = s->series.clock == CLOCK_SECONDS && seconds < EARLY_SECONDS;
    if (s->verdict == VERDICT_INCONCLUSIVE && s->needs > 0 && isfinite(s->needs) && !early)
        format_more(out, s->needs, s->series.clock);
}

static void limit_piece(struct buf *out, const struct view_status *s)
{
    if (!isfinite(s->limit_seconds) || !has_name(s) || is_negligible(s))
        return;
    buf_adds(out, "limit in ");
    units_add_duration(out, s->limit_seconds);
}

static const char *separator_before(enum piece piece, bool ascii)
{
    if (piece == FLOOR || piece == NEEDS)
        return ", ";
    if (piece == NAME)
        return ": ";
    return ascii ? " | " : " · ";
}

static void join(struct buf *out, const struct row *row)
{
    buf_clear(out);
    for (unsigned i = 0; i < PIECES; i++) {
        if (row->pieces[i].len == 0)
            continue;
        if (out->len > 0)
            buf_adds(out, separator_before(i, row->style->ascii));
        buf_adds(out, buf_text(&row->pieces[i]));
    }
}

/* How many columns the line is too wide, with the terminal's last column free; 0: it fits. */
static unsigned missing_columns(struct buf *text, const struct row *row)
{
    join(text, row);
    unsigned used = format_columns(buf_text(text)) + 1, width = row->style->width;
    return width > 0 && used > width ? used - width : 0;
}

static void drop(struct row *row, struct buf *text, const enum piece *pieces, size_t count)
{
    for (size_t i = 0; i < count && missing_columns(text, row) > 0; i++)
        buf_clear(&row->pieces[pieces[i]]);
}

/* Drops the last word that has a digit: a pid. False: there is none. */
static bool drop_number(struct buf *name)
{
    const char *text = buf_text(name), *found = NULL;
    struct buf rest = BUF_INIT;
    for (const char *word = text; *word; word += strcspn(word, " "), word += strspn(word, " "))
        if (word > text && strcspn(word, "0123456789") < strcspn(word, " "))
            found = word;
    if (!found)
        return false;
    const char *after = found + strcspn(found, " ");
    buf_add(&rest, text, (size_t) (found - text));
    buf_adds(&rest, after + strspn(after, " "));
    buf_clear(name);
    buf_adds(name, buf_text(&rest));
    buf_release(&rest);
    return true;
}

static void shorten_name(struct row *row, struct buf *text)
{
    while (missing_columns(text, row) > 0 && drop_number(&row->pieces[NAME]))
        continue;
}

/* On a narrow terminal whole pieces go, never half a number. Pieces that the program's own output
 * shows go first; the verdict stays. */
static void fit(struct row *row, struct buf *text)
{
    static const enum piece first[] = {FLOOR, ELAPSED, STEP, TOTAL};
    static const enum piece last[] = {NAME, NEEDS, RATE, LIMIT};
    drop(row, text, first, sizeof(first) / sizeof(first[0]));
    shorten_name(row, text);
    drop(row, text, last, sizeof(last) / sizeof(last[0]));
    join(text, row);
}

void report_status(struct buf *out, const struct view_status *s, double seconds,
                   const struct report_style *style)
{
    struct row row = {.style = style};
    struct buf text = BUF_INIT;
    elapsed_piece(&row.pieces[ELAPSED], seconds);
    step_piece(&row.pieces[STEP], s);
    total_piece(&row.pieces[TOTAL], s);
    floor_piece(&row.pieces[FLOOR], s);
    rate_piece(&row.pieces[RATE], s);
    verdict_piece(&row, s);
    if (has_name(s))
        utf8_add_clean(&row.pieces[NAME], s->series.name, style->ascii);
    needs_piece(&row.pieces[NEEDS], s, seconds);
    limit_piece(&row.pieces[LIMIT], s);
    fit(&row, &text);
    buf_adds(out, buf_text(&text));
    buf_release(&text);
    for (unsigned i = 0; i < PIECES; i++)
        buf_release(&row.pieces[i]);
}
