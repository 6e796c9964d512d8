/* tests/unit/test_history.c: the whole run in a bounded number of blocks. */
#include "stat/history.h"

#include "random.h"
#include "unit.h"

/* Samples 0, 1, 2, ... at positions ten times as large, one second apart. */
static void push_count(struct history *h, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        (void) history_push(h, 10 * (double) i, (double) i, (double) i);
}

TEST(history__starts_empty)
{
    struct history h;
    history_init(&h);
    CHECK(h.count == 0 && h.capacity == 0 && h.width == 1);
    history_release(&h);
}

TEST(history__keeps_every_sample_of_a_short_run)
{
    struct history h;
    history_init(&h);
    push_count(&h, 0, HISTORY_BLOCKS);
    CHECK(h.count == HISTORY_BLOCKS && h.width == 1);
    for (unsigned i = 0; i < h.count; i++) {
        const struct history_block *b = &h.blocks[i];
        CHECK(b->at == 10.0 * i && b->seconds == i && b->count == 1);
        CHECK(b->min == i && b->mean == i && b->max == i);
    }
    history_release(&h);
}

TEST(history__starts_small)
{
    struct history h;
    history_init(&h);
    push_count(&h, 0, 1);
    CHECK(h.capacity * sizeof(struct history_block) <= 1024);
    history_release(&h);
}

TEST(history__merges_neighbours_when_it_is_full)
{
    struct history h;
    history_init(&h);
    push_count(&h, 0, HISTORY_BLOCKS + 1);
    CHECK(h.width == 2 && h.count == HISTORY_BLOCKS / 2 + 1);
    const struct history_block *second = &h.blocks[1], *last = &h.blocks[h.count - 1];
    CHECK(second->count == 2 && second->at == 25 && second->seconds == 2.5);
    CHECK(second->min == 2 && second->mean == 2.5 && second->max == 3);
    CHECK(last->count == 1 && last->at == 10.0 * HISTORY_BLOCKS);
    push_count(&h, HISTORY_BLOCKS + 1, HISTORY_BLOCKS + 2);
    CHECK(h.count == HISTORY_BLOCKS / 2 + 1 && last->count == 2);
    history_release(&h);
}

TEST(history__loses_no_sample_of_a_long_run)
{
    struct history h;
    struct random r = {1};
    double lowest = INFINITY, highest = -INFINITY, sum = 0;
    size_t samples = 100003;
    history_init(&h);
    for (size_t i = 0; i < samples; i++) {
        double value = random_normal(&r);
        CHECK(history_push(&h, (double) i, NAN, value) == 0);
        CHECK(h.count <= HISTORY_BLOCKS);
        lowest = fmin(lowest, value);
        highest = fmax(highest, value);
        sum += value;
    }
    double low = INFINITY, high = -INFINITY, total = 0, positions = 0;
    uint64_t count = 0;
    for (unsigned i = 0; i < h.count; i++) {
        const struct history_block *b = &h.blocks[i];
        CHECK(b->count == h.width || i + 1 == h.count);
        CHECK(i == 0 || b->at > h.blocks[i - 1].at);
        CHECK(b->min <= b->mean && b->mean <= b->max);
        low = fmin(low, b->min);
        high = fmax(high, b->max);
        total += b->mean * (double) b->count;
        positions += b->at * (double) b->count;
        count += b->count;
    }
    CHECK(count == samples && low == lowest && high == highest);
    CHECK_NEAR(total, sum, 1e-6);
    CHECK_NEAR(positions / (double) samples, (double) (samples - 1) / 2, 1e-6);
    history_release(&h);
}

TEST(history__does_not_invent_seconds)
{
    struct history h;
    history_init(&h);
    for (int i = 0; i < 400; i++)
        (void) history_push(&h, i, i < 200 ? i : (double) NAN, 1);
    CHECK(h.blocks[0].seconds == 1.5);
    CHECK(isnan(h.blocks[h.count - 1].seconds));
    history_release(&h);
}

TEST(history__keeps_its_digits_far_from_zero)
{
    struct history h;
    history_init(&h);
    for (int i = 0; i < 1000; i++)
        (void) history_push(&h, 1e9 + i, 1.7e9 + i, 1e13 + i % 2);
    for (unsigned i = 0; i < h.count; i++) {
        CHECK(h.blocks[i].min == 1e13 && h.blocks[i].max == 1e13 + 1);
        CHECK_NEAR(h.blocks[i].mean, 1e13 + 0.5, 0.01);
    }
    CHECK_NEAR(h.blocks[0].at, 1e9 + (double) (h.width - 1) / 2, 1e-6);
    history_release(&h);
}

TEST(history__has_means_between_their_values)
{
    struct history h;
    history_init(&h);
    for (int i = 0; i < 5000; i++)
        (void) history_push(&h, 0.7, 0.3, 0.1);
    for (unsigned i = 0; i < h.count; i++)
        CHECK(h.blocks[i].at == 0.7 && h.blocks[i].seconds == 0.3 && h.blocks[i].mean == 0.1);
    history_release(&h);
}

TEST(history__begins_anew_when_cleared)
{
    struct history h;
    history_init(&h);
    push_count(&h, 0, 1000);
    history_clear(&h);
    CHECK(h.count == 0 && h.width == 1);
    push_count(&h, 0, 100);
    CHECK(h.count == 100 && h.width == 1 && h.blocks[99].mean == 99);
    history_release(&h);
}

TEST(history__can_be_used_again_after_release)
{
    struct history h;
    history_init(&h);
    push_count(&h, 0, 50);
    history_release(&h);
    CHECK(h.count == 0 && h.capacity == 0 && !h.blocks);
    push_count(&h, 0, 3);
    CHECK(h.count == 3);
    history_release(&h);
    history_release(&h);
}

/* The activity at a peak survives all merging, and no sample changes because of it. */
TEST(history__a_block_knows_what_was_done_at_its_peak)
{
    struct history h;
    history_init(&h);
    history_note_peak(&h, 100, 7);
    CHECK(h.count == 0);
    for (unsigned i = 0; i < 10000; i++) {
        (void) history_push(&h, i, i, i % 2);
        if (i == 4321)
            history_note_peak(&h, 100, 7);
        if (i == 9000)
            history_note_peak(&h, -1, 9);
    }
    unsigned marked = 0;
    for (unsigned i = 0; i < h.count; i++) {
        const struct history_block *b = &h.blocks[i];
        CHECK(b->max == 1 && b->peak == (b->activity == 7 ? 100 : 1));
        marked += b->activity == 7;
    }
    CHECK(marked == 1);
    history_release(&h);
}
