/* attach/python.h: the interpreter inside a process: where it lies, which it is, and the moments at
 * which it may be asked for something. Only reads. */
#ifndef TIDEMARK_ATTACH_PYTHON_H
#define TIDEMARK_ATTACH_PYTHON_H

#include "attach/target.h"

struct python {
    char version[32];
    unsigned minor;    /* of Python 3 */
    uint64_t add_call; /* Py_AddPendingCall */
    uint64_t errno_location, dlopen, dlsym, dlerror;
    uint64_t lock; /* what Py_AddPendingCall locks, or a pointer to it; 0: not known */
};

/* -ENOTSUP, -EAGAIN: none that we can get into, with the words in `why`. */
int python_find(const struct target *t, struct python *ret, struct buf *why);

/*
 * Whether the lock that Py_AddPendingCall takes is free: 1 or 0; -ENOTSUP where that is not known.
 * A stopped thread that has it would wait for itself.
 */
int python_lock_is_free(const struct target *t, const struct python *p);

#endif
