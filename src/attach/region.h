/* attach/region.h: the memory created in the target, and its contents. */
#ifndef TIDEMARK_ATTACH_REGION_H
#define TIDEMARK_ATTACH_REGION_H

#include <stdint.h>

/* One page of code, never writable while it is executable; the data; room for the processor's
 * state; a stack, so that almost nothing goes on the thread's own. */
#define REGION_PAGE 4096u
#define REGION_DATA REGION_PAGE
#define REGION_DATA_LEN (4 * REGION_PAGE)
#define REGION_SAVED (REGION_DATA + REGION_DATA_LEN)
#define REGION_SAVED_LEN (4 * REGION_PAGE)
#define REGION_LEN (REGION_SAVED + REGION_SAVED_LEN + 16 * REGION_PAGE)

enum region_state {
    REGION_QUEUED,
    REGION_STARTED,
    REGION_DONE,     /* `answer` is set */
    REGION_FAILED,   /* `error` is set: the library could not be loaded */
    REGION_CANCELLED /* cancelled before its turn; it did nothing */
};

/*
 * What the call at the bytecode boundary needs and returns. It sets `state` to REGION_STARTED and
 * then reads `cancelled`. The canceller writes `cancelled` and then reads `state`. One of the two
 * therefore always sees the other. The code knows the offsets (arch_*.c).
 */
struct region_data {
    uint64_t nonce;     /* identifies this attach */
    uint32_t state;     /* enum region_state */
    uint32_t cancelled; /* 1: do nothing */
    int32_t own_pid;    /* the process it is meant for, not a child forked meanwhile */
    int32_t answer;
    uint64_t errno_location, dlopen, dlsym, dlerror;
    char error[512];
    char entry[128];
    char library[4096];
    char argument[4096];
};

#endif
