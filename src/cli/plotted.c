/* cli/plotted.c: what a picture is drawn of. */
#include "cli/plotted.h"

#include "cli/cli.h"
#include "cli/load_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One reading of the source. */
struct reading {
    struct load_options options; /* with the name of its series */
    struct load *load;
    struct judgement judgement;
};

struct plotted {
    struct reading readings[PLOTTED_NAMES];
    unsigned count;
    /* Of all readings, where there are several. */
    struct report_series *series;
    enum job_part *parts;
    struct job_answer answer;
    struct report_job job;
    char *command;
    const char **activities;
    struct plot_job plot;
};

int plotted_parse_series(const char *text, void *target)
{
    struct plotted_options *o = target;
    if (!*text || o->name_count == PLOTTED_NAMES)
        return -EINVAL;
    o->names[o->name_count++] = text;
    return 0;
}

/* ---- reading ---- */

/* Whether the verdict of the run's own report holds. */
static bool wants_own_answer(const struct reading *r)
{
    const struct load_options *o = &r->options;
    return !r->load->input && !r->load->selector && !o->steps && o->epoch == 0 && o->horizon == 0 &&
           o->plan_steps == 0 && o->plan_hours == 0 && o->limit == 0;
}

/* Takes the view that the run's own report was made of. -ENODATA: there is none. */
static int recall(struct load *l)
{
    struct store *store;
    struct view *view = calloc(1, sizeof(*view));
    if (!view)
        base_out_of_memory();
    int r = load_run_open(l->path, &store);
    if (r == 0) {
        r = load_run_recall(store, view) < 0 ? -ENODATA : 0;
        store_free(store);
    }
    if (r == 0)
        l->run = view;
    else
        free(view);
    return r;
}

static int read_source(struct reading *r, const char *argument, const struct plotted_options *o,
                       const char *name, bool is_first)
{
    r->options = o->load;
    r->options.series = name;
    r->options.quiet = o->load.quiet || !is_first; /* what was guessed is said once */
    int e = load_open(argument, &r->options, &r->load);
    if (e < 0)
        return e;
    e = wants_own_answer(r) ? recall(r->load) : -ENODATA;
    if (e == -ENODATA)
        e = load_read(r->load);
    if (e >= 0)
        e = load_finish(r->load);
    if (e < 0) {
        r->load = load_free(r->load);
        return e;
    }
    judgement_init(&r->judgement, r->load);
    if (r->load->run)
        r->judgement.job.unread = r->load->run->unread;
    return 0;
}

static int read_all(struct plotted *p, const char *argument, const struct plotted_options *o)
{
    unsigned count = o->name_count > 0 ? o->name_count : 1;
    if (count > 1 && strcmp(argument, "-") == 0) {
        cli_say("plot: standard input can be read once: give --series once, or a file");
        return -EINVAL;
    }
    for (unsigned i = 0; i < count; i++) {
        int r = read_source(&p->readings[i], argument, o, o->name_count > 0 ? o->names[i] : NULL,
                            i == 0);
        if (r < 0)
            return r;
        p->count = i + 1;
    }
    return 0;
}

/* ---- several readings as one job ---- */

static bool has_series(const struct plotted *p, const struct report_series *s)
{
    for (size_t i = 0; i < p->job.count; i++)
        if (strcmp(p->series[i].info->name, s->info->name) == 0 &&
            p->series[i].info->pid == s->info->pid)
            return true;
    return false;
}

static void add_series(struct plotted *p, const struct judgement *j)
{
    p->series = reallocarray(p->series, p->job.count + j->job.count + 1, sizeof(*p->series));
    p->parts = reallocarray(p->parts, p->job.count + j->job.count + 1, sizeof(*p->parts));
    if (!p->series || !p->parts)
        base_out_of_memory();
    for (size_t i = 0; i < j->job.count; i++) {
        if (has_series(p, &j->job.series[i]))
            continue;
        p->series[p->job.count] = j->job.series[i];
        p->parts[p->job.count++] = j->parts[i];
    }
}

static void judge_together(struct plotted *p)
{
    const struct answer **answers = calloc(p->job.count + 1, sizeof(*answers));
    if (!answers)
        base_out_of_memory();
    for (size_t i = 0; i < p->job.count; i++)
        answers[i] = p->series[i].answer;
    job_judge(answers, p->parts, p->job.count, &p->answer);
    free(answers);
}

static void combine(struct plotted *p)
{
    const struct report_job *first = &p->readings[0].judgement.job;
    p->job = *first;
    p->job.count = 0;
    for (unsigned i = 0; i < p->count; i++)
        add_series(p, &p->readings[i].judgement);
    p->job.series = p->series;
    if (p->count > 1) {
        judge_together(p);
        p->job.answer = &p->answer;
    }
    if (p->job.answer->verdict == VERDICT_NO_LEAK)
        p->job.found = NULL;
}

/* ---- its facts ---- */

static char *copy(const char *text)
{
    char *result = text ? strdup(text) : NULL;
    if (text && !result)
        base_out_of_memory();
    return result;
}

/* Of a run without a final answer. */
static void add_recorded(struct plotted *p, const char *path)
{
    struct store *store;
    if (p->command || load_run_open(path, &store) < 0)
        return;
    p->command = copy(store_run(store)->title);
    if (!isfinite(p->plot.seconds))
        p->plot.seconds = store_last_seconds(store);
    store_free(store);
}

/* The longest span of a clock that a series has seen; NAN: none. */
static double span_of(const struct plotted *p, enum series_clock clock)
{
    double longest = NAN;
    for (size_t i = 0; i < p->job.count; i++) {
        const struct answer *a = p->job.series[i].answer;
        if (p->job.series[i].info->clock == clock && a->last_at > a->first_at)
            longest = fmax(longest, a->last_at - a->first_at);
    }
    return longest;
}

static void add_view(struct plotted *p, const struct view *v)
{
    p->command = copy(v->command);
    p->plot.seconds = v->seconds > 0 ? v->seconds : NAN;
    p->plot.steps = v->steps > 0 ? v->steps : NAN;
    p->plot.epochs = v->epochs;
    p->plot.processes = v->most_processes;
    p->activities = calloc(v->phase_count + 1, sizeof(*p->activities));
    if (!p->activities)
        base_out_of_memory();
    for (size_t i = 0; i < v->phase_count; i++)
        p->activities[i] = v->phases[i].name;
    p->plot.activities = p->activities;
    p->plot.activity_count = (unsigned) v->phase_count;
}

static void add_facts(struct plotted *p)
{
    const struct load *l = p->readings[0].load;
    p->plot = (struct plot_job){.job = &p->job, .parts = p->parts, .seconds = NAN, .steps = NAN};
    if (l->run) {
        add_view(p, l->run);
        add_recorded(p, l->path);
    }
    if (!isfinite(p->plot.steps))
        p->plot.steps = span_of(p, CLOCK_STEP);
    if (!isfinite(p->plot.seconds))
        p->plot.seconds = span_of(p, CLOCK_SECONDS);
    p->plot.command = p->command;
}

/* ---- the whole ---- */

int plotted_load(const char *argument, const struct plotted_options *options, struct plotted **ret)
{
    struct plotted *p = calloc(1, sizeof(*p));
    if (!p)
        base_out_of_memory();
    int r = read_all(p, argument, options);
    if (r < 0) {
        plotted_free(p);
        return r;
    }
    combine(p);
    add_facts(p);
    *ret = p;
    return 0;
}

struct plotted *plotted_free(struct plotted *p)
{
    if (!p)
        return NULL;
    for (unsigned i = 0; i < p->count; i++) {
        judgement_release(&p->readings[i].judgement);
        load_free(p->readings[i].load);
    }
    free(p->series);
    free(p->parts);
    free(p->command);
    free(p->activities);
    free(p);
    return NULL;
}

const struct plot_job *plotted_job(const struct plotted *p)
{
    return &p->plot;
}

const char *plotted_path(const struct plotted *p)
{
    return p->readings[0].load->path;
}
