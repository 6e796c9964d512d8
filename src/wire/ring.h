/* wire/ring.h: how a ring lies in memory. Private to wire/; a change is a new WIRE_VERSION. */
#ifndef TIDEMARK_WIRE_RING_H
#define TIDEMARK_WIRE_RING_H

#include "wire/wire.h"

#include <stdatomic.h>
#include <stdlib.h>

#define WIRE_MAGIC UINT64_C(0x314b5249544d5454)
#define WIRE_VERSION 2u
#define WIRE_SLOTS 4096u /* a power of two */

/*
 * A record in the ring. `sequence` tells of record N (from 0): 2N + 1 while it is being written,
 * 2N + 2 when it is. A writer that was overtaken by a whole lap gives its record up, so that no two
 * write into one slot.
 */
struct wire_slot {
    _Atomic uint64_t sequence;
    _Atomic uint64_t time;
    _Atomic uint64_t what;  /* kind, source and name, see wire_pack() */
    _Atomic uint64_t value; /* the bits of a double */
};

struct wire_name_slot {
    _Atomic uint32_t ready;
    struct wire_name name;
};

struct wire_layout {
    _Atomic uint64_t magic;
    uint32_t version, slots;
    int64_t pid;
    uint64_t start;         /* clock ticks since boot */
    _Atomic uint64_t image; /* of the program: another one after exec() */

    _Atomic uint64_t head; /* records written, ever */
    _Atomic uint32_t source;
    _Atomic uint64_t step;    /* bits of a double; NAN: none */
    _Atomic uint64_t wake_at; /* bits of a double */

    /* When the next step is worth telling; the producer's own. */
    _Atomic uint64_t first_told, next_told, told;

    _Atomic uint32_t naming; /* one thread at a time adds a name */
    struct wire_name_slot names[WIRE_NAMES];
    _Alignas(64) struct wire_slot ring[WIRE_SLOTS];
};

struct wire_ring {
    struct wire_layout *layout;
    int host_anon;   /* the number of that counter; negative: none */
    char *directory; /* NULL: memory of this process */
};

static inline uint64_t wire_written(uint64_t number)
{
    return 2 * number + 2;
}

static inline uint64_t wire_pack(enum wire_kind kind, enum wire_source source, unsigned name)
{
    return (uint64_t) kind | (uint64_t) source << 8 | (uint64_t) name << 16;
}

static inline uint64_t wire_bits(double value)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline double wire_double(uint64_t bits)
{
    double value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
}

#endif
