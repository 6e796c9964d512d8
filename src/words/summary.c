/* words/summary.c: the answer in three lines, and the line that repeats it. */
#include "words/summary.h"
#include "words/format.h"
#include "words/headline.h"

#include <math.h>
#include <string.h>

static const struct report_series *deciding_series(const struct report_job *job)
{
    return job->answer->deciding < job->count ? &job->series[job->answer->deciding] : NULL;
}

static const struct watch_finding *first_finding(const struct report_job *job)
{
    return job->found && job->found->count > 0 ? &job->found->findings[0] : NULL;
}

/* ---- the verdict ---- */

static void add_subject(struct buf *out, const struct report_job *job,
                        const struct report_series *s, const struct report_style *style)
{
    bool alone = job->count == 1 && !job->watched;
    utf8_add_clean(out, alone ? format_label(s->info) : s->info->name, style->ascii);
}

/* "; limit in 82 s": where it is near enough to matter. */
static void add_limit(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (a->severity != SEVERITY_HIGH || !isfinite(a->forecast.limit_at))
        return;
    buf_adds(out, "; limit in ");
    if (isfinite(a->forecast.limit_seconds))
        units_add_duration(out, a->forecast.limit_seconds);
    else
        series_add_length(out, a->forecast.limit_at - a->last_at, true, s->info->clock);
}

void summary_verdict(struct buf *out, const struct report_job *job,
                     const struct report_style *style)
{
    const struct report_series *s = deciding_series(job);
    format_verdict(out, job->answer->verdict, job->answer->severity, style);
    buf_adds(out, ": ");
    if (!s) {
        headline_nothing(out, job);
        return;
    }
    add_subject(out, job, s, style);
    switch (job->answer->verdict) {
    case VERDICT_LEAK:
        buf_addc(out, ' ');
        headline_growth(out, s);
        add_limit(out, s);
        break;
    case VERDICT_NO_LEAK:
        buf_adds(out, ": ");
        headline_state(out, s);
        break;
    case VERDICT_INCONCLUSIVE:
        buf_adds(out, ": ");
        headline_so_far(out, s);
        break;
    }
}

/* ---- why ---- */

static void add_span(struct buf *out, const struct answer *a, double from, enum series_clock clock)
{
    series_add_length(out, a->last_at - from, false, clock);
    if (a->epoch_length > 0 && a->last_at - from >= a->epoch_length)
        buf_addf(out, " (%.1f epochs)", (a->last_at - from) / a->epoch_length);
}

/* "+1.00 tensors a step" of "+1.00 tensors a step (float32 [] cpu)". */
static void add_gain(struct buf *out, const struct watch_finding *f)
{
    const char *details = strstr(f->gain, " (");
    buf_addf(out, "; `%s` ", f->name);
    buf_add(out, f->gain, details ? (size_t) (details - f->gain) : strlen(f->gain));
}

static void why_leak(struct buf *out, const struct report_job *job, const struct report_series *s)
{
    const struct answer *a = s->answer;
    const struct watch_finding *f = first_finding(job);
    double mean = answer_mean_rate(a), from = isfinite(a->onset_at) ? a->onset_at : a->first_at;
    buf_addc(out, '+');
    series_add_value(out, (isfinite(mean) ? mean : a->rate) * (a->last_at - from), s->info->unit);
    buf_adds(out, " in ");
    add_span(out, a, from, s->info->clock);
    if (f && f->name && f->gain)
        add_gain(out, f);
    else if (f)
        buf_addf(out, "; cause: %s", f->cause);
}

static void why_no_leak(struct buf *out, const struct report_job *job,
                        const struct report_series *s)
{
    const struct answer *a = s->answer;
    const struct phase *last = format_last_phase(a);
    double from = last ? last->from : a->first_at;
    if (isfinite(a->rate_upper) && a->rate_upper > 0) {
        buf_adds(out, "it grows by at most ");
        format_rate(out, a->rate_upper, s->info);
    } else {
        buf_adds(out, "it does not grow");
    }
    buf_adds(out, ", seen over ");
    add_span(out, a, from, s->info->clock);
    struct buf others = BUF_INIT;
    summary_others(&others, job);
    if (others.len > 0)
        buf_addf(out, "; %s", buf_text(&others));
    buf_release(&others);
}

static void why_open(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (a->needs.why[0]) {
        headline_missing(out, a);
        return;
    }
    units_add_count(out, (double) a->samples, 0);
    buf_adds(out, a->samples == 1 ? " sample over " : " samples over ");
    series_add_length(out, a->last_at - a->first_at, false, s->info->clock);
}

void summary_why(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    const struct report_series *s = deciding_series(job);
    struct buf text = BUF_INIT;
    if (!s)
        return;
    if (job->answer->verdict == VERDICT_LEAK)
        why_leak(&text, job, s);
    else if (job->answer->verdict == VERDICT_NO_LEAK)
        why_no_leak(&text, job, s);
    else
        why_open(&text, s);
    utf8_add_clean(out, buf_text(&text), style->ascii);
    buf_release(&text);
}

/* ---- what to do ---- */

const char *summary_look_for(const char *kind)
{
    static const char host[] = "look for objects that every step keeps: losses without .item(), "
                               "lists of outputs, caches without a bound";
    static const char device[] = "look for tensors that every step keeps on the GPU: losses "
                                 "without .item(), outputs without .detach().cpu()";
    static const struct {
        const char *kind, *text;
    } advices[] = {
        {"host.anon", host},
        {"host.rss", host},
        {"host.pss", host},
        {"heap.used", host},
        {"py.tensors", "look for tensors that every step keeps: losses without .item(), outputs "
                       "without .detach()"},
        {"host.shmem", "look for shared memory that is kept: tensors from workers, files in "
                       "/dev/shm, shared_memory without unlink()"},
        {"gpu.used", device},
        {"torch.allocated", device},
        {"torch.reserved", device},
        {"fds", "look for files, sockets or pipes that are opened and never closed: ls -l "
                "/proc/PID/fd shows them"},
        {"threads", "look for threads, pools or loaders that are started again and again and "
                    "never ended"},
        {"processes", "look for workers that are started again and again and never ended"},
    };
    for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
        if (strcmp(kind, advices[i].kind) == 0)
            return advices[i].text;
    return NULL;
}

void summary_place(struct buf *out, const struct watch_finding *f)
{
    if (!f->name && !f->holder)
        return;
    buf_addf(out, f->name ? "`%s`" : "%s", f->name ? f->name : f->holder);
    if (f->file && f->file[0]) {
        buf_adds(out, ", ");
        finding_add_place(out, f->file, f->line);
    }
}

static void next_of_leak(struct buf *out, const struct report_job *job,
                         const struct report_series *s)
{
    const struct watch_finding *f = first_finding(job);
    const char *look = s ? summary_look_for(s->info->kind) : NULL;
    if (f && f->advice) {
        summary_place(out, f);
        buf_adds(out, out->len > 0 ? ": " : "");
        buf_adds(out, f->fix ? f->fix : f->advice);
    } else {
        buf_adds(out, look ? look : "look for objects that every step keeps");
    }
}

static void next_of_open(struct buf *out, const struct report_job *job,
                         const struct report_series *s)
{
    const struct watch_finding *f = first_finding(job);
    if (s && isfinite(s->answer->needs.at_least) && s->answer->needs.at_least > 0) {
        format_more(out, s->answer->needs.at_least, s->info->clock);
        buf_adds(out, " would settle it");
    } else {
        buf_adds(out, "let it run longer");
    }
    if (f && (f->name || f->holder)) {
        buf_adds(out, "; growing so far: ");
        summary_place(out, f);
    }
}

void summary_next(struct buf *out, const struct report_job *job)
{
    const struct report_series *s = deciding_series(job);
    if (job->answer->verdict == VERDICT_LEAK)
        next_of_leak(out, job, s);
    else if (job->answer->verdict == VERDICT_INCONCLUSIVE)
        next_of_open(out, job, s);
    else
        buf_adds(out, "nothing to fix");
}

const char *summary_next_label(const struct report_job *job)
{
    return job->answer->verdict == VERDICT_LEAK ? "fix" : "next";
}

/* ---- how much it matters ---- */

void summary_severity(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    struct outlook o = outlook_of(a);
    buf_addf(out, "%s: ", severity_name(a->severity));
    if (isnan(a->limit) && s->info->unit == SERIES_COUNT) {
        buf_adds(out, "no limit of this count is known");
        return;
    }
    buf_adds(out, o.by_plan ? "until the plan's end it adds " : "ten times this run would add ");
    series_add_value(out, o.added, s->info->unit);
    buf_adds(out, isnan(a->limit) ? "; no limit is known, " : " of the ");
    series_add_value(out, isnan(a->limit) ? a->floor_last : o.headroom, s->info->unit);
    buf_adds(out, isnan(a->limit) ? " are in use" : " left");
    if (isfinite(a->limit) && isfinite(a->forecast.limit_at)) {
        buf_adds(out, ", which last ");
        series_add_length(out, a->forecast.limit_at - a->last_at, true, s->info->clock);
    }
}

/* ---- the end ---- */

void summary_end(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    const struct report_series *s = deciding_series(job);
    const struct watch_finding *f = first_finding(job);
    struct buf place = BUF_INIT;
    format_verdict(out, job->answer->verdict, job->answer->severity, style);
    if (job->answer->verdict == VERDICT_LEAK && f)
        summary_place(&place, f);
    if (s && place.len == 0)
        add_subject(&place, job, s, style);
    if (place.len > 0)
        buf_addf(out, ": %s", buf_text(&place));
    if (s && job->answer->verdict == VERDICT_LEAK) {
        buf_adds(out, ", ");
        format_rate(out, s->answer->rate, s->info);
    }
    buf_release(&place);
}

void summary_others(struct buf *out, const struct report_job *job)
{
    const struct job_answer *a = job->answer;
    const struct report_series *s = deciding_series(job);
    if (!s || job->count < 2)
        return;
    enum verdict own = s->answer->verdict;
    const struct {
        unsigned count;
        const char *words;
    } kinds[] = {
        {a->leaks - (own == VERDICT_LEAK), "leaking"},
        {a->no_leaks - (own == VERDICT_NO_LEAK), "fine"},
        {a->inconclusives - (own == VERDICT_INCONCLUSIVE), "too short to tell"},
    };
    const char *separator = ": ";
    buf_addf(out, "%zu more series", job->count - 1);
    if (kinds[1].count == job->count - 1) {
        buf_adds(out, job->count > 2 ? ", all fine" : ", fine");
        return;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].count == 0)
            continue;
        buf_addf(out, "%s%u %s", separator, kinds[i].count, kinds[i].words);
        separator = ", ";
    }
}
