/* tests/unit/same_answer.h: whether two answers are the same, to the last bit. */
#ifndef TIDEMARK_TEST_SAME_ANSWER_H
#define TIDEMARK_TEST_SAME_ANSWER_H

#include "verdict/verdict.h"

#include <string.h>

/* The padding after a phase's name is whatever was there. */
static inline void clear_padding(struct answer *a)
{
    for (unsigned i = 0; i < ANSWER_PHASES; i++) {
        const struct phase p = a->phases[i];
        struct phase *clean = &a->phases[i];
        memset(clean, 0, sizeof *clean);
        clean->name = p.name;
        clean->from = p.from;
        clean->to = p.to;
        clean->level_from = p.level_from;
        clean->level_to = p.level_to;
        clean->rate = p.rate;
        clean->rate_low = p.rate_low;
        clean->rate_high = p.rate_high;
    }
}

static inline bool same_answer(const struct answer *a, const struct answer *b)
{
    struct answer x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    clear_padding(&x);
    clear_padding(&y);
    return memcmp(&x, &y, sizeof x) == 0;
}

#endif
