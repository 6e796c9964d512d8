/* stat/pyramid.h: a series at every scale, in bounded memory. Pure. */
#ifndef TIDEMARK_STAT_PYRAMID_H
#define TIDEMARK_STAT_PYRAMID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stretch of the series: its position, mean and minimum. */
struct block {
    double at, mean, min;
};

#define PYRAMID_RING 32

/*
 * Level 0 holds the last PYRAMID_RING base blocks, level k the last PYRAMID_RING blocks of 2^k
 * base blocks each. History beyond the last level is dropped. A level is allocated when its first
 * block is complete, so a short series needs only one ring.
 */
struct pyramid_level {
    struct block ring[PYRAMID_RING];
    struct block half; /* first of the pair that will form a block of the next level */
    bool has_half;
    uint64_t completed; /* blocks ever added */
};

struct pyramid {
    struct pyramid_level **levels;
    unsigned count, max_levels;
};

void pyramid_init(struct pyramid *p, unsigned max_levels);
void pyramid_release(struct pyramid *p);

/* Drops all blocks; keeps only the storage of level 0. */
void pyramid_clear(struct pyramid *p);

/* Adds a base block. *ret_completed: how many levels, from 0 up, got a new block. -ENOMEM. */
int pyramid_add(struct pyramid *p, struct block b, unsigned *ret_completed);

/* Marks a gap, which no block may bridge. */
void pyramid_cut(struct pyramid *p);

/* The blocks of a level, oldest first; returns how many. */
size_t pyramid_blocks(const struct pyramid *p, unsigned level,
                      struct block ret_blocks[PYRAMID_RING]);

/* How many blocks the level holds now. */
size_t pyramid_held(const struct pyramid *p, unsigned level);

/* The block `back` places before the newest (0: the newest). It must be held. */
const struct block *pyramid_recent(const struct pyramid *p, unsigned level, size_t back);

size_t pyramid_bytes(const struct pyramid *p);

#endif
