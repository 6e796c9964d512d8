/* run/run_file.c: the run file of a watched job: its beginning, its events, its end. */
#include "run/run.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void run_add_command(struct buf *out, const char *const *argv, size_t argc)
{
    struct buf redacted = BUF_INIT;
    proc_redact(argv, argc, &redacted);
    for (size_t i = 0; i + 1 < redacted.len; i++)
        buf_addc(out, redacted.text[i] ? redacted.text[i] : ' ');
    buf_release(&redacted);
}

void run_add_arguments(struct buf *out, const char *const *argv, size_t argc)
{
    struct json j;
    struct buf redacted = BUF_INIT;
    proc_redact(argv, argc, &redacted);
    json_init(&j, out, 0);
    json_array_begin(&j, NULL);
    for (size_t i = 0; i < redacted.len; i += strlen(redacted.text + i) + 1)
        json_string(&j, NULL, redacted.text + i);
    json_array_end(&j);
    buf_release(&redacted);
}

static double if_given(double value)
{
    return value > 0 ? value : NAN;
}

int run_file_create(const char *path, const struct watch_options *o, struct store **ret)
{
    struct timespec now;
    char host[128] = "";
    gethostname(host, sizeof(host) - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    const struct store_run run = {
        .command = o->arguments,
        .title = o->command,
        .host = host,
        .started = (double) now.tv_sec + 1e-9 * (double) now.tv_nsec,
        .limit_bytes = if_given(o->limit_bytes),
        .limit_source = o->limit_bytes > 0 ? "--limit" : NULL,
        .plan_steps = if_given(o->plan_steps),
        .plan_seconds = if_given(o->plan_seconds),
        .horizon = if_given(o->horizon),
        .epoch_length = if_given(o->epoch),
    };
    return store_create(path, &run, ret);
}

void run_file_add_news(struct store *store, double seconds, enum news_kind kind, const char *text)
{
    static const char *const names[] = {
        [NEWS_LEAK] = "leak",     [NEWS_NEAR_LIMIT] = "near-limit", [NEWS_ELSEWHERE] = "elsewhere",
        [NEWS_COPIES] = "copies", [NEWS_CAUSE] = "cause",           [NEWS_WITHDRAWN] = "withdrawn",
    };
    if (store && kind < sizeof(names) / sizeof(names[0]))
        store_add_event(store, seconds, names[kind], text);
}

int run_file_finish(struct store *store, double seconds, const struct view *view)
{
    struct buf json = BUF_INIT, kept = BUF_INIT;
    report_run_json(&json, view);
    report_keep(&kept, view);
    store_set_answer(store, buf_text(&json), buf_text(&kept));
    int r = store_close(store, seconds);
    buf_release(&json);
    buf_release(&kept);
    return r;
}
