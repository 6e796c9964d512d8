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
    double floors[CLIMB_BLOCKS]; /* of complete blocks, oldest first */
    unsigned count;
    double floor, ends; /* of the current block; ends 0: there is none */
};

void climb_push(struct climb *c, double seconds, double value);

/* Every floor is higher than the one before, and they rise by `least` in total. No single rise
 * exceeds half of that, and the second half rises at least half as much as the first. */
bool climb_is_even(const struct climb *c, double least);

#endif
