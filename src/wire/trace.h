/*
 * wire/trace.h: what the allocation tracer of a process leaves for its watcher: one file of samples
 * beside its ring; and the watcher's orders, one file for the whole job.
 */
#ifndef TIDEMARK_WIRE_TRACE_H
#define TIDEMARK_WIRE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Glossary:
 *   order     the watcher wants a process to sample its allocations, about one every so many bytes
 *   sample    an allocation that was picked. It stands for `weight` bytes: its own, and those of
 *             allocations like it that were not picked
 *   live      a sample that has not been freed
 *   stack     where allocations were made: native frames from the allocator outwards, then the
 *             Python functions of the thread, innermost first
 *   block     memory on a device, or pinned memory of the host, that torch has allocated
 *
 * The tracer maps its file; the reader reads it as a file, at any moment and after any end of the
 * process, and must trust nothing in it. All tables have a fixed size: what does not fit is
 * counted. Writers take no lock. A slot is claimed by exchanging its first word, filled, and
 * published by that word. Any change of the layout needs a new WIRE_TRACE_VERSION.
 */
#define WIRE_TRACE_VERSION 1u

/* ---- orders ---- */

#define WIRE_TRACE_ORDERS_FILE "trace.orders"
#define WIRE_TRACE_ORDERS_MAGIC UINT64_C(0x3173726f454d4954)
#define WIRE_TRACE_ORDERS 255u

/* `pid` 0: every process without an order of its own. `interval`: mean bytes between two samples;
 * 0: do not sample. `blocks`: 1: have torch record where it allocates its blocks. */
struct wire_trace_order {
    _Atomic int64_t pid;
    _Atomic uint64_t start; /* of the process, in ticks since boot; 0: whichever has that pid */
    _Atomic uint64_t interval;
    _Atomic uint64_t blocks;
};

/* The watcher alone writes it. `generation` changes after every change of an order. */
struct wire_trace_orders {
    _Atomic uint64_t magic;
    uint32_t version;
    _Atomic uint32_t generation;
    _Atomic uint32_t count;
    uint32_t unused[3];
    struct wire_trace_order list[WIRE_TRACE_ORDERS];
};

/* ---- samples ---- */

#define WIRE_TRACE_SUFFIX ".trace" /* "PID-START.trace", named like the ring */
#define WIRE_TRACE_MAGIC UINT64_C(0x31636172544d4954)

#define WIRE_TRACE_MODULES 512u
#define WIRE_TRACE_PATH 224u
#define WIRE_TRACE_BUILD_ID 20u
#define WIRE_TRACE_FUNCTIONS 8192u
#define WIRE_TRACE_TEXT (1u << 20)   /* bytes of names */
#define WIRE_TRACE_STACKS 16384u     /* a power of two */
#define WIRE_TRACE_FRAMES (1u << 18) /* words, of all stacks */
#define WIRE_TRACE_DEPTH 128u        /* frames of one stack, native and Python */
#define WIRE_TRACE_WAYS 16u          /* slots of a bucket */
#define WIRE_TRACE_BUCKETS 4096u     /* a power of two */
#define WIRE_TRACE_LIVE (WIRE_TRACE_WAYS * WIRE_TRACE_BUCKETS)
#define WIRE_TRACE_TICK UINT64_C(10000000) /* ns: the unit of births */
#define WIRE_TRACE_TABLES                                                                          \
    (440u << 10) /* bytes of shared memory that such a process has beside it */

/* Who gave the memory. An object of Python's own allocators counts there alone, also where Python
 * took it from malloc(). */
enum wire_trace_kind {
    WIRE_TRACE_MALLOC, /* malloc() and its family, C++ new */
    WIRE_TRACE_PYTHON, /* CPython's allocators for objects and memory */
    WIRE_TRACE_MAPPED, /* mmap(), mremap(), sbrk() by others than those */
    WIRE_TRACE_DEVICE, /* a block on a device */
    WIRE_TRACE_PINNED, /* a block of pinned host memory */
    WIRE_TRACE_KINDS,
};

/* A loaded file. Addresses in frames are offsets from `bias`, as the file's own symbols are. */
struct wire_trace_module {
    _Atomic uint64_t start; /* of its mapping; 0: unused slot */
    uint64_t end, bias;
    uint8_t build_id_length, build_id[WIRE_TRACE_BUILD_ID];
    char path[WIRE_TRACE_PATH]; /* as the process sees it; "": the program itself is not known */
    _Atomic uint32_t ready;
};

/* A Python function: offsets of NUL-terminated texts. */
struct wire_trace_function {
    _Atomic uint64_t key; /* identifies the code object; 0: unused slot */
    uint32_t name, file;  /* 0: not known */
    uint32_t first_line;
    _Atomic uint32_t ready;
};

/*
 * Words of `frames`. A native frame has its module in bits 48 to 62 (WIRE_TRACE_MODULES: unknown,
 * the rest is an absolute address) and the offset of the call in the lower 48 bits. A Python frame
 * has bit 63 set, its function in bits 32 to 62, and its line in the lower 32 bits (0: not known).
 */
#define WIRE_TRACE_PYTHON_FRAME (UINT64_C(1) << 63)
#define WIRE_TRACE_MODULE_SHIFT 48
#define WIRE_TRACE_OFFSET_MASK ((UINT64_C(1) << 48) - 1)
#define WIRE_TRACE_FUNCTION_SHIFT 32

/* All samples with this stack, whether still live or not. */
struct wire_trace_stack {
    _Atomic uint64_t hash; /* of its frames and kind; 0: unused slot */
    uint32_t frames;       /* its first word; the others follow */
    uint16_t depth;
    uint8_t kind;                    /* enum wire_trace_kind */
    uint8_t truncated;               /* there were more frames */
    _Atomic uint64_t samples, bytes; /* sampled so far; and the bytes that they stand for */
    _Atomic uint32_t ready;
    uint32_t device; /* of WIRE_TRACE_DEVICE: its index */
};

/* A live sample, but for its address, which is in `addresses` at the same place. */
struct wire_trace_sample {
    uint64_t size;
    float weight;   /* bytes it stands for, at least `size` */
    uint32_t stack; /* WIRE_TRACE_STACKS: not kept */
    uint32_t birth; /* in WIRE_TRACE_TICK since `began` */
    uint32_t check; /* wire_trace_check(): a torn record does not fit */
};

/* ---- blocks ---- */

/*
 * torch lists the blocks that are in use, and where each was allocated if it was recording then.
 * The tracer has torch record, and from time to time replaces its own list by one of the blocks
 * that were allocated since. It has all of them, and the weight is the size, until they do not fit.
 * Then a block is kept with the probability of a sample with that interval.
 */
#define WIRE_TRACE_BLOCKS 16384u
#define WIRE_TRACE_DEVICES 16u
#define WIRE_TRACE_MEMORIES (WIRE_TRACE_DEVICES + 1) /* the last one is pinned host memory */

enum wire_trace_recording {
    WIRE_TRACE_NOT_RECORDING,
    WIRE_TRACE_RECORDS,
    WIRE_TRACE_RECORDS_PINNED, /* pinned memory of the host as well */
    WIRE_TRACE_OTHERS_RECORD,  /* the program uses torch's recording itself: nothing is done */
    WIRE_TRACE_CANNOT_RECORD,  /* this torch, or its allocator, has no recording */
    WIRE_TRACE_TOO_MANY,       /* so many blocks that a list of them would cost too much */
};

struct wire_trace_block {
    uint64_t size;
    float weight;   /* bytes it stands for, at least `size` */
    uint32_t stack; /* WIRE_TRACE_STACKS: not kept */
    uint32_t birth; /* in WIRE_TRACE_TICK since `began`; at the list that first had it */
    uint32_t unused;
};

/* All blocks in use: as the recording began, and at the last list. */
struct wire_trace_memory {
    uint64_t before, now;
};

struct wire_trace_blocks {
    _Atomic uint32_t version;   /* odd: the list is being replaced; see wire_trace_blocks_begin() */
    _Atomic uint32_t recording; /* enum wire_trace_recording */
    _Atomic uint64_t spent;     /* ns */
    uint64_t armed_at;          /* wire_now() when the recording began; 0: never */
    uint64_t moment;            /* ... and of the list */
    uint64_t interval;          /* 0: all blocks are listed */
    uint64_t lists;             /* since the recording began */
    struct wire_trace_memory memories[WIRE_TRACE_MEMORIES];
    uint64_t count;
    struct wire_trace_block list[WIRE_TRACE_BLOCKS];
    _Atomic uint32_t same_version;
};

struct wire_trace_layout {
    _Atomic uint64_t magic; /* written last */
    uint32_t version;
    int32_t pid;
    uint64_t start; /* of the process */
    uint64_t began; /* wire_now() when this file began; births count from here */

    _Atomic uint32_t armed;      /* samples now */
    _Atomic uint32_t generation; /* of the orders it follows */
    _Atomic uint64_t armed_at;   /* wire_now(), the first time */
    _Atomic uint64_t interval;   /* as in force: longer than ordered while samples cost too much */
    _Atomic uint64_t moment;     /* wire_now() of the last sample or check of the orders */
    _Atomic uint64_t spent;      /* ns in sampling, all threads */

    _Atomic uint64_t samples;       /* taken */
    _Atomic uint64_t live;          /* in the table now */
    _Atomic uint64_t dropped;       /* samples without room in the table; ... */
    _Atomic uint64_t dropped_bytes; /* ... what they stood for */
    _Atomic uint64_t stackless;     /* samples whose stack had no room */
    _Atomic uint64_t lost_frees;    /* frees that could not be noted */
    _Atomic uint64_t thinned;       /* how often the interval grew, and live samples were thinned */
    _Atomic uint32_t is_native;     /* native stacks can be unwound */
    _Atomic uint32_t is_python;     /* Python functions are known, and its allocators are traced */
    _Atomic uint32_t coverage;      /* enum wire_trace_coverage */
    _Atomic uint32_t is_frozen; /* since `moment`: the program has ended, and frees what it has */
    _Atomic uint32_t module_count, text_used, frames_used;
    _Atomic uint32_t is_glibc_heap; /* malloc() is the C library's, whose blocks are larger */

    _Alignas(4096) struct wire_trace_module modules[WIRE_TRACE_MODULES];
    struct wire_trace_function functions[WIRE_TRACE_FUNCTIONS];
    char text[WIRE_TRACE_TEXT]; /* offset 0 is unused */
    struct wire_trace_stack stacks[WIRE_TRACE_STACKS];
    uint64_t frames[WIRE_TRACE_FRAMES];
    _Alignas(4096) _Atomic uint64_t addresses[WIRE_TRACE_LIVE]; /* 0: unused slot */
    struct wire_trace_sample live_samples[WIRE_TRACE_LIVE];
    _Alignas(4096) struct wire_trace_blocks blocks;
};

/* How allocations come to the tracer. */
enum wire_trace_coverage {
    WIRE_TRACE_UNDECIDED,
    WIRE_TRACE_INTERPOSED, /* the program calls the tracer's functions: LD_PRELOAD */
    WIRE_TRACE_PATCHED,    /* through the import tables of the loaded files */
    WIRE_TRACE_STAYS_OUT,  /* a sanitizer owns the heap, or the C library is not glibc */
};

static inline uint32_t wire_trace_check(uint64_t address, const struct wire_trace_sample *s)
{
    uint64_t mixed = address ^ (s->size * UINT64_C(0x9e3779b97f4a7c15)) ^
                     ((uint64_t) s->stack << 32 | s->birth) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t) (mixed ^ mixed >> 32);
}

/*
 * Around the replacement of the list. A reader copies from the first word to the last: the list is
 * whole if `version` was even, and `same_version` still the same. So the last word changes first.
 */
static inline void wire_trace_blocks_begin(struct wire_trace_blocks *b)
{
    uint32_t version = atomic_load(&b->version);
    atomic_store(&b->same_version, version + 1);
    atomic_store(&b->version, version + 1);
    atomic_thread_fence(memory_order_seq_cst);
}

static inline void wire_trace_blocks_end(struct wire_trace_blocks *b)
{
    uint32_t version = atomic_load(&b->version);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store(&b->same_version, version + 1);
    atomic_store(&b->version, version + 1);
}

/* ---- the process's side ---- */

/* They allocate nothing, take no lock, and serve a directory that is private to this user alone
 * (-EPERM). */

/* Makes the orders for a directory: none yet. The descriptor is for the writer, who belongs to the
 * directory's user, or is root and gives that user the file; -errno. */
int wire_trace_orders_create(int directory);
/* The same of orders that this user has made in a directory of the same user, where there are some.
 */
int wire_trace_orders_reopen(int directory);
/* Maps the orders, for ever. -ENOENT: there are none yet; -EPROTO: another version's. */
int wire_trace_orders_open(const char *directory, const struct wire_trace_orders **ret);
/* The orders there are nobody's any more: their writer has ended, however. Changes errno. */
bool wire_trace_is_abandoned(const char *directory);
uint64_t wire_own_start(void); /* of this process, in clock ticks since boot; 0: not known */

/*
 * Makes the file of this process and maps it. All of its space is allocated, so that no write can
 * fail. A file that the process's former program left (before exec()) is replaced. -ENOSPC: half of
 * the file system would be in use; -EFBIG: a limit of this process; other -errno.
 */
int wire_trace_create(const char *directory, uint64_t start, struct wire_trace_layout **ret);

/* The bytes that a sample of `size` bytes stands for, where each byte is picked once in `interval`;
 * an allocation counts for one byte more than it has, so that empty ones count too. Unbiased for
 * each sample: summing first would not be. */
double wire_trace_weight(uint64_t size, double interval);

/* The memory that an allocator takes for a block of that size: for a node of a list, twice what was
 * requested. Other allocators than glibc's are taken to need no more than the size. */
uint64_t wire_trace_taken(uint64_t size, enum wire_trace_kind kind, bool is_glibc_heap);

#endif
