/* sites/looks.h: what looks at a trace file leave behind. Private to sites. */
#ifndef TIDEMARK_SITES_LOOKS_H
#define TIDEMARK_SITES_LOOKS_H

#include "sites/sites.h"
#include "wire/wire.h"

#include <math.h>

/* One look, of all stacks. */
struct look_moment {
    double seconds, interval;
};

/* What one stack kept at each moment. Only a stack that was seen has a row, of 776 bytes. */
struct look_row {
    uint64_t hash; /* of the stack */
    float bytes[SITE_POINTS], variance[SITE_POINTS], allocated[SITE_POINTS];
};

/* A sample that was live at the last look. */
struct look_sample {
    double birth;         /* second of the run */
    uint64_t size, taken; /* as requested, and as the allocator takes for it */
    float weight;
    uint32_t row;
};

/* The row of samples whose stack is not known. */
#define LOOK_STACKLESS WIRE_TRACE_STACKS
#define LOOK_ROWS (WIRE_TRACE_STACKS + 1)

/* What names the stacks, copied from the last file. Indices into it are checked at every use. */
struct look_tables {
    struct wire_trace_module *modules;
    struct wire_trace_function *functions;
    struct wire_trace_stack *stacks;
    uint64_t *frames;
    char *text; /* ends with a NUL */
    size_t frame_count, text_size;
};

/* The blocks in use in one memory. */
struct look_memory {
    double armed, seconds; /* NAN: no list yet */
    double growth, interval;
};

struct site_looks {
    uint64_t began, start;                   /* of the file: others begin anew */
    double armed;                            /* NAN: nothing was sampled yet */
    struct look_moment moments[SITE_POINTS]; /* the last one is the last look */
    unsigned moment_count;
    uint64_t looks, stride; /* all moments but the last are at multiples of `stride` looks */
    struct look_row *rows[LOOK_ROWS];
    struct look_sample *live; /* WIRE_TRACE_LIVE of them */
    size_t live_count;
    struct look_sample *blocks; /* WIRE_TRACE_BLOCKS of them */
    size_t block_count;
    struct look_memory memories[WIRE_TRACE_MEMORIES];
    struct look_tables tables;
    struct {
        double samples, dropped, dropped_bytes, stackless, lost_frees, spent_seconds,
            blocks_spent_seconds;
        bool has_native, has_python;
    } counts;
};

/* The frames of a stack, innermost first; at most `most`, at most WIRE_TRACE_DEPTH; 0: not known.
 */
size_t look_frames(const struct look_tables *t, uint32_t stack, const uint64_t **ret);

/* Its stack is of that kind; LOOK_STACKLESS is of malloc()'s. */
enum wire_trace_kind look_kind(const struct look_tables *t, uint32_t row);

static inline bool look_kind_is_apart(enum wire_trace_kind kind)
{
    return kind == WIRE_TRACE_DEVICE || kind == WIRE_TRACE_PINNED;
}

/* The memory that a sample stands for, of which `weight` was requested. */
static inline double look_bytes(const struct look_sample *s)
{
    return (double) s->weight * ((double) s->taken / fmax(1, (double) s->size));
}

/* The variance that a sample of `size` bytes and weight `weight` adds to a sum. */
static inline double look_variance(uint64_t size, double weight)
{
    double excess = weight - (double) size;
    /* Weights are floats: the rounding of a large one is no excess. */
    return excess > 0x1p-23 * weight ? weight * excess : 0;
}

#endif
