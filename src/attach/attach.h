/* attach/attach.h: loads a library into a running CPython process, given only its pid. */
#ifndef TIDEMARK_ATTACH_ATTACH_H
#define TIDEMARK_ATTACH_ATTACH_H

#include "base/base.h"

#include <stdatomic.h>
#include <sys/types.h>

/*
 * attach_load() stops one thread of the process for a moment and queues a call that the main thread
 * makes at its next bytecode boundary (Py_AddPendingCall). There, with the GIL held and no lock of
 * the C library, the library is loaded and its entry called. The tracer may be killed at any point:
 * whatever state it leaves the process in, the process resumes where it was. docs/ATTACH.md
 * explains it in full. CPython 3.9 to 3.13, x86-64, glibc.
 */
struct attach_options {
    const char *library;  /* in this process's view */
    const char *entry;    /* int entry(const char *argument): 0 or -errno of its own */
    const char *argument; /* the entry may use it during the call only */
    double seconds;       /* how long to wait until the main thread runs it */
    /* Set by another thread: give up now. May be NULL. */
    const atomic_bool *is_cancelled;
    /* Called once if it takes longer than a second; may be NULL. */
    void (*waiting)(void *context, const char *what);
    void *context;
};

struct attach_result {
    pid_t pid;
    char python[32];     /* "3.11.2" */
    double stopped;      /* seconds that its threads were paused, all stops together */
    double longest_stop; /* the longest pause, in seconds */
    unsigned stops;
    double waited; /* seconds until the main thread had run the call */
    int answer;    /* the entry's return value */
};

/*
 * Loads the library and calls its entry. Returns 0; else -errno, and in `why` a sentence or two
 * with the reason and the way around it:
 * -ESRCH: no such process, or it has ended; -EPERM: not allowed; -EBUSY: stopped, or traced by
 * another; -ENOTSUP: a process that cannot be attached to; -EAGAIN: its interpreter is still
 * starting, or no thread reached a safe point; -ETIMEDOUT: the main thread did not run the call,
 * and will not run it later; -ECANCELED: the same, on demand; -ELIBBAD: the library cannot be
 * loaded there; -EIO: anything else. `ret` is set as far as it is known, even on failure.
 */
int attach_load(pid_t pid, const struct attach_options *o, struct attach_result *ret,
                struct buf *why);

/* Whether attach_load() could be tried; touches nothing. Returns as above. */
int attach_check(pid_t pid, struct buf *why);

#endif
