/* probe/batches.h: moments in data workers, which neither step nor print. Private to probe/. */
#ifndef TIDEMARK_PROBE_BATCHES_H
#define TIDEMARK_PROBE_BATCHES_H

#include <stdbool.h>

/* Hooks the beginning of a worker's batches, where torch's loaders have been imported by now. True:
 * there is nothing more to hook. The GIL is held. */
bool batches_hook(void);

/* The process is the child of a fork, and may be such a worker. */
void batches_forget(void);

#endif
