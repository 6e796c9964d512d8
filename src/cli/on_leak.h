/* cli/on_leak.h: the commands of --on-leak, one for each leak that is announced. */
#ifndef TIDEMARK_CLI_ON_LEAK_H
#define TIDEMARK_CLI_ON_LEAK_H

#include "view/view.h"

#define ON_LEAK_COMMANDS 16u

/* All 0 at first. */
struct on_leak {
    pid_t running[ON_LEAK_COMMANDS]; /* 0: none */
};

/* Runs `command` in the shell, with the answer's JSON as its input. What goes wrong is said. */
void on_leak_run(struct on_leak *l, const char *command, const struct view *view,
                 const struct view_series *s);

/* What is to be said of those that have ended, a line each: nothing of those that did well. */
void on_leak_reap(struct on_leak *l, struct buf *out);

#endif
