/* probe/probe/probe.h: what runs inside a watched process. */
#ifndef TIDEMARK_PROBE_H
#define TIDEMARK_PROBE_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * LD_PRELOAD brings libtidemark_probe.so into every process of a job; tidemark.Watcher loads it
 * with dlopen(). It does not link Python: it looks for an interpreter in the process. Preloaded,
 * with TIDEMARK_RUN in the environment, it writes into the ring of the process (wire/wire.h): steps
 * of PyTorch's optimizers, epochs of its DataLoaders, the parts of a dataset that data workers
 * copy, the heap of such workers, and the counters below. It never raises, prints, or keeps an
 * object of the program alive.
 */

/* A counter of the interpreter or of torch; `device`: "cuda:0", or empty. Without `is_judged` it is
 * only displayed. */
typedef void tidemark_probe_emit(void *context, const char *kind, const char *device, int is_count,
                                 int is_judged, double value);

/*
 * Reads torch.allocated, torch.reserved and torch.peak (for every CUDA device in use),
 * torch.pinned, and py.collections. Costs about 20 us per device in use, and nothing if torch is
 * not imported or CUDA is unused. Call it at comparable moments: after a step. The caller holds the
 * GIL.
 */
void tidemark_probe_read(tidemark_probe_emit *emit, void *context);

/* ---- a program that watches itself ---- */

/* The receiver of censuses, and what it wants. */
struct tidemark_probe_listener {
    void *context;
    enum wire_wanted wanted;
    unsigned acts; /* enum wire_act: what to try while searching for holders */
    /* A census is taken as of that time. The step it belongs to is known to whoever counts steps.
     */
    void (*taken)(void *context, uint64_t time);
    /* A number from the census and its time: "py.tensors" of "cuda:0". */
    void (*count)(void *context, uint64_t time, const char *kind, const char *device, bool is_count,
                  bool is_judged, double value);
    /* The report, in the format of wire/census.h. A child that wrote one calls this and exits; with
     * `watches_itself`, the process itself calls it later. */
    void (*report)(void *context, const char *text, size_t len);
    bool watches_itself;
    /* The bytes of the process's shared memory that belong to the probe. */
    void (*shared)(void *context, size_t bytes);
    /* This child works on the report; 0: none does any more. Without `watches_itself`, the child
     * also says so itself. */
    void (*under_way)(void *context, pid_t child);
};

/*
 * The program or its framework made a step. Takes a census if the elapsed time has paid for one.
 * NULL: for the watcher outside, if there is one. Costs some nanoseconds if nothing is due. The
 * caller holds the GIL.
 */
void tidemark_probe_step(const struct tidemark_probe_listener *l);

/* Searches for holders of growth at once, whatever it costs. Without `begin` it only asks about a
 * search under way. 1: a search is under way; 0: none is, and its findings have been reported. */
int tidemark_probe_search(const struct tidemark_probe_listener *l, int begin);

/* ---- attaching to a running process ---- */

/*
 * For a library that was injected into a process not started under tidemark. Opens the ring in that
 * directory (as the process sees it), where the fifo "wake" has a reader. From then on it counts
 * steps of PyTorch's optimizers and takes censuses, as in a process started under tidemark; without
 * steps, it takes them by time. When the fifo loses its reader, the probe detaches: hooks, thread,
 * ring and all memory are gone after Python's main thread has run for at most a second. Then it can
 * be called again.
 *
 * Call it in the main thread with the GIL, in a pending call. 0; -EALREADY: `tidemark run` watches
 * the process, or it watches itself; -EBUSY: another tidemark is attached; -ENOTSUP: the objects of
 * this Python cannot be walked; -ENOSYS: no Python, or one that lacks a required function; -ENOENT:
 * the fifo has no reader; other -errno.
 */
int tidemark_probe_attach(const char *directory);

/* ---- a program's questions about its own objects ---- */

/*
 * The caller holds the GIL throughout. No code of the program runs and no reference is taken. The
 * answer is one text in the format of wire/census.h. 0; -ENOSYS: the objects of this interpreter
 * cannot be walked; -ENOMEM.
 */
typedef void tidemark_probe_take(void *context, const char *text, size_t len);

/* All objects now: every type and every group of tensors. `tracked`: only the objects that the
 * collector tracks, which takes a tenth of the time. */
int tidemark_probe_census(int tracked, tidemark_probe_take *take, void *context);

/*
 * Growth between a beginning and an end; both report a census. A growth has two points, before and
 * after. Holders are searched for new containers and objects. The end frees it, and so does
 * tidemark_probe_growth_drop(), which accepts NULL.
 */
struct tidemark_probe_growth;
int tidemark_probe_growth_begin(tidemark_probe_take *take, void *context,
                                struct tidemark_probe_growth **ret);
int tidemark_probe_growth_end(struct tidemark_probe_growth *g, tidemark_probe_take *take,
                              void *context);
void tidemark_probe_growth_drop(struct tidemark_probe_growth *g);

/* The holders of this object (a PyObject *); the text has holder records only. */
int tidemark_probe_holders(void *object, tidemark_probe_take *take, void *context);

#endif
