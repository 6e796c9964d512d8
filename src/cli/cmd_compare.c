/* cli/cmd_compare.c: tidemark compare: do two runs behave alike? */
#include "cli/cli.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "page/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark compare A B [options]\n"
    "\n"
    "Compares two runs: does each job leak, where and why; then what differs between\n"
    "one curve of each: level, warm-up, rate at the end, counts. A and B are files as\n"
    "for analyze. 'FILE#NAME' selects the series NAME (a name, kind or pid);\n"
    "otherwise tidemark compares series of the same kind: those that leak, then the\n"
    "largest.\n"
    "\n"
    "  --series NAME               as FILE#NAME, for both\n"
    "  --epoch N                   steps of one pass over the data, in both runs\n"
    "  --epoch-a N, --epoch-b N    the same for each\n"
    "  --limit 32GB                the memory there is\n"
    "  --full                      both curves side by side: every number\n"
    "  --quiet                     print the first sentence alone\n"
    "  --json                      write JSON for programs, see docs/JSON.md\n"
    "  --html                      write both as a page, one HTML file\n"
    "  -o, --output FILE           write it to FILE; -: standard output (default:\n"
    "                              A-B.html here on a terminal, else standard output)\n"
    "  --fail-on-difference        exit 3 unless both leak in the same places or\n"
    "                              neither leaks, and the pattern is the same\n"
    "  --ascii, --width N, --color auto|always|never\n"
    "  and the options of analyze for columns, unit, clock, horizon and plan\n"
    "\n"
    "example: tidemark compare 'prod.log#Run 2' test.log --epoch-a 83 --epoch-b 37.5\n";

struct compare {
    struct load_options load;
    struct view_options view;
    double epoch_a, epoch_b;
    const char *output;
    bool json, html, fail;
};

static bool is_same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/*
 * How well two series match: 0 not at all, 1 the same unit and clock, 2 the same kind, 3 the same
 * name or the same role and rank (pids differ between runs).
 */
static int likeness(const struct series_info *a, const struct series_info *b)
{
    if (a->unit != b->unit || a->clock != b->clock)
        return 0;
    if (strcmp(a->kind, b->kind) != 0)
        return 1;
    bool same_process = is_same_text(a->role, b->role) &&
                        (is_same_text(a->rank, b->rank) || (!a->rank && !b->rank));
    return strcmp(a->name, b->name) == 0 || same_process ? 3 : 2;
}

/* Whether this series decides that the job leaks. */
static bool is_leak_of(const struct judgement *j, size_t i)
{
    return j->answer.verdict == VERDICT_LEAK && j->answer.deciding == i;
}

/* Chooses the pair to compare: among the same kind, the series that decides that a job leaks; then
 * the most alike; then the largest. Memory comes before counts. False: no pair. */
static bool choose_pair(const struct judgement *a, const struct judgement *b,
                        const struct report_series **ret_a, const struct report_series **ret_b)
{
    int best = 0;
    double level = 0;
    for (size_t i = 0; i < a->job.count; i++) {
        for (size_t k = 0; k < b->job.count; k++) {
            const struct report_series *x = &a->series[i], *y = &b->series[k];
            int alike = 2 * likeness(x->info, y->info) + (x->info->unit == SERIES_BYTES);
            if (likeness(x->info, y->info) >= 2)
                alike += 10 * (is_leak_of(a, i) + is_leak_of(b, k));
            double size = x->answer->floor_last + y->answer->floor_last;
            if (alike < 2 || alike < best || (alike == best && size <= level))
                continue;
            best = alike;
            level = size;
            *ret_a = x;
            *ret_b = y;
        }
    }
    return best > 0;
}

/* The name by which the user knows the series: the argument and the name within the file. */
static void name_series(struct buf *name, const char *argument, const struct series_info *info)
{
    buf_adds(name, argument);
    if (!strchr(argument, '#') && strcmp(info->name, info->kind) != 0)
        buf_addf(name, ": %s", info->name);
}

/* The counts that both runs have, without the compared pair. The caller frees them. */
static struct report_pair *find_counts(const struct judgement *a, const struct judgement *b,
                                       const struct report_series *compared, size_t *ret_count)
{
    struct report_pair *pairs = calloc(a->job.count + 1, sizeof(*pairs));
    size_t count = 0;
    if (!pairs)
        base_out_of_memory();
    for (size_t i = 0; i < a->job.count; i++) {
        const struct series_info *x = a->series[i].info;
        if (x->unit != SERIES_COUNT || &a->series[i] == compared)
            continue;
        for (size_t k = 0; k < b->job.count; k++) {
            const struct series_info *y = b->series[k].info;
            bool same_device = strcmp(x->device ? x->device : "", y->device ? y->device : "") == 0;
            if (likeness(x, y) < 2 || !same_device)
                continue;
            pairs[count++] = (struct report_pair){&a->series[i], &b->series[k]};
            break;
        }
    }
    *ret_count = count;
    return pairs;
}

/* ---- as a page ---- */

/* Adds what the file is called, without its folder and ending. */
static void add_stem(struct buf *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t len = strcspn(name, ".");
    buf_add(out, name, len > 0 ? len : strlen(name));
}

static bool is_read(const char *name, const struct load *l)
{
    bool is_same = output_is_same(name, l->path);
    if (is_same)
        cli_say("%s: is one of the two files: choose another name", name);
    return is_same;
}

static void add_page(struct buf *out, const struct report_runs *runs, const char *title,
                     char **arguments)
{
    const struct report_style style = {.width = 80, .full = true};
    struct buf document = BUF_INIT, text = BUF_INIT;
    page_comparison_json(&document, runs, arguments[0], arguments[1]);
    report_comparison(&text, runs, &style);
    page_file(out, title, buf_text(&document), buf_text(&text));
    buf_release(&document);
    buf_release(&text);
}

static int write_page(const struct compare *c, const struct report_runs *runs, const struct load *a,
                      const struct load *b, char **arguments)
{
    struct buf page = BUF_INIT, name = BUF_INIT;
    bool chooses = !c->output && isatty(STDOUT_FILENO);
    add_stem(&name, a->path);
    buf_addc(&name, '-');
    add_stem(&name, b->path);
    add_page(&page, runs, buf_text(&name), arguments);
    buf_adds(&name, ".html");
    const char *chosen = chooses ? buf_text(&name) : c->output;
    int r = chosen && (is_read(chosen, a) || is_read(chosen, b))
                ? -EEXIST
                : output_put(chosen, a->path, &page);
    if (r == 0 && chooses)
        cli_say("%s: open it in a browser", chosen);
    buf_release(&page);
    buf_release(&name);
    return r;
}

/* ---- as text ---- */

static int print_runs(const struct compare *c, const struct report_runs *runs)
{
    struct buf out = BUF_INIT;
    struct report_style style = terminal_style(&c->view, STDOUT_FILENO);
    if (c->json)
        report_comparison_json(&out, runs);
    else if (c->load.quiet)
        report_comparison_headline(&out, runs, &style);
    else
        report_comparison(&out, runs, &style);
    int r = terminal_write(&out);
    buf_release(&out);
    return r;
}

/* A file and its answers. */
struct side {
    const struct load *load;
    struct judgement judgement;
};

/* Returns an exit status. */
static int compare_pair(const struct compare *c, const struct side *a, const struct side *b,
                        const struct report_series *x, const struct report_series *y,
                        char **arguments)
{
    const struct judgement *ja = &a->judgement, *jb = &b->judgement;
    struct buf name_a = BUF_INIT, name_b = BUF_INIT;
    name_series(&name_a, arguments[0], x->info);
    name_series(&name_b, arguments[1], y->info);
    struct series_info info_a = *x->info, info_b = *y->info;
    info_a.name = buf_text(&name_a);
    info_b.name = buf_text(&name_b);

    struct comparison comparison;
    answers_compare(x->answer, y->answer, x->info->unit, &comparison);
    size_t count_pairs;
    struct report_pair *counts = find_counts(ja, jb, x, &count_pairs);
    const struct report_runs runs = {
        .job_a = &ja->job,
        .job_b = &jb->job,
        .a = {&info_a, x->answer, x->history},
        .b = {&info_b, y->answer, y->history},
        .comparison = &comparison,
        .counts = counts,
        .count_pairs = count_pairs,
    };
    int r = c->html ? write_page(c, &runs, a->load, b->load, arguments) : print_runs(c, &runs);
    free(counts);
    buf_release(&name_a);
    buf_release(&name_b);
    if (r < 0)
        return STATUS_ERROR;
    bool alike = comparison.same_pattern && report_jobs_leak_alike(&ja->job, &jb->job);
    return c->fail && !alike ? STATUS_BROKEN : STATUS_FINE;
}

static int compare_loads(const struct compare *c, const struct load *a, const struct load *b,
                         char **arguments)
{
    struct side side_a = {.load = a}, side_b = {.load = b};
    judgement_init(&side_a.judgement, a);
    judgement_init(&side_b.judgement, b);

    const struct report_series *x = NULL, *y = NULL;
    int status = STATUS_ERROR;
    if (choose_pair(&side_a.judgement, &side_b.judgement, &x, &y))
        status = compare_pair(c, &side_a, &side_b, x, y, arguments);
    else
        cli_say("compare: %s and %s hold no series of the same unit and clock; choose with "
                "FILE#NAME, --steps or --time",
                arguments[0], arguments[1]);
    judgement_release(&side_a.judgement);
    judgement_release(&side_b.judgement);
    return status;
}

static int compare_files(const struct compare *c, char **arguments)
{
    struct load_options options_a = c->load, options_b = c->load;
    if (c->epoch_a > 0)
        options_a.epoch = c->epoch_a;
    if (c->epoch_b > 0)
        options_b.epoch = c->epoch_b;

    struct load *a, *b;
    if (load_file(arguments[0], &options_a, &a) < 0)
        return STATUS_ERROR;
    int status = STATUS_ERROR;
    if (load_file(arguments[1], &options_b, &b) >= 0) {
        status = compare_loads(c, a, b, arguments);
        load_free(b);
    }
    load_free(a);
    return status;
}

int cmd_compare(int argc, char **argv)
{
    struct compare c = {0};
    const struct option_spec specs[] = {
        LOAD_OPTIONS(&c.load),
        REPORT_OPTIONS(&c.view),
        {"epoch-a", OPTION_NUMBER, &c.epoch_a, "the length of an epoch of A, above 0", NULL},
        {"epoch-b", OPTION_NUMBER, &c.epoch_b, "the length of an epoch of B, above 0", NULL},
        {"json", OPTION_FLAG, &c.json, NULL, NULL},
        {"html", OPTION_FLAG, &c.html, NULL, NULL},
        {"output", OPTION_TEXT, &c.output, "a file name", NULL},
        {"o", OPTION_TEXT, &c.output, "a file name", NULL},
        {"fail-on-difference", OPTION_FLAG, &c.fail, NULL, NULL},
    };
    int files, r = options_parse(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &files);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0 || load_options_check(&c.load, argv[0]) < 0)
        return STATUS_ERROR;
    if (c.output && !c.html) {
        cli_say("%s: --output is for the page: add --html", argv[0]);
        return STATUS_ERROR;
    }
    if (c.html && (c.json || c.view.full)) {
        cli_say("%s: --html: leave out --json and --full", argv[0]);
        return STATUS_ERROR;
    }
    if (files != 2) {
        cli_say("%s: got %d file%s, expected two: tidemark compare A B", argv[0], files,
                files == 1 ? "" : "s");
        return STATUS_ERROR;
    }
    return compare_files(&c, argv + 1);
}
