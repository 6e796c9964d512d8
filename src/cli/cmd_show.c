/* cli/cmd_show.c: tidemark show: prints the report of a recorded run again. */
#include "cli/cli.h"
#include "cli/fail_on.h"
#include "cli/load_run.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "judge/judge.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark show [--why [SERIES]] RUN.tide [options]\n"
    "\n"
    "Prints the report of a run that 'tidemark run' or 'tidemark watch' recorded. If\n"
    "the run still goes on, or its watcher was killed, the report judges what was\n"
    "recorded so far.\n"
    "\n"
    "  --why                   how the verdict came about: of every process, or of\n"
    "                          SERIES (a name or pid)\n"
    "  --full                  report everything: all series, balance sheet, notes\n"
    "  --quiet                 print the verdict's sentence alone\n"
    "  --json                  write JSON for programs, see docs/JSON.md\n"
    "  --ascii, --width N, --color auto|always|never\n"
    "  --fail-on WHAT[,WHAT]   exit 3 on leak[:negligible|low|medium|high] of that\n"
    "                          severity or above (default: low), 4 on inconclusive\n"
    "                          (without it: exit 0 on any verdict)\n"
    "\n"
    "'tidemark analyze RUN.tide' judges the run again with other limits, plans or\n"
    "clocks; 'tidemark export RUN.tide' writes its samples.\n"
    "\n"
    "example: tidemark show train-20261115-081500.tide\n";

struct show {
    struct view_options view;
    struct fail_on fail_on;
    bool json, quiet, why;
};

/* Prints and releases `out`. Returns an exit status. */
static int print(struct buf *out, int status)
{
    int r = terminal_write(out);
    buf_release(out);
    return r < 0 ? STATUS_ERROR : status;
}

/* ---- the final answer ---- */

/* Reads "verdict" and "severity" of the answer's JSON; a missing verdict is inconclusive. */
static void read_verdict(const char *json, enum verdict *ret_verdict, enum severity *ret_severity)
{
    struct json_reader r;
    struct json_token key, value;
    *ret_verdict = VERDICT_INCONCLUSIVE;
    *ret_severity = SEVERITY_NONE;
    json_reader_init(&r, json, strlen(json));
    if (json_next(&r, &key) < 0 || key.type != JSON_OBJECT_BEGIN)
        return;
    while (json_next(&r, &key) == 0 && key.type == JSON_KEY) {
        struct json_reader at = r;
        if (json_skip(&r) < 0 || json_next(&at, &value) < 0 || value.type != JSON_STRING)
            continue;
        for (int i = VERDICT_INCONCLUSIVE; i <= VERDICT_LEAK && json_token_is(&key, "verdict"); i++)
            if (json_token_is(&value, verdict_name((enum verdict) i)))
                *ret_verdict = (enum verdict) i;
        for (int i = SEVERITY_NEGLIGIBLE; i <= SEVERITY_HIGH && json_token_is(&key, "severity");
             i++)
            if (json_token_is(&value, severity_name((enum severity) i)))
                *ret_severity = (enum severity) i;
    }
}

static int show_json(const struct show *s, const char *json)
{
    struct buf out = BUF_INIT;
    enum verdict verdict;
    enum severity severity;
    read_verdict(json, &verdict, &severity);
    json_add_foreign(&out, json);
    return print(&out, fail_on_status(&s->fail_on, verdict, severity));
}

static int show_view(const struct show *s, const char *path, const struct view *v)
{
    struct buf out = BUF_INIT;
    struct report_style style = terminal_style(&s->view, STDOUT_FILENO);
    if (s->quiet)
        report_run_headline(&out, v, &style);
    else
        report_run_text(&out, v, path, &style);
    return print(&out, fail_on_status(&s->fail_on, v->answer.verdict, v->answer.severity));
}

/* ---- without one ---- */

static int judge_recorded(const struct show *s, const char *path)
{
    const struct load_options options = {.quiet = true};
    struct report_style style = terminal_style(&s->view, STDOUT_FILENO);
    struct buf out = BUF_INIT;
    struct judgement j;
    struct load *l;
    if (load_file(path, &options, &l) < 0)
        return STATUS_ERROR;
    judgement_init(&j, l);
    if (s->json)
        report_json(&out, &j.job);
    else if (s->quiet)
        report_headline(&out, &j.job, &style);
    else
        report_run_text(&out, l->run, path, &style);
    int status = fail_on_status(&s->fail_on, j.answer.verdict, j.answer.severity);
    judgement_release(&j);
    load_free(l);
    return print(&out, status);
}

/* ---- the command ---- */

static int show_run(const struct show *s, const char *path)
{
    struct store *store;
    const char *json, *report;
    if (load_run_open(path, &store) < 0)
        return STATUS_ERROR;
    int r = store_answer(store, &json, &report), status = -1;
    struct view view;
    if (r < 0) {
        load_run_explain(path, r);
        status = STATUS_ERROR;
    } else if (!json) {
        cli_say("%s: this run has no final answer: the watcher ended before the job, or still "
                "watches; judged from what was recorded",
                path);
    } else if (s->json) {
        status = show_json(s, json);
    } else if (!report || report_recall(report, strlen(report), &view) < 0) {
        cli_say("%s: its report was kept by another version of tidemark; judged from what was "
                "recorded",
                path);
    } else {
        status = show_view(s, path, &view);
        view_release(&view);
    }
    store_free(store);
    return status >= 0 ? status : judge_recorded(s, path);
}

/* ---- how it comes about ---- */

/* The explanations, as text or JSON. */
struct whys {
    struct buf out;
    struct json json;
    const struct report_style *style; /* NULL: JSON */
    size_t count;
};

static void add_why(struct whys *x, const struct view_series *s, const struct account *a)
{
    if (!x->style) {
        report_why_json(&x->json, s->info.name, &s->answer, a);
    } else {
        buf_adds(&x->out, x->count > 0 ? "\n" : "");
        report_why(&x->out, s->info.name, &s->answer, a, x->style);
    }
    x->count++;
}

static void add_whys(struct whys *x, struct recording *recording, const struct view *v,
                     const char *wanted)
{
    struct account *account = malloc(sizeof(*account));
    if (!account)
        base_out_of_memory();
    for (size_t i = 0; i < recording_count(recording); i++) {
        const struct series_info *info = &recording_series(recording, i)->info;
        if ((wanted && !load_names_series(wanted, info)) ||
            !recording_account(recording, i, account))
            continue;
        for (size_t k = 0; k < v->count; k++)
            if (strcmp(v->series[k].info.name, info->name) == 0) {
                add_why(x, &v->series[k], account);
                break;
            }
    }
    free(account);
}

static int show_why(const struct show *s, const char *path, const char *wanted)
{
    const struct recording_options options = {0};
    struct report_style style = terminal_style(&s->view, STDOUT_FILENO);
    struct whys whys = {.out = BUF_INIT, .style = s->json ? NULL : &style};
    struct store *store;
    struct recording *recording;
    struct view v;
    if (load_run_open(path, &store) < 0)
        return STATUS_ERROR;
    json_init(&whys.json, &whys.out, 2);
    if (s->json)
        json_array_begin(&whys.json, NULL);
    int r = recording_new(store, &recording);
    if (r == 0) {
        r = recording_judge(recording, &options, &v);
        if (r == 0 && recording_has_foreign_censuses(recording))
            cli_say(
                "%s: its censuses are of another version of tidemark: what its memory is made of "
                "cannot be examined",
                path);
        else if (r == 0 && !recording_has_evidence(recording))
            cli_say("%s: it holds no census: what its memory is made of cannot be examined", path);
        if (r == 0) {
            add_whys(&whys, recording, &v, wanted);
            view_release(&v);
        }
        recording_free(recording);
    }
    store_free(store);
    if (s->json) {
        json_array_end(&whys.json);
        buf_addc(&whys.out, '\n');
    }
    if (r < 0)
        load_run_explain(path, r);
    else if (whys.count == 0 && wanted)
        cli_say("%s: no process's memory is called '%s'", path, wanted);
    else if (whys.count == 0)
        cli_say("%s: no process's memory was recorded", path);
    return print(&whys.out, whys.count > 0 ? STATUS_FINE : STATUS_ERROR);
}

int cmd_show(int argc, char **argv)
{
    struct show s = {0};
    const struct option_spec specs[] = {
        REPORT_OPTIONS(&s.view),
        {"json", OPTION_FLAG, &s.json, NULL, NULL},
        {"quiet", OPTION_FLAG, &s.quiet, NULL, NULL},
        {"why", OPTION_FLAG, &s.why, NULL, NULL},
        FAIL_ON_OPTION(&s.fail_on),
    };
    int files, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &files);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0)
        return STATUS_ERROR;
    if (s.why && files == 2)
        return show_why(&s, argv[2], argv[1]);
    if (files != 1) {
        cli_say("%s: got %d files, expected one run file, such as train.tide", argv[0], files);
        return STATUS_ERROR;
    }
    return s.why ? show_why(&s, argv[1], NULL) : show_run(&s, argv[1]);
}
