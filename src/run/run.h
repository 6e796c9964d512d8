/* run/run.h: the run file of a watched job: its beginning, its events, its end. */
#ifndef TIDEMARK_RUN_H
#define TIDEMARK_RUN_H

#include "report/report.h"
#include "watch/watch.h"

#include <stddef.h>

/* Shared by all that watch and record: the command line, and the library in the program itself. */

/* A command in one line, and its arguments as a JSON array; secrets redacted. */
void run_add_command(struct buf *out, const char *const *argv, size_t argc);
void run_add_arguments(struct buf *out, const char *const *argv, size_t argc);

/* Begins a file with what the options say about the job; `store` among them is not heeded. The
 * caller owns *ret. -EEXIST and the other errors of store_create(). */
int run_file_create(const char *path, const struct watch_options *options, struct store **ret);

/* News as an event of the file, but for news of the file itself. `store` may be NULL. */
void run_file_add_news(struct store *store, double seconds, enum news_kind kind, const char *text);

/* Adds the final answer, and the view from which `show` makes the report again, and closes the file
 * in any case. -errno: the answer is not in it. */
int run_file_finish(struct store *store, double seconds, const struct view *view);

#endif
