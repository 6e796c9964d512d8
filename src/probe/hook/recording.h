/* probe/hook/recording.h: has torch record where it allocates memory on devices, and pinned memory
 * of the host. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOOK_RECORDING_H
#define TIDEMARK_PROBE_HOOK_RECORDING_H

#include "probe/base/python.h"

#include <stdbool.h>

/*
 * While the watcher wants the process's blocks (probe/trace/blocks.h), torch's recording is on,
 * with Python stacks and no history of what was freed. Now and then torch's list of blocks is read,
 * in pieces, so that all of it takes less than 0.5 % of the time. These functions of torch are
 * private and differ between versions: whatever they refuse ends the recording and nothing else.
 *
 * If the program uses torch's recording itself, or begins to, nothing is touched.
 */

/* At a step, a batch or a line of the program's. The GIL is held. Keeps a current exception. */
void recording_moment(void);

/* The hooks are taken out: switches the recording off. The GIL is held. */
void recording_end(void);

/* The process is the child of a fork: the recording is its parent's. */
void recording_forget(void);

/* Never initialize CUDA for a program that does not use it. The child of a fork has none either:
 * torch's counters are the parent's, and a thread that no longer exists may hold their lock.
 * `core`: torch._C. */
bool cuda_is_in_use(py_object *core);

#endif
