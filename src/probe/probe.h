/* probe/probe/probe.h: what runs inside a watched process. */
#ifndef TIDEMARK_PROBE_H
#define TIDEMARK_PROBE_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * libtidemark_probe.so comes into every process of a job by LD_PRELOAD, and into a program that
 * uses tidemark.Watcher by dlopen(). It links no Python: the interpreter is found in the process,
 * when there is one. Preloaded, with TIDEMARK_RUN in the environment, it reports the steps of
 * PyTorch's optimizers, the epochs of its DataLoaders, what data workers copy of a dataset, the
 * heap of such workers and the counters below into the process's ring (wire/wire.h). It never
 * raises, prints, or keeps an object of the program alive.
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

/* ---- a program that watches itself ---- */

/* Who wants to know what the process holds, and where it goes. */
struct tidemark_probe_listener {
    void *context;
    enum wire_wanted wanted;
    unsigned acts; /* enum wire_act: to be tried out while holders are looked for */
    /* One is taken as of that time: which step that is, whoever counts them can tell. */
    void (*taken)(void *context, uint64_t time);
    /* A number that a census has found, and when: "py.tensors" of "cuda:0". */
    void (*count)(void *context, uint64_t time, const char *kind, const char *device, bool is_count,
                  bool is_judged, double value);
    /* The report, as wire/census.h describes it. A child that has made one calls it too, and ends;
     * where it is `watches_itself`, it is the process itself instead, at a later moment. */
    void (*report)(void *context, const char *text, size_t len);
    bool watches_itself;
    /* So much of the process's shared memory is ours. */
    void (*shared)(void *context, size_t bytes);
    /* A child works on the report; 0: no more, which the child says too unless it is
     * `watches_itself`. */
    void (*under_way)(void *context, pid_t child);
};

/*
 * A step has been made, by the word of the program or its framework: what the process holds is
 * counted where the time that has gone by has paid for it. NULL: for the watcher outside, if there
 * is one. The caller holds the GIL. Some nanoseconds where nothing is due.
 */
void tidemark_probe_step(const struct tidemark_probe_listener *l);

/* Who holds what has grown is looked for at once, whatever it costs; unless `begin`, only what is
 * under way is asked for. 1: it is under way; 0: it is not, and what was found has been told. */
int tidemark_probe_search(const struct tidemark_probe_listener *l, int begin);

/* ---- a process that is entered while it runs ---- */

/*
 * For whoever has brought the library into a process that was not started under tidemark: opens its
 * ring in that directory, as the process sees it, where the fifo "wake" has a reader, hears the
 * steps of PyTorch's optimizers, and takes censuses as it would have from the start; where no steps
 * come, by time. When the fifo has no reader any more, everything is taken out again within a
 * second of Python's main thread running: the hooks, the thread, the ring, all memory. It can be
 * called again then.
 *
 * Called in the main thread with the GIL, in a pending call. 0; -EALREADY: the process is watched
 * by `tidemark run`, or watches itself; -EBUSY: somebody else has entered it; -ENOTSUP: the objects
 * of this Python cannot be walked; -ENOSYS: there is no Python, or one that lacks what is needed;
 * -ENOENT: there is nobody to tell; other -errno.
 */
int tidemark_probe_attach(const char *directory);

/* ---- what a program asks about its own objects ---- */

/*
 * The caller holds the GIL throughout. No code of the program runs, no reference is taken; what is
 * found is handed over as text, once, as wire/census.h describes it. 0; -ENOSYS: the objects of
 * this interpreter cannot be walked; -ENOMEM.
 */
typedef void tidemark_probe_take(void *context, const char *text, size_t len);

/* What there is now: every type, every group of tensors. `tracked`: only what the collector tracks,
 * which takes a tenth of the time. */
int tidemark_probe_census(int tracked, tidemark_probe_take *take, void *context);

/*
 * What came between a beginning and its end; both tell what there is. Points are two, before and
 * after; containers and objects that came are followed back to who holds them. The end frees it,
 * and so does tidemark_probe_growth_drop(), which accepts NULL.
 */
struct tidemark_probe_growth;
int tidemark_probe_growth_begin(tidemark_probe_take *take, void *context,
                                struct tidemark_probe_growth **ret);
int tidemark_probe_growth_end(struct tidemark_probe_growth *g, tidemark_probe_take *take,
                              void *context);
void tidemark_probe_growth_drop(struct tidemark_probe_growth *g);

/* Who holds this object (a PyObject *): records of holders alone. */
int tidemark_probe_holders(void *object, tidemark_probe_take *take, void *context);

#endif
