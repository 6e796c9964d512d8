/* report/live.c: what is told while a job runs: the status line, the moment of a leak. */
#include "report/run.h"

#include <math.h>
#include <string.h>

/* ---- the status line ---- */

#define EARLY_SECONDS 120.0

static void add_step(struct buf *out, const struct watch_status *s, const char *bar)
{
    if (!isfinite(s->step))
        return;
    buf_addf(out, "%sstep ", bar);
    units_add_count(out, s->step, 0);
    if (isfinite(s->step_total) && s->step_total >= s->step) {
        buf_addc(out, '/');
        units_add_count(out, s->step_total, 0);
    }
}

static void add_total(struct buf *out, const struct watch_status *s, const char *bar)
{
    buf_addf(out, "%sjob ", bar);
    units_add_bytes(out, s->total);
    if (isfinite(s->floor) && s->floor < 0.995 * s->total) {
        buf_adds(out, ", floor ");
        units_add_bytes(out, s->floor);
    }
}

static void add_rate(struct buf *out, const struct watch_status *s, const char *bar)
{
    if (!isfinite(s->rate))
        return;
    buf_adds(out, bar);
    if (s->rate > 0)
        buf_addc(out, '+');
    format_rate(out, s->rate, &s->series);
}

static void add_verdict(struct buf *out, const struct watch_status *s, double seconds,
                        const char *bar, const struct report_style *style)
{
    buf_adds(out, bar);
    if (s->verdict == VERDICT_LEAK && s->severity == SEVERITY_NEGLIGIBLE) {
        buf_adds(out, "negligible leak: ");
        utf8_add_clean(out, s->series.name, style->ascii);
    } else if (s->verdict == VERDICT_LEAK || s->suspect) {
        format_color(out, s->verdict == VERDICT_LEAK ? FORMAT_RED : FORMAT_YELLOW, style);
        buf_adds(out, s->verdict == VERDICT_LEAK ? "LEAK: " : "suspect: ");
        utf8_add_clean(out, s->series.name, style->ascii);
    } else if (s->verdict == VERDICT_NO_LEAK) {
        format_color(out, FORMAT_GREEN, style);
        buf_adds(out, "no leak so far");
    } else {
        format_color(out, FORMAT_YELLOW, style);
        buf_adds(out, "not enough data yet");
    }
    format_color(out, FORMAT_RESET, style);
    /* Before the first step the time would be all there is, and its answer takes too long. */
    bool early = s->series.clock == CLOCK_SECONDS && seconds < EARLY_SECONDS;
    if (s->verdict == VERDICT_INCONCLUSIVE && s->needs > 0 && isfinite(s->needs) && !early) {
        buf_adds(out, ", ");
        format_more(out, s->needs, s->series.clock);
    }
}

static void add_limit(struct buf *out, const struct watch_status *s, const char *bar)
{
    bool grows = (s->verdict == VERDICT_LEAK && s->severity != SEVERITY_NEGLIGIBLE) || s->suspect;
    if (!isfinite(s->limit_seconds) || !grows)
        return;
    buf_addf(out, "%slimit in ", bar);
    units_add_duration(out, s->limit_seconds);
}

void report_status(struct buf *out, const struct watch_status *s, double seconds,
                   const struct report_style *style)
{
    struct buf line = BUF_INIT;
    const char *bar = style->ascii ? " | " : " · ";
    units_add_duration(&line, seconds);
    add_step(&line, s, bar);
    add_total(&line, s, bar);
    add_rate(&line, s, bar);
    add_verdict(&line, s, seconds, bar, style);
    add_limit(&line, s, bar);
    if (style->width > 0 && format_columns(buf_text(&line)) >= style->width) {
        const struct report_style plain = {.width = style->width, .ascii = style->ascii};
        buf_clear(&line);
        units_add_duration(&line, seconds);
        add_step(&line, s, bar);
        add_total(&line, s, bar);
        add_rate(&line, s, bar);
        add_verdict(&line, s, seconds, bar, &plain);
        format_clean_cut(out, buf_text(&line), style->width - 1, style);
    } else {
        buf_add(out, buf_text(&line), line.len);
    }
    buf_release(&line);
}

/* ---- a leak, the moment it is known ---- */

#define PREFIX "tidemark: "

/* What was found to grow in that process, and who holds it; NULL: that is not known yet. */
static struct watch_finding *finding_of(const struct watch_view *v, int64_t pid)
{
    for (size_t i = 0; i < v->found.count; i++)
        if (v->found.findings[i].pid == pid && v->found.findings[i].holder)
            return &v->found.findings[i];
    return NULL;
}

static void add_paragraph(struct buf *out, const struct buf *text, const struct report_style *style)
{
    buf_adds(out, PREFIX);
    format_wrapped(out, buf_text(text), (unsigned) strlen(PREFIX), style);
}

/* Verdict, why, fix: as the report has them, in one paragraph. */
void report_alarm(struct buf *out, const struct watch_view *v, size_t series,
                  const struct report_style *style)
{
    struct run_job j;
    struct buf text = BUF_INIT;
    const struct answer *a = &v->series[series].answer;
    struct watch_finding *f = finding_of(v, v->series[series].info.pid);
    const struct watch_found found = {.findings = f, .count = f ? 1 : 0};
    const struct job_answer answer = {
        .verdict = VERDICT_LEAK, .severity = a->severity, .deciding = series};
    run_job_init(&j, v);
    j.job.answer = &answer;
    j.job.found = &found;
    summary_verdict(&text, &j.job, style);
    if (a->severity != SEVERITY_NEGLIGIBLE) {
        buf_adds(&text, ". ");
        summary_why(&text, &j.job, style);
        buf_adds(&text, ". Fix: ");
        summary_next(&text, &j.job);
    }
    buf_addc(&text, '.');
    add_paragraph(out, &text, style);
    buf_release(&text);
    run_job_release(&j);
}

void report_withdrawal(struct buf *out, const struct watch_view *v, size_t series,
                       const struct report_style *style)
{
    const struct watch_series *w = &v->series[series];
    const struct report_series s = {&w->info, &w->answer, &w->history};
    struct buf text = BUF_INIT;
    buf_adds(&text, "alarm withdrawn: ");
    utf8_add_clean(&text, w->info.name, style->ascii);
    buf_adds(&text, " is not a leak: ");
    headline_series(&text, &s);
    buf_addc(&text, '.');
    if (w->answer.why_count > 0) {
        buf_addc(&text, ' ');
        utf8_add_clean(&text, w->answer.why[0], style->ascii);
    }
    add_paragraph(out, &text, style);
    buf_release(&text);
}
