/* job/climb.c: a value that has risen evenly for most of a minute. */
#include "job/climb.h"

#include <math.h>
#include <string.h>

#define BLOCK_SECONDS 8.0

/* Most of the rise that one block may make, and least rise of the second half relative to the
 * first. */
#define JUMP_SHARE 0.5
#define FADING_SHARE 0.5

static void end_block(struct climb *c)
{
    if (c->count == CLIMB_BLOCKS) {
        memmove(c->floors, c->floors + 1, (CLIMB_BLOCKS - 1) * sizeof(*c->floors));
        c->count--;
    }
    c->floors[c->count++] = c->floor;
}

void climb_push(struct climb *c, double seconds, double value)
{
    if (c->ends > 0 && seconds >= c->ends + BLOCK_SECONDS)
        *c = (struct climb){0}; /* no value arrived for a whole block */
    if (c->ends > 0 && seconds >= c->ends)
        end_block(c);
    if (c->ends == 0 || seconds >= c->ends) {
        c->ends = (c->ends > 0 ? c->ends : seconds) + BLOCK_SECONDS;
        c->floor = value;
    }
    c->floor = fmin(c->floor, value);
}

bool climb_is_even(const struct climb *c, double least)
{
    const double *y = c->floors, all = y[CLIMB_BLOCKS - 1] - y[0];
    if (c->count < CLIMB_BLOCKS || !(all >= least))
        return false;
    for (unsigned i = 1; i < CLIMB_BLOCKS; i++)
        if (!(y[i] > y[i - 1]) || y[i] - y[i - 1] > JUMP_SHARE * all)
            return false;
    double first = y[CLIMB_BLOCKS / 2 - 1] - y[0];
    double second = y[CLIMB_BLOCKS - 1] - y[CLIMB_BLOCKS / 2];
    return second >= FADING_SHARE * first;
}
