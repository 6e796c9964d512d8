/* cli/traced.h: the traced sites of a run file, and the user's choice among them. */
#ifndef TIDEMARK_CLI_TRACED_H
#define TIDEMARK_CLI_TRACED_H

#include "cli/options.h"
#include "report/report.h"

#include <stdbool.h>

/* A moment of a run. */
struct traced_moment {
    double step, seconds; /* one of them; NAN: the other, or not given */
};

/* The user's options. */
struct traced_options {
    bool growth, live, allocated;
    double pid; /* 0: every process */
    unsigned kinds;
    struct traced_moment from, to;
};

#define TRACED_OPTIONS_INIT                                                                        \
    ((struct traced_options){.from = {(double) NAN, (double) NAN},                                 \
                             .to = {(double) NAN, (double) NAN}})

/* The rows of an option table that fill a struct traced_options. */
#define TRACED_OPTIONS(o)                                                                          \
    {"growth", OPTION_FLAG, &(o)->growth, NULL, NULL},                                             \
        {"live", OPTION_FLAG, &(o)->live, NULL, NULL},                                             \
        {"allocated", OPTION_FLAG, &(o)->allocated, NULL, NULL},                                   \
        {"process", OPTION_NUMBER, &(o)->pid, "the pid of a process", NULL},                       \
        {"kind", OPTION_PARSED, &(o)->kinds, "malloc, python, mapped, device or pinned",           \
         traced_parse_kind},                                                                       \
        {"from", OPTION_PARSED, &(o)->from, TRACED_MOMENT, traced_parse_moment},                   \
    {                                                                                              \
        "to", OPTION_PARSED, &(o)->to, TRACED_MOMENT, traced_parse_moment                          \
    }
#define TRACED_MOMENT "a step such as 400, or a time such as 90s, 5min or 2h"

/* Adds a bit to an unsigned: names separated by commas. -EINVAL. */
int traced_parse_kind(const char *text, void *ret_kinds);
/* Writes a struct traced_moment. -EINVAL. */
int traced_parse_moment(const char *text, void *ret_moment);

/* Whether any of them was given. */
bool traced_options_given(const struct traced_options *o);

/* The sites of a run, as the report takes them. */
struct traced;

/* -errno, with a message: the file cannot be read, it has no such sites, options contradict. The
 * caller owns *ret. */
int traced_load(const char *path, const struct traced_options *o, struct traced **ret);
struct traced *traced_free(struct traced *t); /* accepts NULL, returns NULL */

/* Belongs to `t`. */
const struct report_stacks *traced_stacks(const struct traced *t);

/* Says that a report of them was empty, and what else there is. */
void traced_say_nothing(const struct traced *t, const char *path);

#endif
