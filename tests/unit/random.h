/* tests/unit/random.h: the same random numbers in every run (splitmix64). */
#ifndef TIDEMARK_TEST_RANDOM_H
#define TIDEMARK_TEST_RANDOM_H

#include <math.h>
#include <stdint.h>

/* Any number is a seed; equal seeds give equal numbers. */
struct random {
    uint64_t state;
};

static inline uint64_t random_bits(struct random *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Between 0 and 1, never 0. */
static inline double random_uniform(struct random *r)
{
    return ((double) (random_bits(r) >> 11) + 0.5) * 0x1p-53;
}

/* Mean 0, deviation 1 (Box and Muller). */
static inline double random_normal(struct random *r)
{
    double radius = sqrt(-2 * log(random_uniform(r)));
    return radius * cos(2 * 3.14159265358979323846 * random_uniform(r));
}

#endif
