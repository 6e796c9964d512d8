/* cli/cmd_analyze.c: tidemark analyze: is it a leak? */
#include "cli/cli.h"
#include "cli/fail_on.h"
#include "cli/follow.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/terminal.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark analyze FILE... [options]      - reads standard input\n"
    "\n"
    "Judges memory in logs, tables and recorded runs: training logs, CSV and TSV,\n"
    "JSON lines, mprof .dat, nvidia-smi output, run files (.tide).\n"
    "'FILE#NAME' selects the series NAME (a name, kind or pid).\n"
    "\n"
    "  --plan-steps N, --plan-hours H   how long the job will run\n"
    "  --limit 32GB                     the memory there is\n"
    "  --epoch N, --horizon N           steps of an epoch; longest harmless ramp\n"
    "  --clock COL, --value COLS        columns to use; --unit MB of plain numbers\n"
    "  --steps, --time                  judge by steps, by time\n"
    "  --series NAME                    as FILE#NAME, for every file\n"
    "  --follow                         keep reading; report when the verdict changes\n"
    "  --full                           every series, with charts and reasons\n"
    "  --quiet                          print the verdict's sentence alone\n"
    "  --json, --batch                  for programs, see docs/JSON.md\n"
    "  --ascii, --width N, --color auto|always|never\n"
    "  --fail-on WHAT[,WHAT]            exit 3 on leak[:negligible|low|medium|high]\n"
    "                                   or above (default: low), 4 on inconclusive\n"
    "\n"
    "example: tidemark analyze train.log --limit 32GB --plan-steps 10000\n";

struct analyze {
    struct load_options load;
    struct view_options view;
    struct fail_on fail_on;
    bool json, several;
    int status; /* of the file being read */
};

/* `heading`: for several reports in a row; NULL: none. */
static int print_job(struct analyze *a, const struct judgement *j, const char *heading)
{
    struct report_style style = terminal_style(&a->view, STDOUT_FILENO);
    struct buf out = BUF_INIT;
    if (a->json) {
        report_json(&out, &j->job);
    } else if (a->load.quiet) {
        if (heading)
            buf_addf(&out, "%s: ", heading);
        report_headline(&out, &j->job, &style);
    } else {
        if (heading)
            buf_addf(&out, "==> %s <==\n", heading);
        report_text(&out, &j->job, &style);
        if (heading)
            buf_addc(&out, '\n');
    }
    int r = terminal_write(&out);
    buf_release(&out);
    a->status = fail_on_status(&a->fail_on, j->answer.verdict, j->answer.severity);
    return r;
}

static int analyze_file(struct analyze *a, const char *argument)
{
    struct load *l;
    int r = load_file(argument, &a->load, &l);
    if (r < 0)
        return r;
    struct judgement j;
    judgement_init(&j, l);
    r = print_job(a, &j, a->several ? j.job.source : NULL);
    judgement_release(&j);
    load_free(l);
    return r;
}

/* ---- many series, one line each ---- */

static int print_batch_line(void *context, struct loaded_series *s)
{
    struct analyze *a = context;
    struct answer answer;
    struct buf out = BUF_INIT;

    engine_answer(s->engine, &answer);
    reasons_write(&answer, s->info.unit, s->info.clock);
    report_batch(&out, &s->info, &answer);
    int r = terminal_write(&out);
    buf_release(&out);
    a->status = cli_worse(a->status, fail_on_status(&a->fail_on, answer.verdict, answer.severity));
    return r;
}

static int analyze_batch(struct analyze *a, const char *argument)
{
    struct load *l;
    int r = load_open(argument, &a->load, &l);
    if (r < 0)
        return r;
    l->context = a;
    l->on_end = print_batch_line;
    r = load_read(l);
    if (r >= 0)
        r = load_finish(l);
    load_free(l);
    return r;
}

/* ---- a growing file ---- */

/* Reports follow each other, so each says when it was written. */
static int print_followed(void *context, const struct judgement *j, bool last)
{
    char when[32];
    time_t now = time(NULL);
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", localtime(&now));
    struct buf heading = BUF_INIT;
    buf_addf(&heading, "%s, %s%s", j->job.source, when, last ? ", the end" : "");
    int r = print_job(context, j, buf_text(&heading));
    buf_release(&heading);
    return r;
}

static int analyze_follow(struct analyze *a, const char *argument)
{
    struct load *l;
    int r = load_open(argument, &a->load, &l);
    if (r < 0)
        return r;
    r = follow(l, print_followed, a);
    load_free(l);
    return r;
}

/* ---- the command ---- */

static int check_usage(const struct analyze *a, const char *command, int files)
{
    if (files == 0) {
        cli_say("%s: no file given; name a log or a table, or - for standard input", command);
        return -EINVAL;
    }
    if (a->load.input.follow && (files > 1 || a->load.input.batch)) {
        cli_say("%s: --follow takes one file and no --batch", command);
        return -EINVAL;
    }
    if (a->load.input.batch && a->json) {
        cli_say("%s: --batch and --json exclude each other", command);
        return -EINVAL;
    }
    return 0;
}

static int analyze_one(struct analyze *a, const char *argument)
{
    a->status = STATUS_FINE;
    int r = a->load.input.batch    ? analyze_batch(a, argument)
            : a->load.input.follow ? analyze_follow(a, argument)
                                   : analyze_file(a, argument);
    return r < 0 ? cli_worse(a->status, STATUS_ERROR) : a->status;
}

int cmd_analyze(int argc, char **argv)
{
    struct analyze a = {0};
    const struct option_spec specs[] = {
        LOAD_OPTIONS(&a.load),
        REPORT_OPTIONS(&a.view),
        {"follow", OPTION_FLAG, &a.load.input.follow, NULL, NULL},
        {"json", OPTION_FLAG, &a.json, NULL, NULL},
        {"batch", OPTION_FLAG, &a.load.input.batch, NULL, NULL},
        FAIL_ON_OPTION(&a.fail_on),
    };
    int files, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &files);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0 || load_options_check(&a.load, argv[0]) < 0 || check_usage(&a, argv[0], files) < 0)
        return STATUS_ERROR;

    int status = STATUS_FINE;
    a.several = files > 1;
    for (int i = 1; i <= files; i++)
        status = cli_worse(status, analyze_one(&a, argv[i]));
    return status;
}
