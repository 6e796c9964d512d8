/* tests/unit/test_store_thin.c: a run file stays small and loses nothing but detail. */
#include "store/store.h"

#include "random.h"
#include "store_files.h"
#include "unit.h"

#define HOUR 3600

/* Writes random walks of `count` series, one sample of each per second. Returns the true totals
 * of series 1. */
static struct total walk(struct store *s, int count, int seconds)
{
    struct total truth = {.floor = INFINITY, .max = -INFINITY};
    struct random r = {3};
    double values[64];
    int64_t series[64];
    for (int i = 0; i < count; i++) {
        series[i] = add_series(s, "host.rss");
        values[i] = 1e9 * (i + 1);
    }
    for (int t = 0; t < seconds; t++) {
        for (int i = 0; i < count; i++) {
            values[i] += 4096 * floor(100 * random_normal(&r));
            store_add_sample(s, series[i], t, values[i]);
        }
        truth.floor = fmin(truth.floor, values[0]);
        truth.max = fmax(truth.max, values[0]);
        truth.sum += values[0];
        truth.last_value = values[0];
        if (store_commit(s, t) < 0)
            truth.rows = NAN;
    }
    return truth;
}

TEST(store__loses_no_sample_to_thinning)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    struct total truth = walk(s, 1, 5 * HOUR);
    CHECK(truth.rows == 0 && store_close(s, 5 * HOUR) == 0);
    s = open_plain(&f);
    struct total t = series_total(s, 1);
    CHECK(t.disordered == 0 && t.count == 5 * HOUR);
    CHECK(t.floor == truth.floor && t.max == truth.max);
    CHECK_NEAR(t.sum / t.count, truth.sum / t.count, 1e-3);
    CHECK(t.last_value == truth.last_value);
    store_free(s);
    folder_end(&f);
}

/* The resolution of the past: raw for ten minutes, then no coarser than 1/32 of its age. */
struct fineness {
    double now, last_seconds;
    int raw, blocks, coarse;
};

static int measure(void *c, const struct store_sample *x)
{
    struct fineness *m = c;
    double age = m->now - x->seconds;
    m->raw += x->count == 1;
    m->blocks += x->count > 1;
    m->coarse += x->count > fmax(1, age / 32) || (age < 590 && x->count > 1);
    return 0;
}

TEST(store__is_as_fine_as_it_is_near)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    (void) walk(s, 1, 5 * HOUR);
    store_free(s);
    s = open_plain(&f);
    struct fineness m = {.now = 5 * HOUR};
    CHECK(store_each_sample(s, 1, measure, &m) == 0);
    CHECK(m.raw >= 590 && m.raw <= 620);
    CHECK(m.blocks > 250 && m.blocks < 400);
    CHECK(m.coarse == 0);
    store_free(s);
    folder_end(&f);
}

TEST(store__stays_small)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    CHECK(walk(s, 50, 3 * HOUR).rows == 0);
    /* 24 hours of 200 series may take 50 MB; a quarter of the series may take a quarter of that. */
    CHECK(file_bytes(&f, "") + file_bytes(&f, "-wal") < 0.25 * 0.2 * 50e6 + 2.5e6);
    CHECK(store_close(s, 3 * HOUR) == 0);
    CHECK(file_bytes(&f, "") < 0.25 * 0.2 * 50e6);
    folder_end(&f);
}

TEST(store__bounds_a_flood_of_samples)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series[40];
    for (int i = 0; i < 40; i++)
        series[i] = add_series(s, "host.rss");
    for (int t = 0; t < 150; t++) {
        for (int i = 0; i < 40 * 100; i++)
            store_add_sample(s, series[i % 40], t + i / 4000.0, i);
        CHECK(store_commit(s, t + 1) == 0);
    }
    CHECK(file_bytes(&f, "") + file_bytes(&f, "-wal") < 16e6);
    CHECK(store_close(s, 150) == 0);
    s = open_plain(&f);
    struct total t = series_total(s, series[3]);
    CHECK(t.count == 15000 && t.disordered == 0 && t.rows < 10000);
    store_free(s);
    folder_end(&f);
}

TEST(store__catches_up_after_a_long_pause)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    int64_t series = add_series(s, "host.rss");
    for (int t = 0; t < 900; t++)
        store_add_sample(s, series, t, t);
    CHECK(store_commit(s, 900) == 0);
    store_add_sample(s, series, 90000, 1);
    for (int t = 90000; t < 90400; t++)
        CHECK(store_commit(s, t) == 0);
    /* Too old for a sample of its own, so it is left out. */
    store_add_sample(s, series, 5, 1e9);
    CHECK(store_close(s, 90400) == 0);
    s = open_plain(&f);
    struct total t = series_total(s, series);
    CHECK(t.rows == 2 && t.count == 901 && t.max == 899);
    store_free(s);
    folder_end(&f);
}

struct marks {
    int count, disordered;
    double first_step, last_step, last_seconds, widest, epochs;
};

static int look_at_mark(void *c, double seconds, double step, double epoch)
{
    struct marks *m = c;
    if (m->count++ == 0)
        m->first_step = step;
    else
        m->widest = fmax(m->widest, seconds - m->last_seconds);
    m->disordered += seconds < m->last_seconds || step < m->last_step;
    m->last_seconds = seconds;
    m->last_step = step;
    m->epochs = epoch;
    return 0;
}

TEST(store__thins_marks_evenly)
{
    struct folder f = folder_begin();
    struct store *s = create_plain(&f);
    for (int i = 0; i < 100000; i++) {
        /* Slow at first, then ten times as fast. */
        double seconds = i < 10000 ? i : 10000 + 0.1 * (i - 10000);
        store_add_mark(s, seconds, i, floor(i / 1000.0));
        if (i % 50 == 0)
            CHECK(store_commit(s, seconds) == 0);
    }
    CHECK(store_close(s, 19000) == 0);
    s = open_plain(&f);
    struct marks m = {0};
    CHECK(store_each_mark(s, look_at_mark, &m) == 0);
    CHECK(m.count > 1000 && m.count < 4096 + 600 && m.disordered == 0);
    CHECK(m.first_step < 32 && m.last_step == 99999 && m.epochs == 99);
    CHECK(m.widest <= 32);
    store_free(s);
    folder_end(&f);
}
