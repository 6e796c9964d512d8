/* probe/hook/torch.h: PyTorch inside this process. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOOK_TORCH_H
#define TIDEMARK_PROBE_HOOK_TORCH_H

#include "probe/probe.h"

#include <stdbool.h>

/* Hooks what has been imported by now. True: there is nothing more to hook. The GIL is held. */
bool torch_hook(void);

/* The same without cleanup: for a process that was entered while it ran. */
bool torch_hook_steps(void);

/* Takes the hooks out again. False: not all could be at this moment; they do nothing any more, and
 * it is to be tried again. The GIL is held. */
bool torch_unhook(void);

/* The process is the child of a fork: what was counted is its parent's. */
void torch_forget(void);

#endif
