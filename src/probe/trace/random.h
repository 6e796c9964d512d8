/* probe/trace/random.h: random numbers for countdowns. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_RANDOM_H
#define TIDEMARK_PROBE_TRACE_RANDOM_H

#include <stdint.h>

/* Each call advances *state (splitmix64), which may begin as anything. */
uint64_t random_word(uint64_t *state);
/* Above 0 and below 1. */
double random_part(uint64_t *state);
/* Exponentially distributed around `mean`. */
double random_exponential(uint64_t *state, double mean);

#endif
