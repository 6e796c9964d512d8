/* probe/trace/sampling.h: picks allocations and follows them until they are freed. Private to
 * probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_SAMPLING_H
#define TIDEMARK_PROBE_TRACE_SAMPLING_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A thread counts down the bytes it requests. While nothing is sampled, the countdown only leads to
 * a look at the watcher's orders now and then. While the process is armed, each countdown is drawn
 * from an exponential distribution, so that every byte is picked with the same probability.
 *
 * Nothing here allocates with malloc(), waits for a lock, needs the GIL, or changes errno. All of
 * it may be interrupted by a signal whose handler allocates, and by a fork.
 */
struct sampling_thread {
    int64_t left;    /* bytes until the next look or sample */
    double interval; /* that `left` was drawn with; 0: a look at the orders */
    uint64_t random; /* 0: not seeded yet */
    bool is_busy;    /* inside sampling_take() and the like: what it allocates is not sampled */

    uintptr_t stack_low, stack_high;   /* this part of its stack can be read */
    uintptr_t room_low, room_high;     /* from here down to there it can be used: room.h */
    uint64_t paced_since, paced_spent; /* ns; what its samples cost since then */
    double paced_interval;
};

#define SAMPLING_THREAD __thread __attribute__((tls_model("initial-exec"), visibility("hidden")))
extern SAMPLING_THREAD struct sampling_thread sampling_here;

/* Counts an allocation, for one byte more than it has: so many empty ones lead to a look as well.
 * True: call sampling_take() once it is made. */
static inline bool sampling_counts(size_t size)
{
    uint64_t left = (uint64_t) sampling_here.left - (size & INT64_MAX) - 1;
    sampling_here.left = (int64_t) left;
    return __builtin_expect((int64_t) left < 0, 0);
}

/* An allocation for which sampling_counts() was true; `address` NULL: it failed. */
void sampling_take(void *address, size_t size, enum wire_trace_kind kind);

/* ---- frees ---- */

/* How many live samples have an address with that hash. */
#define SAMPLING_FILTER_BITS 18
extern _Atomic uint8_t sampling_filter[1u << SAMPLING_FILTER_BITS]
    __attribute__((visibility("hidden")));
/* False: nothing was sampled yet. */
extern _Atomic bool sampling_is_used __attribute__((visibility("hidden")));

static inline size_t sampling_hash(const void *address)
{
    return (size_t) (((uintptr_t) address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >>
                     (64 - SAMPLING_FILTER_BITS));
}

/* False: the address is no live sample. Nearly always the answer. */
static inline bool sampling_may_have(const void *address)
{
    return __builtin_expect(atomic_load_explicit(&sampling_is_used, memory_order_relaxed), 0) &&
           __builtin_expect(atomic_load_explicit(&sampling_filter[sampling_hash(address)],
                                                 memory_order_relaxed) != 0,
                            0);
}

/* A sample that was taken out of the table; `size` 0: there was none. */
struct sampling_record {
    void *address;
    bool is_mapping;
    struct wire_trace_sample sample;
};

/* Before the memory is freed: forgets it. After a failed realloc() the record is put back. */
void sampling_forget(void *address);
struct sampling_record sampling_remove(void *address);
void sampling_restore(const struct sampling_record *r);

/* Before pages are unmapped: what lies there of sampled mappings. The rest of a mapping stays, with
 * its share of the weight. */
void sampling_forget_range(const void *address, size_t size);

/* sampling_may_have() is true of this address from now on. */
void sampling_watch(const void *address);

/* ---- allocators on top of others ---- */

/* What an allocator takes from the one below while it serves a request is not counted again. Takes
 * no other thread's time: only the countdown is put aside. */
static inline int64_t sampling_pause(void)
{
    int64_t left = sampling_here.left;
    sampling_here.left = INT64_MAX / 2;
    return left;
}

static inline void sampling_resume(int64_t left)
{
    sampling_here.left = left;
}

/* ---- orders ---- */

/* Before any other function: whose orders to follow. `directory`: that of the rings. Opens no file
 * of samples yet. Again, for another directory, only after sampling_end(). */
void sampling_begin(const char *directory, enum wire_trace_coverage coverage);
/* Somebody has undertaken to bring allocations here, or has given up. */
void sampling_set_coverage(enum wire_trace_coverage coverage);
/* CPython's functions are known and its allocators traced; noted for the reader. */
void sampling_set_python(bool is_traced);
/* Looks at the orders now; arms or disarms. Any thread, at any time; some nanoseconds. */
void sampling_look(void);
bool sampling_is_armed(void);
/* The samples stay as they are until the process forks or ends: what is freed from now on is freed
 * because the program ends. */
void sampling_freeze(void);
/* In the child of a fork: the samples are the parent's. Called by itself after fork(); a child that
 * was made otherwise (clone()) samples nothing. */
void sampling_forked(void);
/* Disarms and closes the file. */
void sampling_end(void);

/* malloc() is the C library's own: known where allocations are brought here. */
extern _Atomic bool sampling_heap_is_libcs __attribute__((visibility("hidden")));

/* The program calls functions of this library: WIRE_TRACE_INTERPOSED; another's:
 * WIRE_TRACE_UNDECIDED; or the heap is a sanitizer's. Allocates. */
enum wire_trace_coverage sampling_find_coverage(void);

/*
 * Where that is WIRE_TRACE_UNDECIDED: import tables lead to functions of this library from now on.
 * WIRE_TRACE_UNDECIDED again if that is not possible. Allocates; takes the loader's lock, as the
 * next two do, which hold it for a moment if there is nothing to do.
 */
enum wire_trace_coverage sampling_patch(void);
/* False: another thread may be loading a file, and waiting for a lock that the caller holds, such
 * as the GIL: ask again. */
bool sampling_may_patch(void);
/* Those of files that were loaded meanwhile as well, once sampling_may_patch(). */
void sampling_heed_loaded(void);
/* Puts back all that was changed in import tables. False: not all could be. */
bool sampling_unpatch(void);

#endif
