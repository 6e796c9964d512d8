/* cli/load_run.c: a run file as a source of analyze, compare and check. */
#include "cli/load_run.h"

#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_SAID 8u

int load_run_open(const char *path, struct store **ret)
{
    struct store_error error;
    int r = store_open(path, ret, &error);
    if (r < 0)
        cli_say("%s: %s", path, error.text);
    return r;
}

void load_run_explain(const char *path, int code)
{
    struct store_error error;
    store_explain(code, &error);
    cli_say("%s: %s", path, error.text);
}

int load_run_recall(struct store *store, struct view *ret)
{
    const char *json, *report = NULL;
    int r = store_answer(store, &json, &report);
    if (r == 0)
        r = report ? report_recall(report, strlen(report), ret) : -ENODATA;
    return r;
}

int load_run_check(const struct load *l)
{
    const struct input_options *o = &l->options->input;
    const char *wrong = o->follow          ? "--follow is for logs; 'tidemark show' tells how far"
                                             " a run has come"
                        : o->batch         ? "--batch reads JSON lines; 'tidemark export --jsonl'"
                                             " makes them"
                        : o->clock_column  ? "--clock is for tables; --steps and --time choose"
                        : o->value_columns ? "--value is for tables; --series chooses"
                        : o->unit          ? "--unit is for tables and logs; it knows its units"
                                           : NULL;
    if (wrong)
        cli_say("%s: a run file: %s", l->path, wrong);
    return wrong ? -EINVAL : 0;
}

/* A series recorded only for display is judged if the selector names its kind, not if it names its
 * process. */
static bool is_wanted(void *context, const struct recorded_series *s)
{
    const struct load *l = context;
    if (!load_names_series(l->selector, &s->info))
        return false;
    return s->judged || strcasestr(l->selector, s->info.kind);
}

static void say_unselected(const struct load *l, const struct recording *recording)
{
    struct buf names = BUF_INIT;
    size_t count = recording_count(recording);
    for (size_t i = 0; i < count && i < NAMES_SAID; i++)
        buf_addf(&names, "%s'%s'", i ? ", " : "", recording_series(recording, i)->info.name);
    if (count > NAMES_SAID)
        buf_addf(&names, " and %zu more", count - NAMES_SAID);
    cli_say("%s: no series is called '%s'; there are %s", l->path, l->selector, buf_text(&names));
    buf_release(&names);
}

/* ": python train.py, 12 min". */
static void say_found(const struct load *l, const struct store *store)
{
    struct buf text = BUF_INIT;
    const struct store_run *run = store_run(store);
    double seconds = store_last_seconds(store);
    if (run->title)
        buf_addf(&text, ": %s", run->title);
    if (isfinite(seconds)) {
        buf_adds(&text, ", ");
        units_add_duration(&text, seconds);
    }
    if (!store_is_finished(store))
        buf_adds(&text, ", without a final answer");
    cli_say("%s: read as a run file%s", l->path, buf_text(&text));
    buf_release(&text);
}

static int check_found(const struct load *l, const struct recording *recording)
{
    if (l->run->count > 0)
        return 0;
    if (l->selector)
        say_unselected(l, recording);
    else
        cli_say("%s: nothing was recorded: the watcher ended before the first samples", l->path);
    return -EINVAL;
}

static int judge(struct load *l, struct recording *recording)
{
    const struct load_options *o = l->options;
    struct recording_options options = {
        .horizon = o->horizon,
        .epoch = o->epoch,
        .plan_steps = o->plan_steps,
        .plan_seconds = o->plan_hours * 3600,
        .limit_bytes = o->limit,
        .by_time = o->time,
        .wanted = l->selector ? is_wanted : NULL,
        .context = l,
    };
    if (o->steps && !recording_has_steps(recording)) {
        cli_say("%s: --steps: the run told no steps", l->path);
        return -EINVAL;
    }
    l->run = calloc(1, sizeof(*l->run));
    if (!l->run)
        base_out_of_memory();
    int r = recording_judge(recording, &options, l->run);
    if (r < 0)
        load_run_explain(l->path, r);
    return r < 0 ? r : check_found(l, recording);
}

/* Without readable censuses, the findings come from the run's own report. */
static void recall_found(struct load *l, struct store *store)
{
    const char *json, *report;
    struct view kept;
    if (store_answer(store, &json, &report) < 0 || !report ||
        report_recall(report, strlen(report), &kept) < 0)
        return;
    l->run->found = kept.found;
    kept.found = (struct findings){.count = 0};
    view_release(&kept);
}

int load_run_read(struct load *l)
{
    struct store *store;
    struct recording *recording;
    int r = load_run_open(l->path, &store);
    if (r < 0)
        return r;
    bool has_evidence = false, is_foreign = false;
    r = recording_new(store, &recording);
    if (r < 0) {
        load_run_explain(l->path, r);
    } else {
        r = judge(l, recording);
        has_evidence = recording_has_evidence(recording);
        is_foreign = recording_has_foreign_censuses(recording);
        recording_free(recording);
    }
    if (r == 0 && !has_evidence)
        recall_found(l, store);
    if (r == 0 && !l->options->quiet)
        say_found(l, store);
    if (r == 0 && is_foreign && !l->options->quiet)
        cli_say(
            "%s: its censuses are of another version of tidemark: what grew is reported as its own "
            "report has it",
            l->path);
    store_free(store);
    return r;
}

void load_run_release(struct load *l)
{
    if (l->run)
        view_release(l->run);
    free(l->run);
    l->run = NULL;
}
