/* probe/hook/torch.h: hooks PyTorch in this process. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOOK_TORCH_H
#define TIDEMARK_PROBE_HOOK_TORCH_H

#include "probe/probe.h"

#include <stdbool.h>

/* Hooks the modules imported so far. True: nothing is left to hook. The GIL is held. */
bool torch_hook(void);

/* The same without cleanup: for a process the probe attached to. */
bool torch_hook_steps(void);

/* Removes the hooks. False: not all could be removed now; the rest do nothing, and the caller tries
 * again. The GIL is held. */
bool torch_unhook(void);

/* The process is the child of a fork: the counts are its parent's. */
void torch_forget(void);

#endif
