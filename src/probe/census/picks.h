/* probe/census/picks.h: which of many places are looked at. Private to probe/. No I/O, no clock. */
#ifndef TIDEMARK_PROBE_CENSUS_PICKS_H
#define TIDEMARK_PROBE_CENSUS_PICKS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A sample of the places 0 to count - 1. The circle of all places is divided evenly, with a block
 * of neighbours somewhere in each part, and turned at random: every place is equally likely, none
 * is taken twice, and no period of the places meets one of the blocks.
 *
 * A block of one place varies least. A block of several finds what neighbours share: an object that
 * two of them hold is met twice, as it should be. The places at both ends of such a block are its
 * margin. They are visited for their references, and are no part of the sample: what they share
 * with a place outside cannot be judged.
 */
struct picks {
    size_t count;          /* of all places */
    size_t blocks, length; /* so many blocks of so many places */
    size_t margin;         /* places at each end of a block */
    size_t first;          /* where the first part begins */
};

#define PICKS_APART 1u
#define PICKS_TOGETHER 8u

/* All places where there are no more than `most`, which is not 0. `block`: one of the above.
 * `turn`: at random, 0 or more and below 1. */
struct picks picks_choose(size_t count, size_t most, size_t block, double turn);

/* Places that are visited, and those of them that are the sample. */
size_t picks_visited(const struct picks *p);
size_t picks_sampled(const struct picks *p);

/* The beginning of a block; its places follow, and come round to 0 at the end. */
size_t picks_block(const struct picks *p, size_t block);

/* Is it one of the margin, by its number in its block? */
bool picks_is_margin(const struct picks *p, size_t in_block);

/* The first visited place that is not before this one, and its number in its block; `count`: there
 * is none. */
size_t picks_next(const struct picks *p, size_t place, size_t *ret_in_block);

#endif
