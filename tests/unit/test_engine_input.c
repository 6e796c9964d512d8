/* tests/unit/test_engine_input.c: clocks, restarts, gaps, grains: all ordinary input. */
#include "verdict/verdict.h"

#include "runs.h"
#include "unit.h"

#define IS_LEAK(a) ((a).verdict == VERDICT_LEAK)
#define IS_OPEN(a) ((a).verdict == VERDICT_INCONCLUSIVE)

static double flat(double at, struct random *r)
{
    (void) at;
    return 5 * GB + 5 * MB * random_normal(r);
}

static double leak(double at, struct random *r)
{
    return 5 * GB + 1 * MB * at + 5 * MB * random_normal(r);
}

/* ---- clocks ---- */

static double resumed_leak(double at, struct random *r)
{
    return leak(at - 50000, r);
}

TEST(input__may_begin_at_step_50000)
{
    struct answer from_0 = judge(BY_STEP(.epoch_length = 200), 0, 1200, 1, leak);
    struct answer resumed = judge(BY_STEP(.epoch_length = 200), 50000, 51200, 1, resumed_leak);
    CHECK(IS_LEAK(from_0) && IS_LEAK(resumed));
    CHECK_NEAR(resumed.rate, 1 * MB, 0.05 * MB);
    CHECK(resumed.onset_at >= 50000 && resumed.onset_at < 50030);
    CHECK_NEAR(resumed.alarm_at - 50000, from_0.alarm_at, 100);
    CHECK(resumed.first_at == 50000 && resumed.phases[0].from >= 50000);
}

static double resumed_warm_up(double at, struct random *r)
{
    return 1 * GB + 10 * MB * fmin(at - 50000, 200) + 1 * MB * random_normal(r);
}

TEST(input__counts_a_resumed_warm_up_from_where_it_began)
{
    struct answer a = judge(BY_STEP(.epoch_length = 200), 50000, 51500, 1, resumed_warm_up);
    CHECK(a.verdict == VERDICT_NO_LEAK && a.pattern == PATTERN_WARM_UP);
    CHECK_NEAR(a.warm_up_end, 50200, 20);
    CHECK_NEAR(a.warm_up_epochs, 1, 0.1);
}

TEST(input__may_be_on_the_clock_of_seconds)
{
    struct engine *e = engine_for(BY_STEP(.clock = CLOCK_SECONDS));
    struct random r = {1};
    for (int i = 0; i < 4000; i += 2)
        (void) engine_push(e, NAN, 1.7e9 + i, leak(i, &r));
    struct answer a = ask(e);
    CHECK(IS_LEAK(a) && a.horizon == 900);
    CHECK_NEAR(a.rate, 1 * MB, 0.02 * MB);
    CHECK(a.rate_per_second == a.rate && isnan(a.rate_per_step));
    CHECK(a.onset_seconds == a.onset_at && a.onset_at >= 1.7e9);
    engine_free(e);
}

TEST(input__gives_rates_on_both_clocks)
{
    struct engine *e = engine_for(BY_STEP(.limit = 8 * GB));
    struct random r = {1};
    for (int step = 1; step <= 1500; step++)
        (void) engine_push(e, step, 1000 + 0.25 * step, leak(step, &r));
    struct answer a = ask(e);
    CHECK(IS_LEAK(a));
    CHECK(a.rate_per_step == a.rate);
    CHECK_NEAR(a.rate_per_second, 4 * a.rate, 1);
    CHECK_NEAR(a.onset_seconds, 1000 + 0.25 * a.onset_at, 0.01);
    CHECK_NEAR(a.forecast.limit_seconds, 0.25 * (a.forecast.limit_at - 1500), 0.01);
    engine_free(e);
}

TEST(input__knows_no_seconds_where_there_are_none)
{
    struct engine *e = engine_for(&by_step);
    struct random r = {1};
    for (int step = 1; step <= 1500; step++)
        (void) engine_push(e, step, NAN, leak(step, &r));
    struct answer a = ask(e);
    CHECK(IS_LEAK(a) && isnan(a.rate_per_second) && isnan(a.onset_seconds));
    CHECK(isnan(a.forecast.limit_seconds) && isnan(a.first_seconds));
    engine_free(e);
}

/* The wall clock is set back, or comes from another machine. */
TEST(input__does_not_believe_seconds_that_go_backwards)
{
    struct engine *e = engine_for(BY_STEP(.limit = 8 * GB));
    struct random r = {1};
    for (int step = 1; step <= 1500; step++)
        (void) engine_push(e, step, 5000 - step, leak(step, &r));
    struct answer a = ask(e);
    CHECK(IS_LEAK(a) && isnan(a.rate_per_second));
    CHECK(isnan(a.forecast.limit_seconds) && isnan(a.onset_seconds));
    engine_free(e);
}

TEST(input__may_have_many_samples_at_one_step)
{
    struct engine *e = engine_for(&by_step);
    struct random r = {1};
    for (int i = 0; i < 20; i++)
        (void) engine_push(e, 7, i, flat(7, &r));
    struct answer a = ask(e);
    CHECK(IS_OPEN(a) && a.first_at == 7 && a.last_at == 7);
    CHECK(!isinf(a.rate_low) && !isinf(a.rate_high) && !isinf(a.needs.seconds));
    CHECK(a.phase_count == 1 && !isinf(a.phases[0].rate_low) && !isinf(a.phases[0].rate_high));
    for (int step = 8; step < 1200; step++)
        for (int i = 0; i < 3; i++)
            (void) engine_push(e, step, step, leak(step, &r));
    a = ask(e);
    CHECK(IS_LEAK(a));
    CHECK_NEAR(a.rate, 1 * MB, 0.05 * MB);
    engine_free(e);
}

TEST(input__may_end_while_the_step_stands_still)
{
    /* A long validation: samples continue, the step does not. */
    struct engine *e = engine_for(&by_step);
    feed(e, 0, 20000, 200, flat);
    struct random r = {2};
    for (int i = 0; i < 50; i++)
        (void) engine_push(e, 20000, NAN, flat(20000, &r) - 2 * GB);
    struct answer a = ask(e);
    CHECK(a.verdict == VERDICT_NO_LEAK && isfinite(a.rate_upper) && !isinf(a.rate_high));
    engine_free(e);
}

/* ---- few samples ---- */

TEST(input__of_one_sample_is_too_short)
{
    struct answer a = judge(&by_step, 40, 40, 1, flat);
    CHECK(IS_OPEN(a) && a.samples == 1 && a.phase_count == 1);
    CHECK(a.phases[0].name == PHASE_START && a.phases[0].from == 40 && a.phases[0].to == 40);
    CHECK(isnan(a.rate) && isnan(a.naive.rate) && isnan(a.confidence));
    CHECK(!isinf(a.phases[0].rate_low) && !isinf(a.phases[0].rate_high));
    CHECK(a.floor_first == a.last && a.floor_last == a.last);
    CHECK(a.needs.at_least > 0 && a.needs.why[0] && a.why_count >= 1);
}

TEST(input__of_two_samples_is_too_short)
{
    struct answer a = judge(&by_step, 40, 50, 10, leak);
    CHECK(IS_OPEN(a) && a.samples == 2 && a.phase_count == 1);
    CHECK(a.phases[0].name == PHASE_START && a.phases[0].from == 40 && a.phases[0].to == 50);
    CHECK(isnan(a.rate) && isfinite(a.naive.rate));
    CHECK(a.needs.at_least > 0);
}

TEST(input__of_few_samples_over_a_long_time_is_too_short)
{
    struct answer a = judge(&by_step, 0, 4000, 1000, flat);
    CHECK(a.samples == 5 && IS_OPEN(a));
    CHECK(a.needs.at_least >= 1000);
}

/* ---- rare, missing, lost ---- */

static double slow_leak(double at, struct random *r)
{
    return 5 * GB + 2 * KB * at + 20 * MB * random_normal(r);
}

TEST(input__may_be_rarer_than_a_horizon)
{
    /* 600 samples, every 200 steps: only all of them together show the leak. */
    struct answer a = judge(&by_step, 0, 120000, 200, slow_leak);
    CHECK(IS_LEAK(a));
    CHECK_NEAR(a.rate, 2 * KB, 0.4 * KB);
    a = judge(&by_step, 0, 120000, 200, flat);
    CHECK(a.verdict == VERDICT_NO_LEAK && isnan(a.alarm_at));
}

TEST(input__may_miss_samples)
{
    struct engine *e = engine_for(&by_step);
    struct random r = {1};
    for (int step = 1; step <= 2000; step++) {
        double value = leak(step, &r);
        if (random_uniform(&r) < 0.4)
            (void) engine_push(e, step, NAN, value);
    }
    struct answer a = ask(e);
    CHECK(IS_LEAK(a) && a.samples < 1000);
    CHECK_NEAR(a.rate, 1 * MB, 0.05 * MB);
    engine_free(e);
}

TEST(input__may_have_a_gap_in_a_leak)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 800, 1, leak);
    feed(e, 3000, 3800, 1, leak);
    struct answer a = ask(e);
    CHECK(IS_LEAK(a));
    CHECK_NEAR(a.rate, 1 * MB, 0.1 * MB);
    engine_free(e);
}

static double higher_later(double at, struct random *r)
{
    return flat(at, r) + (at > 1000 ? 2 * GB : 0);
}

TEST(input__takes_a_rise_within_a_gap_for_no_leak)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 800, 1, higher_later);
    feed(e, 3000, 3800, 1, higher_later);
    struct answer a = ask(e);
    CHECK(!IS_LEAK(a) && isnan(a.alarm_at));
    engine_free(e);
}

/* ---- restarts ---- */

TEST(input__lets_a_leak_stand_over_a_restart)
{
    struct engine *e = engine_for(BY_STEP(.limit = 16 * GB));
    feed(e, 1, 1000, 1, leak);
    CHECK(IS_LEAK(ask(e)));
    engine_restart(e);
    struct answer a = ask(e);
    CHECK(IS_LEAK(a) && a.restarts == 1);
    feed(e, 1, 60, 1, flat);
    a = ask(e);
    CHECK(IS_LEAK(a) && a.confidence < 0.99);
    /* Everything the answer says about the rate refers to the run that leaked. */
    CHECK_NEAR(a.rate, 1 * MB, 0.1 * MB);
    CHECK(a.rate_low <= a.rate && a.rate <= a.rate_high);
    CHECK(a.rate_per_step == a.rate && a.rate_per_second == a.rate);
    CHECK(a.forecast.limit_low <= a.forecast.limit_at);
    CHECK(a.forecast.limit_high >= a.forecast.limit_at);
    engine_free(e);
}

TEST(input__clears_the_run_after_a_restart_in_the_end)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 1000, 1, leak);
    engine_restart(e);
    feed(e, 1, 1000, 1, flat);
    struct answer a = ask(e);
    CHECK(a.verdict == VERDICT_NO_LEAK && a.restarts == 1 && a.samples == 2000);
    CHECK_NEAR(a.floor_first, 5 * GB, 50 * MB);
    engine_free(e);
}

TEST(input__never_splices_two_runs)
{
    /* Each run warms up for 100 steps; joined, they would be a sawtooth or a ramp. */
    struct engine *e = engine_for(&by_step);
    for (int run = 0; run < 6; run++) {
        for (int step = 1; step <= 100; step++)
            (void) engine_push(e, step, NAN, 1 * GB + 0.2 * GB * run + 5 * MB * step);
        engine_restart(e);
    }
    struct answer a = ask(e);
    CHECK(!IS_LEAK(a) && isnan(a.alarm_at) && a.restarts == 6);
    engine_free(e);
}

TEST(input__finds_the_leak_of_the_second_run)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 1000, 1, flat);
    engine_restart(e);
    feed(e, 1, 1000, 1, leak);
    struct answer a = ask(e);
    CHECK(IS_LEAK(a) && a.onset_at < 50);
    CHECK_NEAR(a.rate, 1 * MB, 0.05 * MB);
    engine_free(e);
}

/* ---- grains ---- */

/* 20 KB a step in a log that rounds to whole MB. */
static double rounded_to_mb(double at, struct random *r)
{
    (void) r;
    return MB * round(25.1 + 20 * KB / MB * at);
}

TEST(input__rounded_to_the_unit_that_it_grew_is_open)
{
    /* 25.1 to 25.9 MB: one unit. */
    struct answer a = judge(BY_STEP(.rounding = MB), 1, 40, 1, rounded_to_mb);
    CHECK(IS_OPEN(a));
    a = judge(BY_STEP(.rounding = MB, .horizon = 15), 1, 40, 1, rounded_to_mb);
    CHECK(IS_OPEN(a) && isnan(a.alarm_at));
    CHECK(a.max - a.min == MB && a.needs.at_least > 0);
    /* The values show the rounding themselves, too. */
    a = judge(BY_STEP(.horizon = 15), 1, 40, 1, rounded_to_mb);
    CHECK(IS_OPEN(a));
}

TEST(input__rounded_finely_enough_is_judged)
{
    struct answer a = judge(BY_STEP(.rounding = MB), 1, 3000, 1, rounded_to_mb);
    CHECK(IS_LEAK(a));
    CHECK_NEAR(a.rate, 20 * KB, 2 * KB);
}

/* Kernel pages of 4 KB, one every `steps` steps. */
static double page_in_20_steps(double at, struct random *r)
{
    (void) r;
    return 800 * MB + 4 * KB * floor(at / 20);
}

static double page_a_step(double at, struct random *r)
{
    (void) r;
    return 800 * MB + 4 * KB * at;
}

TEST(input__in_pages_has_to_grow_by_a_megabyte)
{
    /* 0.6 MB in all: host counters creep that much by themselves. */
    struct answer a = judge(&by_step, 1, 3000, 1, page_in_20_steps);
    CHECK(a.verdict == VERDICT_NO_LEAK && isnan(a.alarm_at));
    a = judge(&by_step, 1, 3000, 1, page_a_step);
    CHECK(IS_LEAK(a));
    CHECK_NEAR(a.rate, 4 * KB, 10);
}

TEST(input__is_held_to_the_resolution_it_is_given)
{
    struct answer a =
        judge(&(struct engine_options){.resolution = 0}, 1, 3000, 1, page_in_20_steps);
    CHECK(IS_LEAK(a));
    CHECK_NEAR(a.rate, 4 * KB / 20, 10);
    a = judge(&(struct engine_options){.resolution = 100 * MB}, 1, 3000, 1, page_a_step);
    CHECK(!IS_LEAK(a) && isnan(a.alarm_at));
}

static double block_in_20_steps(double at, struct random *r)
{
    (void) r;
    return 800 * MB + 512 * floor(at / 20);
}

TEST(input__in_blocks_of_512_bytes_is_exact)
{
    struct answer a = judge(&by_step, 1, 3000, 1, block_in_20_steps);
    CHECK(IS_LEAK(a) && a.severity == SEVERITY_NEGLIGIBLE);
    CHECK_NEAR(a.rate, 512.0 / 20, 1);
}

/* ---- counts ---- */

static double tensors(double at, struct random *r)
{
    (void) r;
    return at < 60 ? 6484 : 6529;
}

static double kept_tensor(double at, struct random *r)
{
    (void) r;
    return 6529 + at;
}

TEST(input__may_be_a_count)
{
    struct answer a = judge(BY_STEP(.unit = SERIES_COUNT), 1, 800, 1, tensors);
    CHECK(a.verdict == VERDICT_NO_LEAK && a.pattern == PATTERN_LEVEL_SHIFT);
    CHECK(a.floor_last == 6529 && isnan(a.alarm_at));
    a = judge(BY_STEP(.unit = SERIES_COUNT), 1, 800, 1, kept_tensor);
    CHECK(IS_LEAK(a) && a.severity == SEVERITY_LOW); /* a count does not say how much memory */
    CHECK_NEAR(a.rate, 1, 1e-6);
}

/* ---- values as they come ---- */

static double from_zero(double at, struct random *r)
{
    (void) r;
    return at < 300 ? 0 : 512 * (at - 300);
}

static double negative(double at, struct random *r)
{
    return -leak(at, r);
}

static double rising_from_below(double at, struct random *r)
{
    return leak(at, r) - 10 * GB;
}

TEST(input__may_be_zero_or_below)
{
    struct answer a = judge(&by_step, 1, 1500, 1, from_zero);
    CHECK(IS_LEAK(a));
    CHECK_NEAR(a.onset_at, 300, 60); /* one coarse block */
    CHECK_NEAR(a.rate, 512, 10);
    a = judge(&by_step, 1, 1500, 1, negative);
    CHECK(a.verdict == VERDICT_NO_LEAK && a.pattern == PATTERN_SHRINKING);
    a = judge(&by_step, 1, 1500, 1, rising_from_below);
    CHECK(IS_LEAK(a) && a.max < 0);
    CHECK_NEAR(a.rate, 1 * MB, 0.05 * MB);
}

TEST(input__may_be_absurd)
{
    const double scales[] = {1e-300, 1e-20, 1e20, 1e150, 1e300, 1.7e308};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        struct engine *e = engine_for(BY_STEP(.limit = 1 * GB, .plan = 5000));
        struct random r = {1};
        for (int step = 1; step <= 1000; step++)
            (void) engine_push(e, step, step, scales[i] * (2 * random_uniform(&r) - 1));
        struct answer a = ask(e);
        CHECK(!IS_LEAK(a));
        CHECK(scales[i] > ENGINE_MAX_NUMBER ? a.refused > 0 : a.samples == 1000);
        CHECK(!isinf(a.mean) && !isinf(a.rate) && !isinf(a.rate_high) && !isinf(a.noise));
        engine_free(e);
    }
}

TEST(input__on_a_clock_that_hardly_moves_has_no_rate)
{
    struct engine *e = engine_for(&by_step);
    for (int i = 0; i < 40; i++)
        (void) engine_push(e, i * 1e-300, i * 1e-300, i * 1e28);
    struct answer a = ask(e);
    CHECK(IS_OPEN(a) && a.samples == 40);
    CHECK(!isinf(a.rate) && !isinf(a.naive.rate) && !isinf(a.rate_per_second));
    CHECK(!isinf(a.needs.at_least) && !isinf(a.needs.seconds));
    engine_free(e);
}

/* ---- the job ---- */

static double under_noise(double at, struct random *r)
{
    return 5 * GB + 20 * KB * at + 20 * MB * random_normal(r);
}

TEST(input__of_a_large_job_is_accused_later)
{
    int later = 0;
    for (double from = 1; from <= 10; from++) {
        double alone = judge(&by_step, from, from + 4000, 1, under_noise).alarm_at;
        double of_many =
            judge(BY_STEP(.job_series = 1000), from, from + 4000, 1, under_noise).alarm_at;
        CHECK(!isnan(alone));
        CHECK(isnan(of_many) || of_many >= alone);
        later += !(of_many <= alone);
    }
    CHECK(later >= 3);
}
