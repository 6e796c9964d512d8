/* cli/load.c: reads a file into one engine per series. */
#include "cli/load.h"

#include "cli/cli.h"
#include "cli/load_run.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_SAID 8u

int load_options_check(struct load_options *options, const char *command)
{
    if (options->steps && options->time) {
        cli_say("%s: --steps and --time exclude each other", command);
        return -EINVAL;
    }
    if (options->plan_steps > 0 && options->plan_hours > 0) {
        cli_say("%s: --plan-steps and --plan-hours exclude each other", command);
        return -EINVAL;
    }
    options->input.clock = options->steps ? 1 : options->time ? 2 : 0;
    return 0;
}

/* ---- series ---- */

static char *copy(const char *text)
{
    char *result = text ? strdup(text) : NULL;
    if (text && !result)
        base_out_of_memory();
    return result;
}

static void release_series(struct loaded_series *s)
{
    free((char *) s->info.name);
    free((char *) s->info.kind);
    free((char *) s->info.device);
    engine_free(s->engine);
    *s = (struct loaded_series){0};
}

/* Whether `text` has `words` as whole words: "Run 2" is in "Run 2 (Process 7)", not in "Run 20". */
static bool holds_words(const char *text, const char *words)
{
    size_t len = strlen(words);
    for (const char *at = text; (at = strcasestr(at, words)) != NULL; at++) {
        bool begins = at == text || !isalnum((unsigned char) at[-1]);
        if (begins && !isalnum((unsigned char) at[len]))
            return true;
    }
    return false;
}

bool load_names_series(const char *selector, const struct series_info *info)
{
    char *end;
    long long pid = strtoll(selector, &end, 10);
    return holds_words(info->name, selector) || strcasecmp(info->kind, selector) == 0 ||
           (!*end && pid != 0 && pid == info->pid);
}

/* Returns the index of a free slot. */
static size_t free_slot(struct load *l)
{
    for (size_t i = 0; l->on_end && i < l->count; i++) {
        if (!l->series[i].used)
            return i;
    }
    if ((l->count & (l->count - 1)) == 0) {
        size_t capacity = l->count ? l->count * 2 : 1;
        struct loaded_series *series = realloc(l->series, capacity * sizeof(*series));
        if (!series)
            base_out_of_memory();
        l->series = series;
    }
    return l->count++;
}

static int sink_series(void *context, const struct series_info *info,
                       const struct input_hints *hints)
{
    struct load *l = context;
    size_t slot = free_slot(l);
    struct loaded_series *s = &l->series[slot];

    *s = (struct loaded_series){.info = *info, .hints = *hints, .used = true};
    s->info.name = copy(info->name);
    s->info.kind = copy(info->kind);
    s->info.device = copy(info->device);
    s->selected = !l->selector || load_names_series(l->selector, info);
    return (int) slot;
}

/* The planned end of the job on this clock; 0: not known on it. */
static double plan_of(struct load *l, const struct loaded_series *s, double first_seconds)
{
    const struct load_options *o = l->options;
    bool steps = s->info.clock == CLOCK_STEP;
    if (steps && o->plan_steps > 0)
        return o->plan_steps;
    if (!steps && o->plan_hours > 0)
        return first_seconds + o->plan_hours * 3600;
    if ((o->plan_hours > 0 || o->plan_steps > 0) && !l->plan_noted) {
        l->plan_noted = true;
        cli_say("%s: --plan-%s does not apply: '%s' is measured in %s, use --plan-%s", l->path,
                steps ? "hours" : "steps", s->info.name, steps ? "steps" : "seconds",
                steps ? "steps" : "hours");
    }
    return 0;
}

/* All series of a source belong to one job; in a batch each is a job of its own. */
static void share_budget(struct load *l)
{
    unsigned engines = 0;
    for (size_t i = 0; i < l->count; i++)
        engines += l->series[i].engine != NULL;
    for (size_t i = 0; i < l->count && !l->on_end; i++)
        if (l->series[i].engine)
            engine_share_budget(l->series[i].engine, engines);
}

static int make_engine(struct load *l, struct loaded_series *s, double first_seconds)
{
    const struct load_options *o = l->options;
    double limit = s->info.unit == SERIES_BYTES && o->limit > 0 ? o->limit : s->hints.limit;
    struct engine_options options = {
        .clock = s->info.clock,
        .unit = s->info.unit,
        .epoch_length = o->epoch > 0 ? o->epoch : s->hints.epoch_length,
        .horizon = o->horizon > 0 ? o->horizon : s->hints.horizon,
        .plan = plan_of(l, s, first_seconds),
        .limit = limit,
        .resolution = series_kind_resolution(s->info.kind),
        .rounding = s->info.resolution,
    };
    int r = engine_new(&options, &s->engine);
    if (r == 0)
        share_budget(l);
    return r;
}

static int sink_sample(void *context, int series, double step, double seconds, double value)
{
    struct load *l = context;
    struct loaded_series *s = &l->series[series];
    if (!s->selected)
        return 0;
    if (!s->engine) {
        int r = make_engine(l, s, seconds);
        if (r < 0)
            return r;
    }
    /* The engine counts refused samples, and the report says how many. */
    if (engine_push(s->engine, step, seconds, value) == -ENOMEM)
        return -ENOMEM;
    int r = l->on_sample ? l->on_sample(l->context) : 0;
    l->hook_failed = r < 0;
    return r;
}

static int sink_epoch(void *context, int series, double at)
{
    struct load *l = context;
    if (l->series[series].engine)
        engine_epoch_mark(l->series[series].engine, at);
    return 0;
}

static int sink_restart(void *context, int series)
{
    struct load *l = context;
    if (l->series[series].engine)
        engine_restart(l->series[series].engine);
    return 0;
}

static int sink_end(void *context, int series)
{
    struct load *l = context;
    struct engine *engine = l->series[series].engine;
    if (engine)
        engine_finish(engine);
    if (!l->on_end)
        return 0;
    int r = engine ? l->on_end(l->context, &l->series[series]) : 0;
    release_series(&l->series[series]);
    l->hook_failed = r < 0;
    return r;
}

/* ---- the source ---- */

/* Splits "file#selector" unless a file has the whole name. */
static void split_argument(struct load *l, const char *argument)
{
    l->path = copy(argument);
    l->selector = copy(l->options->series);
    char *mark = strrchr(l->path, '#');
    if (!mark || mark == l->path || mark[1] == '\0' || access(argument, F_OK) == 0)
        return;
    *mark = '\0';
    free(l->selector);
    l->selector = copy(mark + 1);
}

static int open_source(struct load *l)
{
    if (strcmp(l->path, "-") == 0) {
        free(l->path);
        l->path = copy("standard input");
        l->fd = STDIN_FILENO;
        return 0;
    }
    l->fd = open(l->path, O_RDONLY | O_CLOEXEC);
    if (l->fd < 0) {
        int error = errno;
        if (error == ENOENT)
            cli_say("%s: no such file; give a log, a table or - for standard input", l->path);
        else
            cli_say("%s: cannot be opened: %s", l->path, error_words(error));
        return -error;
    }
    struct stat st;
    if (fstat(l->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        cli_say("%s: is a directory; give a file inside it", l->path);
        return -EISDIR;
    }
    return 0;
}

int load_open(const char *argument, const struct load_options *options, struct load **ret)
{
    struct load *l = calloc(1, sizeof(*l));
    if (!l)
        base_out_of_memory();
    l->options = options;
    l->fd = -1;
    split_argument(l, argument);

    bool is_run = strcmp(l->path, "-") != 0 && store_is_one(l->path);
    int r = is_run ? load_run_check(l) : open_source(l);
    if (r >= 0 && !is_run) {
        struct input_sink sink = {
            .context = l,
            .series = sink_series,
            .sample = sink_sample,
            .epoch = sink_epoch,
            .restart = sink_restart,
            .end = sink_end,
        };
        r = input_new(l->fd, &options->input, &sink, &l->input);
    }
    if (r < 0) {
        load_free(l);
        return r;
    }
    *ret = l;
    return 0;
}

struct load *load_free(struct load *l)
{
    if (!l)
        return NULL;
    input_free(l->input);
    load_run_release(l);
    for (size_t i = 0; i < l->count; i++)
        release_series(&l->series[i]);
    free(l->series);
    if (l->fd > STDIN_FILENO)
        close(l->fd);
    free(l->path);
    free(l->selector);
    free(l);
    return NULL;
}

static void say_error(const struct load *l, int error)
{
    const struct input_summary *summary = input_summary(l->input);
    if (error != -EINVAL || !summary->error[0])
        cli_say("%s: cannot be read: %s", l->path, error_words(-error));
    else if (summary->error_line > 0)
        cli_say("%s: line %llu: %s", l->path, (unsigned long long) summary->error_line,
                summary->error);
    else
        cli_say("%s: %s", l->path, summary->error);
}

int load_read(struct load *l)
{
    if (!l->input)
        return load_run_read(l);
    int r = input_read(l->input);
    if (r < 0 && !l->hook_failed)
        say_error(l, r);
    return r;
}

/* Prints the names of the available series. */
static void say_unselected(const struct load *l)
{
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < l->count && i < NAMES_SAID; i++)
        buf_addf(&names, "%s'%s'", i ? ", " : "", l->series[i].info.name);
    if (l->count > NAMES_SAID)
        buf_addf(&names, " and %zu more", l->count - NAMES_SAID);
    cli_say("%s: no series is called '%s'; there are %s", l->path, l->selector, buf_text(&names));
    buf_release(&names);
}

/* -EINVAL, with a message: no selected series has a sample. */
static int check_selection(const struct load *l)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->series[i].engine)
            return 0;
    }
    if (l->selector)
        say_unselected(l);
    else
        cli_say("%s: no sample found, expected lines with a step or time and a size", l->path);
    return -EINVAL;
}

/* Prints `text` and the skipped lines. */
static void say_with_skipped(const struct load *l, const char *text)
{
    const struct input_summary *summary = input_summary(l->input);
    struct buf line = BUF_INIT;
    buf_adds(&line, text);
    if (summary->skipped > 0)
        buf_addf(&line, "; %llu line%s skipped, the first is line %llu: %s",
                 (unsigned long long) summary->skipped, summary->skipped == 1 ? "" : "s",
                 (unsigned long long) summary->first_skipped, summary->skip_reason);
    cli_say("%s: %s", l->path, buf_text(&line));
    buf_release(&line);
}

static void say_found(const struct load *l)
{
    const struct input_summary *summary = input_summary(l->input);
    struct buf text = BUF_INIT;
    buf_addf(&text, "read as %s", summary->format);
    if (summary->guesses[0])
        buf_addf(&text, "; %s", summary->guesses);
    say_with_skipped(l, buf_text(&text));
    buf_release(&text);
}

int load_finish(struct load *l)
{
    if (!l->input)
        return 0;
    int r = input_finish(l->input);
    if (r < 0) {
        if (!l->hook_failed)
            say_error(l, r);
        return r;
    }
    bool batch = l->options->input.batch;
    if (!batch && (r = check_selection(l)) < 0)
        return r;
    if (input_summary(l->input)->samples == 1) {
        say_with_skipped(l, "only one sample; a verdict needs at least two");
        return -EINVAL;
    }
    if (!l->options->quiet && (!batch || input_summary(l->input)->skipped > 0))
        say_found(l);
    return 0;
}

int load_file(const char *argument, const struct load_options *options, struct load **ret)
{
    struct load *l;
    int r = load_open(argument, options, &l);
    if (r < 0)
        return r;
    r = load_read(l);
    if (r >= 0)
        r = load_finish(l);
    if (r < 0) {
        load_free(l);
        return r;
    }
    *ret = l;
    return 0;
}

/* ---- the answers ---- */

/* Allocates room for `count` answers. */
static void make_room(struct judgement *j, size_t count)
{
    *j = (struct judgement){0};
    j->series = calloc(count + 1, sizeof(*j->series));
    j->parts = calloc(count + 1, sizeof(*j->parts));
    j->answers = calloc(count + 1, sizeof(*j->answers));
    if (!j->series || !j->parts || !j->answers)
        base_out_of_memory();
}

static void add_loaded(struct judgement *j, const struct loaded_series *s)
{
    struct answer *a = &j->answers[j->job.count];
    engine_answer(s->engine, a);
    reasons_write(a, s->info.unit, s->info.clock);
    j->series[j->job.count++] = (struct report_series){
        .info = &s->info,
        .answer = a,
        .history = engine_history(s->engine),
    };
}

static void add_recorded(struct judgement *j, const struct view_series *s)
{
    j->parts[j->job.count] = s->part;
    j->answers[j->job.count] = s->answer;
    j->series[j->job.count] = (struct report_series){
        .info = &s->info,
        .answer = &j->answers[j->job.count],
        .history = &s->history,
    };
    j->job.count++;
}

/* "VRAM" means only the series of exactly that name if there is one; otherwise "VRAM delta" too. */
static void keep_exact(struct judgement *j, const char *selector)
{
    size_t kept = 0;
    for (size_t i = 0; i < j->job.count; i++) {
        assert(j->series[i].info);
        if (strcasecmp(j->series[i].info->name, selector) != 0)
            continue;
        j->series[kept] = j->series[i];
        j->parts[kept++] = j->parts[i];
    }
    if (kept > 0)
        j->job.count = kept;
}

static void judge(struct judgement *j)
{
    const struct answer **answers = calloc(j->job.count + 1, sizeof(*answers));
    if (!answers)
        base_out_of_memory();
    for (size_t i = 0; i < j->job.count; i++)
        answers[i] = j->series[i].answer;
    job_judge(answers, j->parts, j->job.count, &j->answer);
    free(answers);
}

void judgement_init(struct judgement *j, const struct load *l)
{
    size_t recorded = l->run ? l->run->count : 0;
    make_room(j, l->count + recorded);
    for (size_t i = 0; i < l->count; i++)
        if (l->series[i].engine)
            add_loaded(j, &l->series[i]);
    for (size_t i = 0; i < recorded; i++)
        add_recorded(j, &l->run->series[i]);
    if (l->selector)
        keep_exact(j, l->selector);
    judge(j);
    j->job.series = j->series;
    j->job.answer = &j->answer;
    j->job.source = l->path;
    j->job.watched = l->run != NULL;
    if (!l->run)
        return;
    /* If this judgement finds no leak, no holder is blamed. */
    if (j->answer.verdict != VERDICT_NO_LEAK || l->run->found.count == 0)
        j->job.found = &l->run->found;
    j->job.patterns = l->run->patterns;
    j->job.pattern_count = l->run->pattern_count;
}

void judgement_release(struct judgement *j)
{
    free(j->series);
    free(j->parts);
    free(j->answers);
    *j = (struct judgement){0};
}
