/* cli/live.h: watches a job: the loop that run and watch share. */
#ifndef TIDEMARK_CLI_LIVE_H
#define TIDEMARK_CLI_LIVE_H

#include "cli/fail_on.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "launch/launch.h"
#include "watch/watch.h"

/* The live page. */
struct live_ui {
    bool wanted;
    unsigned port; /* 0: the usual one, or one that is free */
    int server;    /* for serve_beside_show(); -1: there is none */
};

/* The user's options; 0, false and NULL: not given. */
struct live_options {
    double interval, duration, print_every;
    double stop_after_steps;
    double horizon, epoch, plan_steps, plan_hours, limit;
    const char *step_regex;
    const char *log;     /* log lines and warnings go to this file */
    const char *on_leak; /* a shell command that reads the answer's JSON */
    const char *json;    /* file for the final answer, or "-" */
    int json_fd;         /* where "-" writes, see live_keep_output() */
    const char *output;  /* the run file */
    bool no_store, quiet;
    bool only_json; /* standard output carries only the JSON */
    struct fail_on fail_on;
    struct view_options view;
    struct live_ui ui;
};

/* The rows of an option table that fill a struct live_options. */
#define LIVE_OPTIONS(live)                                                                         \
    {"interval", OPTION_NUMBER, &(live)->interval, "a number of seconds above 0", NULL},           \
        {"duration", OPTION_NUMBER, &(live)->duration, "a number of seconds above 0", NULL},       \
        {"print-every", OPTION_NUMBER, &(live)->print_every, "a number of seconds above 0", NULL}, \
        {"stop-after-steps", OPTION_NUMBER, &(live)->stop_after_steps,                             \
         "a number of steps above 0", NULL},                                                       \
        {"horizon", OPTION_NUMBER, &(live)->horizon, "a number of steps (or seconds) above 0",     \
         NULL},                                                                                    \
        {"epoch", OPTION_NUMBER, &(live)->epoch, "the length of an epoch in steps, above 0",       \
         NULL},                                                                                    \
        {"plan-steps", OPTION_NUMBER, &(live)->plan_steps, "the last step of the job, above 0",    \
         NULL},                                                                                    \
        {"plan-hours", OPTION_NUMBER, &(live)->plan_hours, "a number of hours above 0", NULL},     \
        {"limit", OPTION_SIZE, &(live)->limit, "a size such as 32GB", NULL},                       \
        {"step-regex", OPTION_TEXT, &(live)->step_regex,                                           \
         "a regular expression with a group around the step", NULL},                               \
        {"log", OPTION_TEXT, &(live)->log, "a file name", NULL},                                   \
        {"on-leak", OPTION_TEXT, &(live)->on_leak, "a shell command", NULL},                       \
        {"json", OPTION_TEXT, &(live)->json, "a file name, or - for standard output", NULL},       \
        {"output", OPTION_TEXT, &(live)->output, "a file name", NULL},                             \
        {"o", OPTION_TEXT, &(live)->output, "a file name", NULL},                                  \
        {"no-store", OPTION_FLAG, &(live)->no_store, NULL, NULL},                                  \
        {"quiet", OPTION_FLAG, &(live)->quiet, NULL, NULL}, REPORT_OPTIONS(&(live)->view),         \
        FAIL_ON_OPTION(&(live)->fail_on)

/* Samples allocations from the start: *target gets the mean bytes between two samples. */
int live_parse_trace(const char *text, void *target);

#define TRACE_OPTION(target)                                                                       \
    {                                                                                              \
        "trace", OPTION_MAYBE, (target), "a size from 4KB to 1GB, or no value", live_parse_trace   \
    }

/* Shows the run in a browser: a struct live_ui. */
int live_parse_ui(const char *text, void *target);

#define UI_OPTION(ui)                                                                              \
    {                                                                                              \
        "ui", OPTION_MAYBE, (ui), "a port from 1 to 65535, or no value", live_parse_ui             \
    }

/* Prints a command's help: `head`, the options above, `tail`. Returns an exit status. */
int live_print_help(const char *head, const char *tail);

/* Rejects contradictory options and an invalid regular expression. 0, or -EINVAL with a message. */
int live_options_check(const struct live_options *o, const char *command);

/*
 * With --json -, standard output carries only the JSON: from here on, all other output of the
 * command and of tidemark goes to standard error. 0, or -errno with a message.
 */
int live_keep_output(struct live_options *o);

/* Whether a descriptor can show a status line: a terminal that understands escape sequences. */
bool live_has_row(const struct live_options *o, int fd);

/* Which processes of a running job to attach to when looking for holders of its growth. */
enum live_attach {
    LIVE_NO_ATTACH,
    LIVE_NAME_SUSPECTS,   /* attach to no process; announce the command that would */
    LIVE_ATTACH_SUSPECTS, /* attach to a process once it is suspect */
    LIVE_ATTACH_ALL,      /* attach to every trainer at once */
};

/* How long a profile lasts, counted from the first attach. */
struct live_term {
    double seconds;         /* 0: no condition */
    double steps;           /* 0: no condition */
    double seconds_without; /* replaces `steps` if no step comes */
    double seconds_most;    /* upper bound in any case */
};

/* Shows the job in place of the status line, log lines and announcements, which must not be printed
 * while it has the terminal. */
struct live_display {
    void *context;
    int fd; /* readable: call pass() */
    /* Called in every pass of the loop. `w` NULL: the job has ended, and its end is on display.
     * False: the user wants to leave. */
    bool (*pass)(void *context, struct watch *w, double seconds);
    void (*announce)(void *context, const char *text);
    void (*end)(void *context, const struct view *view, double seconds); /* valid until close() */
    void (*close)(void *context); /* gives the terminal back, for the report */
};

/* The job to watch. */
struct live_job {
    struct relay *relay; /* `run`: its command; NULL: processes that already run */
    const pid_t *pids;   /* `watch`: these processes */
    size_t pid_count;
    const char *const *argv; /* its command */
    size_t argc;
    off_t output_at[2]; /* `run`: where the command's output and error begin, if they are files */
    enum live_attach attach;
    double patience;              /* seconds for a process to reach a safe point */
    const struct live_term *term; /* NULL: watch until the job ends */
    const char *rings;            /* `run`: folder for the rings of its processes; NULL: none */
    bool no_inspect;              /* take no censuses */
    unsigned acts;                /* enum wire_act */
    bool no_trace;                /* sample no allocations */
    double trace_bytes;           /* sample them from the start, once in so many; 0: suspects */
    const char *note;             /* a note for the report; NULL: none */
    const struct live_display *display; /* NULL: a status line */
};

/*
 * Watches until the job ends or the user stops it, announces news meanwhile, and reports.
 * *ret_status is the command's wait status under `run`, 0 if an option ended it. Returns an exit
 * status by --fail-on; STATUS_ERROR, with a message: the job could not be watched.
 */
int live_watch(const struct live_options *o, const struct live_job *job, int *ret_status);

#endif
