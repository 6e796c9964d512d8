/* cli/cli.h: what the commands share: names, exit statuses and messages. */
#ifndef TIDEMARK_CLI_H
#define TIDEMARK_CLI_H

#include "base/base.h"

/* cli_worse() picks the one of two to return. */
enum status {
    STATUS_FINE = 0,
    STATUS_ERROR = 1,  /* wrong usage, or a read or write failed */
    STATUS_BROKEN = 3, /* a leak with --fail-on, a broken limit of check, a difference */
    STATUS_OPEN = 4,   /* not enough data */
};

/* A leak outranks a failure, and a failure outranks an open question. */
int cli_worse(int a, int b);

/* Prints one line on standard error, after "tidemark: ". Names and quotes in it may come from
 * outside, so the line is cleaned. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Adds the first line of a text that may come from outside, cleaned, and a line end. */
void cli_add_line(struct buf *out, const char *line);

/*
 * The one of `names` that a mistyped word most likely meant; NULL: none is close enough.
 */
const char *cli_suggest(const char *word, const char *const *names, unsigned count);

/* The commands: argv[0] is the command's name. They return an exit status. */
int cmd_advise(int argc, char **argv);
int cmd_analyze(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_flame(int argc, char **argv);
int cmd_objects(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_tradeoff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

#endif
