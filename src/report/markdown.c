/* report/markdown.c: the report of a watched job as GitHub shows Markdown. */
#include "judge/judge.h"
#include "report/report.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define SERIES_MOST 8u
#define HOLDERS_MOST 5u
#define NAME_COLUMNS 100u
#define PLACE_COLUMNS 60u
#define COMMAND_COLUMNS 400u

static const struct report_style plain = {.width = FORMAT_MAX_WIDTH};

/* ---- escaping ---- */

/* As an HTML entity: no rule of Markdown applies to it. */
static void add_entity(struct buf *out, char c)
{
    buf_addf(out, "&#%d;", (unsigned char) c);
}

/* A text as code. What would end the span or the cell of a table is written as HTML. */
static void add_code(struct buf *out, const char *text, size_t len)
{
    struct buf raw = BUF_INIT, clean = BUF_INIT;
    buf_add(&raw, text, len);
    utf8_add_clean(&clean, buf_text(&raw), false);
    const char *code = buf_text(&clean);
    bool is_plain = !strpbrk(code, "`|\\") && code[0] != ' ' && code[0];
    buf_adds(out, is_plain ? "`" : "<code>");
    for (const char *c = code; *c; c++) {
        if (is_plain || isalnum((unsigned char) *c) || (unsigned char) *c >= 0x80 || *c == ' ')
            buf_addc(out, *c);
        else
            add_entity(out, *c);
    }
    buf_adds(out, is_plain ? "`" : "</code>");
    buf_release(&raw);
    buf_release(&clean);
}

/*
 * What GitHub makes a link of after the Markdown is read: "@name", "#12", "http://", "www.". An
 * empty comment parts them.
 */
static bool begins_link(const char *before, const char *c)
{
    return (c > before && (c[-1] == '@' || c[-1] == '#')) ||
           (c > before && c[-1] == ':' && c[0] == '/') ||
           (c - before >= 3 && strncasecmp(c - 3, "www", 3) == 0 && c[0] == '.');
}

static void add_plain(struct buf *out, const char *text, size_t len)
{
    for (const char *c = text; c < text + len; c++) {
        if (begins_link(text, c))
            buf_adds(out, "<!-- -->");
        if (strchr("\\`*_{}[]<>|~&$", *c))
            buf_addc(out, '\\');
        buf_addc(out, *c);
    }
}

/* A sentence of words/, cleaned. Names in it stand between backticks, as in every report. */
static void add_words(struct buf *out, const char *text)
{
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, text, false);
    for (const char *s = buf_text(&clean); *s;) {
        size_t len = strcspn(s, "`");
        add_plain(out, s, len);
        s += len;
        const char *end = *s ? strchr(s + 1, '`') : NULL;
        if (end) {
            add_code(out, s + 1, (size_t) (end - s - 1));
            s = end + 1;
        } else if (*s) {
            add_plain(out, s++, 1);
        }
    }
    buf_release(&clean);
}

/* A name from the run, cut. */
static void add_name(struct buf *out, const char *text, unsigned columns)
{
    struct buf cut = BUF_INIT;
    format_clean_cut(&cut, text, columns, &plain);
    add_code(out, buf_text(&cut), cut.len);
    buf_release(&cut);
}

/* Adds a cell of a table with the words in `text`, and empties that. */
static void add_cell(struct buf *out, struct buf *text)
{
    buf_adds(out, " ");
    add_words(out, buf_text(text));
    buf_adds(out, " |");
    buf_clear(text);
}

/* ---- the first lines ---- */

static void add_line(struct buf *out, const char *label, const struct buf *text)
{
    if (text->len == 0)
        return;
    buf_addf(out, "- **%s:** ", label);
    add_words(out, buf_text(text));
    buf_addc(out, '\n');
}

/* "LEAK (low)" stands out. */
static void add_opening(struct buf *out, const struct view *v)
{
    struct report_lines lines;
    report_run_lines(&lines, v, &plain);
    const char *verdict = buf_text(&lines.verdict), *colon = strchr(verdict, ':');
    size_t len = colon ? (size_t) (colon - verdict) : 0;
    buf_adds(out, "### tidemark: ");
    add_plain(out, verdict, len);
    add_words(out, verdict + len);
    buf_adds(out, "\n\n");
    add_line(out, "why", &lines.why);
    add_line(out, lines.next_label, &lines.next);
    report_lines_release(&lines);
}

/* ---- what grows ---- */

#define RANKS 3

/* The series that decides first; RANKS: it does not grow. */
static int rank_of(const struct view *v, size_t i)
{
    const struct answer *a = &v->series[i].answer;
    if (a->verdict != VERDICT_LEAK && !a->suspect)
        return RANKS;
    if (i == v->answer.deciding)
        return 0;
    return a->verdict == VERDICT_LEAK ? 1 : 2;
}

static void add_series(struct buf *out, const struct view_series *s)
{
    struct report_series r = {&s->info, &s->answer, &s->history};
    const struct answer *a = &s->answer;
    struct buf text = BUF_INIT;
    buf_adds(out, "| ");
    add_name(out, s->info.name, NAME_COLUMNS);
    buf_adds(out, " |");
    format_verdict(&text, a->verdict, a->severity, &plain);
    add_cell(out, &text);
    if (isfinite(a->rate)) {
        format_rate(&text, a->rate, &s->info);
        format_rate_bounds(&text, a->rate, a->rate_low, a->rate_high, &s->info);
    }
    add_cell(out, &text);
    if (isfinite(a->onset_at))
        format_position(&text, a->onset_at, &r);
    add_cell(out, &text);
    if (isfinite(a->floor_first) && isfinite(a->floor_last))
        format_change(&text, a->floor_first, a->floor_last, s->info.unit, &plain);
    add_cell(out, &text);
    buf_addc(out, '\n');
    buf_release(&text);
}

static void add_growing(struct buf *out, const struct view *v)
{
    size_t count = 0, shown = 0;
    for (size_t i = 0; i < v->count; i++)
        count += rank_of(v, i) < RANKS;
    if (count == 0)
        return;
    buf_adds(out, "\n| series | verdict | rate | since | floor |\n|---|---|--:|---|---|\n");
    for (int rank = 0; rank < RANKS; rank++)
        for (size_t i = 0; i < v->count && shown < SERIES_MOST; i++)
            if (rank_of(v, i) == rank) {
                add_series(out, &v->series[i]);
                shown++;
            }
    if (count > shown)
        buf_addf(out, "\nand %zu more series\n", count - shown);
}

/* ---- holders ---- */

static void add_holder(struct buf *out, const struct finding *f)
{
    struct buf text = BUF_INIT;
    buf_addc(out, '|');
    summary_place(&text, f, PLACE_COLUMNS);
    if (text.len == 0)
        utf8_add_clean(&text, f->holder ? f->holder : f->cause ? f->cause : f->sentence, false);
    add_cell(out, &text);
    buf_adds(&text, f->gain ? f->gain : "");
    add_cell(out, &text);
    if (isfinite(f->share))
        buf_addf(&text, "%.0f %% or more", 100 * f->share);
    add_cell(out, &text);
    buf_adds(&text, f->fix ? f->fix : f->advice ? f->advice : "");
    add_cell(out, &text);
    buf_addc(out, '\n');
    buf_release(&text);
}

static void add_holders(struct buf *out, const struct view *v)
{
    const struct findings *f = &v->found;
    if (f->count == 0)
        return;
    buf_adds(out, "\n| holder | gain | of the growth | fix |\n|---|---|--:|---|\n");
    for (size_t i = 0; i < f->count && i < HOLDERS_MOST; i++)
        add_holder(out, &f->findings[i]);
}

/* ---- the ledger ---- */

static void add_part(struct buf *out, const struct account *a, const struct ledger_part *p)
{
    struct buf text = BUF_INIT;
    buf_addc(out, '|');
    account_add_part(&text, p, p->kind == LEDGER_HOLDER ? a->growing[p->source] : NULL,
                     p->kind == LEDGER_SITE ? a->traced.lines[p->source].site : NULL,
                     a->ledger.rest);
    add_cell(out, &text);
    account_add_interval(&text, p->bytes);
    add_cell(out, &text);
    buf_adds(&text, fate_name(p->fate));
    add_cell(out, &text);
    buf_addc(out, '\n');
    buf_release(&text);
}

static void add_ledger(struct buf *out, const struct account *a)
{
    if (!a || a->ledger.count == 0)
        return;
    buf_adds(out, "\n| ledger: ");
    units_add_bytes(out, a->ledger.growth);
    buf_adds(out, " between ");
    units_add_short_time(out, a->from);
    buf_adds(out, " and ");
    units_add_short_time(out, a->to);
    buf_adds(out, " of the run | bytes | fate |\n|---|--:|---|\n");
    for (unsigned i = 0; i < a->ledger.count; i++)
        add_part(out, a, &a->ledger.parts[i]);
}

/* ---- the run ---- */

static void add_facts(struct buf *out, const struct view *v)
{
    struct report_facts facts;
    report_run_facts(&facts, v);
    buf_adds(out, "\n<details><summary>The run</summary>\n\n| | |\n|---|---|\n");
    for (size_t i = 0; i < facts.count; i++) {
        struct report_fact *f = &facts.list[i];
        buf_addf(out, "| %s |", f->label);
        if (strcmp(f->label, "command") == 0) {
            buf_addc(out, ' ');
            add_name(out, buf_text(&f->text), COMMAND_COLUMNS);
            buf_adds(out, " |");
        } else {
            add_cell(out, &f->text);
        }
        buf_addc(out, '\n');
    }
    buf_adds(out, "\n</details>\n");
    report_facts_release(&facts);
}

void report_run_markdown(struct buf *out, const struct view *v, const struct account *account,
                         const char *run_file)
{
    add_opening(out, v);
    add_growing(out, v);
    add_holders(out, v);
    add_ledger(out, account);
    add_facts(out, v);
    buf_adds(out, "\n<sub>tidemark " TIDEMARK_VERSION ", ");
    add_name(out, run_file, NAME_COLUMNS);
    buf_adds(out, "</sub>\n");
}
