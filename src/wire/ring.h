/*
 * wire/ring.h: how a ring lies in memory. Private to wire/. A change of it is a new WIRE_VERSION,
 * and so is one of what the probe does when it is entered: by this number a watcher notices that a
 * process has the probe of another version loaded. Magic, version and slots stay where they are.
 */
#ifndef TIDEMARK_WIRE_RING_H
#define TIDEMARK_WIRE_RING_H

#include "wire/wire.h"

#include <stdatomic.h>
#include <stdlib.h>

#define WIRE_MAGIC UINT64_C(0x314b5249544d5454)
#define WIRE_VERSION 6u

/*
 * A record in the ring. `sequence` tells how far record N (from 0) is, and only ever grows: odd
 * while somebody writes into the slot, even when nobody does. A writer that finds one of the last
 * lap there gives its own record up, so that no two write at once; that is rare, and the reader
 * counts the record as lost.
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

struct wire_phase_slot {
    _Atomic uint32_t ready;
    char name[WIRE_NAME_LENGTH];
    _Atomic uint64_t begun, ended, nanoseconds;
};

struct wire_layout {
    _Atomic uint64_t magic;
    uint32_t version, slots;
    int64_t pid;
    uint64_t start;         /* clock ticks since boot */
    _Atomic uint64_t image; /* of the program: another one after exec() */

    _Atomic uint64_t head; /* records written, ever */
    _Atomic uint32_t source;
    _Atomic uint64_t step;       /* bits of a double; NAN: none */
    _Atomic uint64_t wake_at;    /* bits of a double */
    _Atomic uint32_t wanted;     /* enum wire_wanted, by the reader */
    _Atomic uint32_t acts;       /* enum wire_act, by the reader */
    _Atomic uint32_t counting;   /* the process that makes a census for this one; 0: none */
    _Atomic uint64_t own_shared; /* bytes of the process's shared memory that are the probe's */
    _Atomic uint32_t left;       /* who was entered for a time has taken everything out again */

    /* When the next step is worth telling; the producer's own. */
    _Atomic uint64_t first_told, next_told, told;

    _Atomic uint32_t naming; /* one thread at a time adds a name */
    struct wire_name_slot names[WIRE_NAMES];
    _Alignas(64) struct wire_slot ring[WIRE_SLOTS];
    struct wire_phase_slot phases[WIRE_PHASES];
};

#define WIRE_FILE_LENGTH 64u

/* A phase as its producer knows it. */
struct wire_phase_state {
    unsigned depth; /* so many have begun and not ended; 0: it is not in it */
    uint64_t since;
    bool told;
    double peak;        /* the most resident memory there ever was, when it began */
    uint64_t next_told; /* when the next is worth telling */
};

struct wire_ring {
    struct wire_layout *layout;
    int host_anon;                       /* the number of that counter; negative: none */
    _Atomic uint64_t telling;            /* steps has taken so many ns */
    char *directory;                     /* NULL: memory of this process */
    char file[WIRE_FILE_LENGTH];         /* in it */
    char census[WIRE_FILE_LENGTH];       /* beside it */
    char census_draft[WIRE_FILE_LENGTH]; /* the next one, before it takes its place */
    struct wire_phase_state phases[WIRE_PHASES];
};

/*
 * place.c, for the producer. When a watch has ended, anybody may make a directory of its name, and
 * to map somebody else's file would be deadly: he can cut it. So the directory must be this user's
 * and nobody else's, and is never used again by its path without that check. A descriptor, or
 * -errno; -EPERM: somebody else's. They take no lock and no memory.
 */
int wire_open_place(const char *directory);
/* One that is there. It can be mapped: -EPROTO where it has not the size of a ring. */
int wire_open_own_ring(int place, const char *name);
/* The fifo of the reader; `flags`: O_WRONLY or O_RDWR. */
int wire_open_wake(const char *directory, int flags);

/* producer.c, for phases.c */

void wire_put_anon(struct wire_ring *r, enum wire_kind kind, enum wire_source source, uint64_t now,
                   double value);
void wire_wake(const struct wire_ring *r);

/* How long to rest after what began at `begin`: so many times what it took, but not too long. */
#define WIRE_REST 1000u /* for 0.1 % of the time */
uint64_t wire_rest(uint64_t times, uint64_t begin, uint64_t least);

static inline uint64_t wire_writing(uint64_t number)
{
    return 2 * number + 1;
}

static inline uint64_t wire_written(uint64_t number)
{
    return 2 * number + 2;
}

static inline uint64_t wire_given_up(uint64_t number)
{
    return 2 * number + 3;
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
