/* cli/run_file.h: the run file of a watched job: its name, its beginning, its end. */
#ifndef TIDEMARK_CLI_RUN_FILE_H
#define TIDEMARK_CLI_RUN_FILE_H

#include "cli/live.h"

/* The command in one line, and its arguments as a JSON array; secrets redacted. */
void run_file_add_command(struct buf *out, const struct live_job *job);
void run_file_add_arguments(struct buf *out, const struct live_job *job);

/*
 * Creates it: -o, or NAME-DATE-TIME.tide in the current folder. Where that cannot be done the user
 * is told, and there is none: *ret_store and *ret_path are NULL. The caller owns both.
 */
void run_file_create(const struct live_options *o, const char *command, const char *arguments,
                     struct store **ret_store, char **ret_path);

/* Adds the final answer and closes it. */
void run_file_finish(struct store *store, double seconds, const struct watch_view *view,
                     const char *json);

#endif
