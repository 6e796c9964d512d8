/* attach/python.h: the interpreter inside a process: its location, its version, and the moments
 * when it accepts a call. Reads only. */
#ifndef TIDEMARK_ATTACH_PYTHON_H
#define TIDEMARK_ATTACH_PYTHON_H

#include "attach/target.h"

struct python {
    char version[32];
    unsigned minor;    /* of Python 3 */
    uint64_t add_call; /* Py_AddPendingCall */
    uint64_t errno_location, dlopen, dlsym, dlerror;
    uint64_t lock; /* the lock of Py_AddPendingCall, or a pointer to it; 0: not known */
};

/* -ENOTSUP, -EAGAIN: no interpreter that we can attach to, with the reason in `why`. */
int python_find(const struct target *t, struct python *ret, struct buf *why);

/*
 * Whether the lock that Py_AddPendingCall takes is free: 1 or 0; -ENOTSUP: not known. A stopped
 * thread that holds it would deadlock with itself.
 */
int python_lock_is_free(const struct target *t, const struct python *p);

#endif
