/* screen/body.c: draws the screen of a job. */
#include "screen/state.h"

#include <limits.h>
#include <string.h>

#define MARGIN 1u /* at the left of all text */

/* ---- lines of a text ---- */

/* Copies the next line of *text, and goes on to the one after it. False: there is none. */
static bool next_line(const char **text, struct buf *ret)
{
    buf_clear(ret);
    if (!**text)
        return false;
    size_t len = strcspn(*text, "\n");
    buf_add(ret, *text, len);
    *text += len + ((*text)[len] == '\n');
    return true;
}

static unsigned count_lines(const char *text)
{
    unsigned lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* ---- the head ---- */

/* "why: ...", broken into lines below each other. */
static void add_answer(struct buf *out, const char *label, const struct buf *text,
                       const struct report_style *style)
{
    if (text->len == 0)
        return;
    buf_addf(out, "%s: ", label);
    format_wrapped(out, buf_text(text), (unsigned) strlen(label) + 2, style);
}

/* The job's line, then verdict, why and fix. */
static void head_text(const struct screen *s, unsigned width, struct buf *out)
{
    const struct report_style style = screen_style(s, width);
    const char *ending = s->data.view->ending;
    struct report_lines lines;
    if (s->data.status)
        report_status(out, s->data.status, s->data.seconds, &style);
    else
        buf_addf(out, "The job has ended%s%s. q leaves and prints the report.", ending ? ": " : "",
                 ending ? ending : "");
    buf_addc(out, '\n');
    report_run_lines(&lines, s->data.view, &style);
    format_wrapped(out, buf_text(&lines.verdict), 0, &style);
    add_answer(out, "why", &lines.why, &style);
    add_answer(out, lines.next_label, &lines.next, &style);
    report_lines_release(&lines);
}

#define HINT "? help  q quit"
#define HINT_COLUMNS ((unsigned) sizeof(HINT) - 1)

static void draw_title(const struct screen *s, unsigned row)
{
    struct buf command = BUF_INIT;
    unsigned columns = paint_columns(), hint = columns > 50 ? HINT_COLUMNS + 2 : 0;
    unsigned used = 3 + paint_text(row, 1, columns - 1, "tidemark top", INK_BOLD, false);
    if (s->options.command && columns > used + hint) {
        const struct report_style style = screen_style(s, columns);
        format_clean_cut(&command, s->options.command, columns - used - hint, &style);
        paint_text(row, used, columns - used - hint, buf_text(&command), INK_PLAIN, false);
    }
    buf_release(&command);
    if (hint > 0)
        paint_right(row, columns - HINT_COLUMNS - 1, HINT_COLUMNS, HINT, INK_DIM, false);
}

/* The verdict's own word is coloured; the labels of the other lines are dim. */
static void draw_head_line(const struct screen *s, unsigned row, const char *line, unsigned number)
{
    const struct job_answer *a = &s->data.view->answer;
    unsigned columns = paint_columns(), word = (unsigned) strcspn(line, ":");
    enum ink ink = number == 1 ? ink_of_verdict(a->verdict, a->severity, false) : INK_DIM;
    bool has_label = line[word] == ':' && (number == 1 || word < 6);
    if (number == 1 && ink == INK_PLAIN)
        ink = INK_BOLD;
    char label[32];
    if (number == 0 || !has_label || word >= sizeof(label) - 1) {
        paint_text(row, 1, columns - 2, line, INK_PLAIN, false);
        return;
    }
    memcpy(label, line, word + 1);
    label[word + 1] = '\0';
    unsigned used = paint_text(row, 1, columns - 2, label, ink, false);
    paint_text(row, 1 + used, columns - 2 - used, line + word + 1,
               number == 1 ? INK_BOLD : INK_PLAIN, false);
}

static void draw_head(const struct screen *s, const struct panes *p, const char *text)
{
    struct buf line = BUF_INIT;
    for (unsigned i = 0; i < p->heads && next_line(&text, &line); i++)
        draw_head_line(s, p->head + i, buf_text(&line), i);
    buf_release(&line);
}

/* ---- the list ---- */

static bool is_sorted_by(const struct screen *s, enum column column)
{
    static const enum column of[SORT_KEYS] = {COLUMN_MEMORY, COLUMN_RATE, COLUMN_VERDICT,
                                              COLUMN_PROCESS};
    return of[s->by.sort] == column;
}

static void draw_header(const struct screen *s, unsigned row, const struct columns *c)
{
    paint_blank(row, 0, paint_columns(), INK_TITLE);
    for (enum column i = 0; i < COLUMNS; i++) {
        char title[16];
        if (c->width[i] == 0)
            continue;
        snprintf(title, sizeof(title), "%s%s", column_title(i), is_sorted_by(s, i) ? "*" : "");
        if (column_is_right(i))
            paint_right(row, MARGIN + c->at[i], c->width[i], title, INK_TITLE, false);
        else
            paint_text(row, MARGIN + c->at[i], c->width[i], title, INK_TITLE, false);
    }
}

static enum ink ink_of_cell(enum column column, const struct entry *worst, const struct row *row)
{
    const struct view_series *s = worst->series;
    bool suspect = s && s->answer.suspect;
    enum ink ink =
        s ? ink_of_verdict(worst->answer.verdict, worst->answer.severity, suspect) : INK_DIM;
    if (row->is_context)
        return INK_DIM;
    if (column == COLUMN_VERDICT || column == COLUMN_HISTORY)
        return ink;
    bool is_news = ink == INK_RED || ink == INK_YELLOW;
    if (column == COLUMN_RATE || column == COLUMN_LIMIT)
        return is_news ? ink : INK_DIM;
    return column == COLUMN_COMMAND || column == COLUMN_KIND ? INK_DIM : INK_PLAIN;
}

static void draw_row(const struct screen *s, unsigned y, const struct row *row,
                     const struct columns *c, bool selected)
{
    const struct entry *e = &s->entries[row->item], *worst = &s->entries[row->worst];
    struct buf text = BUF_INIT;
    if (selected)
        paint_blank(y, 0, paint_columns(), INK_SELECTED);
    for (enum column i = 0; i < COLUMNS; i++) {
        if (c->width[i] == 0)
            continue;
        buf_clear(&text);
        cell_text(&text, i, e, worst, row, c->width[i], s->tty.ascii);
        enum ink ink = ink_of_cell(i, worst, row);
        if (column_is_right(i))
            paint_right(y, MARGIN + c->at[i], c->width[i], buf_text(&text), ink, selected);
        else
            paint_text(y, MARGIN + c->at[i], c->width[i], buf_text(&text), ink, selected);
    }
    buf_release(&text);
}

static void draw_list(struct screen *s, const struct panes *p)
{
    struct columns c;
    columns_fit(paint_columns() > MARGIN ? paint_columns() - MARGIN : 0, &s->wanted, &c);
    s->height = p->lists;
    if (p->header == UINT_MAX)
        return;
    draw_header(s, p->header, &c);
    scroll_settle(&s->scroll, s->rows.count, p->lists);
    for (unsigned i = 0; i < p->lists && s->scroll.first + i < s->rows.count; i++) {
        size_t at = s->scroll.first + i;
        draw_row(s, p->list + i, &s->rows.list[at], &c, at == s->scroll.at);
    }
    if (s->rows.count == 0)
        paint_text(p->list, 1, paint_columns() - 1,
                   s->filter[0] ? "no process fits the filter" : "reading the processes", INK_DIM,
                   false);
}

/* ---- the pane ---- */

/* The part of a text that its scroll has reached. */
static void draw_lines(struct screen *s, unsigned top, unsigned rows, const char *text)
{
    struct buf line = BUF_INIT;
    size_t count = count_lines(text), most = count > rows ? count - rows : 0;
    if (s->pane_scroll > most)
        s->pane_scroll = most;
    for (size_t i = 0; i < s->pane_scroll; i++)
        next_line(&text, &line);
    for (unsigned i = 0; i < rows && next_line(&text, &line); i++)
        paint_text(top + i, MARGIN, paint_columns() - MARGIN, buf_text(&line), INK_PLAIN, false);
    buf_release(&line);
}

static void draw_pane(struct screen *s, const struct panes *p)
{
    struct buf text = BUF_INIT;
    unsigned columns = paint_columns(), rows = p->details > 1 ? p->details - 1 : 0;
    if (p->details == 0)
        return;
    paint_blank(p->pane, 0, columns, INK_TITLE);
    pane_title(s, &text);
    paint_text(p->pane, MARGIN, columns - MARGIN, buf_text(&text), INK_TITLE, false);
    buf_clear(&text);
    pane_text(s, columns > 2 * MARGIN ? columns - 2 * MARGIN : columns, rows, &text);
    draw_lines(s, p->pane + 1, rows, buf_text(&text));
    buf_release(&text);
}

/* ---- the footer ---- */

/* A message, or what is being typed; nothing: keys have the footer. */
static void notice_text(const struct screen *s, struct buf *out)
{
    if (s->types_filter) {
        buf_addf(out, "filter: %s_", s->filter);
        return;
    }
    if (!s->has_news || s->message_count == 0)
        return;
    buf_adds(out, s->messages[s->message_count - 1]);
}

/* As many whole hints as fit. */
static void hints_text(const struct screen *s, unsigned columns, struct buf *out)
{
    static const char *const hints[] = {"? help", "Enter chart", "o holders", "/ filter",
                                        "m messages"};
    buf_addf(out, "%zu of %zu", s->rows.count > 0 ? s->scroll.at + 1 : 0, s->rows.count);
    if (s->filter[0])
        buf_addf(out, ", filter: %s", s->filter);
    buf_addf(out, "  s sort: %s", sort_name(s->by.sort));
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if (out->len + 2 + strlen(hints[i]) <= columns)
            buf_addf(out, "  %s", hints[i]);
}

static void draw_footer(const struct screen *s, unsigned row)
{
    struct buf text = BUF_INIT;
    unsigned columns = paint_columns() > 2 * MARGIN ? paint_columns() - 2 * MARGIN : 0;
    notice_text(s, &text);
    bool stands_out = text.len > 0;
    if (!stands_out)
        hints_text(s, columns, &text);
    paint_text(row, MARGIN, columns, buf_text(&text), stands_out ? INK_BOLD : INK_DIM, false);
    buf_release(&text);
}

static void draw_help(struct screen *s, const struct panes *p)
{
    struct buf text = BUF_INIT;
    help_text(&text);
    draw_lines(s, p->head, p->footer > p->head ? p->footer - p->head : 0, buf_text(&text));
    paint_text(p->footer, MARGIN, paint_columns() - MARGIN, "J K scroll; other keys go back",
               INK_DIM, false);
    buf_release(&text);
}

void body_draw(struct screen *s)
{
    struct buf head = BUF_INIT;
    struct panes p;
    unsigned columns = paint_columns();
    if (s->has_data)
        head_text(s, columns > 2 ? columns - 2 : columns, &head);
    const struct panes_wanted wanted = {.heads = count_lines(buf_text(&head)),
                                        .processes = (unsigned) s->rows.count,
                                        .pane = s->pane != PANE_NONE};
    panes_fit(paint_rows(), &wanted, &p);
    draw_title(s, p.title);
    if (s->shows_help) {
        draw_help(s, &p);
    } else if (s->has_data) {
        draw_head(s, &p, buf_text(&head));
        draw_list(s, &p);
        draw_pane(s, &p);
        draw_footer(s, p.footer);
    }
    buf_release(&head);
}
