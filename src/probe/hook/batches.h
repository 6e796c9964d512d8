/* probe/hook/batches.h: moments in data workers, which neither step nor print. Private to probe/.
 */
#ifndef TIDEMARK_PROBE_HOOK_BATCHES_H
#define TIDEMARK_PROBE_HOOK_BATCHES_H

/* Hooks the beginning of a worker's batches, once. torch's loaders have been imported; one that
 * calls them otherwise has none. The GIL is held. */
void batches_hook(void);

/* The process is the child of a fork, and may be such a worker. */
void batches_forget(void);

#endif
