/* report/live.c: what is told while a job runs: the status line, the moment of a leak. */
#include "report/format.h"
#include "report/headline.h"
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

static void add_wrapped(struct buf *out, struct buf *text, const struct report_style *style)
{
    buf_adds(out, "  ");
    format_wrapped(out, buf_text(text), 2, style);
    buf_clear(text);
}

/* What to look at, by the kind of memory. */
static const char *advice(const char *kind)
{
    static const struct {
        const char *kind, *text;
    } advices[] = {
        {"host.anon", "Look for what is kept every step: losses without .item(), lists of outputs "
                      "or tensors, caches without a bound, callbacks that collect."},
        {"host.shmem", "Look for shared memory that is kept: tensors from worker processes, files "
                       "in /dev/shm that are never unlinked, shared_memory without unlink()."},
        {"gpu.used", "Look for tensors kept on the GPU every step: losses without .item(), "
                     "outputs without .detach().cpu(), graphs kept alive."},
        {"fds", "Look for files, sockets or pipes that are opened and never closed: ls -l "
                "/proc/PID/fd shows them."},
        {"threads", "Look for threads, pools or loaders that are started again and again and never "
                    "ended."},
        {"processes", "Look for workers that are started again and again and never ended."},
    };
    for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
        if (strcmp(kind, advices[i].kind) == 0)
            return advices[i].text;
    return NULL;
}

/* What was found to grow in that process, and who holds it; NULL: that is not known yet. */
static const char *finding_of(const struct watch_view *v, int64_t pid)
{
    for (size_t i = 0; i < v->found.count; i++)
        if (v->found.findings[i].pid == pid && v->found.findings[i].holder)
            return v->found.findings[i].sentence;
    return NULL;
}

static void add_leak_line(struct buf *out, const struct watch_series *w,
                          const struct report_style *style)
{
    const struct report_series s = {&w->info, &w->answer, &w->history};
    buf_adds(out, "tidemark: ");
    format_verdict(out, VERDICT_LEAK, w->answer.severity, style);
    buf_adds(out, ": ");
    utf8_add_clean(out, w->info.name, style->ascii);
    buf_addc(out, ' ');
    headline_series(out, &s);
    buf_adds(out, ".\n");
}

void report_alarm(struct buf *out, const struct watch_view *v, size_t series,
                  const struct report_style *style)
{
    const struct watch_series *w = &v->series[series];
    struct buf text = BUF_INIT;
    add_leak_line(out, w, style);
    if (w->answer.severity == SEVERITY_NEGLIGIBLE)
        return;
    if (w->info.command) {
        buf_addf(&text, "pid %lld: ", (long long) w->info.pid);
        format_clean_cut(&text, w->info.command, 2 * format_width(style), style);
        add_wrapped(out, &text, style);
    }
    if (w->answer.why_count > 0) {
        utf8_add_clean(&text, w->answer.why[0], style->ascii);
        add_wrapped(out, &text, style);
    }
    const char *found = finding_of(v, w->info.pid), *look = found ? found : advice(w->info.kind);
    if (look) {
        utf8_add_clean(&text, look, style->ascii);
        add_wrapped(out, &text, style);
    }
    buf_release(&text);
}

void report_withdrawal(struct buf *out, const struct watch_view *v, size_t series,
                       const struct report_style *style)
{
    const struct watch_series *w = &v->series[series];
    const struct report_series s = {&w->info, &w->answer, &w->history};
    struct buf text = BUF_INIT;
    buf_adds(&text, "tidemark: alarm withdrawn: ");
    utf8_add_clean(&text, w->info.name, style->ascii);
    buf_adds(&text, " is not a leak: ");
    headline_series(&text, &s);
    buf_addc(&text, '.');
    if (w->answer.why_count > 0) {
        buf_addc(&text, ' ');
        utf8_add_clean(&text, w->answer.why[0], style->ascii);
    }
    format_wrapped(out, buf_text(&text), 2, style);
    buf_release(&text);
}
