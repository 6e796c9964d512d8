/* attach/inject.h: queues a call in the interpreter, and removes what that left behind. */
#ifndef TIDEMARK_ATTACH_INJECT_H
#define TIDEMARK_ATTACH_INJECT_H

#include "attach/python.h"
#include "attach/region.h"

/* Lives in memory that is shared with the tracing process. */
struct injection {
    const struct target *target;
    const struct python *python;
    struct region_data data; /* the call's input and result */
    uint64_t region;         /* its address in the target; 0: not created */
    bool queued;             /* the interpreter has queued it */
    bool left;               /* and the thread that queued it has resumed as it was */
    double stopped, longest_stop;
    unsigned stops;
};

/* Creates a region in the target and queues a call. -errno of attach_load(). */
int inject_queue(struct injection *i);

/* Unmaps the region once the main thread is outside it. -errno: the region stays, as it does when
 * the queueing thread was left to return by itself. */
int inject_clean_up(struct injection *i);

#endif
