/* cli/follow.h: reads a source that still grows. */
#ifndef TIDEMARK_CLI_FOLLOW_H
#define TIDEMARK_CLI_FOLLOW_H

#include "cli/load.h"

/* Prints the answers so far; `last`: no more will come. Negative return: stop. */
typedef int (*follow_printer)(void *context, const struct judgement *j, bool last);

/*
 * Reads the source until SIGINT, SIGTERM or the end of a pipe. Reads a truncated file again from
 * its start. Prints once at a file's present end, whenever the verdict changes, and at the end.
 * -errno, with a message; otherwise the last print has the verdict.
 */
int follow(struct load *l, follow_printer print, void *context);

#endif
