/* lib/answer.c: verdicts, announced leaks and reports of a watcher. */
#include "lib/lib.h"
#include "lib/watcher.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sentences that may go anywhere, and a report for a terminal of unknown width. */
static const struct report_style sentence_style = {.width = 0, .ascii = true};
static const struct report_style report_style = {.width = 80};

int answer_copy(void *ret, const void *known)
{
    size_t ours, theirs;
    memcpy(&ours, known, sizeof(ours));
    memcpy(&theirs, ret, sizeof(theirs));
    if (theirs < ours)
        return -EINVAL;
    memcpy(ret, known, ours);
    memcpy(ret, &theirs, sizeof(theirs));
    return 0;
}

/* ---- one verdict ---- */

static enum tidemark_answer answer_of(enum verdict verdict)
{
    return verdict == VERDICT_LEAK      ? TIDEMARK_LEAK
           : verdict == VERDICT_NO_LEAK ? TIDEMARK_NO_LEAK
                                        : TIDEMARK_INCONCLUSIVE;
}

static double if_finite(bool applies, double value)
{
    return applies && isfinite(value) ? value : NAN;
}

static void copy_text(char *ret, size_t size, const char *text)
{
    snprintf(ret, size, "%s", text ? text : "");
}

static void clear(struct tidemark_verdict *v)
{
    *v = (struct tidemark_verdict){.size = sizeof(*v), .answer = TIDEMARK_INCONCLUSIVE};
    v->confidence = v->rate = v->rate_upper = v->needs_steps = NAN;
    v->limit_step = v->suspect_step = v->alarm_step = NAN;
}

/* All but the sentence. */
static void fill(const struct view_series *s, struct tidemark_verdict *ret)
{
    const struct answer *a = &s->answer;
    bool steps = s->info.clock == CLOCK_STEP;
    clear(ret);
    ret->answer = answer_of(a->verdict);
    if (a->verdict == VERDICT_LEAK)
        copy_text(ret->severity, sizeof(ret->severity), severity_name(a->severity));
    ret->confidence = a->confidence;
    copy_text(ret->kind, sizeof(ret->kind), s->info.kind);
    copy_text(ret->device, sizeof(ret->device), s->info.device);
    ret->rate = a->rate;
    ret->rate_upper = if_finite(a->verdict == VERDICT_NO_LEAK, a->rate_upper);
    ret->needs_steps = if_finite(steps && a->verdict == VERDICT_INCONCLUSIVE, a->needs.at_least);
    ret->limit_step = if_finite(steps, a->forecast.limit_at);
    ret->suspect_step = if_finite(steps, a->suspect_at);
    ret->alarm_step = if_finite(steps, a->alarm_at);
}

/* One line of the report, as a text of its own; released. */
static void take_sentence(struct tidemark_verdict *v, struct buf *line)
{
    size_t len = strcspn(buf_text(line), "\n");
    snprintf(v->summary, sizeof(v->summary), "%.*s", (int) len, buf_text(line));
    buf_release(line);
}

/* A series by itself, as if the job had no other. */
static void fill_one(const struct view_series *s, struct tidemark_verdict *ret)
{
    const struct answer *answers[] = {&s->answer};
    const struct report_series shown = {&s->info, &s->answer, &s->history};
    struct job_answer alone;
    struct buf line = BUF_INIT;
    job_judge(answers, NULL, 1, &alone);
    fill(s, ret);
    report_headline(
        &line,
        &(struct report_job){.series = &shown, .count = 1, .answer = &alone, .watched = true},
        &sentence_style);
    take_sentence(ret, &line);
}

static void fill_job(const struct view *view, struct tidemark_verdict *ret)
{
    const struct job_answer *a = &view->answer;
    struct buf line = BUF_INIT;
    if (a->deciding < view->count)
        fill(&view->series[a->deciding], ret);
    else
        clear(ret);
    ret->answer = answer_of(a->verdict);
    copy_text(ret->severity, sizeof(ret->severity),
              a->verdict == VERDICT_LEAK ? severity_name(a->severity) : NULL);
    report_run_headline(&line, view, &sentence_style);
    take_sentence(ret, &line);
}

/* ---- on request ---- */

void answer_look(tidemark_watcher *w, struct visit *v, struct view *ret)
{
    watcher_look_now(w, v);
    watch_view_init(w->watch, watcher_seconds(w), ret);
}

static int judge(tidemark_watcher *w, struct visit *v, void *context)
{
    struct view view;
    struct tidemark_verdict verdict;
    answer_look(w, v, &view);
    fill_job(&view, &verdict);
    view_release(&view);
    return answer_copy(context, &verdict);
}

int tidemark_judge(tidemark_watcher *w, struct tidemark_verdict *ret)
{
    return ret ? watcher_visit(w, judge, ret) : -EINVAL;
}

/* This process's own comes before the job's and before another process's. */
static const struct view_series *find_series(const struct view *view, const char *kind,
                                             const char *device)
{
    const struct view_series *found = NULL;
    for (size_t i = 0; i < view->count; i++) {
        const struct series_info *info = &view->series[i].info;
        if (strcmp(info->kind, kind) != 0 ||
            (device && strcmp(info->device ? info->device : "", device) != 0))
            continue;
        if (info->pid == getpid())
            return &view->series[i];
        if (!found)
            found = &view->series[i];
    }
    return found;
}

struct question {
    const char *kind, *device;
    struct tidemark_verdict *ret;
};

static int judge_series(tidemark_watcher *w, struct visit *v, void *context)
{
    const struct question *q = context;
    struct view view;
    struct tidemark_verdict verdict;
    answer_look(w, v, &view);
    const struct view_series *s = find_series(&view, q->kind, q->device);
    if (s)
        fill_one(s, &verdict);
    view_release(&view);
    return s ? answer_copy(q->ret, &verdict) : -ENOENT;
}

int tidemark_judge_series(tidemark_watcher *w, const char *kind, const char *device,
                          struct tidemark_verdict *ret)
{
    struct question q = {kind, device, ret};
    return kind && ret ? watcher_visit(w, judge_series, &q) : -EINVAL;
}

int answer_hand_over(struct buf *text, char **ret)
{
    char *copy = strdup(buf_text(text));
    buf_release(text);
    if (!copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

static void add_json(struct buf *out, const tidemark_watcher *w, const struct view *view)
{
    (void) w;
    report_run_json(out, view);
}

static void add_report(struct buf *out, const tidemark_watcher *w, const struct view *view)
{
    report_run_text(out, view, buf_text(&w->run_file), &report_style);
}

struct writing {
    void (*add)(struct buf *out, const tidemark_watcher *w, const struct view *v);
    char **ret;
};

static int write_all(tidemark_watcher *w, struct visit *v, void *context)
{
    const struct writing *writing = context;
    struct view view;
    struct buf text = BUF_INIT;
    answer_look(w, v, &view);
    writing->add(&text, w, &view);
    view_release(&view);
    return answer_hand_over(&text, writing->ret);
}

int tidemark_json(tidemark_watcher *w, char **ret)
{
    struct writing writing = {add_json, ret};
    return ret ? watcher_visit(w, write_all, &writing) : -EINVAL;
}

int tidemark_report(tidemark_watcher *w, char **ret)
{
    struct writing writing = {add_report, ret};
    return ret ? watcher_visit(w, write_all, &writing) : -EINVAL;
}

void tidemark_free(void *text)
{
    free(text);
}

/* ---- announced ---- */

struct listener {
    tidemark_leak_callback *call;
    void *context;
    bool hears_negligible;
};

static int set_listener(tidemark_watcher *w, struct visit *v, void *context)
{
    const struct listener *l = context;
    (void) v;
    w->on_leak = l->call;
    w->on_leak_context = l->context;
    w->hears_negligible = l->hears_negligible;
    return 0;
}

int tidemark_on_leak(tidemark_watcher *w, tidemark_leak_callback *call, void *context)
{
    struct listener l = {call, context, false};
    return watcher_visit(w, set_listener, &l);
}

int watcher_on_any_leak(tidemark_watcher *w, tidemark_leak_callback *call, void *context)
{
    struct listener l = {call, context, true};
    return watcher_visit(w, set_listener, &l);
}

static void take_leak(tidemark_watcher *w, struct visit *v, const struct view *view, size_t index,
                      double seconds)
{
    struct buf text = BUF_INIT;
    report_alarm(&text, view, index, &report_style);
    run_file_add_news(w->store, seconds, NEWS_LEAK, buf_text(&text));
    buf_release(&text);
    bool is_heard =
        view->series[index].answer.severity > SEVERITY_NEGLIGIBLE || w->hears_negligible;
    if (!w->on_leak || !is_heard)
        return;
    struct tidemark_verdict *leaks = realloc(v->leaks, (v->leak_count + 1) * sizeof(*leaks));
    if (!leaks)
        return;
    v->leaks = leaks;
    fill_one(&view->series[index], &leaks[v->leak_count++]);
}

static void take_withdrawal(tidemark_watcher *w, const struct view *view, size_t index,
                            double seconds)
{
    struct buf text = BUF_INIT;
    report_withdrawal(&text, view, index, &report_style);
    run_file_add_news(w->store, seconds, NEWS_WITHDRAWN, buf_text(&text));
    buf_release(&text);
}

void answer_take_news(tidemark_watcher *w, struct visit *v, double seconds)
{
    for (struct news n; (n = watch_next_news(w->watch)).kind != NEWS_END;) {
        if (n.kind != NEWS_LEAK && n.kind != NEWS_WITHDRAWN) {
            run_file_add_news(w->store, seconds, n.kind, n.text);
            continue;
        }
        struct view view;
        watch_view_init(w->watch, seconds, &view);
        for (size_t i = 0; i < view.count; i++)
            if (view.series[i].id == n.series && n.kind == NEWS_LEAK)
                take_leak(w, v, &view, i, seconds);
            else if (view.series[i].id == n.series)
                take_withdrawal(w, &view, i, seconds);
        view_release(&view);
    }
}
