/*
 * wire/ring.h: the memory layout of a ring. Private to wire/. Any change of it needs a new
 * WIRE_VERSION, and so does a change of what the probe does on attach. By this number a watcher
 * notices that a process has loaded another version's probe. Magic, version and slots never move.
 */
#ifndef TIDEMARK_WIRE_RING_H
#define TIDEMARK_WIRE_RING_H

#include "wire/wire.h"

#include <stdatomic.h>
#include <stdlib.h>

#define WIRE_MAGIC UINT64_C(0x314b5249544d5454)
#define WIRE_VERSION 6u

/*
 * A record in the ring. `sequence` is the progress of record N (from 0) and never decreases: odd
 * while a writer is in the slot, even otherwise. A writer that finds a writer of the previous lap
 * there gives up its own record, so that two never write at once. That is rare, and the reader
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
    _Atomic uint64_t image; /* identifies the program; changes on exec() */

    _Atomic uint64_t head; /* records written so far */
    _Atomic uint32_t source;
    _Atomic uint64_t step;       /* bits of a double; NAN: none */
    _Atomic uint64_t wake_at;    /* bits of a double */
    _Atomic uint32_t wanted;     /* enum wire_wanted, set by the reader */
    _Atomic uint32_t acts;       /* enum wire_act, set by the reader */
    _Atomic uint32_t counting;   /* the process that takes a census of this one; 0: none */
    _Atomic uint64_t own_shared; /* bytes of its shared memory that belong to the probe */
    _Atomic uint32_t left;       /* the probe has detached, see wire_say_left() */

    /* When to report the next step. Only the producer uses these. */
    _Atomic uint64_t first_told, next_told, told;

    _Atomic uint32_t naming; /* one thread at a time adds a name */
    struct wire_name_slot names[WIRE_NAMES];
    _Alignas(64) struct wire_slot ring[WIRE_SLOTS];
    struct wire_phase_slot phases[WIRE_PHASES];
};

#define WIRE_FILE_LENGTH 64u

/* The producer's own state of a phase. */
struct wire_phase_state {
    unsigned depth; /* begun and not ended; 0: the phase is not active */
    uint64_t since;
    bool told;
    double peak;        /* the process's peak resident memory when the phase began */
    uint64_t next_told; /* when to report the next one */
};

struct wire_ring {
    struct wire_layout *layout;
    int host_anon;                       /* number of the counter host.anon; negative: none */
    _Atomic uint64_t telling;            /* ns spent on reporting steps */
    char *directory;                     /* NULL: the ring is private memory */
    char file[WIRE_FILE_LENGTH];         /* the ring, in the directory */
    char census[WIRE_FILE_LENGTH];       /* the census, beside the ring */
    char census_draft[WIRE_FILE_LENGTH]; /* the next census, before it replaces that one */
    struct wire_phase_state phases[WIRE_PHASES];
};

/*
 * place.c, for the producer. After a watch ends, any user may create a directory of the same name.
 * Mapping another user's file could kill this process, because the owner can truncate it. So the
 * directory must be private to this user, and every use by path checks that again. Each function
 * returns a descriptor, or -errno; -EPERM: another user's. None takes a lock or allocates.
 */
int wire_open_place(const char *directory);
/* Opens an existing ring that is safe to map. -EPROTO: it does not have the size of a ring. */
int wire_open_own_ring(int place, const char *name);
/* Opens the reader's fifo; `flags`: O_WRONLY or O_RDWR. */
int wire_open_wake(const char *directory, int flags);

/* producer.c, for trace_file.c. None allocates or takes a lock. */

/* The name of a file of this process in the directory of the job. */
void wire_name_file(char ret[WIRE_FILE_LENGTH], uint64_t start, const char *suffix);

/* producer.c, for phases.c */

void wire_put_anon(struct wire_ring *r, enum wire_kind kind, enum wire_source source, uint64_t now,
                   double value);
void wire_wake(const struct wire_ring *r);

/* How long to rest after work that began at `begin`: `times` its duration, at least `least` and at
 * most 100 ms. */
#define WIRE_REST 1000u /* `times` for 0.1 % of the time */
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
