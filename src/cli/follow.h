/* cli/follow.h: a source that still grows. */
#ifndef TIDEMARK_CLI_FOLLOW_H
#define TIDEMARK_CLI_FOLLOW_H

#include "cli/load.h"

/* Prints the answers so far; `last`: nothing more will come. Negative: stop. */
typedef int (*follow_printer)(void *context, const struct judgement *j, bool last);

/*
 * Reads the source until SIGINT, SIGTERM or, for a pipe, its end. A file that is truncated is read
 * from its start. Prints once when a file's present end is reached, whenever the verdict changes,
 * and at the end. -errno, said; what it printed last says the verdict.
 */
int follow(struct load *l, follow_printer print, void *context);

#endif
