/* tests/unit/test_gate.c: limits that a run must keep. */
#include "verdict/verdict.h"

#include "runs.h"
#include "unit.h"

static const struct gate_limits no_limits = {NAN, NAN, NAN, NAN, NAN, NAN};

/* Limits of one kind or two. */
#define LIMITS(...) limits_with((struct gate_limits){__VA_ARGS__})

/* 0 means no limit, for brevity. */
static struct gate_limits limits_with(struct gate_limits l)
{
    double *const all[] = {&l.max_rate,  &l.max_rise,    &l.max_warm_up,
                           &l.min_steps, &l.window_from, &l.window_to};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (*all[i] == 0)
            *all[i] = NAN;
    return l;
}

static struct gate_result check_engine(const struct engine *e, struct gate_limits l,
                                       enum series_clock clock)
{
    struct answer a = ask(e);
    struct gate_result result;
    gate_check(&l, &a, engine_history(e), SERIES_BYTES, clock, &result);
    return result;
}

static struct gate_result check_mb(const double *mb, size_t n, struct gate_limits l)
{
    struct engine *e = engine_for(BY_STEP(.epoch_length = 83));
    feed_mb(e, 10, 10, mb, n);
    struct gate_result result = check_engine(e, l, CLOCK_STEP);
    engine_free(e);
    return result;
}

#define CHECK_MB(mb, limits) check_mb((mb), sizeof(mb) / sizeof(mb)[0], (limits))

TEST(gate__lets_falling_memory_pass)
{
    struct gate_limits l =
        LIMITS(.max_rate = 5 * MB, .max_rise = 500 * MB, .max_warm_up = 100, .min_steps = 120);
    struct gate_result r = CHECK_MB(run_2_mb, l);
    CHECK(r.exit_status == 0);
    CHECK(strstr(r.line, "within 5.00 MB/step"));
    CHECK(strstr(r.line, "rise of the floor -") && strstr(r.line, "within 500 MB"));
    CHECK(strstr(r.line, "warm-up until step 80 within step 100"));
}

TEST(gate__without_limits_lets_everything_pass)
{
    CHECK(CHECK_MB(run_2_mb, no_limits).exit_status == 0);
    CHECK(CHECK_MB(run_1_mb, no_limits).exit_status == 0);
}

TEST(gate__says_which_limit_broke_and_by_how_much)
{
    struct gate_result r = CHECK_MB(test_run_mb, LIMITS(.max_rate = 1 * MB, .max_warm_up = 100));
    CHECK(r.exit_status == 3);
    CHECK_TEXT(r.line, "rate 2.39 MB/step exceeds 1.00 MB/step by 1.39 MB/step");
    r = CHECK_MB(test_run_mb, LIMITS(.max_warm_up = 30));
    CHECK(r.exit_status == 3);
    CHECK_TEXT(r.line, "warm-up until step 40 exceeds step 30");
}

TEST(gate__names_every_limit_that_broke)
{
    struct gate_result r =
        CHECK_MB(test_run_mb, LIMITS(.max_rate = 1 * MB, .max_rise = 50 * MB, .max_warm_up = 30));
    CHECK(r.exit_status == 3);
    CHECK(strstr(r.line, "rate ") && strstr(r.line, "; rise of the floor ") &&
          strstr(r.line, "; warm-up until "));
    CHECK(!strstr(r.line, "within"));
}

TEST(gate__measures_the_rise_after_the_warm_up)
{
    /* 9451 to 9566, not 4993 to 9566. */
    CHECK(CHECK_MB(test_run_mb, LIMITS(.max_rise = 200 * MB)).exit_status == 0);
    CHECK(CHECK_MB(test_run_mb, LIMITS(.max_rise = 50 * MB)).exit_status == 3);
}

TEST(gate__measures_the_rise_over_a_window)
{
    struct gate_limits l = LIMITS(.max_rise = 500 * MB, .window_from = 90, .window_to = 120);
    CHECK(CHECK_MB(run_2_mb, l).exit_status == 0);
    l = LIMITS(.max_rise = 500 * MB, .window_from = 10, .window_to = 60);
    struct gate_result r = CHECK_MB(run_2_mb, l);
    CHECK(r.exit_status == 3 && strstr(r.line, "rise of the floor 8.13 GB exceeds 500 MB"));
}

TEST(gate__measures_the_whole_rise_of_a_ramp)
{
    double mb[600];
    for (int i = 0; i < 600; i++)
        mb[i] = 5000 + 2 * i + i % 3;
    struct gate_limits l = LIMITS(.max_rise = 500 * MB, .window_from = 1000, .window_to = 4000);
    struct gate_result r = CHECK_MB(mb, l); /* a sample every 10 steps: 600 MB in 3,000 steps */
    CHECK(r.exit_status == 3);
}

TEST(gate__counts_the_steps_of_a_resumed_run_from_where_it_was_resumed)
{
    struct engine *e = engine_for(&by_step);
    for (int i = 0; i < 20; i++)
        (void) engine_push(e, 50000 + i, NAN, 5 * GB);
    CHECK(check_engine(e, LIMITS(.min_steps = 120), CLOCK_STEP).exit_status == 4);
    struct gate_result r = check_engine(e, LIMITS(.min_steps = 20), CLOCK_STEP);
    CHECK(r.exit_status == 0);
    CHECK_TEXT(r.line, "20 steps measured");
    engine_free(e);
}

TEST(gate__does_not_pass_what_it_has_not_seen)
{
    struct gate_limits l = LIMITS(.max_rise = 500 * MB, .window_from = 900, .window_to = 1200);
    struct gate_result r = CHECK_MB(run_2_mb, l);
    CHECK(r.exit_status == 4);
    CHECK_TEXT(r.line, "too short: the rise needs two samples; the run ends at step 240");
}

TEST(gate__wants_as_many_steps_as_were_asked)
{
    struct gate_result r = CHECK_MB(run_1_mb, LIMITS(.min_steps = 120, .max_rate = 1));
    CHECK(r.exit_status == 4);
    CHECK_TEXT(r.line, "too short: 70 steps; at least 120 are required");
    CHECK(CHECK_MB(run_2_mb, LIMITS(.min_steps = 240)).exit_status == 0);
    CHECK(CHECK_MB(run_2_mb, LIMITS(.min_steps = 241)).exit_status == 4);
}

TEST(gate__waits_for_a_warm_up_that_may_still_end_in_time)
{
    struct gate_result r = CHECK_MB(run_1_mb, LIMITS(.max_warm_up = 100));
    CHECK(r.exit_status == 4 && strstr(r.line, "too short: still growing at step 70"));
    r = CHECK_MB(run_1_mb, LIMITS(.max_warm_up = 60));
    CHECK(r.exit_status == 3);
    CHECK_TEXT(r.line, "warm-up until step 70 exceeds step 60");
}

TEST(gate__says_nothing_of_no_samples)
{
    struct engine *e = engine_for(&by_step);
    struct gate_result r = check_engine(e, LIMITS(.max_rate = 1 * MB), CLOCK_STEP);
    CHECK(r.exit_status == 4 && r.line[0] && !strchr(r.line, '?'));
    engine_free(e);
}

TEST(gate__finds_two_samples_too_short_for_a_rate)
{
    const double mb[] = {100, 200};
    struct gate_result r = CHECK_MB(mb, LIMITS(.max_rate = 5 * MB));
    CHECK(r.exit_status == 4 && !strchr(r.line, '?'));
    CHECK(strstr(r.line, "too short: ") == r.line);
}

TEST(gate__finds_a_rise_untold_where_nothing_follows_the_warm_up)
{
    struct answer a;
    answer_clear(&a);
    a.samples = 3;
    a.first_at = 10;
    a.last_at = a.warm_up_end = 30;
    a.rate = 0;
    struct history h;
    history_init(&h);
    for (int i = 1; i <= 3; i++)
        (void) history_push(&h, 10 * i, NAN, 5 * GB);
    struct gate_limits l = LIMITS(.max_rise = 1 * MB);
    struct gate_result r;
    gate_check(&l, &a, &h, SERIES_BYTES, CLOCK_STEP, &r);
    CHECK(r.exit_status == 4);
    CHECK_TEXT(r.line, "too short: the rise needs two samples; the run ends at step 30");
    history_release(&h);
}

static double slow_leak(double at, struct random *r)
{
    (void) r;
    return 1 * GB + 100 * KB * at;
}

TEST(gate__knows_the_clock_of_seconds)
{
    struct engine *e = engine_for(BY_STEP(.clock = CLOCK_SECONDS));
    feed(e, 0, 3600, 10, slow_leak);
    struct gate_result r = check_engine(e, LIMITS(.max_rate = 50 * KB), CLOCK_SECONDS);
    CHECK(r.exit_status == 3);
    CHECK_TEXT(r.line, "rate 5.86 MB/min exceeds 2.93 MB/min by 2.93 MB/min");
    r = check_engine(e, LIMITS(.min_steps = 7200), CLOCK_SECONDS);
    CHECK(r.exit_status == 4 && strstr(r.line, "second"));
    engine_free(e);
}
