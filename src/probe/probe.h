/* probe/probe.h: what runs inside a watched process. */
#ifndef TIDEMARK_PROBE_H
#define TIDEMARK_PROBE_H

/*
 * libtidemark_probe.so comes into every process of a job by LD_PRELOAD, and into a program that
 * uses tidemark.Watcher by dlopen(). It links no Python: the interpreter is found in the process,
 * when there is one. Preloaded, with TIDEMARK_RUN in the environment, it reports the steps of
 * PyTorch's optimizers, the epochs of its DataLoaders and the counters below into the process's
 * ring (wire/wire.h). It never raises, prints, or keeps an object of the program alive.
 */

/* A counter of the interpreter or of torch; `device`: "cuda:0", or empty. Not judged: for the eye.
 */
typedef void tidemark_probe_emit(void *context, const char *kind, const char *device, int is_count,
                                 int is_judged, double value);

/*
 * Reads torch.allocated, torch.reserved and torch.peak (every CUDA device in use), torch.pinned,
 * and py.collections. The caller holds the GIL. About 20 us a device in use, nothing where torch is
 * not imported or CUDA not in use. To be called at moments that compare: after a step.
 */
void tidemark_probe_read(tidemark_probe_emit *emit, void *context);

#endif
