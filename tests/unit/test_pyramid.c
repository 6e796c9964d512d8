/* tests/unit/test_pyramid.c: a series at every scale. */
#include "stat/pyramid.h"

#include "unit.h"

#include <stdlib.h>

/* Adds base blocks from..to-1; block i is at i, with the mean 10 i and the floor -i. */
static void add_blocks(struct pyramid *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        unsigned completed;
        if (pyramid_add(p, (struct block){(double) i, 10 * (double) i, -(double) i}, &completed))
            abort();
    }
}

TEST(pyramid__starts_with_nothing)
{
    struct pyramid p;
    struct block blocks[PYRAMID_RING];
    pyramid_init(&p, 5);
    CHECK(pyramid_bytes(&p) == 0);
    CHECK(pyramid_held(&p, 0) == 0 && pyramid_blocks(&p, 0, blocks) == 0);
    pyramid_cut(&p);
    pyramid_clear(&p);
    pyramid_release(&p);
}

TEST(pyramid__says_how_many_levels_got_a_block)
{
    /* Like the carries of a binary counter. */
    static const unsigned expected[] = {1, 2, 1, 3, 1, 2, 1, 4, 1, 2};
    struct pyramid p;
    pyramid_init(&p, 8);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        unsigned completed;
        CHECK(pyramid_add(&p, (struct block){(double) i, 0, 0}, &completed) == 0);
        CHECK(completed == expected[i]);
    }
    pyramid_release(&p);
}

TEST(pyramid__merges_pairs_upwards)
{
    struct pyramid p;
    struct block blocks[PYRAMID_RING];
    pyramid_init(&p, 8);
    add_blocks(&p, 0, 8);
    CHECK(pyramid_blocks(&p, 2, blocks) == 2);
    /* Merged from base blocks 4 to 7. */
    CHECK(blocks[1].at == 5.5 && blocks[1].mean == 55 && blocks[1].min == -7);
    CHECK(pyramid_held(&p, 3) == 1 && pyramid_held(&p, 4) == 0);
    pyramid_release(&p);
}

TEST(pyramid__gives_the_last_blocks_oldest_first)
{
    struct pyramid p;
    struct block blocks[PYRAMID_RING];
    pyramid_init(&p, 8);
    add_blocks(&p, 0, 5);
    CHECK(pyramid_blocks(&p, 0, blocks) == 5);
    CHECK(blocks[0].at == 0 && blocks[4].at == 4);
    add_blocks(&p, 5, PYRAMID_RING + 7);
    CHECK(pyramid_blocks(&p, 0, blocks) == PYRAMID_RING);
    for (size_t i = 0; i < PYRAMID_RING; i++)
        CHECK(blocks[i].at == (double) (i + 7));
    pyramid_release(&p);
}

TEST(pyramid__gives_recent_blocks_by_age)
{
    struct pyramid p;
    pyramid_init(&p, 8);
    add_blocks(&p, 0, 3);
    CHECK(pyramid_recent(&p, 0, 0)->at == 2 && pyramid_recent(&p, 0, 2)->at == 0);
    add_blocks(&p, 3, 101);
    CHECK(pyramid_recent(&p, 0, 0)->at == 100);
    CHECK(pyramid_recent(&p, 0, PYRAMID_RING - 1)->at == 101 - PYRAMID_RING);
    CHECK(pyramid_recent(&p, 1, 0)->at == 98.5);
    pyramid_release(&p);
}

TEST(pyramid__bridges_no_gap)
{
    struct pyramid p;
    struct block blocks[PYRAMID_RING];
    pyramid_init(&p, 8);
    add_blocks(&p, 0, 7);
    pyramid_cut(&p);
    add_blocks(&p, 1000, 1004);
    CHECK(pyramid_blocks(&p, 0, blocks) == 11);
    CHECK(pyramid_blocks(&p, 1, blocks) == 5);
    CHECK(blocks[2].at == 4.5 && blocks[3].at == 1000.5 && blocks[4].at == 1002.5);
    CHECK(pyramid_blocks(&p, 2, blocks) == 2);
    CHECK(blocks[0].at == 1.5 && blocks[1].at == 1001.5);
    CHECK(pyramid_held(&p, 3) == 0);
    pyramid_release(&p);
}

TEST(pyramid__forgets_above_its_last_level)
{
    struct pyramid p;
    unsigned completed;
    pyramid_init(&p, 2);
    add_blocks(&p, 0, 1023);
    CHECK(pyramid_add(&p, (struct block){0, 0, 0}, &completed) == 0);
    CHECK(completed == 2 && p.count == 2);
    CHECK(pyramid_held(&p, 1) == PYRAMID_RING && pyramid_held(&p, 2) == 0);
    pyramid_release(&p);
}

TEST(pyramid__costs_a_level_only_when_it_has_a_block)
{
    struct pyramid p;
    pyramid_init(&p, 24);
    add_blocks(&p, 0, 1);
    size_t first = pyramid_bytes(&p);
    CHECK(first >= sizeof(struct pyramid_level) && first < 2 * sizeof(struct pyramid_level));
    add_blocks(&p, 1, 1000);
    CHECK(pyramid_bytes(&p) == first + 9 * sizeof(struct pyramid_level));
    pyramid_release(&p);
    CHECK(pyramid_bytes(&p) == 0);
}

TEST(pyramid__keeps_one_empty_level_when_cleared)
{
    struct pyramid p;
    struct block blocks[PYRAMID_RING];
    pyramid_init(&p, 8);
    add_blocks(&p, 0, 101);
    pyramid_clear(&p);
    CHECK(p.count == 1 && pyramid_held(&p, 0) == 0);
    /* The odd block from before must not become half of a pair. */
    add_blocks(&p, 500, 502);
    CHECK(pyramid_blocks(&p, 1, blocks) == 1 && blocks[0].at == 500.5);
    pyramid_release(&p);
    pyramid_release(&p);
}
