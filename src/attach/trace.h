/* attach/trace.h: one thread of the target, stopped, made to do something, and let go as it was.
 *
 * For a process of its own that does nothing else (see tracer.h): every wait is bounded by its
 * life, and when it ends, however it ends, the kernel lets the thread go and the thread leads
 * itself back. */
#ifndef TIDEMARK_ATTACH_TRACE_H
#define TIDEMARK_ATTACH_TRACE_H

#include "attach/arch.h"
#include "attach/target.h"

#define TRACE_CAVES 64

/* Unused bytes of a code page, where one system call is put. `owner`: the thread that one of us,
 * who was killed, put one there for, with the `page` it leads to; 0: none. */
struct trace_cave {
    uint64_t address, page;
    pid_t owner;
};

struct trace {
    const struct target *target;
    int memory; /* /proc/PID/mem: writes code, whatever the rights of its page; locked */
    pid_t thread;
    struct arch_state *state; /* as it was when it was stopped */
    double stopped_at;
    struct trace_cave caves[TRACE_CAVES];
    unsigned cave_count;
    uint64_t cave;         /* the one in use; 0 */
    struct arch_call call; /* in it */
    uint8_t before[ARCH_CAVE_LEN];
};

/* Gets ready, stops nothing. -EBUSY: another of us is at it just now; -errno. */
int trace_init(struct trace *x, const struct target *t);

/* Takes the thread under control, without stopping it. -EPERM: another has it; -ESRCH. */
int trace_seize(struct trace *x, pid_t thread);

/* Stops it. -EBUSY: the process is being stopped by a signal; -ESRCH: it ended, or is another
 * program now. On failure it is not stopped. */
int trace_stop(struct trace *x);

/* Whether the thread, where it stands, may be made to do something else for a moment. Not where it
 * is still on its way back from one of us who was killed: it will be out of that by itself. */
bool trace_is_at_ease(struct trace *x);

/*
 * Whether the thread stands in these bytes, or may come back to them: a signal handler that it is
 * in may have interrupted them, so an address of them on its stack counts.
 */
bool trace_is_within(const struct trace *x, uint64_t address, uint64_t len);

/* One system call by the thread: its result in *ret. -ENOSPC: nowhere to put the code. */
int trace_system_call(struct trace *x, const struct arch_call *call, int64_t *ret);

/* After a system call: makes the page at `page` executable and runs it to its mark, `after`; what
 * its function returned in *ret. -EACCES and the like: it may not be executed. */
int trace_run_page(struct trace *x, uint64_t page, size_t after, int64_t *ret);

/* Everything as it was, and the thread goes on. Returns the seconds that it stood still. */
double trace_leave(struct trace *x);

#endif
