/* report/compare.c: two runs side by side. */
#include "report/compare_jobs.h"
#include "report/json.h"
#include "report/table.h"
#include "report/text.h"

#include <math.h>

/* ---- one cell of the table ---- */

typedef void (*cell_writer)(struct buf *cell, const struct report_series *s);

static void cell_verdict(struct buf *cell, const struct report_series *s)
{
    static const struct report_style plain = {.width = FORMAT_MAX_WIDTH};
    format_verdict(cell, s->answer->verdict, s->answer->severity, &plain);
}

static void cell_kind(struct buf *cell, const struct report_series *s)
{
    utf8_add_clean(cell, s->info->kind, false);
}

static void cell_pattern(struct buf *cell, const struct report_series *s)
{
    buf_adds(cell, pattern_name(s->answer->pattern));
}

static void cell_level(struct buf *cell, const struct report_series *s)
{
    series_add_value(cell, s->answer->floor_last, s->info->unit);
}

static void cell_peak(struct buf *cell, const struct report_series *s)
{
    series_add_value(cell, s->answer->max, s->info->unit);
}

static void cell_warm_up(struct buf *cell, const struct report_series *s)
{
    if (isfinite(s->answer->warm_up_end))
        format_position(cell, s->answer->warm_up_end, s);
    else
        buf_adds(cell, "none seen");
}

static void cell_epochs(struct buf *cell, const struct report_series *s)
{
    double epochs = s->answer->warm_up_epochs;
    if (!isfinite(epochs)) {
        buf_adds(cell, "not known");
        return;
    }
    units_add_count(cell, epochs, 2);
    buf_adds(cell, " epochs");
}

static void cell_warm_up_rate(struct buf *cell, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (a->phase_count > 0 && a->phases[0].name == PHASE_WARM_UP)
        format_rate(cell, a->phases[0].rate, s->info);
    else
        buf_adds(cell, "none seen");
}

static void cell_last_rate(struct buf *cell, const struct report_series *s)
{
    const struct phase *last = format_last_phase(s->answer);
    if (!last) {
        buf_adds(cell, "not known");
        return;
    }
    format_rate(cell, last->rate, s->info);
    buf_addf(cell, ", %s", phase_name(last->name));
}

static void cell_spikes(struct buf *cell, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (a->spikes.count == 0) {
        buf_adds(cell, "none");
        return;
    }
    buf_addf(cell, "%u of about ", a->spikes.count);
    series_add_value(cell, a->spikes.height, s->info->unit);
}

static void cell_seen(struct buf *cell, const struct report_series *s)
{
    units_add_count(cell, (double) s->answer->samples, 0);
    buf_adds(cell, " over ");
    series_add_length(cell, s->answer->last_at - s->answer->first_at, false, s->info->clock);
}

static void cell_course(struct buf *cell, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (a->floor_first == a->floor_last)
        series_add_value(cell, a->floor_last, s->info->unit);
    else
        format_values(cell, a->floor_first, a->floor_last, "to", s->info->unit);
}

/* ---- the whole ---- */

static void add_names(struct buf *out, const char *letter, const struct report_series *s,
                      const struct report_style *style)
{
    buf_addf(out, "  %s  ", letter);
    utf8_add_clean(out, s->info->name, style->ascii);
    format_pid(out, s->info, style);
    buf_addc(out, '\n');
}

static void add_row(struct table *t, const char *label, cell_writer write,
                    const struct report_series *a, const struct report_series *b)
{
    table_add(t, label);
    write(&t->cell, a);
    table_end_cell(t);
    write(&t->cell, b);
    table_end_cell(t);
}

/* "py.tensors", "py.tensors (cuda)". */
static void add_count_row(struct table *t, const struct report_pair *pair)
{
    const struct series_info *info = pair->a->info;
    struct buf label = BUF_INIT;
    utf8_add_clean(&label, info->kind, true);
    if (info->device) {
        buf_adds(&label, " (");
        utf8_add_clean(&label, info->device, true);
        buf_addc(&label, ')');
    }
    add_row(t, buf_text(&label), cell_course, pair->a, pair->b);
    buf_release(&label);
}

static void add_table(struct buf *out, const struct report_runs *runs)
{
    static const struct {
        const char *label;
        cell_writer write;
    } rows[] = {
        {"verdict", cell_verdict},
        {"pattern", cell_pattern},
        {"kind", cell_kind},
        {"level at the end", cell_level},
        {"peak", cell_peak},
        {"warm-up ends", cell_warm_up},
        {"  in passes over the data", cell_epochs},
        {"  rate", cell_warm_up_rate},
        {"rate at the end", cell_last_rate},
        {"spikes", cell_spikes},
        {"samples", cell_seen},
    };

    struct table t = TABLE_INIT(3);
    table_add(&t, "");
    table_add(&t, "A");
    table_add(&t, "B");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        add_row(&t, rows[i].label, rows[i].write, &runs->a, &runs->b);
    for (size_t i = 0; i < runs->count_pairs; i++)
        add_count_row(&t, &runs->counts[i]);
    table_render(&t, out, 2);
}

static void add_differences(struct buf *out, const struct comparison *c,
                            const struct report_style *style)
{
    if (c->difference_count > 0)
        buf_adds(out, "\n  What differs:\n");
    for (unsigned i = 0; i < c->difference_count; i++) {
        struct buf text = BUF_INIT;
        buf_addf(out, "  %s ", format_glyphs(style)->bullet);
        utf8_add_clean(&text, c->differences[i], style->ascii);
        format_wrapped(out, buf_text(&text), 4, style);
        buf_release(&text);
    }
}

/* The jobs' leaks come before the shape of the curves. */
static void add_summary(struct buf *out, const struct report_runs *runs)
{
    compare_jobs_summary(out, runs->job_a, runs->job_b);
    if (out->len == 0)
        buf_adds(out, runs->comparison->summary);
}

static bool is_alike(const struct report_runs *runs)
{
    return runs->comparison->same_pattern && report_jobs_leak_alike(runs->job_a, runs->job_b);
}

void report_comparison_headline(struct buf *out, const struct report_runs *runs,
                                const struct report_style *style)
{
    struct buf summary = BUF_INIT, sentence = BUF_INIT;
    add_summary(&summary, runs);
    format_color(&sentence, is_alike(runs) ? FORMAT_GREEN : FORMAT_YELLOW, style);
    utf8_add_clean(&sentence, buf_text(&summary), style->ascii);
    format_color(&sentence, FORMAT_RESET, style);
    format_wrapped(out, buf_text(&sentence), 0, style);
    buf_release(&summary);
    buf_release(&sentence);
}

/* Verdict, why, fix. */
static void add_opening(struct buf *out, const struct report_runs *runs,
                        const struct report_style *style)
{
    const struct report_job *a = runs->job_a, *b = runs->job_b;
    bool leaks = a->answer->verdict == VERDICT_LEAK || b->answer->verdict == VERDICT_LEAK;
    struct buf text = BUF_INIT;
    report_comparison_headline(out, runs, style);
    summary_pair_why(&text, a, b);
    text_answer(out, "why", &text, style);
    summary_pair_next(&text, a, b, style);
    text_answer(out, leaks ? "fix" : "next", &text, style);
}

static void add_details(struct buf *out, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    buf_adds(&text, "both curves side by side with --full");
    buf_addc(out, '\n');
    text_fact(out, "details", &text, style);
}

static void add_ending(struct buf *out, const struct report_runs *runs,
                       const struct report_style *style)
{
    struct buf text = BUF_INIT;
    summary_pair_end(&text, runs->job_a, runs->job_b, style);
    buf_addc(out, '\n');
    format_wrapped(out, buf_text(&text), 0, style);
    buf_release(&text);
}

void report_comparison(struct buf *out, const struct report_runs *runs,
                       const struct report_style *style)
{
    add_opening(out, runs, style);
    buf_addc(out, '\n');
    if (style->full)
        compare_jobs_verdicts(out, runs->job_a, runs->job_b, style);
    add_names(out, "A", &runs->a, style);
    add_names(out, "B", &runs->b, style);
    if (style->full) {
        buf_addc(out, '\n');
        add_table(out, runs);
    }
    compare_jobs_points(out, runs->job_a, runs->job_b, style);
    add_differences(out, runs->comparison, style);
    if (!style->full)
        add_details(out, style);
    add_ending(out, runs, style);
}

void report_comparison_json(struct buf *out, const struct report_runs *runs)
{
    const struct comparison *c = runs->comparison;
    struct buf summary = BUF_INIT;
    struct json j;
    add_summary(&summary, runs);
    report_json_begin(&j, out);
    compare_jobs_json(&j, runs->job_a, runs->job_b);
    json_bool(&j, "same_pattern", c->same_pattern);
    json_bool(&j, "same_warm_up_epochs", c->same_warm_up_epochs);
    json_number(&j, "level_ratio", c->level_ratio);
    json_string(&j, "summary", buf_text(&summary));
    buf_release(&summary);
    json_array_begin(&j, "differences");
    for (unsigned i = 0; i < c->difference_count; i++)
        json_string(&j, NULL, c->differences[i]);
    json_array_end(&j);
    json_number(&j, "warm_up_epochs_a", runs->a.answer->warm_up_epochs);
    json_number(&j, "warm_up_epochs_b", runs->b.answer->warm_up_epochs);
    report_json_series(&j, "a", &runs->a);
    report_json_series(&j, "b", &runs->b);
    json_array_begin(&j, "counts");
    for (size_t i = 0; i < runs->count_pairs; i++) {
        json_object_begin(&j, NULL);
        report_json_series(&j, "a", runs->counts[i].a);
        report_json_series(&j, "b", runs->counts[i].b);
        json_object_end(&j);
    }
    json_array_end(&j);
    report_json_end(&j);
}
