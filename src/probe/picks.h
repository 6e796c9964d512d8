/* probe/picks.h: which of many places are looked at. Private to probe/. No I/O, no clock. */
#ifndef TIDEMARK_PROBE_PICKS_H
#define TIDEMARK_PROBE_PICKS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A sample of the places 0 to count - 1. Blocks of neighbours lie at equal distances on a circle
 * that is turned at random, so every place is equally likely and none is taken twice. Neighbours
 * stay together because they share objects: what two of them hold is met twice, as it should be.
 * The places at both ends of a block are its margin. They are visited for their references, and
 * are no part of the sample: what they share with a place outside cannot be judged.
 */
struct picks {
    size_t count;          /* of all places */
    size_t blocks, length; /* so many blocks of so many places */
    size_t margin;         /* places at each end of a block */
    size_t first;          /* the beginning of the first block */
};

/* All places where there are no more than `most`. `turn`: at random, 0 or more and below 1.
 * `most` is not 0. */
struct picks picks_choose(size_t count, size_t most, double turn);

/* Places that are visited, and those of them that are the sample. */
size_t picks_visited(const struct picks *p);
size_t picks_sampled(const struct picks *p);

/* The beginning of a block; its places follow, and come round to 0 at the end. */
size_t picks_block(const struct picks *p, size_t block);

/* Is it one of the margin, by its number in its block? */
bool picks_is_margin(const struct picks *p, size_t in_block);

/* Is this place visited? Then *ret_in_block is its number in its block. */
bool picks_has(const struct picks *p, size_t place, size_t *ret_in_block);

#endif
