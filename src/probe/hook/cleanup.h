/* probe/hook/cleanup.h: cleanup requested by the environment (docs/PYTHON.md). Private to probe/.
 */
#ifndef TIDEMARK_PROBE_HOOK_CLEANUP_H
#define TIDEMARK_PROBE_HOOK_CLEANUP_H

#include "probe/base/python.h"

#define CLEANUP_VARIABLE "TIDEMARK_CLEANUP"

/*
 * If CLEANUP_VARIABLE is set, the source of tidemark.Cleanup runs in a namespace of its own;
 * otherwise nothing here does anything. Its totals so far go into the ring: cleanup.ACTION.freed
 * and cleanup.ACTION.seconds. A value that cannot be parsed is reported as cleanup.refused, and the
 * job runs unchanged.
 *
 * Every call holds the GIL, with no exception set. It runs Python code, in which a signal can
 * arrive: false means that an exception is set which must be passed on (KeyboardInterrupt).
 */

/* Prepares the imported parts of torch. True: nothing is left to prepare. */
bool cleanup_hook(void);

/* An optimizer has stepped; `is_counted`: this is a training step. */
bool cleanup_stepped(py_object *optimizer, bool is_counted);

/* A loader has returned a batch. */
bool cleanup_batch_taken(void);

#endif
