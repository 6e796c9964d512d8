/* cli/load_run.h: a run file as a source of analyze, compare and check. */
#ifndef TIDEMARK_CLI_LOAD_RUN_H
#define TIDEMARK_CLI_LOAD_RUN_H

#include "cli/load.h"
#include "replay/replay.h"
#include "store/store.h"

/* Opens a run file. -errno, said. The caller frees *ret. */
int load_run_open(const char *path, struct store **ret);

/* Says why a run file that was opened cannot be read: what a call of the store has returned. */
void load_run_explain(const char *path, int code);

/* The view that a run has kept at its end, as it was told then. The caller releases it. -ENODATA:
 * there is none; -EINVAL: it cannot be read. */
int load_run_recall(struct store *store, struct view *ret);

/* What was asked for can be done with a run file. -EINVAL, said. */
int load_run_check(const struct load *l);

/* Judges it: fills l->run. -errno, said. */
int load_run_read(struct load *l);
void load_run_release(struct load *l);

#endif
