/* proc/command.h: a command line for people: its words, without its secrets. Pure. */
#ifndef TIDEMARK_PROC_COMMAND_H
#define TIDEMARK_PROC_COMMAND_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

/* One argument after another of a NUL-separated list; start with *next = arguments. NULL: no more.
 * An argument that a NUL does not end is the last (the buffer must be NUL-terminated). */
const char *arguments_next(const char *arguments, size_t len, const char **next);

/* What follows the last '/'. */
const char *base_name(const char *path);

/*
 * Adds `text` with its secrets replaced by ***. `previous` is the argument before it (NULL: none),
 * which may be an option whose value `text` is.
 */
void redact(struct buf *out, const char *text, const char *previous);

#endif
