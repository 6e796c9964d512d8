/* cli/run_file.h: the run file of a watched job: what it is called. */
#ifndef TIDEMARK_CLI_RUN_FILE_H
#define TIDEMARK_CLI_RUN_FILE_H

#include "watch/watch.h"

/*
 * Creates it: at `path`, or where that is NULL as NAME-DATE-TIME.tide in the current folder. Where
 * that cannot be done the user is told, and there is none: *ret_store and *ret_path are NULL. The
 * caller owns both.
 */
void cli_create_run_file(const char *path, const struct watch_options *options,
                         struct store **ret_store, char **ret_path);

#endif
