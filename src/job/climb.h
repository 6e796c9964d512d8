/* job/climb.h: a value that has grown evenly for most of a minute. Pure. */
#ifndef TIDEMARK_JOB_CLIMB_H
#define TIDEMARK_JOB_CLIMB_H

#include <stdbool.h>

#define CLIMB_BLOCKS 6

/*
 * The floors of the last blocks of 8 s. The engine suspects growth after 0.4 horizons, which is 8
 * minutes where no steps are known. That is right for a verdict, but too long to wait for a census,
 * which costs a process half a millisecond and accuses nobody. Zeroed: no samples yet.
 */
struct climb {
    double floors[CLIMB_BLOCKS]; /* of whole blocks, the oldest first */
    unsigned count;
    double floor, ends; /* of the block under way; ends 0: none is */
};

void climb_push(struct climb *c, double seconds, double value);

/* Every floor was higher than the one before, by `least` in all, no single rise was half of that,
 * and the second half brought at least half as much as the first. */
bool climb_is_even(const struct climb *c, double least);

#endif
