/* cli/cmd_advise.c: tidemark advise: the memory a job needs, and settings that help. */
#include "cli/cli.h"
#include "cli/load_run.h"
#include "cli/options.h"
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark advise RUN.tide [options]\n"
    "\n"
    "Reads a recorded run and prints where memory settles and when, how much RAM and\n"
    "GPU memory the job needs at least and should have, what its constant part is\n"
    "made of, and which settings would help. Every setting comes with the measurement\n"
    "behind it. A run that failed or is too short supports no size; tidemark says so.\n"
    "\n"
    "  --plan-steps N, --plan-hours H   how long the job will run\n"
    "  --limit 32GB                     the memory there is\n"
    "  --json                           write JSON for programs, see docs/JSON.md\n"
    "  --ascii, --width N, --color auto|always|never\n"
    "\n"
    "example: tidemark advise train-20261115-081500.tide --plan-steps 100000\n";

struct advise {
    struct view_options view;
    double plan_steps, plan_hours, limit;
    bool json;
};

static int print(const struct advise *a, const struct report_advice *report)
{
    struct buf out = BUF_INIT;
    struct report_style style = terminal_style(&a->view, STDOUT_FILENO);
    if (a->json)
        report_advice_json(&out, report);
    else
        report_advice_text(&out, report, &style);
    int r = terminal_write(&out);
    buf_release(&out);
    return r;
}

/* Judged by the job's end; a job that a signal asked to end has not failed. */
static bool has_failed(const struct view *kept)
{
    static const int asked[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    int status = kept->status;
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
        if ((WIFSIGNALED(status) && WTERMSIG(status) == asked[i]) ||
            (WIFEXITED(status) && WEXITSTATUS(status) == 128 + asked[i]))
            return false;
    return kept->ended && status != 0;
}

/* -errno, with a message. */
static int advise_on(const struct advise *a, const char *path, struct store *store,
                     struct recording *recording, const struct view *view)
{
    struct advice_facts evidence;
    struct view kept = {0};
    if (view->count == 0) {
        cli_say("%s: nothing was recorded: the watcher ended before the first samples", path);
        return -EINVAL;
    }
    bool has_end = load_run_recall(store, &kept) == 0;
    bool failed = has_end && has_failed(&kept);
    int r = advice_facts_init(&evidence, recording, view, a->limit, failed);
    if (r < 0) {
        view_release(&kept);
        load_run_explain(path, r);
        return r;
    }
    const struct report_advice report = {
        .command = store_run(store)->title,
        .seconds = store_last_seconds(store),
        .steps = has_end ? kept.steps : recording_steps(recording),
        .finished = store_is_finished(store),
        .ending = failed ? kept.ending : NULL,
        .view = view,
        .evidence = &evidence,
    };
    r = print(a, &report);
    advice_facts_release(&evidence);
    view_release(&kept);
    return r;
}

static int advise_recorded(const struct advise *a, const char *path, struct store *store)
{
    struct recording *recording;
    struct view view = {0};
    struct recording_options options = {
        .plan_steps = a->plan_steps,
        .plan_seconds = a->plan_hours * 3600,
        .limit_bytes = a->limit,
    };
    int r = recording_new(store, &recording);
    if (r == 0) {
        if (options.plan_steps == 0 && options.plan_seconds > 0 && recording_has_steps(recording))
            options.plan_steps = recording_step_by(recording, options.plan_seconds);
        r = recording_judge(recording, &options, &view);
        if (r < 0)
            recording_free(recording);
    }
    if (r < 0) {
        load_run_explain(path, r);
        return r;
    }
    r = advise_on(a, path, store, recording, &view);
    view_release(&view);
    recording_free(recording);
    return r;
}

int cmd_advise(int argc, char **argv)
{
    struct advise a = {0};
    struct store *store;
    const struct option_spec specs[] = {
        VIEW_OPTIONS(&a.view),
        {"json", OPTION_FLAG, &a.json, NULL, NULL},
        {"plan-steps", OPTION_NUMBER, &a.plan_steps, "the last step of the job, above 0", NULL},
        {"plan-hours", OPTION_NUMBER, &a.plan_hours, "a number of hours above 0", NULL},
        {"limit", OPTION_SIZE, &a.limit, "a size such as 32GB", NULL},
    };
    int files, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &files);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0)
        return STATUS_ERROR;
    if (files != 1) {
        cli_say("%s: got %d files, expected one run file, such as train.tide", argv[0], files);
        return STATUS_ERROR;
    }
    if (load_run_open(argv[1], &store) < 0)
        return STATUS_ERROR;
    r = advise_recorded(&a, argv[1], store);
    store_free(store);
    return r < 0 ? STATUS_ERROR : STATUS_FINE;
}
