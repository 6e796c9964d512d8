/* tests/unit/test_page_levels.c: a series as minimum and maximum of equal spans. */
#include "page/levels.h"

#include "base/json_reader.h"
#include "random.h"
#include "unit.h"

#include <stdlib.h>

#define MB 1048576.0

static double lowest(const struct levels *l)
{
    double low = INFINITY;
    for (size_t i = 0; i < l->count; i++)
        low = fmin(low, l->blocks[i].low);
    return low;
}

static double highest(const struct levels *l)
{
    double high = -INFINITY;
    for (size_t i = 0; i < l->count; i++)
        high = fmax(high, l->blocks[i].high);
    return high;
}

/* ---- the blocks ---- */

TEST(levels__few_samples_are_kept_as_they_are)
{
    struct levels l;
    levels_init(&l, 16);
    for (int i = 0; i < 10; i++)
        levels_add(&l, 0.5 * i, i * MB, i * MB);
    CHECK(l.count == 10 && l.samples == 10 && l.last == 4500);
    for (int i = 0; i < 10; i++) {
        CHECK(l.blocks[i].at == 500 * i);
        CHECK(l.blocks[i].low == i * MB && l.blocks[i].high == i * MB);
    }
    levels_release(&l);
}

TEST(levels__every_level_keeps_the_extremes)
{
    struct levels l;
    struct random random = {11};
    double low = INFINITY, high = -INFINITY;
    levels_init(&l, 1000);
    for (int i = 0; i < 20000; i++) {
        double value = random_uniform(&random) * 1e9;
        low = fmin(low, value);
        high = fmax(high, value);
        levels_add(&l, 0.01 * i, value, value);
    }
    for (size_t most = 1000; most >= LEVELS_LEAST; most /= 2) {
        levels_reduce(&l, most);
        CHECK(l.count <= most && l.count > 0);
        CHECK(lowest(&l) == low && highest(&l) == high);
    }
    levels_release(&l);
}

/* Each sample lies within the block of its span: nothing moves in time. */
TEST(levels__a_block_holds_the_samples_of_its_span)
{
    struct levels l;
    struct random random = {5};
    static double seconds[5000], values[5000];
    levels_init(&l, 200);
    double t = 0;
    for (int i = 0; i < 5000; i++) {
        t += random_uniform(&random) < 0.01 ? 50 : 0.1 * random_uniform(&random);
        seconds[i] = t;
        values[i] = random_uniform(&random);
        levels_add(&l, t, values[i], values[i]);
    }
    size_t block = 0;
    for (int i = 0; i < 5000; i++) {
        int64_t at = llround(seconds[i] * 1000);
        while (block + 1 < l.count && l.blocks[block + 1].at <= at)
            block++;
        CHECK(l.blocks[block].at <= at && at / l.width == l.blocks[block].span);
        CHECK(l.blocks[block].low <= values[i] && values[i] <= l.blocks[block].high);
    }
    levels_release(&l);
}

TEST(levels__a_gap_costs_nothing)
{
    struct levels l;
    levels_init(&l, 64);
    for (int i = 0; i < 60; i++)
        levels_add(&l, i < 30 ? i : 1e6 + i, i, i);
    CHECK(l.count == 60 && l.blocks[30].at == 1000030000);
    levels_release(&l);
}

TEST(levels__blocks_of_the_store_keep_their_range)
{
    struct levels l;
    levels_init(&l, 64);
    levels_add(&l, 4, 10, 90);
    levels_add(&l, 12, 20, 95);
    CHECK(l.count == 2 && l.blocks[0].low == 10 && l.blocks[0].high == 90);
    levels_release(&l);
}

TEST(levels__what_is_no_sample_is_left_out)
{
    struct levels l;
    levels_init(&l, 0);
    levels_add(&l, NAN, 1, 1);
    levels_add(&l, INFINITY, 1, 1);
    levels_add(&l, 1, NAN, 1);
    levels_add(&l, 1, 1, INFINITY);
    levels_add(&l, 1, 2, 1);
    CHECK(l.count == 0 && l.samples == 0);
    levels_add(&l, 5, 1, 1);
    levels_add(&l, 4, 9, 9); /* the clock went backwards */
    CHECK(l.count == 1 && l.samples == 1 && l.blocks[0].high == 1);
    levels_add(&l, 1e300, 1e300, 1e300);
    CHECK(l.count == 2 && l.blocks[1].high == LEVELS_MOST_VALUE);
    for (int i = 0; i < 1000; i++)
        levels_add(&l, 1e300, i, i);
    CHECK(l.count <= LEVELS_LEAST);
    levels_release(&l);
}

TEST(levels__memory_is_bounded)
{
    struct levels l;
    struct random random = {3};
    levels_init(&l, 500);
    double t = 0;
    for (int i = 0; i < 200000; i++) {
        t += random_uniform(&random) * 10;
        levels_add(&l, t, i, i);
        CHECK(l.count <= 500 && l.capacity <= 1024);
    }
    /* Spans double: what is left is between a half and the whole. */
    CHECK(l.count > 200 && l.samples == 200000);
    levels_release(&l);
}

TEST(levels__a_million_samples_become_a_short_text)
{
    struct levels l;
    struct buf out = BUF_INIT;
    struct json j;
    struct random random = {3};
    levels_init(&l, 16384);
    for (int i = 0; i < 1000000; i++) {
        double value = floor(random_uniform(&random) * 1e6) * 4096;
        levels_add(&l, 0.1 * i, value, value);
    }
    json_init(&j, &out, 0);
    json_object_begin(&j, NULL);
    levels_json(&j, &l);
    json_object_end(&j);
    CHECK(l.count > 8000 && out.len < 600 << 10);
    buf_release(&out);
    levels_release(&l);
}

/* ---- as JSON ---- */

#define DECODED 20000u

/* One level, read back as the page does. */
struct decoded {
    double scale;
    double t[DECODED], low[DECODED], high[DECODED];
    size_t times, lows, highs;
};

static void decode_array(struct json_reader *r, double *ret, size_t *ret_count)
{
    struct json_token t;
    json_next(r, &t);
    while (json_next(r, &t) == 0 && t.type == JSON_NUMBER && *ret_count < DECODED)
        ret[(*ret_count)++] = t.number;
}

static void integrate(double *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        values[i] += values[i - 1];
}

static void decode_level(struct json_reader *r, struct decoded *d)
{
    struct json_token t;
    *d = (struct decoded){0};
    while (json_next(r, &t) == 0 && t.type == JSON_KEY) {
        if (json_token_is(&t, "t")) {
            decode_array(r, d->t, &d->times);
        } else if (json_token_is(&t, "low")) {
            decode_array(r, d->low, &d->lows);
        } else if (json_token_is(&t, "high")) {
            decode_array(r, d->high, &d->highs);
        } else {
            json_next(r, &t);
            d->scale = t.number;
        }
    }
    integrate(d->t, d->times);
    integrate(d->low, d->lows);
}

/* Writes the levels and leaves the reader in their array. */
static void begin_levels(const struct levels *l, struct buf *out, struct json_reader *r)
{
    struct json j;
    struct json_token t;
    json_init(&j, out, 0);
    json_object_begin(&j, NULL);
    levels_json(&j, l);
    json_object_end(&j);
    json_reader_init(r, buf_text(out), out->len);
    for (int i = 0; i < 3; i++)
        json_next(r, &t);
}

static bool next_level(struct json_reader *r, struct decoded *d)
{
    struct json_token t;
    if (json_next(r, &t) < 0 || t.type != JSON_OBJECT_BEGIN)
        return false;
    decode_level(r, d);
    return true;
}

TEST(levels__read_back_exactly)
{
    static struct decoded d;
    struct levels l;
    struct buf out = BUF_INIT;
    struct json_reader r;
    struct random random = {9};
    levels_init(&l, 1000);
    for (int i = 0; i < 900; i++) {
        double value = floor(random_uniform(&random) * 200000) * 4096;
        levels_add(&l, i, value, value + 4096 * (i % 3));
    }
    begin_levels(&l, &out, &r);
    CHECK(next_level(&r, &d));
    CHECK(d.scale == 4096 && d.times == 900 && d.lows == 900 && d.highs == 900);
    for (size_t i = 0; i < 900; i++) {
        CHECK(d.t[i] == (double) l.blocks[i].at);
        CHECK(d.low[i] * d.scale == l.blocks[i].low);
        CHECK((d.low[i] + d.high[i]) * d.scale == l.blocks[i].high);
    }
    buf_release(&out);
    levels_release(&l);
}

TEST(levels__coarser_levels_have_spans_four_times_as_wide_and_the_same_extremes)
{
    static struct decoded d;
    struct levels l;
    struct buf out = BUF_INIT;
    struct json_reader r;
    struct random random = {9};
    size_t before = 0, count = 0;
    levels_init(&l, 16384);
    for (int i = 0; i < 16000; i++) {
        double value = floor(random_uniform(&random) * 1000);
        levels_add(&l, i * 0.001, value, value);
    }
    begin_levels(&l, &out, &r);
    while (next_level(&r, &d)) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < d.lows; i++) {
            low = fmin(low, d.low[i] * d.scale);
            high = fmax(high, (d.low[i] + d.high[i]) * d.scale);
        }
        CHECK(low == lowest(&l) && high == highest(&l));
        CHECK(count == 0 || (d.times <= before / 4 + 1 && d.times >= before / 4));
        before = d.times;
        count++;
    }
    CHECK(count == 4 && before <= LEVELS_COARSEST);
    buf_release(&out);
    levels_release(&l);
}

TEST(levels__sparse_samples_have_no_level_twice)
{
    static struct decoded d;
    struct levels l;
    struct buf out = BUF_INIT;
    struct json_reader r;
    size_t before = SIZE_MAX, count = 0;
    levels_init(&l, 16384);
    for (int i = 0; i < 1200; i++)
        levels_add(&l, i * 60, i, i);
    begin_levels(&l, &out, &r);
    for (; next_level(&r, &d); count++) {
        CHECK(d.times <= before / 2);
        before = d.times;
    }
    CHECK(count == 3 && before <= LEVELS_COARSEST);
    buf_release(&out);
    levels_release(&l);
}

/* Where numbers would become long, they are rounded to a millionth of the range. */
TEST(levels__long_numbers_are_rounded)
{
    static struct decoded d;
    struct levels l;
    struct buf out = BUF_INIT;
    struct json_reader r;
    levels_init(&l, 100);
    levels_add(&l, 0, 0.1, 0.1);
    levels_add(&l, 1, 1e9 + 0.7, 1e9 + 0.7);
    levels_add(&l, 2, -3e5, 1e5);
    begin_levels(&l, &out, &r);
    CHECK(next_level(&r, &d) && d.times == 3);
    for (size_t i = 0; i < 3; i++) {
        CHECK_NEAR(d.low[i] * d.scale, l.blocks[i].low, 1000);
        CHECK(d.low[i] == floor(d.low[i]) && fabs(d.low[i]) < 1 << 21);
    }
    buf_release(&out);
    levels_release(&l);
}

TEST(levels__nothing_is_one_empty_level)
{
    struct levels l;
    struct buf out = BUF_INIT;
    struct json j;
    levels_init(&l, 100);
    json_init(&j, &out, 0);
    levels_json_one(&j, NULL, &l);
    CHECK(strstr(buf_text(&out), "\"t\": []") || strstr(buf_text(&out), "\"t\":[]"));
    buf_release(&out);
    levels_release(&l);
}
