/* cli/cmd_tradeoff.c: tidemark tradeoff: what cleanup and other settings cost and save in a job. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/trial.h"
#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: tidemark tradeoff [options] -- COMMAND [ARGUMENT...]\n"
    "\n"
    "Runs a training job again and again: as it is, and with cleanup (garbage\n"
    "collection, emptying torch's cache, trimming the heap) every N optimizer steps,\n"
    "in turns. Prints floor, peak and step time for each setting, and which\n"
    "differences exceed the noise. The probe does the cleanup; the job is unchanged.\n"
    "\n"
    "  --every LIST            steps between cleanups (default: 1,5,10,20,none);\n"
    "                          none: the job as it is, which is always measured\n"
    "  --set-to-none LIST      zero_grad() with set_to_none: yes,no\n"
    "  --workers LIST          num_workers of the job's data loaders: 0,2,4\n"
    "  --repeat N              runs of each setting (default and least: 3)\n"
    "  --steps N               end each run with SIGTERM after N steps\n"
    "  --keep DIR              keep run files and logs of all runs in DIR\n"
    "  --json                  write JSON for programs, see docs/JSON.md\n"
    "  --quiet                 report no progress on standard error\n"
    "  --ascii, --width N, --color auto|always|never\n"
    "\n"
    "tradeoff tries each value alone, then the best values of several lists together.\n"
    "A rehearsal comes first, because it finds files and devices cold. The first\n"
    "fifth of the steps of each run is left out as warm-up. Step time is the mean of\n"
    "the others, the floor the lowest memory in their second half, the peak the\n"
    "highest.\n"
    "\n"
    "exit status: 0 measured; 1 usage, or a run failed; 4 interrupted, or too few\n"
    "repeats\n"
    "\n"
    "example: tidemark tradeoff --steps 300 -- python train.py\n";

#define MOST_VALUES 10u
#define MOST_REPEATS 100.0
#define MOST_STEPS 1e9
#define MOST_EVERY 1000000
#define MOST_WORKERS 1024
#define NOTES 8u

/* Fewer cleanups than this in the measured steps get a note. */
#define FEW_CLEANUPS 4.0

/* Runs whose numbers of steps differ by more than this factor are hard to compare. */
#define STEPS_APART 1.05

/* The values of one dimension in the given order, without duplicates. */
struct value_list {
    int values[MOST_VALUES];
    unsigned count;
    bool given;
};

struct tradeoff_command {
    struct value_list lists[TRADEOFF_DIMENSIONS];
    double repeat, steps;
    const char *keep;
    bool json, quiet;
    struct view_options view;
    struct trial_job job;

    struct tradeoff_setting settings[TRADEOFF_MAX_SETTINGS];
    struct tradeoff_run *runs;
    struct tradeoff tradeoff;
    double steps_low, steps_high; /* steps of a run that were measured */

    size_t runs_planned;
    double seconds; /* sum over all runs */
    enum trial_end end;
    char *notes[NOTES];
    unsigned note_count;
};

/* ---- lists ---- */

/* Parses a whole number from `least` to `most` and nothing else. -EINVAL. */
static int parse_whole(const char *text, size_t len, int least, int most, int *ret)
{
    char digits[16];
    if (len == 0 || len >= sizeof(digits) || strspn(text, "0123456789") < len)
        return -EINVAL;
    memcpy(digits, text, len);
    digits[len] = '\0';
    long long value = strtoll(digits, NULL, 10);
    if (value < least || value > most)
        return -EINVAL;
    *ret = (int) value;
    return 0;
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(text, word, len) == 0;
}

static int parse_every(const char *text, size_t len, int *ret)
{
    if (!is_word(text, len, "none"))
        return parse_whole(text, len, 1, MOST_EVERY, ret);
    *ret = TRADEOFF_UNSAID;
    return 0;
}

static int parse_set_to_none(const char *text, size_t len, int *ret)
{
    bool yes = is_word(text, len, "yes");
    if (!yes && !is_word(text, len, "no"))
        return -EINVAL;
    *ret = yes;
    return 0;
}

static int parse_workers(const char *text, size_t len, int *ret)
{
    return parse_whole(text, len, 0, MOST_WORKERS, ret);
}

/* The job as it is always runs, so it is not in the list. */
static int add_value(struct value_list *list, int value)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->values[i] == value)
            return -EINVAL;
    if (value == TRADEOFF_UNSAID)
        return 0;
    if (list->count == MOST_VALUES)
        return -EINVAL;
    list->values[list->count++] = value;
    return 0;
}

static int parse_list(const char *text, int (*parse)(const char *text, size_t len, int *ret),
                      struct value_list *ret)
{
    struct value_list list = {.given = true};
    for (const char *s = text;; s++) {
        size_t len = strcspn(s, ",");
        int value;
        if (parse(s, len, &value) < 0 || add_value(&list, value) < 0)
            return -EINVAL;
        s += len;
        if (*s == '\0')
            break;
    }
    *ret = list;
    return 0;
}

static int parse_every_list(const char *text, void *ret)
{
    return parse_list(text, parse_every, ret);
}

static int parse_set_to_none_list(const char *text, void *ret)
{
    return parse_list(text, parse_set_to_none, ret);
}

static int parse_workers_list(const char *text, void *ret)
{
    return parse_list(text, parse_workers, ret);
}

/* ---- settings ---- */

static const struct tradeoff_setting as_it_is = {
    .said = {TRADEOFF_UNSAID, TRADEOFF_UNSAID, TRADEOFF_UNSAID}};

static void add_setting(struct tradeoff_command *c, const struct tradeoff_setting *s)
{
    c->settings[c->tradeoff.setting_count++] = *s;
}

/* Adds the job as it is, then every value alone. */
static void make_settings(struct tradeoff_command *c)
{
    static const int usual[] = {1, 5, 10, 20};
    struct value_list *every = &c->lists[TRADEOFF_EVERY];
    for (unsigned i = 0; !every->given && i < sizeof(usual) / sizeof(usual[0]); i++)
        if (c->steps == 0 || usual[i] < c->steps)
            add_value(every, usual[i]);
    c->tradeoff.settings = c->settings;
    add_setting(c, &as_it_is);
    for (unsigned d = 0; d < TRADEOFF_DIMENSIONS; d++) {
        for (unsigned i = 0; i < c->lists[d].count; i++) {
            struct tradeoff_setting s = as_it_is;
            s.said[d] = c->lists[d].values[i];
            add_setting(c, &s);
        }
    }
}

static unsigned dimensions_tried(const struct tradeoff_command *c)
{
    unsigned tried = 0;
    for (unsigned d = 0; d < TRADEOFF_DIMENSIONS; d++)
        tried += c->lists[d].count > 0;
    return tried;
}

/* ---- notes and progress ---- */

__attribute__((format(printf, 2, 3))) static void note(struct tradeoff_command *c,
                                                       const char *format, ...)
{
    struct buf text = BUF_INIT;
    va_list args;
    if (c->note_count == NOTES)
        return;
    va_start(args, format);
    buf_vaddf(&text, format, args);
    va_end(args);
    c->notes[c->note_count++] = text.text;
}

static void add_measure(struct buf *out, const char *name, double bytes)
{
    if (isnan(bytes))
        return;
    buf_addf(out, ", %s ", name);
    units_add_bytes(out, bytes);
}

/* The time left is not known until every setting ran once. */
static void add_time_left(struct buf *out, const struct tradeoff_command *c)
{
    size_t made = c->tradeoff.run_count, left = c->runs_planned - made;
    if (made < c->tradeoff.setting_count || left == 0)
        return;
    buf_adds(out, "; about ");
    units_add_duration(out, c->seconds / (double) made * (double) left);
    buf_adds(out, " left");
}

static void say_progress(const struct tradeoff_command *c, const struct trial *trial,
                         const struct trial_result *result)
{
    const struct measured_run *run = &result->measured;
    struct buf text = BUF_INIT;
    if (trial->round > 0)
        buf_addf(&text, "tradeoff: %zu of %zu: ", c->tradeoff.run_count, c->runs_planned);
    else
        buf_adds(&text, "tradeoff: rehearsal, not counted: ");
    tradeoff_add_name(&text, trial->setting);
    buf_adds(&text, ": ");
    units_add_count(&text, result->steps, 0);
    buf_adds(&text, " steps, ");
    units_add_short_time(&text, run->values[TRADEOFF_STEP_SECONDS]);
    buf_adds(&text, " each");
    add_measure(&text, "floor", run->values[TRADEOFF_FLOOR]);
    add_measure(&text, "peak", run->values[TRADEOFF_PEAK]);
    add_measure(&text, "GPU floor", run->values[TRADEOFF_GPU_FLOOR]);
    buf_adds(&text, "; took ");
    units_add_duration(&text, result->seconds);
    add_time_left(&text, c);
    cli_say("%s", buf_text(&text));
    buf_release(&text);
}

/* ---- runs ---- */

static void keep_run(struct tradeoff_command *c, size_t setting, unsigned round,
                     const struct trial_result *result)
{
    struct tradeoff_run *larger = reallocarray(c->runs, c->tradeoff.run_count + 1, sizeof(*larger));
    if (!larger)
        base_out_of_memory();
    c->runs = larger;
    c->tradeoff.runs = larger;
    struct tradeoff_run *kept = &c->runs[c->tradeoff.run_count++];
    *kept = (struct tradeoff_run){.setting = setting, .round = round};
    memcpy(kept->values, result->measured.values, sizeof(kept->values));
    double steps = c->steps > 0 ? fmin(c->steps, result->steps) : result->steps;
    c->steps_low = fmin(c->steps_low, steps);
    c->steps_high = fmax(c->steps_high, steps);
    c->seconds += result->seconds;
}

/* Round 0 is not kept. False: stop running. */
static bool run_one(struct tradeoff_command *c, size_t setting, unsigned round)
{
    struct trial trial = {.setting = &c->settings[setting], .round = round};
    struct trial_result result;
    c->end = trial_run(&c->job, &trial, &result);
    if (c->end != TRIAL_MEASURED)
        return false;
    if (round > 0)
        keep_run(c, setting, round, &result);
    if (!c->quiet)
        say_progress(c, &trial, &result);
    return true;
}

/* Only the first run finds files and devices cold, so it is not counted. */
static bool rehearse(struct tradeoff_command *c)
{
    return run_one(c, 0, 0);
}

/* Runs every setting once per round, in an order that rotates from round to round. */
static bool run_rounds(struct tradeoff_command *c, const size_t *settings, size_t count,
                       unsigned first_round)
{
    unsigned rounds = (unsigned) c->repeat;
    for (unsigned r = 0; r < rounds; r++)
        for (size_t i = 0; i < count; i++)
            if (!run_one(c, settings[(i + r) % count], first_round + r))
                return false;
    return true;
}

/* Combines the best value of each dimension in one setting; returns how many there are. */
static unsigned combine(const struct tradeoff_command *c, struct tradeoff_setting *ret)
{
    struct tradeoff_row rows[TRADEOFF_MAX_SETTINGS];
    unsigned combined = 0;
    *ret = as_it_is;
    tradeoff_compare(&c->tradeoff, rows);
    for (enum tradeoff_dimension d = 0; d < TRADEOFF_DIMENSIONS; d++) {
        size_t best = tradeoff_best(&c->tradeoff, rows, d);
        ret->said[d] = best > 0 ? c->settings[best].said[d] : TRADEOFF_UNSAID;
        combined += best > 0;
    }
    return combined;
}

/* The job as it is runs again in these rounds, for comparison. */
static void run_combined(struct tradeoff_command *c)
{
    struct tradeoff_setting best;
    unsigned combined = combine(c, &best);
    if (combined < 2) {
        note(c, "Nothing was tried together: %s.",
             c->repeat < TRADEOFF_LEAST_ROUNDS ? "there are not enough repeats to choose"
             : combined == 0                   ? "no value is better than the job as it is"
                             : "values of only one list are better than the job as it is");
        return;
    }
    size_t settings[] = {0, c->tradeoff.setting_count};
    add_setting(c, &best);
    c->runs_planned += 2 * (size_t) c->repeat;
    if (!c->quiet)
        cli_say("tradeoff: the best of each together: %d more runs", 2 * (int) c->repeat);
    run_rounds(c, settings, 2, (unsigned) c->repeat + 1);
}

static void run_all(struct tradeoff_command *c)
{
    size_t settings[TRADEOFF_MAX_SETTINGS], count = c->tradeoff.setting_count;
    for (size_t i = 0; i < count; i++)
        settings[i] = i;
    c->runs_planned = count * (size_t) c->repeat;
    if (!c->quiet)
        cli_say("tradeoff: %zu settings, %.0f round%s: %zu runs of the command, and a rehearsal",
                count, c->repeat, c->repeat == 1 ? "" : "s", c->runs_planned);
    if (getenv(TRIAL_VARIABLE))
        cli_say("tradeoff: %s is set: every run has its own, the job as it is none",
                TRIAL_VARIABLE);
    trial_take_signals();
    if (rehearse(c) && run_rounds(c, settings, count, 1) && dimensions_tried(c) > 1)
        run_combined(c);
}

/* ---- the answer ---- */

static bool any_within_noise(const struct tradeoff_command *c, const struct tradeoff_row *rows)
{
    for (size_t s = 1; s < c->tradeoff.setting_count; s++)
        for (enum tradeoff_measure m = 0; m < TRADEOFF_MEASURES; m++)
            if (rows[s].cells[m].finding == FINDING_NOISE)
                return true;
    return false;
}

static void add_notes(struct tradeoff_command *c, const struct tradeoff_row *rows)
{
    if (c->end == TRIAL_INTERRUPTED)
        note(c, "Interrupted: this is what was measured until then.");
    if (c->steps_high > STEPS_APART * c->steps_low)
        note(c, "The runs made different numbers of steps: memory that grows with the steps cannot "
                "be compared. --steps ends them alike.");
    for (size_t i = 1; i < c->tradeoff.setting_count; i++) {
        int every = c->settings[i].said[TRADEOFF_EVERY];
        if (every == TRADEOFF_UNSAID || c->steps_low >= FEW_CLEANUPS * every)
            continue;
        note(c, "%.0f steps are few for a cleanup every %d: with more steps it may look different.",
             c->steps_low, every);
        break;
    }
    if (any_within_noise(c, rows))
        note(c, "With more runs of each setting (--repeat) smaller differences can be told from "
                "noise.");
    note(c, "The first fifth of the steps is left out as warm-up. Step time is the mean of the "
            "others, the floor the lowest memory in their second half, the peak the highest of the "
            "run.");
}

static int print(struct tradeoff_command *c)
{
    struct tradeoff_row rows[TRADEOFF_MAX_SETTINGS];
    struct buf out = BUF_INIT, command = BUF_INIT;
    size_t argc = 0;
    while (c->job.argv[argc])
        argc++;
    run_add_command(&command, (const char *const *) c->job.argv, argc);
    tradeoff_compare(&c->tradeoff, rows);
    add_notes(c, rows);
    struct report_tradeoff report = {
        .tradeoff = &c->tradeoff,
        .rows = rows,
        .command = buf_text(&command),
        .steps_low = c->steps_low,
        .steps_high = c->steps_high,
        .notes = (const char *const *) c->notes,
        .note_count = c->note_count,
    };
    struct report_style style = terminal_style(&c->view, STDOUT_FILENO);
    if (c->json)
        report_tradeoff_json(&out, &report);
    else
        report_tradeoff(&out, &report, &style);
    int r = terminal_write(&out);
    buf_release(&out);
    buf_release(&command);
    return r;
}

/* Returns an exit status. */
static int measure(struct tradeoff_command *c)
{
    c->steps_low = c->steps_high = NAN;
    run_all(c);
    int r = c->tradeoff.run_count > 0 ? print(c) : 0;
    free(c->runs);
    for (unsigned i = 0; i < c->note_count; i++)
        free(c->notes[i]);
    if (r < 0 || c->end == TRIAL_FAILED)
        return STATUS_ERROR;
    bool open = c->end == TRIAL_INTERRUPTED || c->repeat < TRADEOFF_LEAST_ROUNDS;
    return open ? STATUS_OPEN : STATUS_FINE;
}

/* ---- where runs are kept ---- */

static bool is_empty(const char *path)
{
    DIR *folder = opendir(path);
    bool empty = folder != NULL;
    for (struct dirent *e; folder && (e = readdir(folder));)
        empty = empty && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
    if (folder)
        closedir(folder);
    return empty;
}

static int make_kept_folder(const char *path)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST) {
        cli_say("tradeoff: --keep: %s: cannot be made: %s", path, error_words(errno));
        return -errno;
    }
    if (!is_empty(path)) {
        cli_say("tradeoff: --keep: %s: expected a folder that is empty or not there yet", path);
        return -ENOTEMPTY;
    }
    return 0;
}

/* The caller frees it. NULL, with a message: failed. */
static char *make_own_folder(void)
{
    const char *base = getenv("TMPDIR");
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s/tidemark-tradeoff-XXXXXX", base && base[0] ? base : "/tmp");
    if (!mkdtemp(path.text)) {
        cli_say("tradeoff: %s: cannot be made: %s", buf_text(&path), error_words(errno));
        buf_release(&path);
    }
    return path.text;
}

static int measure_in_own_folder(struct tradeoff_command *c)
{
    char *folder = make_own_folder();
    if (!folder)
        return STATUS_ERROR;
    c->job.folder = folder;
    int status = measure(c);
    if (rmdir(folder) < 0)
        cli_say("tradeoff: %s: cannot be removed: %s", folder, error_words(errno));
    free(folder);
    return status;
}

static int measure_and_keep(struct tradeoff_command *c)
{
    if (make_kept_folder(c->keep) < 0)
        return STATUS_ERROR;
    c->job.folder = c->keep;
    c->job.keep = true;
    return measure(c);
}

/* ---- usage ---- */

static bool is_whole(double number, double least, double most)
{
    return number >= least && number <= most && number == floor(number);
}

static int check_usage(const struct tradeoff_command *c)
{
    if (!is_whole(c->repeat, 1, MOST_REPEATS)) {
        cli_say("tradeoff: --repeat: got %g, expected a whole number of 1 to %.0f", c->repeat,
                MOST_REPEATS);
        return -EINVAL;
    }
    if (c->steps > 0 && !is_whole(c->steps, MEASURE_LEAST_STEPS, MOST_STEPS)) {
        cli_say("tradeoff: --steps: got %g, expected a whole number of at least %d", c->steps,
                MEASURE_LEAST_STEPS);
        return -EINVAL;
    }
    if (c->tradeoff.setting_count < 2) {
        cli_say("tradeoff: nothing to compare the job with: give a value other than none to "
                "--every, or --set-to-none or --workers");
        return -EINVAL;
    }
    for (size_t i = 1; i < c->tradeoff.setting_count; i++) {
        int every = c->settings[i].said[TRADEOFF_EVERY];
        if (c->steps > 0 && every >= c->steps) {
            cli_say("tradeoff: --every %d: there would be no cleanup in --steps %.0f", every,
                    c->steps);
            return -EINVAL;
        }
    }
    return 0;
}

int cmd_tradeoff(int argc, char **argv)
{
    struct tradeoff_command c = {.repeat = TRADEOFF_LEAST_ROUNDS};
    const struct option_spec specs[] = {
        {"every", OPTION_PARSED, &c.lists[TRADEOFF_EVERY],
         "up to 10 different numbers of steps, or none, with commas between", parse_every_list},
        {"set-to-none", OPTION_PARSED, &c.lists[TRADEOFF_SET_TO_NONE], "yes, no or yes,no",
         parse_set_to_none_list},
        {"workers", OPTION_PARSED, &c.lists[TRADEOFF_WORKERS],
         "up to 10 different numbers of workers with commas between", parse_workers_list},
        {"repeat", OPTION_NUMBER, &c.repeat, "a number of runs above 0", NULL},
        {"steps", OPTION_NUMBER, &c.steps, "a number of steps above 0", NULL},
        {"keep", OPTION_TEXT, &c.keep, "a folder", NULL},
        {"json", OPTION_FLAG, &c.json, NULL, NULL},
        {"quiet", OPTION_FLAG, &c.quiet, NULL, NULL},
        VIEW_OPTIONS(&c.view),
    };
    int first,
        r = options_parse_before(specs, sizeof(specs) / sizeof(specs[0]), argc, argv, &first);
    if (r == OPTIONS_HELP)
        return terminal_print(help);
    if (r < 0)
        return STATUS_ERROR;
    make_settings(&c);
    if (check_usage(&c) < 0)
        return STATUS_ERROR;
    if (first == argc) {
        cli_say("tradeoff: no command given; expected: tidemark tradeoff [options] -- COMMAND");
        return STATUS_ERROR;
    }
    c.job.argv = argv + first;
    c.job.steps = c.steps;
    return c.keep ? measure_and_keep(&c) : measure_in_own_folder(&c);
}
