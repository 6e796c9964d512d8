/* attach/attach.h: getting a library into a CPython process that already runs, by its pid alone. */
#ifndef TIDEMARK_ATTACH_ATTACH_H
#define TIDEMARK_ATTACH_ATTACH_H

#include "base/base.h"

#include <stdatomic.h>
#include <sys/types.h>

/*
 * One thread of the process is stopped for a moment, and made to ask its interpreter for a call at
 * the next bytecode boundary of the main thread (Py_AddPendingCall). There, with the GIL held and
 * no lock of the C library, the library is loaded and its entry called. Who stops the thread may be
 * killed at any point: every state the process is left in leads back to where it was.
 * docs/ATTACH.md is the whole story. CPython 3.9 to 3.13, x86-64, glibc.
 */
struct attach_options {
    const char *library;  /* as this process sees it */
    const char *entry;    /* int entry(const char *argument): 0 or -errno of its own */
    const char *argument; /* valid for the entry during the call only */
    double seconds;       /* how long to wait for the main thread to get to it */
    /* Set by another thread: give up now. May be NULL. */
    const atomic_bool *is_cancelled;
    /* Told once when it takes longer than a second; may be NULL. */
    void (*waiting)(void *context, const char *what);
    void *context;
};

struct attach_result {
    pid_t pid;
    char python[32];     /* "3.11.2" */
    double stopped;      /* seconds that a thread of it stood still, in all stops together */
    double longest_stop; /* the longest of these, in seconds */
    unsigned stops;
    double waited; /* seconds until the main thread had run it */
    int answer;    /* what the entry returned */
};

/*
 * Loads the library and calls its entry. 0; else -errno and in `why` a sentence or two for people,
 * the reason and the way out:
 * -ESRCH: there is no such process, or it has ended; -EPERM: not allowed; -EBUSY: stopped, or
 * traced by another; -ENOTSUP: not a process this can be done to; -EAGAIN: its interpreter is just
 * starting, or no thread came to a place where this is safe; -ETIMEDOUT: the main thread did not
 * get to it: it will not be done later either; -ECANCELED: the same, on demand; -ELIBBAD: the
 * library could not be loaded there; -EIO: anything else. `ret` is set as far as it is known, in
 * failure too.
 */
int attach_load(pid_t pid, const struct attach_options *o, struct attach_result *ret,
                struct buf *why);

/* Whether attach_load() could be tried, with nothing touched. As above. */
int attach_check(pid_t pid, struct buf *why);

#endif
