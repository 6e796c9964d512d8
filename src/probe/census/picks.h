/* probe/census/picks.h: chooses a sample of many places. Private to probe/. No I/O, no clock. */
#ifndef TIDEMARK_PROBE_CENSUS_PICKS_H
#define TIDEMARK_PROBE_CENSUS_PICKS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A sample of the places 0 to count - 1. The circle of all places is divided into equal parts, with
 * a block of neighbours somewhere in each, and turned at random. So every place is equally likely,
 * no place is taken twice, and no period of the places coincides with one of the blocks.
 *
 * Blocks of one place have the smallest variance. Longer blocks reveal sharing between neighbours:
 * an object that two of them hold is met twice, as it should be. The places at both ends of such a
 * block are its margin. They are visited for their references, but they are not part of the sample:
 * what they share with places outside the block is unknown.
 */
struct picks {
    size_t count;          /* of places */
    size_t blocks, length; /* the number of blocks, and places in each */
    size_t margin;         /* places at each end of a block */
    size_t first;          /* the first place of the first part */
};

#define PICKS_APART 1u
#define PICKS_TOGETHER 8u

/* All places if there are at most `most`, which is not 0. `block`: one of the above. `turn`:
 * random, 0 <= turn < 1. */
struct picks picks_choose(size_t count, size_t most, size_t block, double turn);

/* The number of visited places, and of those in the sample. */
size_t picks_visited(const struct picks *p);
size_t picks_sampled(const struct picks *p);

/* The first place of a block. Its other places follow, modulo count. */
size_t picks_block(const struct picks *p, size_t block);

/* Is the place with this number in its block part of the margin? */
bool picks_is_margin(const struct picks *p, size_t in_block);

/* The first visited place at or after `place`, and its number in its block; `count`: none. */
size_t picks_next(const struct picks *p, size_t place, size_t *ret_in_block);

#endif
