/* cli/signals.h: signals that are read, not delivered. */
#ifndef TIDEMARK_CLI_SIGNALS_H
#define TIDEMARK_CLI_SIGNALS_H

#include <stdbool.h>

/*
 * From here on signals that end a program, and those of children, are read from the descriptor that
 * it returns; -1, with errno: it cannot be. `has_command`: signals that were ignored at the start
 * are the command's to ignore; otherwise they stay ignored.
 */
int signals_catch(bool has_command);

#endif
