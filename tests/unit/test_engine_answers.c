/* tests/unit/test_engine_answers.c: what the engine says about runs with known truth. */
#include "verdict/verdict.h"

#include "runs.h"
#include "unit.h"

#define IS_LEAK(a) ((a).verdict == VERDICT_LEAK)
#define IS_CLEAN(a) ((a).verdict == VERDICT_NO_LEAK && isnan((a).alarm_at) && !(a).suspect)
#define IS_OPEN(a) ((a).verdict == VERDICT_INCONCLUSIVE)

/* ---- one block a step ---- */

/* The demo in the documents: one kept loss of 512 bytes at every step. */
static double kept_loss(double at, struct random *r)
{
    (void) r;
    return 25 * MB + 512 * at;
}

TEST(answer__calls_512_bytes_a_step_a_leak)
{
    struct answer a = judge(BY_STEP(.epoch_length = 782, .limit = 15 * GB), 1, 2346, 1, kept_loss);
    CHECK(IS_LEAK(a) && !a.suspect);
    CHECK(a.severity == SEVERITY_NEGLIGIBLE && a.pattern == PATTERN_LINEAR);
    CHECK_NEAR(a.rate, 512, 1e-6);
    CHECK_NEAR(a.rate_low, 512, 1);
    CHECK_NEAR(a.rate_high, 512, 1);
    CHECK(a.rate_low <= a.rate && a.rate <= a.rate_high);
    CHECK_NEAR(a.rate_per_step, 512, 1e-6);
    CHECK_NEAR(a.rate_per_epoch, 512 * 782, 1e-3);
    CHECK(a.onset_at == 1 && a.confidence >= 0.99);
    CHECK(a.phase_count == 1 && a.phases[0].name == PHASE_GROWING);
    CHECK(a.phases[0].from == 1 && a.phases[0].to == 2346);
}

TEST(answer__suspects_in_the_first_epoch_and_accuses_soon_after_it)
{
    struct engine *e = engine_for(BY_STEP(.epoch_length = 782, .limit = 15 * GB));
    feed(e, 1, 782, 1, kept_loss);
    struct answer a = ask(e);
    CHECK(IS_OPEN(a) && a.suspect && a.suspect_at <= 782 && isnan(a.alarm_at));
    CHECK(a.needs.at_least > 0 && a.needs.at_least <= 782);
    feed(e, 783, 1200, 1, kept_loss);
    a = ask(e);
    CHECK(IS_LEAK(a) && a.alarm_at > 782 && a.alarm_at <= 1200);
    engine_free(e);
}

TEST(answer__forecasts_where_a_leak_ends)
{
    double limit = 30 * MB, plan = 5000;
    struct answer a =
        judge(BY_STEP(.epoch_length = 782, .limit = limit, .plan = plan), 1, 2346, 1, kept_loss);
    /* The current floor is that of the last block, which holds 16 samples. */
    CHECK_NEAR(a.forecast.plan_value, 25 * MB + 512 * plan, 16 * 512);
    CHECK(a.forecast.plan_low <= a.forecast.plan_value);
    CHECK(a.forecast.plan_high >= a.forecast.plan_value);
    CHECK_NEAR(a.forecast.limit_at, 5 * MB / 512, 16);
    CHECK(a.forecast.limit_low <= a.forecast.limit_at);
    CHECK(a.forecast.limit_high >= a.forecast.limit_at);
    CHECK_NEAR(a.forecast.limit_seconds, a.forecast.limit_at - 2346, 1e-6);
    /* The plan ends before the limit, but uses more than a tenth of the free memory. */
    CHECK(a.severity == SEVERITY_MEDIUM);
}

TEST(answer__grades_severity_by_plan_and_limit)
{
    struct answer a =
        judge(BY_STEP(.epoch_length = 782, .limit = 27 * MB, .plan = 5000), 1, 2346, 1, kept_loss);
    CHECK(IS_LEAK(a) && a.severity == SEVERITY_HIGH);
    a = judge(BY_STEP(.epoch_length = 782, .limit = 80 * GB, .plan = 5000), 1, 2346, 1, kept_loss);
    CHECK(IS_LEAK(a) && a.severity == SEVERITY_NEGLIGIBLE);
    a = judge(BY_STEP(.epoch_length = 782, .limit = 80 * GB, .plan = 2e6), 1, 2346, 1, kept_loss);
    CHECK(IS_LEAK(a) && a.severity == SEVERITY_LOW);
    /* Without a plan, the engine looks ahead ten times the run so far. */
    a = judge(BY_STEP(.epoch_length = 782, .limit = 36 * MB), 1, 2346, 1, kept_loss);
    CHECK(IS_LEAK(a) && a.severity == SEVERITY_HIGH);
}

static double with_a_small_leap(double at, struct random *r)
{
    return 110 * MB + 16 * KB * at + 100 * KB * random_uniform(r) + (at > 100 ? 300 * KB : 0);
}

static double slower_after_a_while(double at, struct random *r)
{
    return 110 * MB + 16 * KB * at + 30 * KB * random_uniform(r) + fmin(600 * KB, 6000 * at);
}

static struct answer judge_short(value_at *value)
{
    struct engine *e = engine_for(BY_STEP(.limit = 24 * GB));
    feed(e, 1, 799, 2.4, value);
    engine_finish(e);
    struct answer a = ask(e);
    engine_free(e);
    return a;
}

/* The test looks at the last part alone, behind the leap; the pace is the same before it. */
TEST(answer__a_leak_began_with_growth_at_its_pace)
{
    struct answer a = judge_short(with_a_small_leap);
    CHECK(IS_LEAK(a) && a.onset_at == 1 && a.phase_count == 1 && a.phases[0].from == 1);
    a = judge_short(slower_after_a_while);
    CHECK(IS_LEAK(a) && a.phase_count == 2 && a.phases[1].from == a.onset_at);
    CHECK_NEAR(a.onset_at, 80, 40);
}

/* ---- nothing grows ---- */

static double constant(double at, struct random *r)
{
    (void) at;
    (void) r;
    return 5 * GB;
}

static double zero(double at, struct random *r)
{
    (void) at;
    (void) r;
    return 0;
}

static double noisy(double at, struct random *r)
{
    (void) at;
    return 5 * GB + 20 * MB * random_normal(r);
}

TEST(answer__finds_nothing_in_a_constant)
{
    struct answer a = judge(&by_step, 1, 1000, 1, constant);
    CHECK(IS_CLEAN(a) && a.pattern == PATTERN_FLAT && a.severity == SEVERITY_NONE);
    CHECK(a.rate == 0 && a.rate_upper >= 0 && a.rate_upper < 1);
    CHECK(a.floor_first == 5 * GB && a.floor_last == 5 * GB && a.noise == 0);
    CHECK(a.phase_count == 1 && a.phases[0].name == PHASE_STABLE);
    CHECK(isnan(a.onset_at) && isnan(a.warm_up_end) && !a.naive.misleads);
    CHECK(isnan(a.needs.at_least) && a.needs.why[0] == '\0');
    a = judge(&by_step, 1, 1000, 1, zero);
    CHECK(IS_CLEAN(a) && a.pattern == PATTERN_FLAT && a.rate == 0 && a.rate_upper == 0);
}

TEST(answer__finds_nothing_in_noise)
{
    int clean = 0;
    for (double from = 1; from <= 50; from++) {
        struct answer a = judge(&by_step, from, from + 1500, 1, noisy);
        CHECK(!IS_LEAK(a) && isnan(a.alarm_at));
        CHECK_NEAR(a.floor_last, 5 * GB, 100 * MB);
        clean += IS_CLEAN(a) && a.pattern == PATTERN_FLAT && a.rate_upper < 1 * MB;
    }
    /* Chance sometimes looks like weak growth. */
    CHECK(clean >= 45);
}

TEST(answer__has_phases_from_the_first_sample_to_the_last)
{
    struct answer a = judge(&by_step, 7, 5003, 1, noisy);
    CHECK(a.phases[0].from == 7 && a.phases[a.phase_count - 1].to == 5003);
}

TEST(answer__bounds_what_may_grow_unseen)
{
    struct answer a = judge(BY_STEP(.limit = 16 * GB, .plan = 2000), 1, 1500, 1, noisy);
    CHECK(IS_CLEAN(a) && a.rate_upper > 0);
    CHECK(a.forecast.plan_value == a.floor_last);
    CHECK_NEAR(a.forecast.plan_high, a.floor_last + 500 * a.rate_upper, 1);
    CHECK(a.forecast.limit_at == INFINITY && a.forecast.limit_high == INFINITY);
    CHECK(a.forecast.limit_low > 2000);
}

/* ---- warm-up ---- */

static double warm_up(double at, struct random *r)
{
    return 2 * GB + 20 * MB * fmin(at, 100) + 2 * MB * random_normal(r);
}

TEST(answer__tells_warm_up_from_plateau)
{
    struct answer a = judge(BY_STEP(.epoch_length = 100), 1, 1000, 1, warm_up);
    CHECK(IS_CLEAN(a) && a.pattern == PATTERN_WARM_UP);
    CHECK(a.phase_count == 2);
    CHECK(a.phases[0].name == PHASE_WARM_UP && a.phases[1].name == PHASE_STABLE);
    CHECK_NEAR(a.warm_up_end, 100, 10);
    CHECK_NEAR(a.warm_up_epochs, 1, 0.1);
    CHECK_NEAR(a.phases[0].rate, 20 * MB, 1 * MB);
    CHECK_NEAR(a.rate, 0, 0.05 * MB);
    CHECK(a.naive.misleads);
    CHECK_NEAR(a.naive.rate, 2 * MB, 0.1 * MB);
    CHECK(a.naive.warm_up_share > 0.9);
}

TEST(answer__waits_while_a_cache_may_be_filling)
{
    struct engine *e = engine_for(BY_STEP(.epoch_length = 100));
    feed(e, 1, 100, 1, warm_up);
    struct answer a = ask(e);
    CHECK(IS_OPEN(a) && a.needs.at_least > 0 && a.needs.why[0]);
    CHECK(a.phases[a.phase_count - 1].name == PHASE_GROWING);
    engine_free(e);
}

static double long_fill(double at, struct random *r)
{
    return 1 * GB + 500 * MB * (1 - exp(-at / 250)) + 1 * MB * random_normal(r);
}

/* 16 KB a step: with 24 GB free there is time to find out whether it is a large buffer. */
static double slow_line(double at, struct random *r)
{
    return 300 * MB + 16 * 1024 * at + 4096 * random_normal(r);
}

TEST(answer__waits_with_a_slow_line_as_long_as_more_may_come)
{
    struct engine *e = engine_for(BY_STEP(.limit = 24 * GB));
    feed(e, 1, 600, 1, slow_line);
    struct answer a = ask(e);
    CHECK(IS_OPEN(a) && a.suspect && isnan(a.alarm_at));
    engine_finish(e);
    a = ask(e);
    CHECK(a.verdict == VERDICT_LEAK && a.alarm_at == 600);
    CHECK_NEAR(a.rate, 16 * 1024, 800);
    engine_free(e);
}

TEST(answer__does_not_end_the_wait_of_a_short_line)
{
    struct engine *e = engine_for(BY_STEP(.limit = 24 * GB));
    feed(e, 1, 400, 1, slow_line);
    engine_finish(e);
    struct answer a = ask(e);
    CHECK(IS_OPEN(a) && isnan(a.alarm_at));
    engine_free(e);
}

TEST(answer__clears_a_cache_that_has_filled)
{
    struct answer a = judge(&by_step, 1, 5000, 1, long_fill);
    CHECK(a.verdict == VERDICT_NO_LEAK);
    CHECK(a.pattern == PATTERN_BOUNDED_CACHE || a.pattern == PATTERN_WARM_UP);
}

/* A cache of values seen for the first time, which become ever rarer. */
static double slowing_fill(double at, struct random *r)
{
    return 1 * GB + 200 * MB * log1p(at / 100) + 2 * MB * random_normal(r);
}

TEST(answer__raises_no_alarm_for_growth_that_fades)
{
    for (double from = 1; from <= 5; from++) {
        struct answer a = judge(&by_step, from, 4000, 1, slowing_fill);
        CHECK(!IS_LEAK(a) && isnan(a.alarm_at));
    }
}

/* A fill that takes a whole horizon and then stops. */
static double over_by_now(double at, struct random *r)
{
    return 1 * GB + 5 * MB * fmin(at, 150) + 1 * MB * random_normal(r);
}

TEST(answer__raises_no_alarm_for_growth_that_is_over)
{
    for (double from = 1; from <= 5; from++) {
        struct answer a = judge(&by_step, from, 2000, 1, over_by_now);
        CHECK(a.verdict == VERDICT_NO_LEAK && isnan(a.alarm_at));
    }
}

/* ---- the documents' runs ---- */

TEST(answer__leaves_run_1_open)
{
    struct answer a = JUDGE_MB(BY_STEP(.epoch_length = 83), run_1_mb);
    CHECK(IS_OPEN(a) && isnan(a.alarm_at));
    CHECK(a.phase_count == 1 && a.phases[0].name == PHASE_GROWING);
    CHECK_NEAR(a.phases[0].rate, 170 * MB, 2 * MB);
    CHECK(a.needs.at_least > 0 && a.needs.at_least < 300);
}

TEST(answer__clears_run_2)
{
    struct answer a = JUDGE_MB(BY_STEP(.epoch_length = 83), run_2_mb);
    CHECK(IS_CLEAN(a) && a.pattern == PATTERN_WARM_UP);
    CHECK(a.phases[0].name == PHASE_WARM_UP);
    CHECK(a.phases[0].from == 10 && a.phases[0].to == 80 && a.warm_up_end == 80);
    CHECK_NEAR(a.phases[0].rate, 171 * MB, 2 * MB);
    CHECK(a.rate <= 0 && a.naive.misleads);
    CHECK_NEAR(a.warm_up_epochs, 80.0 / 83, 1e-9);
}

TEST(answer__finds_two_phases_in_the_test_run)
{
    struct answer a = JUDGE_MB(BY_STEP(.epoch_length = 37.5), test_run_mb);
    CHECK(IS_OPEN(a) && isnan(a.alarm_at));
    CHECK(a.phase_count == 2);
    CHECK(a.phases[0].name == PHASE_WARM_UP && a.phases[0].from == 10 && a.phases[0].to == 40);
    CHECK(a.phases[1].name == PHASE_GROWING && a.phases[1].from == 50 && a.phases[1].to == 100);
    CHECK_NEAR(a.phases[0].rate, 148 * MB, 3 * MB);
    CHECK_NEAR(a.phases[1].rate, 2.3 * MB, 0.15 * MB);
    CHECK(a.naive.misleads);
    CHECK_NEAR(a.naive.rate, 50.8 * MB, 0.1 * MB);
    CHECK_NEAR(a.naive.warm_up_share, 0.97, 0.01);
}

/* The heap settles: the last phase rises a little, with certainty. */
static double settling(double at, struct random *r)
{
    return 114 * MB + 50 * KB * (1 - exp(-at / 60)) + 4 * KB * random_normal(r);
}

TEST(answer__a_length_that_is_printed_asks_for_no_more_than_none)
{
    struct engine_options o = *BY_STEP(.limit = 23 * GB);
    CHECK(judge(&o, 1, 592, 7, settling).verdict == VERDICT_NO_LEAK);
    o.plan = 600;
    o.plan_reported = true;
    CHECK(judge(&o, 1, 592, 7, settling).verdict == VERDICT_NO_LEAK);
}

TEST(answer__judges_the_test_run_by_its_plan)
{
    struct answer a = JUDGE_MB(BY_STEP(.plan = 250, .limit = 32 * GB), test_run_mb);
    CHECK(a.verdict == VERDICT_NO_LEAK && a.plan == 250 && a.limit == 32 * GB);
    /* What it may still add is less than a tenth of the free memory. */
    CHECK(a.rate_upper > 0);
    CHECK(a.rate_upper * 150 < 0.1 * (32 * GB - 9566 * MB));
    CHECK(a.forecast.plan_high < 32 * GB && a.forecast.limit_low > 250);
    a = JUDGE_MB(BY_STEP(.plan = 100000, .limit = 32 * GB), test_run_mb);
    CHECK(IS_OPEN(a) && a.needs.at_least > 0);
}

/* ---- steps, spikes and teeth ---- */

static double level_shift(double at, struct random *r)
{
    return (at < 500 ? 3 * GB : 3.5 * GB) + 2 * MB * random_normal(r);
}

TEST(answer__takes_a_step_for_a_step)
{
    struct answer a = judge(&by_step, 1, 1500, 1, level_shift);
    CHECK(a.verdict == VERDICT_NO_LEAK && isnan(a.alarm_at));
    CHECK(a.pattern == PATTERN_LEVEL_SHIFT);
    CHECK(a.phase_count == 2 && a.phases[1].name == PHASE_LEVEL_SHIFT);
    CHECK_NEAR(a.phases[1].from, 500, 20);
    CHECK_NEAR(a.floor_last - a.floor_first, 0.5 * GB, 20 * MB);
}

TEST(answer__waits_a_horizon_after_a_step)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 499, 1, level_shift);
    CHECK(ask(e).verdict == VERDICT_NO_LEAK);
    feed(e, 500, 503, 1, level_shift);
    /* A step, a spike that has not passed, or the start of a leak: too early to say. */
    for (double at = 504; at <= 640; at++) {
        feed(e, at, at, 1, level_shift);
        CHECK(IS_OPEN(ask(e)));
    }
    engine_free(e);
}

static double exact_shift(double at, struct random *r)
{
    (void) r;
    return at < 500 ? 3 * GB : 4 * GB;
}

TEST(answer__does_not_take_one_jump_for_the_grain_of_a_counter)
{
    for (double end = 502; end <= 640; end += 6)
        CHECK(IS_OPEN(judge(&by_step, 1, end, 1, exact_shift)));
    struct answer a = judge(&by_step, 1, 1000, 1, exact_shift);
    CHECK(IS_CLEAN(a) && a.pattern == PATTERN_LEVEL_SHIFT && a.phase_count == 2);
    CHECK(a.phases[0].level_to == 3 * GB && a.phases[1].level_from == 4 * GB);
}

static double spikes(double at, struct random *r)
{
    bool validating = fmod(at, 100) >= 96;
    return 4.8 * GB + (validating ? 5.6 * GB : 0) + 2 * MB * random_normal(r);
}

TEST(answer__looks_under_spikes)
{
    struct answer a = judge(&by_step, 1, 1050, 1, spikes);
    CHECK(IS_CLEAN(a) && a.pattern == PATTERN_SPIKES);
    CHECK(a.spikes.count == 10 && a.spikes.recovered);
    CHECK_NEAR(a.spikes.height, 5.6 * GB, 0.1 * GB);
    CHECK_NEAR(a.floor_last, 4.8 * GB, 20 * MB);
}

/* Collected every 10 steps; the next one every 50 steps. */
static double fine_sawtooth(double at, struct random *r)
{
    return 3 * GB + 100 * MB * fmod(at, 10) + 1 * MB * random_normal(r);
}

static double sawtooth(double at, struct random *r)
{
    return 3 * GB + 20 * MB * fmod(at, 50) + 1 * MB * random_normal(r);
}

static double leaking_sawtooth(double at, struct random *r)
{
    return sawtooth(at, r) + 1 * MB * at;
}

TEST(answer__looks_under_a_sawtooth)
{
    struct answer a = judge(&by_step, 1, 2000, 1, fine_sawtooth);
    CHECK(IS_CLEAN(a) && a.pattern == PATTERN_SAWTOOTH);
    a = judge(&by_step, 1, 2000, 1, sawtooth);
    CHECK(IS_CLEAN(a));
    CHECK_NEAR(a.floor_last, 3 * GB, 50 * MB);
    a = judge(&by_step, 1, 2000, 1, leaking_sawtooth);
    CHECK(IS_LEAK(a));
    CHECK_NEAR(a.rate, 1 * MB, 0.1 * MB);
}

/* Memory builds up during 40 of every 100 steps; before the first time there is less. */
static double evaluations(double at, struct random *r)
{
    double since = fmod(at, 100) - 60;
    return 120 * MB + (at < 70 ? 0 : 12 * MB) + fmax(since, 0) * MB + 0.1 * MB * random_normal(r);
}

TEST(answer__names_a_sawtooth_with_rests_between_its_teeth)
{
    struct answer a = judge(&by_step, 1, 600, 2, evaluations);
    CHECK(IS_CLEAN(a) && a.pattern == PATTERN_SAWTOOTH);
}

static double shrinking(double at, struct random *r)
{
    return 8 * GB - 0.5 * MB * at + 2 * MB * random_normal(r);
}

TEST(answer__does_not_mind_what_shrinks)
{
    struct answer a = judge(&by_step, 1, 2000, 1, shrinking);
    CHECK(IS_CLEAN(a) && a.pattern == PATTERN_SHRINKING);
    CHECK_NEAR(a.rate, -0.5 * MB, 0.05 * MB);
}

/* ---- leaks of other shapes ---- */

static double late_leak(double at, struct random *r)
{
    return 5 * GB + 3 * MB * fmax(0, at - 800) + 10 * MB * random_normal(r);
}

TEST(answer__says_when_a_leak_began)
{
    struct answer a = judge(&by_step, 1, 2000, 1, late_leak);
    CHECK(IS_LEAK(a) && a.alarm_at > 800 && a.alarm_at < 1300);
    CHECK_NEAR(a.onset_at, 800, 30);
    CHECK_NEAR(a.rate, 3 * MB, 0.1 * MB);
    CHECK(a.phase_count == 2);
    CHECK(a.phases[0].name == PHASE_STABLE && a.phases[1].name == PHASE_GROWING);
    CHECK(a.phases[0].to <= a.onset_at && a.phases[1].from == a.onset_at);
    CHECK_NEAR(a.phases[1].level_from, 5 * GB, 100 * MB);
    CHECK_NEAR(a.phases[1].level_to, 5 * GB + 3600 * MB, 100 * MB);
}

static double warm_up_and_leak(double at, struct random *r)
{
    return warm_up(at, r) + 1 * MB * at;
}

TEST(answer__does_not_average_a_leak_with_its_warm_up)
{
    struct answer a = judge(BY_STEP(.epoch_length = 100), 1, 1500, 1, warm_up_and_leak);
    CHECK(IS_LEAK(a));
    CHECK_NEAR(a.rate, 1 * MB, 0.05 * MB);
    CHECK(a.phases[0].name == PHASE_WARM_UP);
    CHECK_NEAR(a.warm_up_end, 100, 15);
}

static double accelerating(double at, struct random *r)
{
    return 5 * GB + 0.5 * KB * at * at + 5 * MB * random_normal(r);
}

TEST(answer__takes_the_pace_at_the_end_of_an_accelerating_leak)
{
    struct answer a = judge(&by_step, 1, 2000, 1, accelerating);
    CHECK(IS_LEAK(a) && a.pattern == PATTERN_ACCELERATING);
    CHECK_NEAR(a.rate, 1 * KB * 2000, 0.1 * KB * 2000);
}

static double stopping_leak(double at, struct random *r)
{
    return 5 * GB + 2 * MB * fmin(at, 1000) + 5 * MB * random_normal(r);
}

TEST(answer__withdraws_a_leak_that_has_stopped)
{
    struct engine *e = engine_for(&by_step);
    feed(e, 1, 1000, 1, stopping_leak);
    struct answer a = ask(e);
    CHECK(IS_LEAK(a));
    double alarm = a.alarm_at;
    bool open = false;
    for (double at = 1001; at <= 3000; at += 10) {
        feed(e, at, at + 9, 1, stopping_leak);
        a = ask(e);
        /* Never straight from leak to no leak. */
        CHECK(open || a.verdict != VERDICT_NO_LEAK);
        open = open || IS_OPEN(a);
    }
    CHECK(a.verdict == VERDICT_NO_LEAK && a.alarm_at == alarm);
    CHECK(a.rate < 0.1 * MB);
    engine_free(e);
}

/* One item a step up to step 450, as a census counts them: rarely, but exactly. */
static double stopping_count(double at, struct random *r)
{
    (void) r;
    return 1000 + fmin(at, 450);
}

/* The number of samples after the end of growth that are still judged a leak. */
static unsigned leaks_on(double every)
{
    struct engine *e = engine_for(BY_STEP(.unit = SERIES_COUNT));
    unsigned leaks = 0;
    for (double at = every; at <= 1500; at += every) {
        feed(e, at, at, every, stopping_count);
        leaks += at > 450 && ask(e).verdict == VERDICT_LEAK;
    }
    engine_free(e);
    return leaks;
}

TEST(answer__rare_samples_show_the_end_of_growth)
{
    for (double every = 30; every <= 50; every += 10)
        CHECK(leaks_on(every) <= 3);
}

TEST(answer__growth_lasts_until_it_became_level)
{
    struct engine *e = engine_for(BY_STEP(.unit = SERIES_COUNT));
    feed(e, 5, 500, 5, stopping_count);
    CHECK(ask(e).verdict == VERDICT_LEAK);
    CHECK_NEAR(engine_grows_until(e), 450, 15);
    engine_free(e);
    e = engine_for(&by_step);
    feed(e, 1, 900, 1, stopping_leak);
    CHECK(ask(e).verdict == VERDICT_LEAK && engine_grows_until(e) == 900);
    engine_free(e);
}

/* A smooth leak as a counter of 2 MB pages shows it. */
static double in_pages_of_2_mb(double at, struct random *r)
{
    (void) r;
    return 2 * MB * floor((1 * GB + 40 * KB * at) / (2 * MB));
}

TEST(answer__finds_a_leak_in_a_counter_of_2_mb_pages)
{
    struct answer a = judge(&by_step, 1, 3000, 1, in_pages_of_2_mb);
    CHECK(IS_LEAK(a));
    CHECK_NEAR(a.rate, 40 * KB, 4 * KB);
}

/* Every epoch of 100 steps keeps 10 MB at its end. */
static double one_thing_an_epoch(double at, struct random *r)
{
    return 2 * GB + 10 * MB * floor(at / 100) + 0.2 * MB * random_normal(r);
}

TEST(answer__calls_a_staircase_one)
{
    struct answer a = judge(BY_STEP(.epoch_length = 100), 1, 1500, 1, one_thing_an_epoch);
    CHECK(IS_LEAK(a) && a.pattern == PATTERN_STAIRCASE);
    CHECK_NEAR(a.rate, 0.1 * MB, 0.015 * MB);
}

/* The caches of the first validation: a step up at the end of the first epoch, in the middle of
 * a leak that exists before and after it. */
TEST(engine__a_step_up_does_not_hide_the_leak_around_it)
{
    struct engine_options o = {.clock = CLOCK_STEP, .epoch_length = 782, .resolution = 1048576};
    struct engine *e;
    CHECK(engine_new(&o, &e) == 0);
    for (unsigned i = 1; i <= 1200; i++)
        engine_push(e, i, NAN, 9e8 + 14e3 * i + (i > 782 ? 7e6 : 0) + 2e5 * ((i * 7919) % 5));
    struct answer a;
    engine_answer(e, &a);
    CHECK(a.verdict == VERDICT_LEAK);
    engine_free(e);
}

TEST(engine__a_step_up_of_a_flat_floor_is_no_leak)
{
    struct engine_options o = {.clock = CLOCK_STEP, .epoch_length = 782, .resolution = 1048576};
    struct engine *e;
    CHECK(engine_new(&o, &e) == 0);
    for (unsigned i = 1; i <= 2346; i++)
        engine_push(e, i, NAN, 9e8 + (i > 782 ? 7e6 : 0) + 2e5 * ((i * 7919) % 5));
    struct answer a;
    engine_answer(e, &a);
    CHECK(a.verdict == VERDICT_NO_LEAK && isnan(a.alarm_at));
    engine_free(e);
}

/* With a distant limit the alarm waits. The answer says how long, and the predicted step stays
 * about the same. */
TEST(engine__tells_how_long_its_patience_lasts)
{
    struct engine_options o = {.clock = CLOCK_STEP, .resolution = 1048576, .limit = 23e9};
    struct engine *e;
    struct answer a;
    double called = NAN, told[3] = {NAN, NAN, NAN};
    CHECK(engine_new(&o, &e) == 0);
    for (unsigned i = 1; i <= 900 && isnan(called); i++) {
        engine_push(e, i, NAN, 1e8 + 65536.0 * i);
        engine_answer(e, &a);
        if (i == 160 || i == 220 || i == 280)
            told[(i - 160) / 60] = i + a.needs.at_least;
        called = a.verdict == VERDICT_LEAK ? i : (double) NAN;
    }
    CHECK(called > 300);
    for (unsigned i = 0; i < 3; i++)
        CHECK_NEAR(told[i], called, 60);
    engine_free(e);
}

/* 24 KB a step, and more after `bend`, as when a training allocates its last buffers. The last
 * phase is short then, but the growth has been suspected for longer. */
static void check_needs_of_bent_growth(unsigned bend, double more)
{
    struct engine_options o = {.clock = CLOCK_STEP, .epoch_length = 100, .resolution = 1048576};
    struct engine *e;
    struct answer a;
    double called = NAN, least = INFINITY, most = 0;
    CHECK(engine_new(&o, &e) == 0);
    for (unsigned i = 1; i <= 600 && isnan(called); i++) {
        engine_push(e, i, NAN, 1e8 + 24000.0 * i + (i > bend ? more * (i - bend) : 0));
        engine_answer(e, &a);
        called = a.verdict == VERDICT_LEAK ? i : (double) NAN;
        if (isnan(called) && a.suspect) {
            least = fmin(least, i + a.needs.at_least);
            most = fmax(most, i + a.needs.at_least);
        }
    }
    CHECK_NEAR(least, called, 50);
    CHECK_NEAR(most, called, 150);
    engine_free(e);
}

TEST(answer__what_bends_needs_as_much_as_it_was_suspected_for_less)
{
    check_needs_of_bent_growth(80, 8000);
    check_needs_of_bent_growth(130, 12000);
}

/* ---- peaks beside the samples ---- */

static char evaluate[] = "evaluate", save[] = "save";
static char *const activities[] = {evaluate, save};

/* A flat run, or one that keeps `kept_mb` MB of every evaluation; `peaks`: with peaks beside its
 * samples. */
static struct answer judge_evaluating_for(int steps, double kept_mb, bool peaks)
{
    struct engine *e = engine_for(BY_STEP(.activities = activities));
    for (int i = 1; i <= steps; i++) {
        int evaluations = (i - 1) / 50;
        double level = (100 + kept_mb * evaluations) * MB + 4096 * (i % 3);
        if (engine_push(e, i, i, level) < 0)
            abort();
        if (peaks && i % 50 == 0)
            engine_note_peak(e, level + 200 * MB, i == 300 ? 2 : 1);
    }
    engine_finish(e);
    struct answer a = ask(e);
    engine_free(e);
    return a;
}

static struct answer judge_evaluating(double kept_mb, bool peaks)
{
    return judge_evaluating_for(600, kept_mb, peaks);
}

TEST(engine__spikes_have_names_before_there_is_a_verdict)
{
    struct answer a = judge_evaluating_for(120, 0, true);
    CHECK(a.verdict == VERDICT_INCONCLUSIVE);
    CHECK(strstr(a.why[a.why_count - 1], ": 2 of 2 during evaluate."));
}

TEST(engine__peaks_beside_the_samples_have_names)
{
    struct answer a = judge_evaluating(0, true);
    CHECK(a.verdict == VERDICT_NO_LEAK && a.pattern == PATTERN_SPIKES);
    CHECK(a.spikes.count == 12 && a.spikes.during_count == 2);
    CHECK_TEXT(a.spikes.during[0].name, "evaluate");
    CHECK_TEXT(a.spikes.during[1].name, "save");
    CHECK(a.spikes.during[0].count == 11 && a.spikes.during[1].count == 1);
    CHECK_NEAR(a.spikes.height, 200 * MB, MB);
    CHECK_NEAR(a.max, 300 * MB, MB);
    CHECK_TEXT(a.why[a.why_count - 1], "Spikes rise about 200 MB above the floor and all fall "
                                       "back: 11 of 12 during evaluate, 1 during save.");
}

/* No verdict depends on the peaks. */
TEST(engine__peaks_beside_the_samples_change_no_verdict)
{
    for (int kept = 0; kept <= 10; kept += 10) {
        struct answer with = judge_evaluating(kept, true), without = judge_evaluating(kept, false);
        CHECK(with.verdict == without.verdict);
        CHECK(with.verdict == (kept > 0 ? VERDICT_LEAK : VERDICT_NO_LEAK));
        CHECK(with.rate == without.rate && with.rate_high == without.rate_high);
        CHECK(with.floor_last == without.floor_last && with.noise == without.noise);
    }
}

/* A counter that is flat except for its spikes: the height of a spike is not its resolution. */
TEST(engine__what_stays_under_spikes_is_a_leak)
{
    struct engine *e = engine_for(&by_step);
    for (int i = 1; i <= 1000; i++) {
        int kept_mb = 10 * ((i - 1) / 50), spike_mb = i % 50 == 0 ? 200 : 0;
        if (engine_push(e, i, i, (100 + kept_mb + spike_mb) * MB) < 0)
            abort();
    }
    engine_finish(e);
    struct answer a = ask(e);
    engine_free(e);
    CHECK(a.verdict == VERDICT_LEAK);
    CHECK_NEAR(a.rate, 10 * MB / 50, 0.05 * MB);
}

/* A set of texts: it grows by less than the kernel's megabyte per horizon, and its table grows
 * in leaps. */
static double set_of_texts(double at, struct random *r)
{
    (void) r;
    double table = at < 164 ? 0 : 0.52 * MB, chunk = 32 * KB;
    return 5.42 * MB + table + floor(3.8 * KB * at / chunk) * chunk;
}

TEST(answer__what_climbs_by_less_than_a_megabyte_in_a_horizon_is_not_flat)
{
    static const struct engine_options kernel = {.resolution = MB, .limit = 15 * GB};
    CHECK(judge(&kernel, 1, 600, 1, set_of_texts).verdict != VERDICT_NO_LEAK);
    CHECK(IS_LEAK(judge(&kernel, 1, 1200, 1, set_of_texts)));
}
