/* tests/unit/test_engine.c: life cycle, refusals, memory and determinism of the engine. */
#include "verdict/engine.h"

#include "runs.h"
#include "same_answer.h"
#include "unit.h"

#include <errno.h>

static double flat(double at, struct random *r)
{
    (void) at;
    return 5 * GB + 20 * MB * random_normal(r);
}

static double leak(double at, struct random *r)
{
    return 5 * GB + 2 * MB * at + 20 * MB * random_normal(r);
}

static double sawtooth(double at, struct random *r)
{
    return 3 * GB + 40 * MB * fmod(at, 97) + MB * random_normal(r);
}

static double counter(double at, struct random *r)
{
    (void) r;
    return 25 * MB + 512 * at;
}

/* Falls and rises forever: a valley every few samples. */
static double wild(double at, struct random *r)
{
    (void) at;
    return random_normal(r) * exp(5 * random_normal(r));
}

/* ---- life cycle ---- */

TEST(engine__refuses_options_that_are_not_lengths)
{
    const double bad[] = {-1, NAN, INFINITY, -INFINITY, 1e40};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct engine_options tries[5] = {by_step, by_step, by_step, by_step, by_step};
        tries[0].epoch_length = bad[i];
        tries[1].horizon = bad[i];
        tries[2].plan = bad[i];
        tries[3].limit = bad[i];
        tries[4].rounding = bad[i];
        for (size_t k = 0; k < 5; k++) {
            struct engine *e = NULL;
            CHECK(engine_new(&tries[k], &e) == -EINVAL);
            CHECK(!e);
        }
    }
}

TEST(engine__free_accepts_null)
{
    CHECK(!engine_free(NULL));
    CHECK(!engine_free(engine_for(&by_step)));
}

TEST(engine__answers_before_the_first_sample)
{
    struct engine *e = engine_for(&by_step);
    struct answer a = ask(e);
    CHECK(a.verdict == VERDICT_INCONCLUSIVE && !a.suspect);
    CHECK(a.samples == 0 && a.phase_count == 0);
    CHECK(isnan(a.min) && isnan(a.mean) && isnan(a.last) && isnan(a.floor_first) && isnan(a.rate));
    CHECK(isnan(a.first_at) && isnan(a.last_at) && isnan(a.suspect_at) && isnan(a.alarm_at));
    CHECK(isnan(a.epoch_length) && isnan(a.plan) && isnan(a.limit));
    CHECK(a.horizon == 150 && a.needs.at_least == 150);
    CHECK(engine_history(e)->count == 0);
    engine_free(e);
}

TEST(engine__uses_the_horizon_it_is_given)
{
    struct engine_options o = by_step;
    o.epoch_length = 40;
    struct engine *e = engine_for(&o);
    CHECK(ask(e).horizon == 150 && ask(e).epoch_length == 40);
    engine_free(e);
    o.epoch_length = 782;
    e = engine_for(&o);
    CHECK(ask(e).horizon == 782);
    engine_free(e);
    o.horizon = 60;
    e = engine_for(&o);
    CHECK(ask(e).horizon == 60 && ask(e).epoch_length == 782);
    engine_free(e);
    e = engine_for(&(struct engine_options){.clock = CLOCK_SECONDS});
    CHECK(ask(e).horizon == 900);
    engine_free(e);
}

/* ---- samples ---- */

TEST(engine__refuses_a_clock_that_goes_backwards)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 10, 20, 1, counter);
    struct answer before = ask(e);
    CHECK(engine_push(e, 19.5, NAN, 1) == -ERANGE);
    CHECK(engine_push(e, -5, NAN, 1) == -ERANGE);
    struct answer after = ask(e);
    CHECK(after.refused == 2);
    after.refused = 0;
    CHECK(same_answer(&before, &after));
    /* The same position again is not a step back. */
    CHECK(engine_push(e, 20, NAN, 5) == 0);
    engine_free(e);
}

TEST(engine__refuses_what_is_no_number)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 10, 20, 1, counter);
    struct answer before = ask(e);
    CHECK(engine_push(e, 21, 21, NAN) == -EINVAL);
    CHECK(engine_push(e, 21, 21, INFINITY) == -EINVAL);
    CHECK(engine_push(e, 21, 21, -INFINITY) == -EINVAL);
    CHECK(engine_push(e, NAN, 21, 1) == -EINVAL);
    CHECK(engine_push(e, INFINITY, 21, 1) == -EINVAL);
    CHECK(engine_push(e, -INFINITY, 21, 1) == -EINVAL);
    CHECK(engine_push(e, 21, INFINITY, 1) == -EINVAL);
    CHECK(engine_push(e, 21, 21, -2 * ENGINE_MAX_NUMBER) == -EINVAL);
    CHECK(engine_push(e, 2 * ENGINE_MAX_NUMBER, 21, 1) == -EINVAL);
    struct answer after = ask(e);
    CHECK(after.refused == 9);
    after.refused = 0;
    CHECK(same_answer(&before, &after));
    engine_free(e);
}

TEST(engine__needs_only_the_clock_it_judges_on)
{
    struct engine *e = engine_for(&(struct engine_options){.clock = CLOCK_SECONDS});
    CHECK(engine_push(e, NAN, 1, 5) == 0);
    CHECK(engine_push(e, 3, NAN, 5) == -EINVAL);
    CHECK(engine_push(e, 3, 0.5, 5) == -ERANGE);
    CHECK(ask(e).samples == 1 && ask(e).refused == 2);
    engine_free(e);
    e = engine_for(&by_step);
    CHECK(engine_push(e, 1, NAN, 5) == 0);
    CHECK(ask(e).samples == 1);
    engine_free(e);
}

TEST(engine__counts_extremes_and_mean_over_everything)
{
    struct engine *e = engine_for(&by_step);
    const double values[] = {4, -2, 9, 1};
    for (int i = 0; i < 4; i++)
        (void) engine_push(e, 7 + i, 100 + i, values[i]);
    struct answer a = ask(e);
    CHECK(a.samples == 4 && a.refused == 0 && a.restarts == 0);
    CHECK(a.min == -2 && a.max == 9 && a.mean == 3 && a.last == 1);
    CHECK(a.first_at == 7 && a.last_at == 10 && a.first_seconds == 100 && a.last_seconds == 103);
    engine_free(e);
}

TEST(engine__shows_the_whole_run)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 5000, 1, counter);
    const struct history *h = engine_history(e);
    CHECK(h->count > 90 && h->count <= HISTORY_BLOCKS);
    CHECK(h->blocks[0].min == 25 * MB + 512);
    CHECK(h->blocks[h->count - 1].max == 25 * MB + 512 * 5000);
    engine_free(e);
}

/* ---- memory ---- */

/* The most memory the engine ever used. */
static size_t peak_bytes(const struct engine_options *o, double samples, value_at *value)
{
    struct engine *e = engine_for(o);
    struct random r = {1};
    size_t peak = 0;
    for (double at = 1; at <= samples; at++) {
        (void) engine_push(e, at, at, value(at, &r));
        size_t bytes = engine_bytes(e);
        peak = bytes > peak ? bytes : peak;
    }
    engine_free(e);
    return peak;
}

TEST(engine__starts_small)
{
    struct engine *e = engine_for(&by_step);
    CHECK(engine_bytes(e) <= 1024);
    (void) engine_push(e, 1, 1, 5 * GB);
    CHECK(engine_bytes(e) <= 1536);
    engine_free(e);
}

TEST(engine__stays_small_however_long_the_run)
{
    struct engine_options o = by_step;
    o.epoch_length = 50;
    CHECK(peak_bytes(&o, 3e6, flat) <= ENGINE_MAX_BYTES);
    CHECK(peak_bytes(&o, 3e6, counter) <= ENGINE_MAX_BYTES);
    CHECK(peak_bytes(&o, 3e6, sawtooth) <= ENGINE_MAX_BYTES);
    CHECK(peak_bytes(&o, 3e6, wild) <= ENGINE_MAX_BYTES);
}

TEST(engine__stays_small_if_every_sample_is_a_block)
{
    struct engine_options o = by_step;
    o.epoch_length = 2;
    o.horizon = 20;
    CHECK(peak_bytes(&o, 2e5, flat) <= ENGINE_MAX_BYTES);
    CHECK(peak_bytes(&o, 2e5, wild) <= ENGINE_MAX_BYTES);
}

TEST(engine__could_fill_every_level_and_stay_small)
{
    size_t levels = BLOCK_LEVELS + EPOCH_LEVELS + VALLEY_LEVELS;
    size_t most = sizeof(struct engine) + HISTORY_BLOCKS * sizeof(struct history_block) +
                  levels * (sizeof(struct pyramid_level) + sizeof(struct pyramid_level *));
    CHECK(most <= ENGINE_MAX_BYTES);
}

TEST(engine__gives_memory_back_at_a_restart)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 20000, 1, flat);
    size_t before = engine_bytes(e);
    engine_restart(e);
    CHECK(engine_bytes(e) < before);
    engine_free(e);
}

/* ---- the same samples, the same answer ---- */

TEST(engine__gives_the_same_answer_to_the_same_samples)
{
    value_at *const shapes[] = {flat, leak, sawtooth, counter, wild};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct answer a = judge(&by_step, 1, 3000, 1, shapes[i]);
        struct answer b = judge(&by_step, 1, 3000, 1, shapes[i]);
        CHECK(same_answer(&a, &b));
    }
}

TEST(engine__does_not_care_how_often_it_is_asked)
{
    value_at *const shapes[] = {flat, leak, sawtooth, counter, wild};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct engine *asked = engine_for(&by_step), *left_alone = engine_for(&by_step);
        struct random r = {9}, s = {9};
        for (int step = 1; step <= 1200; step++) {
            (void) engine_push(asked, step, NAN, shapes[i](step, &r));
            (void) engine_push(left_alone, step, NAN, shapes[i](step, &s));
            (void) ask(asked);
        }
        struct answer a = ask(asked), b = ask(left_alone), again = ask(asked);
        CHECK(same_answer(&a, &b) && same_answer(&a, &again));
        engine_free(asked);
        engine_free(left_alone);
    }
}

TEST(engine__latches_its_alarm)
{
    struct engine *e = engine_for(&by_step);
    double alarm = NAN;
    struct random r = {3};
    for (int step = 1; step <= 3000; step++) {
        (void) engine_push(e, step, NAN, leak(step, &r));
        double now = ask(e).alarm_at;
        CHECK(isnan(alarm) || now == alarm);
        CHECK(isnan(now) || now <= step);
        alarm = now;
    }
    CHECK(alarm > 150 && alarm < 600);
    engine_free(e);
}

/* ---- epochs ---- */

TEST(engine__learns_the_epoch_from_its_marks)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 400, 1, flat);
    CHECK(isnan(ask(e).epoch_length) && ask(e).horizon == 150);
    engine_epoch_mark(e, 400);
    CHECK(ask(e).epoch_length == 400 && ask(e).horizon == 400);
    feed(e, 401, 790, 1, flat);
    engine_epoch_mark(e, 790);
    /* The next epoch may be a little shorter; the horizon stays, so what was harmless stays
     * harmless. */
    CHECK(ask(e).epoch_length == 390 && ask(e).horizon == 400);
    engine_free(e);
}

TEST(engine__expects_the_epoch_it_is_told_until_one_has_ended)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 10, 1, flat);
    engine_expect_epoch(e, NAN);
    engine_expect_epoch(e, 0);
    CHECK(isnan(ask(e).epoch_length) && ask(e).horizon == 150);
    engine_expect_epoch(e, 800);
    CHECK(ask(e).epoch_length == 800 && ask(e).horizon == 800);
    feed(e, 11, 782, 1, flat);
    engine_epoch_mark(e, 782);
    engine_expect_epoch(e, 900);
    CHECK(ask(e).epoch_length == 782 && ask(e).horizon == 800);
    engine_free(e);
}

/* A leak is judged more rarely, which was once mistaken for the end of a suspicion. */
TEST(engine__was_suspicious_before_it_called_the_leak)
{
    struct engine_options o = by_step;
    o.epoch_length = 120;
    struct engine *e = engine_for(&o);
    for (double at = 1; at <= 6000; at += 1) {
        engine_push(e, at, NAN, 1e9 + 512 * at);
        struct answer a = ask(e);
        if (isfinite(a.alarm_at))
            CHECK(a.suspect_at <= a.alarm_at);
    }
    CHECK(isfinite(ask(e).alarm_at));
    engine_free(e);
}

TEST(engine__learns_the_epoch_of_a_job_that_was_resumed)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 50001, 50400, 1, flat);
    engine_epoch_mark(e, 50400);
    feed(e, 50401, 50800, 1, flat);
    engine_epoch_mark(e, 50800);
    CHECK(ask(e).epoch_length == 400);
    CHECK_NEAR(ask(e).horizon, 400, 1);
    engine_free(e);
}

TEST(engine__learns_the_epoch_on_a_clock_of_dates)
{
    struct engine *e = engine_for(&(struct engine_options){.clock = CLOCK_SECONDS});
    double start = 1.7e9;
    feed(e, start, start + 4000, 10, flat);
    engine_epoch_mark(e, start + 2000);
    engine_epoch_mark(e, start + 4000);
    CHECK(ask(e).epoch_length == 2000);
    CHECK_NEAR(ask(e).horizon, 2000, 10);
    engine_free(e);
}

TEST(engine__believes_the_given_epoch_over_its_marks)
{
    struct engine_options o = by_step;
    o.epoch_length = 200;
    struct engine *e = engine_for(&o);
    feed(e, 1, 300, 1, flat);
    engine_epoch_mark(e, 300);
    CHECK(ask(e).epoch_length == 200 && ask(e).horizon == 200);
    engine_free(e);
}

TEST(engine__keeps_the_given_horizon_when_it_learns_an_epoch)
{
    struct engine_options o = by_step;
    o.horizon = 60;
    struct engine *e = engine_for(&o);
    feed(e, 1, 300, 1, flat);
    engine_epoch_mark(e, 300);
    CHECK(ask(e).epoch_length == 300 && ask(e).horizon == 60);
    engine_free(e);
}

TEST(engine__ignores_marks_that_are_no_epoch)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 300, 1, flat);
    engine_epoch_mark(e, NAN);
    engine_epoch_mark(e, INFINITY);
    CHECK(isnan(ask(e).epoch_length) && ask(e).horizon == 150);
    engine_epoch_mark(e, 300);
    engine_epoch_mark(e, 300);
    engine_epoch_mark(e, 100);
    CHECK(ask(e).epoch_length == 300 && ask(e).horizon == 300);
    engine_free(e);
}

/* ---- blocks ---- */

TEST(engine__lets_no_block_bridge_a_gap)
{
    /* Blocks of five samples, with an odd and an even number of them before the gap. */
    for (double end = 35; end <= 40; end += 5) {
        struct engine_options o = by_step;
        o.horizon = 100;
        struct engine *e = engine_for(&o);
        feed(e, 0, end - 1, 1, flat);
        feed(e, 5000, 5200, 1, flat);
        const struct pyramid *p = &e->pyramids[SOURCE_BLOCKS];
        for (unsigned level = 0; level < p->count; level++) {
            struct block blocks[PYRAMID_RING];
            size_t n = pyramid_blocks(p, level, blocks);
            for (size_t i = 0; i < n; i++)
                CHECK(blocks[i].at < end || blocks[i].at >= 5000);
        }
        engine_free(e);
    }
}

TEST(engine__takes_rare_samples_for_no_gaps)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 0, 200 * 255, 200, flat);
    const struct pyramid *p = &e->pyramids[SOURCE_BLOCKS];
    CHECK(pyramid_held(p, 3) == 31 && pyramid_held(p, 6) == 3);
    engine_free(e);
}

TEST(engine__keeps_whole_epochs)
{
    struct engine *e = engine_for(BY_STEP(.epoch_length = 100));
    feed(e, 151, 1050, 1, counter);
    struct block epochs[PYRAMID_RING];
    size_t n = pyramid_blocks(&e->pyramids[SOURCE_EPOCHS], 0, epochs);
    /* Without the second epoch, joined in its middle, and the eleventh, which is not over. */
    CHECK(n == 8);
    for (size_t i = 0; i < n; i++) {
        CHECK_NEAR(epochs[i].at, 100 * (double) (i + 2) + 50.5, 1e-6);
        CHECK_NEAR(epochs[i].min, counter(100 * (double) (i + 2) + 1, NULL), 1e-6);
    }
    engine_free(e);
}

TEST(engine__finds_the_valleys_between_teeth)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 97 * 20, 1, sawtooth);
    struct block valleys[PYRAMID_RING];
    size_t n = pyramid_blocks(&e->pyramids[SOURCE_VALLEYS], 0, valleys);
    CHECK(n >= 18 && n <= 20);
    for (size_t i = 0; i < n; i++) {
        CHECK_NEAR(valleys[i].min, 3 * GB, 100 * MB);
        CHECK_NEAR(fmod(valleys[i].at + 48, 97), 48, 3);
    }
    engine_free(e);
}

TEST(engine__asks_more_of_each_series_of_a_large_job)
{
    struct engine_options o = by_step;
    struct engine *alone = engine_for(&o);
    o.job_series = 1;
    struct engine *one = engine_for(&o);
    o.job_series = 200;
    struct engine *many = engine_for(&o);
    CHECK(engine_threshold(alone) == engine_threshold(one));
    CHECK(engine_threshold(many) > engine_threshold(one) + 0.5);
    engine_free(alone);
    engine_free(one);
    engine_free(many);
}

TEST(engine__learns_how_many_series_share_the_budget)
{
    struct engine *e = engine_for(&by_step);
    double alone = engine_threshold(e);
    engine_share_budget(e, 200);
    struct engine *one_of_200 = engine_for(BY_STEP(.job_series = 200));
    CHECK(engine_threshold(e) > alone && engine_threshold(e) == engine_threshold(one_of_200));
    engine_free(e);
    engine_free(one_of_200);
}

TEST(engine__asks_more_the_oftener_it_has_looked)
{
    struct engine *e = engine_for(&by_step);
    double before = engine_threshold(e);
    feed(e, 1, 20000, 1, flat);
    CHECK(engine_threshold(e) > before && engine_threshold(e) < before + 2);
    engine_free(e);
}

/* ---- restarts ---- */

TEST(engine__starts_a_new_run_at_a_restart)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 1000, 1, flat);
    engine_restart(e);
    struct answer a = ask(e);
    CHECK(a.restarts == 1 && a.samples == 1000 && a.max > 5 * GB);
    CHECK(a.phase_count == 0 && isnan(a.first_at) && isnan(a.last) && isnan(a.floor_last));
    CHECK(engine_history(e)->count == 0);
    /* The clock may start over. */
    CHECK(engine_push(e, 1, 1, 2 * GB) == 0);
    a = ask(e);
    CHECK(a.samples == 1001 && a.first_at == 1 && a.last_at == 1 && a.last == 2 * GB);
    CHECK(a.min == 2 * GB && a.max > 5 * GB && a.floor_first == 2 * GB);
    engine_free(e);
}

TEST(engine__can_restart_before_it_has_begun)
{
    struct engine *e = engine_for(&by_step);
    engine_restart(e);
    engine_restart(e);
    struct answer a = ask(e);
    CHECK(a.restarts == 2 && a.verdict == VERDICT_INCONCLUSIVE);
    engine_free(e);
}
