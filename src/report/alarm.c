/* report/alarm.c: announces a leak once it is known, and withdraws it if it was none. */
#include "report/run.h"

#include <string.h>

#define PREFIX "tidemark: "

/* The finding with a holder in that process; NULL: not known yet. */
static struct finding *finding_of(const struct view *v, int64_t pid)
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

/* Verdict, why, fix as in the report, in one paragraph. */
void report_alarm(struct buf *out, const struct view *v, size_t series,
                  const struct report_style *style)
{
    struct run_job j;
    struct buf text = BUF_INIT;
    const struct answer *a = &v->series[series].answer;
    struct finding *f = finding_of(v, v->series[series].info.pid);
    const struct findings found = {.findings = f, .count = f ? 1 : 0};
    const struct job_answer answer = {
        .verdict = VERDICT_LEAK, .severity = a->severity, .deciding = series};
    run_job_init(&j, v);
    j.job.answer = &answer;
    j.job.found = &found;
    j.job.group = &v->series[series].group;
    summary_verdict(&text, &j.job, style);
    if (a->severity != SEVERITY_NEGLIGIBLE) {
        buf_adds(&text, ". ");
        summary_why(&text, &j.job, style);
        buf_adds(&text, ". Fix: ");
        summary_next(&text, &j.job, style);
    }
    buf_addc(&text, '.');
    add_paragraph(out, &text, style);
    buf_release(&text);
    run_job_release(&j);
}

void report_notice(struct buf *out, const char *sentence, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    utf8_add_clean(&text, sentence, style->ascii);
    add_paragraph(out, &text, style);
    buf_release(&text);
}

void report_withdrawal(struct buf *out, const struct view *v, size_t series,
                       const struct report_style *style)
{
    const struct view_series *w = &v->series[series];
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
