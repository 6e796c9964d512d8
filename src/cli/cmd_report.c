/* cli/cmd_report.c: tidemark report: a recorded run as a page. */
#include "cli/cli.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "page/page.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark report FILE [options]\n"
    "\n"
    "Writes a recorded run as a page: one HTML file that a browser opens, without a\n"
    "network. On top the verdict, its evidence and the fix, and the chart; below, the\n"
    "processes, the ledger, the holders and the lines that allocate. FILE is a run\n"
    "file, or a log or table that 'tidemark analyze' reads: its series alone then.\n"
    "\n"
    "  -o, --output FILE write to FILE; -: standard output (default: RUN.html on a\n"
    "                    terminal, else standard output)\n"
    "  --open            also open it in a browser\n"
    "  --markdown        write the report for a pull request or an issue instead\n"
    "  --json            write the data of the page instead, see docs/PAGE.md\n"
    "\n"
    "for a log or a table, as for 'tidemark analyze':\n"
    "  --epoch N, --horizon N, --plan-steps N, --plan-hours H, --limit 32GB,\n"
    "  --steps, --time, --series NAME, --clock COL, --value COLS, --unit MB, --quiet\n"
    "\n"
    "If the run still goes on, the page shows what was recorded so far.\n"
    "\n"
    "example: tidemark report train-20261115-081500.tide --open\n";

struct report {
    struct load_options load; /* of a log */
    const char *output;
    bool open, markdown, json;
};

/* ---- what is written ---- */

static int explain(const char *path, int code, const struct store_error *error)
{
    cli_say("%s: %s", path, error->text);
    return code;
}

static int add_page(struct buf *out, const char *path, struct page_source *s,
                    struct store_error *ret_error)
{
    struct report_style style = {.width = 80};
    struct buf document = BUF_INIT, text = BUF_INIT;
    int r = page_json(&document, s, false, ret_error);
    if (r == 0) {
        report_run_text(&text, page_view(s), path, &style);
        page_file(out, page_title(s), buf_text(&document), buf_text(&text));
    }
    buf_release(&document);
    buf_release(&text);
    return r;
}

/* "train.log" of "logs/train.log#RAM". */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void add_log_page(struct buf *out, const char *path, const struct report_job *job)
{
    struct report_style style = {.width = 80};
    struct buf document = BUF_INIT, text = BUF_INIT;
    page_log_json(&document, job, base_name(path));
    report_text(&text, job, &style);
    page_file(out, base_name(path), buf_text(&document), buf_text(&text));
    buf_release(&document);
    buf_release(&text);
}

static int make_of_log(const struct report *o, const char *argument, struct buf *out)
{
    struct judgement judged;
    struct load *l;
    if (o->markdown) {
        cli_say("%s: --markdown is for run files; 'tidemark analyze %s' prints a report", argument,
                argument);
        return -EINVAL;
    }
    int r = load_file(argument, &o->load, &l);
    if (r < 0)
        return r;
    judgement_init(&judged, l);
    if (o->json)
        page_log_json(out, &judged.job, base_name(l->path));
    else
        add_log_page(out, l->path, &judged.job);
    judgement_release(&judged);
    load_free(l);
    return 0;
}

static int make_of_run(const struct report *o, const char *path, struct buf *out)
{
    struct store_error error;
    struct page_source *s;
    int r = page_open(path, &s, &error);
    if (r < 0)
        return explain(path, r, &error);
    if (!page_is_finished(s))
        cli_say("%s: this run has no final answer: the watcher ended before the job, or still "
                "watches; judged from what was recorded",
                path);
    if (o->markdown)
        r = page_markdown(out, s, &error);
    else if (o->json)
        r = page_json(out, s, false, &error);
    else
        r = add_page(out, path, s, &error);
    page_free(s);
    return r < 0 ? explain(path, r, &error) : 0;
}

/* ---- where it goes ---- */

/* Waits for it: it hands the file to a browser and ends. -errno; a positive number: it failed. */
static int run_opener(const char *file)
{
    char program[] = "xdg-open";
    char *path = realpath(file, NULL);
    char *arguments[] = {program, path, NULL};
    pid_t pid = 0;
    int status = 0, r = -errno;
    if (path)
        r = -posix_spawnp(&pid, program, NULL, NULL, arguments, environ);
    if (r == 0 && waitpid(pid, &status, 0) < 0)
        r = -errno;
    free(path);
    return r < 0 ? r : status;
}

static int open_page(const char *file)
{
    int r = run_opener(file);
    if (r == -ENOENT)
        cli_say("%s: written; no xdg-open here to open it: open it in a browser, or copy it to a "
                "machine that has one",
                file);
    else if (r != 0)
        cli_say("%s: written; xdg-open did not open it: open it in a browser", file);
    return r == 0 ? 0 : -EIO;
}

static bool has_load_options(const struct load_options *l)
{
    return l->steps || l->time || l->epoch > 0 || l->horizon > 0 || l->plan_steps > 0 ||
           l->plan_hours > 0 || l->limit > 0 || l->series || l->input.clock_column ||
           l->input.value_columns || l->input.unit;
}

static int make(const struct report *o, const char *path, struct buf *out)
{
    if (!store_is_one(path))
        return make_of_log(o, path, out);
    if (has_load_options(&o->load)) {
        cli_say("%s: a run file: --limit, --epoch and the like are for logs; 'tidemark analyze' "
                "judges a run by them",
                path);
        return -EINVAL;
    }
    return make_of_run(o, path, out);
}

static int report(const struct report *o, const char *path)
{
    struct buf out = BUF_INIT, default_name = BUF_INIT;
    bool is_page = !o->markdown && !o->json;
    bool chooses = is_page && !o->output && (o->open || isatty(STDOUT_FILENO));
    int r = make(o, path, &out);
    if (chooses)
        output_add_name(&default_name, path, ".html");
    const char *name = chooses ? buf_text(&default_name) : o->output;
    if (r == 0)
        r = output_put(name, path, &out);
    if (r == 0 && o->open)
        r = open_page(name);
    else if (r == 0 && chooses)
        cli_say("%s: open it in a browser", name);
    buf_release(&out);
    buf_release(&default_name);
    return r;
}

static int check(const struct report *o, const char *command)
{
    const char *wrong = NULL;
    if (o->markdown && o->json)
        wrong = "choose one of --markdown and --json";
    else if (o->open && (o->markdown || o->json))
        wrong = "--open is for the page: leave out --markdown and --json";
    else if (o->open && o->output && strcmp(o->output, "-") == 0)
        wrong = "--open needs a file: leave out '-o -'";
    if (wrong)
        cli_say("%s: %s", command, wrong);
    return wrong ? -EINVAL : 0;
}

int cmd_report(int argc, char **argv)
{
    struct report o = {.output = NULL};
    const struct option_spec specs[] = {
        {"output", OPTION_TEXT, &o.output, "a file name", NULL},
        {"o", OPTION_TEXT, &o.output, "a file name", NULL},
        {"open", OPTION_FLAG, &o.open, NULL, NULL},
        {"markdown", OPTION_FLAG, &o.markdown, NULL, NULL},
        {"json", OPTION_FLAG, &o.json, NULL, NULL},
        LOAD_OPTIONS(&o.load),
    };
    int files, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &files);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0 || check(&o, argv[0]) < 0 || load_options_check(&o.load, argv[0]) < 0)
        return STATUS_ERROR;
    if (files != 1) {
        cli_say("%s: got %d files, expected one run file or log, such as train.tide", argv[0],
                files);
        return STATUS_ERROR;
    }
    return report(&o, argv[1]) < 0 ? STATUS_ERROR : STATUS_FINE;
}
