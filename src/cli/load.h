/* cli/load.h: reads a file into one engine per series, or judges a run file again. */
#ifndef TIDEMARK_CLI_LOAD_H
#define TIDEMARK_CLI_LOAD_H

#include "cli/options.h"
#include "input/input.h"
#include "report/report.h"

/* The user's options about the source and the job; 0, false and NULL: not given. */
struct load_options {
    struct input_options input;
    bool steps, time;
    double epoch, horizon; /* in units of the series' clock */
    double plan_steps, plan_hours;
    double limit;       /* bytes */
    const char *series; /* only the series of this name, kind or pid */
    bool quiet;         /* do not report what was guessed */
};

/* The rows of an option table that fill a struct load_options. */
#define LOAD_OPTIONS(load)                                                                         \
    {"clock", OPTION_TEXT, &(load)->input.clock_column, "the name or number of a column", NULL},   \
        {"value", OPTION_TEXT, &(load)->input.value_columns,                                       \
         "names or numbers of columns, separated by commas", NULL},                                \
        {"unit", OPTION_TEXT, &(load)->input.unit, "a unit such as MB, GiB, bytes or count",       \
         NULL},                                                                                    \
        {"steps", OPTION_FLAG, &(load)->steps, NULL, NULL},                                        \
        {"time", OPTION_FLAG, &(load)->time, NULL, NULL},                                          \
        {"epoch", OPTION_NUMBER, &(load)->epoch, "the length of an epoch in steps, above 0",       \
         NULL},                                                                                    \
        {"horizon", OPTION_NUMBER, &(load)->horizon, "a number of steps (or seconds) above 0",     \
         NULL},                                                                                    \
        {"plan-steps", OPTION_NUMBER, &(load)->plan_steps, "the last step of the job, above 0",    \
         NULL},                                                                                    \
        {"plan-hours", OPTION_NUMBER, &(load)->plan_hours, "a number of hours above 0", NULL},     \
        {"limit", OPTION_SIZE, &(load)->limit, "a size such as 32GB", NULL},                       \
        {"series", OPTION_TEXT, &(load)->series, "the name, kind or pid of a series", NULL},       \
    {                                                                                              \
        "quiet", OPTION_FLAG, &(load)->quiet, NULL, NULL                                           \
    }

/* 0, or -EINVAL with a message: options contradict each other. */
int load_options_check(struct load_options *options, const char *command);

/* One series of the source; the load owns all of it. */
struct loaded_series {
    struct series_info info;
    struct input_hints hints;
    struct engine *engine; /* NULL before the first sample, and where it was not selected */
    bool selected;
    bool used; /* false: the slot is free for another series */
};

/*
 * A source that is being read. Messages about it go to standard error, one line each. The hooks may
 * be NULL. If a hook returns a negative value, reading stops and returns that value.
 */
struct load {
    const struct load_options *options; /* not owned */
    char *path;                         /* as the user wrote it, without the selector */
    char *selector;                     /* the text after '#', or --series; NULL: all series */
    int fd;
    struct input *input; /* NULL: it is a run file, and `run` has its judgement */
    struct view *run;    /* NULL until it was read */
    struct loaded_series *series;
    size_t count;
    bool plan_noted;
    bool hook_failed; /* a hook stopped the reading and printed why */
    void *context;
    int (*on_end)(void *context, struct loaded_series *s); /* the slot is freed afterwards */
    int (*on_sample)(void *context);
};

/*
 * Opens "-" (standard input), a file, or "file#selector" if no file has that whole name. -errno,
 * with a message. The caller owns *ret.
 */
int load_open(const char *argument, const struct load_options *options, struct load **ret);
struct load *load_free(struct load *l); /* accepts NULL, returns NULL */

/* Reads to the end of the stream. -errno, with a message unless a hook stopped it. */
int load_read(struct load *l);

/* Call after the last load_read(): reports guesses and skipped lines. -EINVAL, with a message:
 * there is no series to judge. */
int load_finish(struct load *l);

/* load_open(), load_read() and load_finish() in one call. */
int load_file(const char *argument, const struct load_options *options, struct load **ret);

/* Whether a selector matches a series: words of its name, its kind or its pid. */
bool load_names_series(const char *selector, const struct series_info *info);

/* The answers of all series so far. */
struct judgement {
    struct report_job job;
    struct job_answer answer;
    struct report_series *series;
    enum job_part *parts;
    struct answer *answers;
};

/* Valid until the next sample; release it before the load. */
void judgement_init(struct judgement *j, const struct load *l);
void judgement_release(struct judgement *j);

#endif
