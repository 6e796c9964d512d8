/* probe/hook/batches.h: moments for data workers, which make no steps and print nothing. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_HOOK_BATCHES_H
#define TIDEMARK_PROBE_HOOK_BATCHES_H

/* Hooks the beginning of a worker's batches, once, after torch's loaders have been imported. A
 * torch with other names for its fetchers is not hooked. The GIL is held. */
void batches_hook(void);

/* The process is the child of a fork, and may be a worker. */
void batches_forget(void);

#endif
