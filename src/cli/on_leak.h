/* cli/on_leak.h: the commands of --on-leak, one for each announced leak. */
#ifndef TIDEMARK_CLI_ON_LEAK_H
#define TIDEMARK_CLI_ON_LEAK_H

#include "view/view.h"

#define ON_LEAK_COMMANDS 16u

/* Initialise with 0. */
struct on_leak {
    pid_t running[ON_LEAK_COMMANDS]; /* 0: none */
};

/* Runs `command` in the shell with the answer's JSON as its input. Prints a message on failure. */
void on_leak_run(struct on_leak *l, const char *command, const struct view *view,
                 const struct view_series *s);

/* Adds one line for each command that ended with an error or by a signal. */
void on_leak_reap(struct on_leak *l, struct buf *out);

#endif
