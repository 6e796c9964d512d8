/* attach/inject.h: the call, put into the interpreter's queue; and the traces of it, removed. */
#ifndef TIDEMARK_ATTACH_INJECT_H
#define TIDEMARK_ATTACH_INJECT_H

#include "attach/python.h"
#include "attach/region.h"

/* In memory that is shared with the process that does it. */
struct injection {
    const struct target *target;
    const struct python *python;
    struct region_data data; /* what the call gets */
    uint64_t region;         /* where it lies in the target; 0: not made */
    bool queued;             /* the interpreter has it */
    bool left;               /* and the thread that put it there was let go as it was */
    double stopped, longest_stop;
    unsigned stops;
};

/* Makes a region in the target and queues a call. -errno of attach_load(). */
int inject_queue(struct injection *i);

/* Unmaps the region, once the main thread is seen outside of it. -errno: it stays, as it does when
 * the thread that queued the call was left to find back by itself. */
int inject_clean_up(struct injection *i);

#endif
