/* tests/unit/test_growth.c: growth that continues, and what only looks like it. */
#include "verdict/growth.h"

#include "random.h"
#include "unit.h"

#include <stdlib.h>

#define N PYRAMID_RING

/* A window of N blocks, 10 apart; the test fills in floor and mean. */
struct made {
    double at[N], min[N], mean[N];
};

static const struct growth_rules usual = {
    .horizon = 150, .quantum = 1, .resolution = 0, .z = 5, .span = 60, .blocks = 8};

/* Noise of deviation 1 around 1000. */
static struct made make(uint64_t seed)
{
    struct random r = {seed};
    struct made m;
    for (size_t i = 0; i < N; i++) {
        m.at[i] = 10 * (double) i;
        m.mean[i] = 1000 + random_normal(&r);
        m.min[i] = m.mean[i] - 1;
    }
    return m;
}

static void add(struct made *m, size_t i, double value)
{
    m->min[i] += value;
    m->mean[i] += value;
}

static bool find(const struct made *m, const struct growth_rules *rules, struct growth *ret)
{
    struct pyramid p;
    struct window w;
    pyramid_init(&p, 1);
    for (size_t i = 0; i < N; i++) {
        unsigned completed;
        if (pyramid_add(&p, (struct block){m->at[i], m->mean[i], m->min[i]}, &completed) < 0)
            abort();
    }
    window_take(&p, 0, &w);
    bool found = growth_find(&w, rules, ret);
    pyramid_release(&p);
    return found;
}

static bool grows(const struct made *m)
{
    struct growth g;
    return find(m, &usual, &g);
}

static struct made make_line(uint64_t seed, double rise_of_a_block)
{
    struct made m = make(seed);
    for (size_t i = 0; i < N; i++)
        add(&m, i, rise_of_a_block * (double) i);
    return m;
}

TEST(growth__is_a_line_through_noise)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct made m = make_line(seed, 3);
        struct growth g;
        CHECK(find(&m, &usual, &g));
        CHECK_NEAR(g.slope, 0.3, 0.02);
        CHECK(g.from == 0 && g.span == 310 && g.z > 20 && g.error > 0);
        CHECK_NEAR(g.slope / g.error, g.z, 1e-9);
        CHECK_NEAR(g.intercept + g.slope * 155, 1000 + 3 * 15.5, 3);
    }
}

TEST(growth__is_not_noise_alone)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct made m = make(seed);
        CHECK(!grows(&m));
    }
}

TEST(growth__is_not_a_constant_or_a_fall)
{
    struct made m = make(1);
    for (size_t i = 0; i < N; i++)
        m.min[i] = m.mean[i] = 5;
    CHECK(!grows(&m));
    m = make_line(1, -3);
    CHECK(!grows(&m));
}

TEST(growth__may_begin_within_the_window)
{
    struct made m = make(3);
    for (size_t i = 16; i < N; i++)
        add(&m, i, 10 * (double) (i - 16));
    struct growth g;
    CHECK(find(&m, &usual, &g));
    CHECK_NEAR(g.from, 160, 40);
    CHECK_NEAR(g.slope, 1, 0.15);
}

TEST(growth__has_to_last)
{
    struct made m = make_line(1, 3);
    struct growth_rules rules = usual;
    struct growth g;
    rules.span = 310;
    CHECK(find(&m, &rules, &g));
    rules.span = 311;
    CHECK(!find(&m, &rules, &g));
}

TEST(growth__has_to_exceed_the_resolution)
{
    struct made m = make_line(1, 3); /* 93 in all */
    struct growth_rules rules = usual;
    struct growth g;
    rules.resolution = 80;
    CHECK(find(&m, &rules, &g));
    rules.resolution = 110;
    CHECK(!find(&m, &rules, &g));
}

TEST(growth__has_to_exceed_a_few_grains)
{
    struct made m = make(1);
    for (size_t i = 0; i < N; i++)
        m.min[i] = m.mean[i] = 1000 + (i < N / 2 ? 0 : 4);
    struct growth_rules rules = usual;
    rules.quantum = 4;
    struct growth g;
    CHECK(!find(&m, &rules, &g));
}

TEST(growth__is_not_one_step_or_three)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct made one = make(seed), three = make(seed);
        for (size_t i = 0; i < N; i++) {
            add(&one, i, i < 15 ? 0 : 60);
            add(&three, i, 20 * floor((double) i / 8));
        }
        CHECK(!grows(&one));
        CHECK(!grows(&three));
    }
}

TEST(growth__is_not_a_handful_of_records)
{
    /* At odd times and flat in between: it looks like a line, which fits better than three
     * steps. */
    static const size_t jumps[] = {4, 10, 13, 18, 21, 30};
    static const double sizes[] = {18, 26, 26, 25, 32, 32};
    struct made m = make(1);
    for (size_t k = 0; k < 6; k++)
        for (size_t i = jumps[k]; i < N; i++)
            add(&m, i, sizes[k]);
    CHECK(!grows(&m));
}

TEST(growth__is_one_thing_kept_at_regular_times)
{
    struct made m = make(1);
    for (size_t i = 0; i < N; i++)
        add(&m, i, 20 * floor((double) i / 3));
    CHECK(grows(&m));
}

TEST(growth__is_not_what_has_stopped)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct made m = make(seed);
        for (size_t i = 0; i < N; i++)
            add(&m, i, 5 * fmin((double) i, 22));
        CHECK(!grows(&m));
    }
}

TEST(growth__of_the_mean_needs_the_floor)
{
    /* Ever higher spikes over an unchanged floor. */
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct made m = make(seed);
        for (size_t i = 0; i < N; i++)
            m.mean[i] += 3 * (double) i;
        CHECK(!grows(&m));
    }
}

TEST(growth__of_the_mean_forgives_a_dip_of_the_floor)
{
    struct made m = make_line(2, 3);
    m.min[16] -= 100;
    m.min[24] -= 100;
    struct growth g;
    CHECK(find(&m, &usual, &g) && g.channel == CHANNEL_MEAN);
}

TEST(growth__of_the_floor_does_not_sink_in_longer_blocks)
{
    /* Every fourth block still reaches the old floor. */
    struct made m = make(1);
    for (size_t i = 0; i < N; i++)
        if (i % 4 != 3)
            add(&m, i, 3 * (double) i);
    CHECK(!grows(&m));
}

TEST(growth__may_go_on_through_a_gap)
{
    struct made m = make(1);
    for (size_t i = 0; i < N; i++) {
        m.at[i] += i < N / 2 ? 0 : 1000;
        add(&m, i, 0.3 * m.at[i]);
    }
    CHECK(grows(&m));
}

TEST(growth__is_not_a_rise_nobody_saw)
{
    /* Almost flat before the gap, a slope after it: the change between them may have been one
     * step. */
    struct made m = make(1);
    for (size_t i = 0; i < N; i++) {
        m.at[i] += i < 11 ? 0 : 466;
        add(&m, i, i < 11 ? 0.3 * (double) i : 58 + 2 * (double) (i - 11));
    }
    struct growth g;
    struct growth_rules rules = usual;
    rules.span = 500; /* the part after the gap is too short on its own */
    CHECK(!find(&m, &rules, &g));
}

TEST(growth__seen_in_few_blocks_has_to_be_plainer)
{
    /* 12 blocks and 8 with the same slope in standard errors, 6 on average over the noise. */
    int many = 0, few = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct made m = make(seed);
        struct growth_rules rules = usual;
        struct growth g;
        for (size_t i = 0; i < N; i++)
            add(&m, i, i < 20 ? -50 : 6 / sqrt(143) * (double) i);
        rules.span = 110;
        many += find(&m, &rules, &g);
        m = make(seed);
        for (size_t i = 0; i < N; i++)
            add(&m, i, i < 24 ? -50 : 6 / sqrt(42) * (double) i);
        rules.span = 70;
        few += find(&m, &rules, &g);
    }
    CHECK(many > 2 * few);
}

TEST(growth__of_a_trend_is_told_whatever_it_is)
{
    struct made m = make_line(5, -2);
    struct pyramid p;
    struct window w;
    pyramid_init(&p, 1);
    for (size_t i = 0; i < N; i++) {
        unsigned completed;
        if (pyramid_add(&p, (struct block){m.at[i], m.mean[i], m.min[i]}, &completed) < 0)
            abort();
    }
    window_take(&p, 0, &w);
    CHECK(w.n == N && w.level == 0 && window_channel(&w, CHANNEL_MIN) == w.min);
    struct growth g;
    growth_trend(&w, CHANNEL_MEAN, 12, 0, &g);
    CHECK_NEAR(g.slope, -0.2, 0.03);
    CHECK(g.from == 120 && g.span == 190 && g.z < -5);
    pyramid_release(&p);
}

TEST(growth__has_a_grain)
{
    CHECK_NEAR(growth_grain(12, 0), sqrt(12), 1e-12);
    CHECK_NEAR(growth_grain(0, 1e9), 1 / sqrt(12), 1e-12);
    CHECK(growth_grain(0, 0) == 0);
}
