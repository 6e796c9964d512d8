/* probe/hook/cleanup.h: cleanup that the environment asks for (docs/PYTHON.md). Private to probe/.
 */
#ifndef TIDEMARK_PROBE_HOOK_CLEANUP_H
#define TIDEMARK_PROBE_HOOK_CLEANUP_H

#include "probe/base/python.h"

#define CLEANUP_VARIABLE "TIDEMARK_CLEANUP"

/*
 * Where CLEANUP_VARIABLE is set, the program text of tidemark.Cleanup runs in a namespace of its
 * own and does what it says; elsewhere nothing here does anything. What it frees and takes goes
 * into the ring: cleanup.ACTION.freed and cleanup.ACTION.seconds, totals so far; a value that
 * cannot be understood is told as cleanup.refused, and the job runs unchanged.
 *
 * Every call holds the GIL, with no exception set. It runs Python's code, in which a signal can
 * arrive: false means that an exception is set which is not ours to swallow (KeyboardInterrupt).
 */

/* Prepares torch, as far as it is imported. True: there is nothing more to prepare. */
bool cleanup_hook(void);

/* An optimizer has stepped; `is_counted`: it is a step of the training. */
bool cleanup_stepped(py_object *optimizer, bool is_counted);

/* A loader has given a batch. */
bool cleanup_batch_taken(void);

#endif
