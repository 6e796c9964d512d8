/* tests/unit/test_picks.c: a sample of places keeps its promises. */
#include "probe/census/picks.h"

#include "unit.h"

#include <stdlib.h>

#define MOST 4096u

static void visit(const struct picks *p, unsigned *visits, unsigned *samples)
{
    for (size_t b = 0; b < p->blocks; b++)
        for (size_t k = 0; k < p->length; k++) {
            size_t at = (picks_block(p, b) + k) % p->count;
            visits[at]++;
            samples[at] += !picks_is_margin(p, k);
        }
}

TEST(picks__few_places_are_all_visited)
{
    for (size_t count = 0; count <= 20; count++) {
        struct picks p = picks_choose(count, 20, PICKS_TOGETHER, 0.7);
        CHECK(picks_visited(&p) == count && picks_sampled(&p) == count);
        if (count > 0)
            CHECK(picks_block(&p, 0) == 0 && !picks_is_margin(&p, 0));
    }
}

TEST(picks__no_place_is_visited_twice)
{
    for (size_t most = 1; most <= 100; most++)
        for (size_t count = most + 1; count < 4 * most + 10; count += 3)
            for (double turn = 0; turn < 1; turn += 0.19) {
                unsigned visits[MOST] = {0}, samples[MOST] = {0};
                struct picks p =
                    picks_choose(count, most, count % 2 ? PICKS_TOGETHER : PICKS_APART, turn);
                CHECK(picks_visited(&p) <= most && picks_sampled(&p) > 0);
                visit(&p, visits, samples);
                for (size_t i = 0; i < count; i++)
                    if (visits[i] > 1)
                        CHECK(visits[i] <= 1);
            }
}

/* Over all rotations of the circle. */
TEST(picks__every_place_is_as_likely_as_another)
{
    const size_t counts[] = {21, 100, 1000, 4093};
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        unsigned visits[MOST] = {0}, samples[MOST] = {0};
        struct picks p = picks_choose(counts[c], 20, c % 2 ? PICKS_APART : PICKS_TOGETHER, 0);
        for (p.first = 0; p.first < counts[c]; p.first++)
            visit(&p, visits, samples);
        for (size_t i = 0; i < counts[c]; i++) {
            CHECK(visits[i] == picks_visited(&p));
            CHECK(samples[i] == picks_sampled(&p));
        }
    }
}

TEST(picks__the_margin_is_at_both_ends_of_a_block)
{
    struct picks p = picks_choose(1000, 16, PICKS_TOGETHER, 0.5);
    CHECK(p.blocks == 2 && p.length == 8 && picks_sampled(&p) == 12);
    CHECK(picks_is_margin(&p, 0) && !picks_is_margin(&p, 1));
    CHECK(picks_is_margin(&p, 7) && !picks_is_margin(&p, 6));
    CHECK(picks_block(&p, 0) >= 500 && picks_block(&p, 1) < 500);
    p = picks_choose(1000, 3, PICKS_TOGETHER, 0.999999999999999999);
    CHECK(p.blocks == 1 && p.length == 3 && p.margin == 0 && picks_block(&p, 0) < 1000);
}

TEST(picks__visited_places_can_be_gone_through_in_order)
{
    for (size_t most = 1; most <= 130; most += 3)
        for (size_t count = 1; count < 6 * most; count += 7)
            for (double turn = 0; turn < 1; turn += 0.23) {
                unsigned visits[MOST] = {0}, samples[MOST] = {0};
                size_t block = count % 2 ? PICKS_TOGETHER : PICKS_APART, in_block, met = 0;
                struct picks p = picks_choose(count, most, block, turn);
                visit(&p, visits, samples);
                for (size_t i = picks_next(&p, 0, &in_block); i < count;
                     i = picks_next(&p, i + 1, &in_block), met++)
                    if (!visits[i] || samples[i] == picks_is_margin(&p, in_block))
                        CHECK(false);
                CHECK(met == picks_visited(&p));
            }
}

TEST(picks__places_apart_have_no_margin)
{
    struct picks p = picks_choose(1000, 16, PICKS_APART, 0.5);
    CHECK(p.blocks == 16 && picks_visited(&p) == 16 && picks_sampled(&p) == 16);
}
