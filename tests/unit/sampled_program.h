/* tests/unit/sampled_program.h: a program whose allocations are sampled, with a truth to compare.
 */
#ifndef TIDEMARK_TEST_SAMPLED_PROGRAM_H
#define TIDEMARK_TEST_SAMPLED_PROGRAM_H

#include "wire/wire.h"

#include "random.h"

#include <math.h>
#include <stdbool.h>

/* The tracer's countdown. An allocation counts for one byte more than it has, and whole bytes are
 * drawn: so the chance to be picked is exactly 1 - exp(-(size + 1) / interval). */
struct countdown {
    struct random random;
    double interval;
    uint64_t left;
};

static inline void countdown_draw(struct countdown *c)
{
    c->left = (uint64_t) (-log(random_uniform(&c->random)) * c->interval);
}

static inline void countdown_begin(struct countdown *c, uint64_t seed, double interval)
{
    c->random.state = seed;
    c->interval = interval;
    countdown_draw(c);
}

/* Of `count` allocations of that size, how many pass before one is picked; `count`: none is. */
static inline uint64_t countdown_pass(struct countdown *c, uint64_t size, uint64_t count)
{
    uint64_t passed = c->left / (size + 1);
    if (passed >= count) {
        c->left -= count * (size + 1);
        return count;
    }
    countdown_draw(c);
    return passed;
}

#endif
