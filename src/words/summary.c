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

static const struct finding *first_finding(const struct report_job *job)
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

/* "host.anon of 2 data workers". */
static void add_group(struct buf *out, const struct report_job *job, const struct report_series *s)
{
    buf_addf(out, "%s of %u %ss", s->info->kind, job->group->processes, s->info->role);
}

/* "; limit in 82 s", if the severity is high. */
static void add_limit(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (a->floor_last >= a->limit) {
        buf_adds(out, "; limit of ");
        series_add_value(out, answer_limit(a), s->info->unit);
        buf_adds(out, " reached");
        return;
    }
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
    bool in_group = job->group && job->group->processes > 1 && s->info->role;
    if (in_group)
        add_group(out, job, s);
    else
        add_subject(out, job, s, style);
    switch (job->answer->verdict) {
    case VERDICT_LEAK:
        buf_addc(out, ' ');
        headline_growth(out, s);
        if (in_group) {
            buf_adds(out, " each");
            format_rate_bounds(out, s->answer->rate, job->group->low, job->group->high, s->info);
        }
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
static void add_gain(struct buf *out, const struct finding *f)
{
    const char *details = strstr(f->gain, " (");
    buf_addf(out, "; `%s` ", f->name);
    buf_add(out, f->gain, details ? (size_t) (details - f->gain) : strlen(f->gain));
}

static bool is_cause(const struct finding *f, enum cause cause)
{
    return f->cause && strcmp(f->cause, cause_words(cause)->name) == 0;
}

static void why_leak(struct buf *out, const struct report_job *job, const struct report_series *s)
{
    const struct answer *a = s->answer;
    const struct finding *f = first_finding(job);
    double mean = answer_mean_rate(a), from = isfinite(a->onset_at) ? a->onset_at : a->first_at;
    buf_addc(out, '+');
    series_add_value(out, (isfinite(mean) ? mean : a->rate) * (a->last_at - from), s->info->unit);
    if (s->info->unit == SERIES_COUNT)
        buf_addf(out, " %s", s->info->kind);
    buf_adds(out, " in ");
    add_span(out, a, from, s->info->clock);
    if (f && f->name && f->gain)
        add_gain(out, f);
    else if (f && f->holder && f->gain)
        buf_addf(out, "; %s holds it", f->holder);
    else if (f && is_cause(f, CAUSE_NATIVE))
        buf_adds(out, "; no Python object holds it, so native code does");
    else if (f && is_cause(f, CAUSE_ALLOCATION))
        buf_adds(out, "; one line allocates it");
    else if (f && f->cause)
        buf_addf(out, "; cause: %s", f->cause);
}

static void why_no_leak(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    const struct phase *last = format_last_phase(a);
    double from = last ? last->from : a->first_at;
    bool grows = last && last->name == PHASE_GROWING && last->rate > 0;
    if (isfinite(a->rate_upper) && a->rate_upper > 0) {
        buf_adds(out, "growth is at most ");
        format_rate(out, a->rate_upper, s->info);
    } else if (grows && a->why_count > 0) { /* why it is not a leak */
        headline_clause(out, a->why[0]);
        return;
    } else {
        buf_adds(out, "no growth");
    }
    buf_adds(out, " over ");
    add_span(out, a, from, s->info->clock);
}

static void why_open(struct buf *out, const struct report_series *s)
{
    const struct answer *a = s->answer;
    if (a->needs.why[0]) {
        headline_clause(out, a->needs.why);
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
        why_no_leak(&text, s);
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

static void add_place(struct buf *out, const struct finding *f, const char *file)
{
    bool has_file = file && file[0], is_native = f->kind && strcmp(f->kind, "native") == 0;
    if (f->name)
        buf_addf(out, "`%s`", f->name);
    else if (f->holder && !(has_file && is_native))
        buf_adds(out, f->holder);
    if (has_file) {
        buf_adds(out, out->len > 0 ? ", " : "");
        finding_add_place(out, file, f->line);
    }
}

void summary_place(struct buf *out, const struct finding *f, unsigned columns)
{
    const char *last = f->file ? strrchr(f->file, '/') : NULL;
    struct buf whole = BUF_INIT;
    add_place(&whole, f, f->file);
    if (last && columns > 0 && format_columns(buf_text(&whole)) > columns) {
        buf_clear(&whole);
        add_place(&whole, f, last + 1);
    }
    utf8_add_clean(out, buf_text(&whole), false); /* a run file may come from outside */
    buf_release(&whole);
}

/* Columns for the place, in a line with a label before it and a fix after it. */
static unsigned place_columns(const struct report_style *style)
{
    return style->width > 0 ? format_width(style) / 2 : 0;
}

static void next_of_leak(struct buf *out, const struct report_job *job,
                         const struct report_series *s, const struct report_style *style)
{
    const struct finding *f = first_finding(job);
    const char *look = s ? summary_look_for(s->info->kind) : NULL;
    if (f && f->advice) {
        summary_place(out, f, place_columns(style));
        buf_adds(out, out->len > 0 ? ": " : "");
        buf_adds(out, f->fix ? f->fix : f->advice);
    } else {
        buf_adds(out, look ? look : "look for objects that every step keeps");
    }
}

static void next_of_open(struct buf *out, const struct report_job *job,
                         const struct report_series *s, const struct report_style *style)
{
    const struct finding *f = first_finding(job);
    if (s && isfinite(s->answer->needs.at_least) && s->answer->needs.at_least > 0) {
        format_more(out, s->answer->needs.at_least, s->info->clock);
        buf_adds(out, " would settle it");
    } else {
        buf_adds(out, "let it run longer");
    }
    if (f && (f->name || f->holder)) {
        buf_adds(out, "; growing so far: ");
        summary_place(out, f, place_columns(style));
    }
}

void summary_next(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    const struct report_series *s = deciding_series(job);
    struct buf text = BUF_INIT;
    if (job->answer->verdict == VERDICT_LEAK)
        next_of_leak(&text, job, s, style);
    else if (job->answer->verdict == VERDICT_INCONCLUSIVE)
        next_of_open(&text, job, s, style);
    else
        buf_adds(&text, "nothing to fix");
    utf8_add_clean(out, buf_text(&text), style->ascii);
    buf_release(&text);
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
    if (isnan(a->limit)) {
        buf_adds(out, "; ");
        series_add_value(out, a->floor_last, s->info->unit);
        buf_adds(out, " are in use and no limit is known");
        return;
    }
    if (!(o.headroom > 0)) {
        buf_adds(out, "; no memory is left");
        return;
    }
    buf_adds(out, "; ");
    series_add_value(out, o.headroom, s->info->unit);
    buf_adds(out, " are left");
    if (isfinite(a->forecast.limit_at)) {
        buf_adds(out, ", enough for ");
        series_add_length(out, a->forecast.limit_at - a->last_at, true, s->info->clock);
    }
}

void summary_unexplained(struct buf *out)
{
    buf_adds(out, "unexplained can be: other processes, the kernel, and file pages, which the "
                  "system counts as free");
}

/* ---- the end ---- */

/* The text after the place: the rate, the level, or what is needed. */
static void end_state(struct buf *out, const struct report_job *job, const struct report_series *s)
{
    if (job->answer->verdict == VERDICT_LEAK) {
        format_rate(out, s->answer->rate, s->info);
    } else if (job->answer->verdict == VERDICT_NO_LEAK) {
        const struct phase *last = format_last_phase(s->answer);
        bool is_flat = !last || last->name == PHASE_STABLE;
        buf_adds(out, is_flat ? "flat at " : "now at ");
        series_add_value(out, s->answer->floor_last, s->info->unit);
    } else if (isfinite(s->answer->needs.at_least) && s->answer->needs.at_least > 0) {
        buf_adds(out, "needs ");
        format_more(out, s->answer->needs.at_least, s->info->clock);
    }
}

void summary_end(struct buf *out, const struct report_job *job, const struct report_style *style)
{
    const struct report_series *s = deciding_series(job);
    const struct finding *f = first_finding(job);
    struct buf verdict = BUF_INIT, place = BUF_INIT, state = BUF_INIT;
    format_verdict(&verdict, job->answer->verdict, job->answer->severity, style);
    if (s)
        end_state(&state, job, s);
    unsigned used = format_columns(buf_text(&verdict)) + format_columns(buf_text(&state)) + 4;
    unsigned width = style->width > 0 ? format_width(style) : 0;
    if (job->answer->verdict == VERDICT_LEAK && f)
        summary_place(&place, f, width > used ? width - used : width);
    if (s && place.len == 0)
        add_subject(&place, job, s, style);
    buf_adds(out, buf_text(&verdict));
    if (place.len > 0)
        buf_addf(out, ": %s", buf_text(&place));
    used += format_columns(buf_text(&place));
    if (state.len > 0 && (width == 0 || used <= width))
        buf_addf(out, ", %s", buf_text(&state));
    buf_release(&verdict);
    buf_release(&place);
    buf_release(&state);
}

/* Counts other series that grow and cannot be judged yet. */
static unsigned suspects(const struct report_job *job)
{
    unsigned count = 0;
    for (size_t i = 0; i < job->count; i++) {
        const struct answer *a = job->series[i].answer;
        count += i != job->answer->deciding && a->verdict == VERDICT_INCONCLUSIVE && a->suspect;
    }
    return count;
}

void summary_others(struct buf *out, const struct report_job *job)
{
    const struct job_answer *a = job->answer;
    const struct report_series *s = deciding_series(job);
    if (!s || job->count < 2)
        return;
    enum verdict own = s->answer->verdict;
    unsigned open = a->inconclusives - (own == VERDICT_INCONCLUSIVE);
    unsigned growing = suspects(job);
    const struct {
        unsigned count;
        const char *words;
    } kinds[] = {
        {a->leaks - (own == VERDICT_LEAK), "leaking"},
        {a->no_leaks - (own == VERDICT_NO_LEAK), "fine"},
        {growing, "growing, but too short to tell"},
        {open - growing, "too short to tell"},
    };
    const char *separator = ": ";
    buf_addf(out, "%zu more series", job->count - 1);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].count == job->count - 1) {
            buf_addf(out, ", %s%s", job->count > 2 ? "all " : "", kinds[i].words);
            return;
        }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].count == 0)
            continue;
        buf_addf(out, "%s%u %s", separator, kinds[i].count, kinds[i].words);
        separator = ", ";
    }
}

/* ---- two jobs ---- */

/* "A grows 157 KB/step", "B is flat at 114 MB". */
static void pair_clause(struct buf *out, const char *name, const struct report_job *job)
{
    const struct report_series *s = deciding_series(job);
    buf_addf(out, "%s: ", name);
    if (!s) {
        headline_nothing(out, job);
        return;
    }
    utf8_add_clean(out, format_label(s->info), false);
    if (job->answer->verdict == VERDICT_LEAK) {
        buf_addc(out, ' ');
        headline_growth(out, s);
    } else {
        buf_adds(out, ", ");
        if (job->answer->verdict == VERDICT_NO_LEAK)
            headline_state(out, s);
        else
            headline_so_far(out, s);
    }
}

void summary_pair_why(struct buf *out, const struct report_job *a, const struct report_job *b)
{
    pair_clause(out, "A", a);
    buf_adds(out, "; ");
    pair_clause(out, "B", b);
}

/* The job to fix: the later one if both leak. */
static const struct report_job *leaking(const struct report_job *a, const struct report_job *b)
{
    return b->answer->verdict == VERDICT_LEAK ? b : a->answer->verdict == VERDICT_LEAK ? a : NULL;
}

void summary_pair_next(struct buf *out, const struct report_job *a, const struct report_job *b,
                       const struct report_style *style)
{
    const struct report_job *leaks = leaking(a, b);
    if (leaks) {
        buf_adds(out, leaks == a ? "in A, " : "in B, ");
        summary_next(out, leaks, style);
    } else {
        bool is_open = b->answer->verdict == VERDICT_INCONCLUSIVE;
        summary_next(out, is_open ? b : a, style);
    }
}

void summary_pair_end(struct buf *out, const struct report_job *a, const struct report_job *b,
                      const struct report_style *style)
{
    const struct report_job *leaks = leaking(a, b);
    const struct finding *f = leaks ? first_finding(leaks) : NULL;
    struct buf place = BUF_INIT;
    buf_adds(out, "A: ");
    format_verdict(out, a->answer->verdict, a->answer->severity, style);
    buf_adds(out, "; B: ");
    format_verdict(out, b->answer->verdict, b->answer->severity, style);
    if (f)
        summary_place(&place, f, format_width(style) / 2);
    if (place.len > 0)
        buf_addf(out, ": %s", buf_text(&place));
    buf_release(&place);
}

/* ---- too short for a report ---- */

void summary_short(struct buf *out, double seconds, const struct report_style *style)
{
    format_verdict(out, VERDICT_INCONCLUSIVE, SEVERITY_LOW, style);
    buf_adds(out, ": the command ran for ");
    units_add_duration(out, seconds);
    buf_adds(out, ", too short to judge its memory");
}
