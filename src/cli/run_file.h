/* cli/run_file.h: creates the run file of a watched job and picks its name. */
#ifndef TIDEMARK_CLI_RUN_FILE_H
#define TIDEMARK_CLI_RUN_FILE_H

#include "watch/watch.h"

/*
 * Creates the run file at `path`, or as NAME-DATE-TIME.tide in the current folder if that is NULL.
 * On failure it prints a message, and *ret_store and *ret_path are NULL. The caller owns both.
 */
void cli_create_run_file(const char *path, const struct watch_options *options,
                         struct store **ret_store, char **ret_path);

#endif
