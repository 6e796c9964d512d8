/* cli/load_run.h: a run file as a source of analyze, compare and check. */
#ifndef TIDEMARK_CLI_LOAD_RUN_H
#define TIDEMARK_CLI_LOAD_RUN_H

#include "cli/load.h"
#include "replay/replay.h"
#include "store/store.h"

/* Opens a run file. -errno, with a message. The caller frees *ret. */
int load_run_open(const char *path, struct store **ret);

/* Prints why an open run file cannot be read; `code` is what a call of the store returned. */
void load_run_explain(const char *path, int code);

/* Restores the final view that a run stored. The caller releases it. -ENODATA: there is none;
 * -EINVAL: it cannot be read. */
int load_run_recall(struct store *store, struct view *ret);

/* Checks that the options apply to a run file. -EINVAL, with a message. */
int load_run_check(const struct load *l);

/* Judges the run file into l->run. -errno, with a message. */
int load_run_read(struct load *l);
void load_run_release(struct load *l);

#endif
