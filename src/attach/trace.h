/* attach/trace.h: stops one thread of the target, lets it do something, and restores it.
 *
 * Runs in a process that does nothing else (see tracer.h), so every wait ends when that process
 * ends. However it ends, the kernel releases the thread, and the thread returns by itself. */
#ifndef TIDEMARK_ATTACH_TRACE_H
#define TIDEMARK_ATTACH_TRACE_H

#include "attach/arch.h"
#include "attach/target.h"

#define TRACE_CAVES 64

/* Unused bytes of a code page, with room for one system call. `owner`: the thread for which a
 * killed tidemark wrote one there, with the `page` it leads to; 0: none. */
struct trace_cave {
    uint64_t address, page;
    pid_t owner;
};

struct trace {
    const struct target *target;
    int memory; /* /proc/PID/mem: writes code despite the page's rights; locked */
    pid_t thread;
    struct arch_state *state; /* its state when it was stopped */
    double stopped_at;
    struct trace_cave caves[TRACE_CAVES];
    unsigned cave_count;
    uint64_t cave;         /* the cave in use; 0: none */
    struct arch_call call; /* the call in it */
    uint8_t before[ARCH_CAVE_LEN];
};

/* Prepares, without stopping anything. -EBUSY: another tidemark is attaching right now; -errno. */
int trace_init(struct trace *x, const struct target *t);

/* Takes control of the thread without stopping it. -EPERM: another program has it; -ESRCH. */
int trace_seize(struct trace *x, pid_t thread);

/* Stops it. -EBUSY: a signal is stopping the process; -ESRCH: it has ended or started another
 * program. On failure it is not stopped. */
int trace_stop(struct trace *x);

/* Whether the thread can be diverted at its current position. Not while it is returning from a
 * call of a killed tidemark; that ends by itself. */
bool trace_is_interruptible(struct trace *x);

/*
 * Whether the thread is in these bytes or may return to them. It may be in a signal handler that
 * interrupted them, so one of their addresses on its stack counts.
 */
bool trace_is_within(const struct trace *x, uint64_t address, uint64_t len);

/* Lets the thread make one system call; its result is in *ret. -ENOSPC: no room for the code. */
int trace_system_call(struct trace *x, const struct arch_call *call, int64_t *ret);

/* After a system call: makes the page at `page` executable and runs it to its mark, `after`. The
 * result of its function is in *ret. -EACCES and the like: the page may not be executed. */
int trace_run_page(struct trace *x, uint64_t page, size_t after, int64_t *ret);

/* Restores everything and lets the thread continue. Returns the seconds it was paused. */
double trace_release_thread(struct trace *x);

#endif
