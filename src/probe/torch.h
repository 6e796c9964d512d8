/* probe/torch.h: PyTorch inside this process. Private to probe/. */
#ifndef TIDEMARK_PROBE_TORCH_H
#define TIDEMARK_PROBE_TORCH_H

#include "probe/probe.h"

#include <stdbool.h>

/* Hooks what has been imported by now. True: there is nothing more to hook. The GIL is held. */
bool torch_hook(void);

/* The process is the child of a fork: what was counted is its parent's. */
void torch_forget(void);

#endif
