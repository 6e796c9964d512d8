/* attach/region.h: the memory that is made in the target, and what lies in it. */
#ifndef TIDEMARK_ATTACH_REGION_H
#define TIDEMARK_ATTACH_REGION_H

#include <stdint.h>

/* One page of code, which is never writable while it is executable; the data; room for the state of
 * the processor; a stack, so that next to nothing is put on the thread's own. */
#define REGION_PAGE 4096u
#define REGION_DATA REGION_PAGE
#define REGION_DATA_LEN (4 * REGION_PAGE)
#define REGION_SAVED (REGION_DATA + REGION_DATA_LEN)
#define REGION_SAVED_LEN (4 * REGION_PAGE)
#define REGION_LEN (REGION_SAVED + REGION_SAVED_LEN + 16 * REGION_PAGE)

enum region_state {
    REGION_QUEUED,
    REGION_STARTED,
    REGION_DONE,     /* `answer` is there */
    REGION_FAILED,   /* `error` is there: the library could not be loaded */
    REGION_CANCELLED /* it came too late, and did nothing */
};

/*
 * What the call at the bytecode boundary needs and leaves. It sets `state` to REGION_STARTED, and
 * then looks at `cancelled`; who cancels writes first and then looks at `state`: so one of both
 * always sees the other. The code knows the offsets (arch_*.c).
 */
struct region_data {
    uint64_t nonce;     /* this attach, and no other */
    uint32_t state;     /* enum region_state */
    uint32_t cancelled; /* 1: do nothing */
    int32_t own_pid;    /* whom it is meant for: a child that was forked meanwhile is not */
    int32_t answer;
    uint64_t errno_location, dlopen, dlsym, dlerror;
    char error[512];
    char entry[128];
    char library[4096];
    char argument[4096];
};

#endif
