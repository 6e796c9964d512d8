/* report/text.c: the report of a job for people. */
#include "report/text.h"
#include "report/found.h"
#include "report/table.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define CHART_HEIGHT 8u
#define CHART_LEAST 5u  /* where other facts need the room */
#define CHART_AROUND 5u /* lines of a chart beside its height: axis, labels, blank lines */
#define INDENT 2u
#define LABEL_WIDTH 12u /* of the labels left of the facts, indent included */
#define MIN_NAME 12u    /* least columns of a name */
#define NAME_HEADING "series"
#define GOOD_NAME 30u    /* other columns are dropped until names have this width */
#define OTHERS_MOST 3u   /* further leaking series in the short report */
#define DETAIL_ALL 3u    /* up to this many series are all shown in full */
#define REPORT_LINES 30u /* of a short report */
#define DETAIL_MOST 6u   /* of a longer list: shown in full if they need attention */

/* Order of the series: those that need attention first. */
static const enum verdict verdict_order[] = {VERDICT_LEAK, VERDICT_INCONCLUSIVE, VERDICT_NO_LEAK};

/* ---- the answer ---- */

void text_answer(struct buf *out, const char *label, struct buf *text,
                 const struct report_style *style)
{
    struct buf clean = BUF_INIT;
    if (text->len > 0) {
        utf8_add_clean(&clean, buf_text(text), style->ascii);
        format_color(out, FORMAT_BOLD, style);
        buf_addf(out, "%s:", label);
        format_color(out, FORMAT_RESET, style);
        buf_addc(out, ' ');
        format_wrapped(out, buf_text(&clean), (unsigned) strlen(label) + 2, style);
    }
    buf_release(&clean);
    buf_release(text);
}

void text_opening(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    summary_verdict(&text, job, style);
    format_wrapped(out, buf_text(&text), 0, style);
    buf_release(&text);
    summary_why(&text, job, style);
    text_answer(out, "why", &text, style);
    summary_next(&text, job, style);
    text_answer(out, summary_next_label(job), &text, style);
}

void text_ending(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    summary_end(&text, job, style);
    format_wrapped(out, buf_text(&text), 0, style);
    buf_release(&text);
}

/* ---- facts: a word, then sentences beside it ---- */

static void fact_label(struct buf *out, const char *label, const struct report_style *style)
{
    struct buf padded = BUF_INIT;
    buf_addf(&padded, "  %-*s", (int) LABEL_WIDTH - 2, label);
    format_color(out, FORMAT_DIM, style);
    buf_adds(out, buf_text(&padded));
    format_color(out, FORMAT_RESET, style);
    buf_release(&padded);
}

void text_fact(struct buf *out, const char *label, struct buf *sentence,
               const struct report_style *style)
{
    struct buf clean = BUF_INIT;
    if (sentence->len > 0) {
        utf8_add_clean(&clean, buf_text(sentence), style->ascii);
        fact_label(out, label, style);
        format_wrapped(out, buf_text(&clean), LABEL_WIDTH, style);
    }
    buf_release(&clean);
    buf_release(sentence);
}

void text_quiet_fact(struct buf *out, const char *label, struct buf *sentence,
                     const struct report_style *style)
{
    struct buf fact = BUF_INIT;
    text_fact(&fact, label, sentence, style);
    format_color(out, FORMAT_DIM, style);
    buf_adds(out, buf_text(&fact));
    format_color(out, FORMAT_RESET, style);
    buf_release(&fact);
}

static void add_seen(struct buf *out, const struct report_series *s,
                     const struct report_style *style)
{
    const struct answer *a = s->answer;
    struct buf text = BUF_INIT;

    units_add_count(&text, (double) a->samples, 0);
    buf_addf(&text, " sample%s, %s", a->samples == 1 ? "" : "s",
             s->info->clock == CLOCK_STEP ? "steps " : "");
    format_span(&text, a->first_at, a->last_at, s, style);
    if (a->refused > 0)
        buf_addf(&text, "; %llu refused", (unsigned long long) a->refused);
    text_fact(out, "seen", &text, style);
}

void text_reason(struct buf *out, const char *label, const char *reason,
                 const struct report_style *style)
{
    struct buf text = BUF_INIT;
    fact_label(out, label, style);
    buf_addf(out, "%s ", format_glyphs(style)->bullet);
    utf8_add_clean(&text, reason, style->ascii);
    format_wrapped(out, buf_text(&text), LABEL_WIDTH + 2, style);
    buf_release(&text);
}

static void add_reasons(struct buf *out, const struct answer *a, const struct report_style *style)
{
    for (unsigned i = 0; i < a->why_count; i++)
        text_reason(out, i == 0 ? "why" : "", a->why[i], style);
}

/* A label and the sentence that words/details.h has for the series. */
static void add_fact(struct buf *out, const char *label, details_writer write,
                     const struct report_series *s, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    write(&text, s);
    text_fact(out, label, &text, style);
}

static void add_levels(struct buf *out, const struct report_series *s,
                       const struct report_style *style)
{
    struct buf text = BUF_INIT;
    details_levels(&text, s, style);
    text_fact(out, "level", &text, style);
}

/* ---- the forecast ---- */

static void add_forecast(struct buf *out, const struct report_series *s,
                         const struct report_style *style)
{
    struct buf plan = BUF_INIT, limit = BUF_INIT;
    details_plan(&plan, s);
    details_limit(&limit, s);
    if (plan.len == 0 && limit.len == 0)
        details_pace(&limit, s);
    const char *label = plan.len > 0 ? "" : "forecast";
    text_fact(out, "forecast", &plan, style);
    text_fact(out, label, &limit, style);
}

/* ---- phases ---- */

/* Columns that a narrow terminal loses. */
struct phase_layout {
    bool bounds, levels;
};

static void phase_row(struct table *t, const struct report_series *s, const struct phase *p,
                      struct phase_layout layout, const struct report_style *style)
{
    table_add(t, phase_name(p->name));
    format_span(&t->cell, p->from, p->to, s, style);
    table_end_cell(t);
    /* One sample has no rate. */
    if (p->to > p->from)
        format_rate(&t->cell, p->rate, s->info);
    if (p->to > p->from && layout.bounds)
        format_rate_bounds(&t->cell, p->rate, p->rate_low, p->rate_high, s->info);
    table_end_cell(t);
    if (layout.levels) {
        format_change(&t->cell, p->level_from, p->level_to, s->info->unit, style);
        table_end_cell(t);
    }
}

/* The level is the line fitted to the floor; with noise it differs from the floor itself. */
static void fill_phases(struct table *t, const struct report_series *s, struct phase_layout layout,
                        const struct report_style *style)
{
    table_clear(t);
    t->columns = layout.levels ? 4 : 3;
    table_add(t, "phase");
    table_add(t, s->info->clock == CLOCK_STEP ? "steps" : "time");
    table_add(t, "rate");
    if (layout.levels)
        table_add(t, "level");
    for (unsigned i = 0; i < s->answer->phase_count; i++)
        phase_row(t, s, &s->answer->phases[i], layout, style);
}

static void add_phases(struct buf *out, const struct report_series *s,
                       const struct report_style *style)
{
    static const struct phase_layout layouts[] = {{true, true}, {false, true}, {false, false}};

    if (s->answer->phase_count == 0)
        return;
    struct table t = TABLE_INIT(4);
    for (unsigned i = 0; i < 3; i++) {
        fill_phases(&t, s, layouts[i], style);
        if (INDENT + table_width(&t) <= format_width(style))
            break;
    }
    table_render(&t, out, INDENT);
    buf_addc(out, '\n');
}

/* ---- one series, many series ---- */

/* "Run 2 | host.rss | cuda:0 | pid 179532" in at most `columns`. */
static void add_identity(struct buf *out, const struct series_info *info, unsigned columns,
                         const struct report_style *style)
{
    const char *dot = format_glyphs(style)->dot;
    struct buf rest = BUF_INIT;
    if (!strstr(info->name, info->kind) && strcmp(info->kind, "memory") != 0) {
        buf_addf(&rest, " %s ", dot);
        utf8_add_clean(&rest, info->kind, style->ascii);
    }
    if (info->device && !strstr(info->name, info->device)) {
        buf_addf(&rest, " %s ", dot);
        utf8_add_clean(&rest, info->device, style->ascii);
    }
    format_pid(&rest, info, style);
    unsigned used = format_columns(buf_text(&rest));
    format_clean_cut(out, info->name, columns > used + MIN_NAME ? columns - used : MIN_NAME, style);
    buf_adds(out, buf_text(&rest));
    buf_release(&rest);
}

static void add_body(struct buf *out, const struct report_series *s,
                     const struct report_style *style)
{
    report_chart(out, s, CHART_HEIGHT, style);
    buf_addc(out, '\n');
    add_phases(out, s, style);
    add_seen(out, s, style);
    add_levels(out, s, style);
    add_fact(out, "spikes", details_spikes, s, style);
    add_fact(out, isfinite(s->answer->alarm_at) ? "alarm" : "suspect", details_alarm, s, style);
    add_forecast(out, s, style);
    add_reasons(out, s->answer, style);
    add_fact(out, "beware", details_naive, s, style);
    add_fact(out, "needs", details_needs, s, style);
}

void text_section(struct buf *out, const struct report_series *s, const struct report_style *style)
{
    struct buf title = BUF_INIT;
    add_identity(&title, s->info, format_width(style) - 6, style);
    const char *rule = format_glyphs(style)->rule;
    unsigned used = format_columns(buf_text(&title)) + 4;

    buf_addc(out, '\n');
    format_color(out, FORMAT_BOLD, style);
    buf_addf(out, "%s%s %s ", rule, rule, buf_text(&title));
    buf_repeat(out, rule, format_width(style) > used ? format_width(style) - used : 0);
    format_color(out, FORMAT_RESET, style);
    buf_addc(out, '\n');
    buf_clear(&title);
    format_verdict(&title, s->answer->verdict, s->answer->severity, style);
    buf_adds(&title, ": ");
    headline_series(&title, s);
    format_wrapped(out, buf_text(&title), 0, style);
    buf_addc(out, '\n');
    buf_release(&title);
    add_body(out, s, style);
}

/* What a narrow terminal may lose. */
struct summary_layout {
    unsigned name_columns;
    bool patterns, floors;
};

static void summary_row(struct table *t, const struct report_series *s,
                        const struct summary_layout *layout, const struct report_style *style)
{
    const struct answer *a = s->answer;
    format_verdict(&t->cell, a->verdict, a->severity, style);
    table_end_cell(t);
    format_clean_cut(&t->cell, s->info->name, layout->name_columns, style);
    table_end_cell(t);
    if (layout->patterns)
        table_add(t, pattern_name(a->pattern));
    format_current_rate(&t->cell, a, s->info, style);
    table_end_cell(t);
    if (layout->floors) {
        format_change(&t->cell, a->floor_first, a->floor_last, s->info->unit, style);
        table_end_cell(t);
    }
}

/* One line per series, leaks first. */
static void fill_summary(struct table *t, const struct report_job *job,
                         const struct summary_layout *layout, const struct report_style *style)
{
    table_clear(t);
    t->columns = 3u + layout->patterns + layout->floors;
    table_add(t, "verdict");
    table_add(t, NAME_HEADING);
    if (layout->patterns)
        table_add(t, "pattern");
    table_add(t, "rate");
    if (layout->floors)
        table_add(t, "floor");
    for (size_t k = 0; k < sizeof(verdict_order) / sizeof(verdict_order[0]); k++) {
        for (size_t i = 0; i < job->count; i++) {
            if (job->series[i].answer->verdict == verdict_order[k])
                summary_row(t, &job->series[i], layout, style);
        }
    }
}

/* Columns of the longest name, or of the heading above them. */
static unsigned longest_name(const struct report_job *job, const struct report_style *style)
{
    unsigned longest = format_columns(NAME_HEADING);
    struct buf name = BUF_INIT;
    for (size_t i = 0; i < job->count; i++) {
        buf_clear(&name);
        utf8_add_clean(&name, job->series[i].info->name, style->ascii);
        unsigned columns = format_columns(buf_text(&name));
        longest = columns > longest ? columns : longest;
    }
    buf_release(&name);
    return longest;
}

/* Names identify the series, so the patterns and then the floors are dropped before a name is
 * cut. */
void text_summary(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    static const struct summary_layout layouts[] = {
        {0, true, true}, {0, false, true}, {0, false, false}};

    unsigned width = format_width(style), longest = longest_name(job, style), left = 0;
    unsigned wanted = longest < GOOD_NAME ? longest : GOOD_NAME;
    struct table t = TABLE_INIT(5);
    struct summary_layout layout = layouts[0];
    for (unsigned i = 0; i < 3 && left < wanted; i++) {
        layout = layouts[i];
        layout.name_columns = longest;
        fill_summary(&t, job, &layout, style);
        unsigned rest = INDENT + table_width(&t) - longest;
        left = width > rest ? width - rest : 0;
    }
    layout.name_columns = left > MIN_NAME ? left : MIN_NAME;
    fill_summary(&t, job, &layout, style);
    table_render(&t, out, INDENT);
}

/* A line in the table is enough for a negligible leak. */
static bool needs_attention(const struct answer *a)
{
    return a->verdict != VERDICT_NO_LEAK && a->severity != SEVERITY_NEGLIGIBLE;
}

/* A long list is not shown in full, so that the verdict does not scroll away. */
static void add_sections(struct buf *out, const struct report_job *job,
                         const struct report_style *style)
{
    size_t shown = 0, left_out = 0;
    for (size_t k = 0; verdict_order[k] != VERDICT_NO_LEAK; k++) {
        for (size_t i = 0; i < job->count; i++) {
            const struct answer *a = job->series[i].answer;
            if (a->verdict != verdict_order[k] || !needs_attention(a))
                continue;
            if (shown++ < DETAIL_MOST)
                text_section(out, &job->series[i], style);
            else
                left_out++;
        }
    }
    if (left_out == 0)
        return;
    struct buf text = BUF_INIT;
    buf_addf(&text,
             "%zu more of them %s only in the table: 'FILE#NAME' or --series NAME shows one.",
             left_out, left_out == 1 ? "is" : "are");
    buf_addc(out, '\n');
    format_wrapped(out, buf_text(&text), 0, style);
    buf_release(&text);
}

void report_opening(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    text_opening(out, job, style);
}

void report_lines(struct report_lines *ret, const struct report_job *job,
                  const struct report_style *style)
{
    *ret = (struct report_lines){.next_label = summary_next_label(job)};
    summary_verdict(&ret->verdict, job, style);
    summary_why(&ret->why, job, style);
    summary_next(&ret->next, job, style);
}

void report_lines_release(struct report_lines *lines)
{
    buf_release(&lines->verdict);
    buf_release(&lines->why);
    buf_release(&lines->next);
}

void report_headline(struct buf *out, const struct report_job *job,
                     const struct report_style *style)
{
    headline_job(out, job, style);
    buf_addc(out, '\n');
}

/* ---- the answer alone ---- */

static const struct report_series *deciding(const struct report_job *job)
{
    return job->answer->deciding < job->count ? &job->series[job->answer->deciding] : NULL;
}

static bool matters(const struct answer *a)
{
    return a->verdict == VERDICT_LEAK && a->severity != SEVERITY_NEGLIGIBLE;
}

/* One line for each other leaking series. */
static void add_other_leaks(struct buf *out, const struct report_job *job, unsigned most,
                            const struct report_style *style)
{
    unsigned shown = 0;
    for (size_t i = 0; i < job->count && shown < most; i++) {
        const struct report_series *s = &job->series[i];
        if (i == job->answer->deciding || !matters(s->answer))
            continue;
        struct buf text = BUF_INIT;
        utf8_add_clean(&text, s->info->name, style->ascii);
        buf_addc(&text, ' ');
        headline_growth(&text, s);
        text_fact(out, shown++ == 0 ? "leaks too" : "", &text, style);
    }
}

/* The user gave a plan, or growth without a verdict has a limit ahead. */
static bool wants_forecast(const struct answer *a)
{
    bool is_open = a->verdict == VERDICT_INCONCLUSIVE && a->suspect;
    return isfinite(a->plan) || (is_open && isfinite(a->limit));
}

/* All but the chart. `most`: the most holders, and the most further leaks. */
static void add_brief_facts(struct buf *out, const struct report_job *job, unsigned most,
                            const struct report_style *style)
{
    const struct report_series *s = deciding(job);
    struct buf text = BUF_INIT;
    if (job->found && job->answer->verdict == VERDICT_LEAK)
        found_brief(out, job->found, most, style);
    if (s && s->answer->verdict == VERDICT_LEAK) {
        summary_severity(&text, s);
        text_fact(out, "severity", &text, style);
        add_other_leaks(out, job, most, style);
    }
    if (s && !matters(s->answer) && wants_forecast(s->answer))
        add_forecast(out, s, style);
    summary_others(&text, job);
    text_fact(out, "others", &text, style);
}

static unsigned lines_of(const struct buf *text)
{
    unsigned lines = 0;
    for (const char *c = buf_text(text); *c; c++)
        lines += *c == '\n';
    return lines;
}

unsigned text_room(const struct buf *head, const struct buf *tail)
{
    unsigned used = lines_of(head) + lines_of(tail);
    return used < REPORT_LINES ? REPORT_LINES - used : 0;
}

void text_brief(struct buf *out, const struct report_job *job, unsigned lines,
                const struct report_style *style)
{
    const struct report_series *s = deciding(job);
    bool has_chart = s && matters(s->answer);
    unsigned least = has_chart ? CHART_AROUND + CHART_LEAST : 0, used = UINT_MAX;
    struct buf facts = BUF_INIT;
    for (unsigned most = OTHERS_MOST + 1; most-- > 0 && used > lines;) {
        buf_clear(&facts);
        add_brief_facts(&facts, job, most, style);
        used = lines_of(&facts) + least;
    }
    if (has_chart) {
        unsigned room = used < lines ? lines - used : 0, more = CHART_HEIGHT - CHART_LEAST;
        buf_addc(out, '\n');
        report_chart(out, s, CHART_LEAST + (room < more ? room : more), style);
        buf_addc(out, '\n');
    }
    buf_adds(out, buf_text(&facts));
    buf_release(&facts);
}

/* ---- all of it ---- */

static void add_all(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    if (job->found && found_any(job->found)) {
        buf_addc(out, '\n');
        found_text(out, job->found, style);
    }
    if (job->count > 1) {
        buf_addc(out, '\n');
        text_summary(out, job, style);
    }
    for (size_t i = 0; i < job->count && job->count <= DETAIL_ALL; i++)
        text_section(out, &job->series[i], style);
    if (job->count > DETAIL_ALL)
        add_sections(out, job, style);
}

static void add_details(struct buf *out, const struct report_job *job,
                        const struct report_style *style)
{
    struct buf text = BUF_INIT;
    if (style->full || !job->source)
        return;
    buf_adds(&text, "tidemark analyze --full ");
    utf8_add_clean(&text, job->source, style->ascii);
    text_fact(out, "details", &text, style);
}

void report_text(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    struct buf tail = BUF_INIT;
    text_opening(out, job, style);
    add_details(&tail, job, style);
    text_ending(&tail, job, style);
    if (style->full)
        add_all(out, job, style);
    else
        text_brief(out, job, text_room(out, &tail), style);
    buf_adds(out, buf_text(&tail));
    buf_release(&tail);
}
