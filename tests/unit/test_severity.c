/* tests/unit/test_severity.c: how much a leak matters. */
#include "verdict/conclude.h"

#include "runs.h"
#include "unit.h"

/* A leak seen for 1,000 units of its clock, at 1 GB. */
static struct answer leak(double rate, double limit, double plan)
{
    struct answer a;
    answer_clear(&a);
    a.verdict = VERDICT_LEAK;
    a.first_at = 0;
    a.last_at = 1000;
    a.floor_last = 1 * GB;
    a.rate = rate;
    a.limit = limit;
    a.plan = plan;
    return a;
}

static enum severity by_steps(double rate, double limit, double plan)
{
    struct answer a = leak(rate, limit, plan);
    return severity_of(&a, SERIES_BYTES, CLOCK_STEP);
}

static enum severity by_seconds(double rate, double limit, double plan)
{
    struct answer a = leak(rate, limit, plan);
    return severity_of(&a, SERIES_BYTES, CLOCK_SECONDS);
}

/* ---- negligible: both bounds hold ---- */

TEST(severity__is_negligible_up_to_1_kb_a_step)
{
    CHECK(by_steps(1, 65 * GB, NAN) == SEVERITY_NEGLIGIBLE);
    CHECK(by_steps(264, 65 * GB, NAN) == SEVERITY_NEGLIGIBLE);
    CHECK(by_steps(1024, 65 * GB, NAN) == SEVERITY_NEGLIGIBLE);
    CHECK(by_steps(1025, 65 * GB, NAN) == SEVERITY_LOW);
    CHECK(by_steps(257 * KB, 65 * 1024 * GB, NAN) == SEVERITY_LOW);
}

TEST(severity__is_negligible_up_to_10_kb_a_minute_without_steps)
{
    CHECK(by_seconds(1, 65 * GB, NAN) == SEVERITY_NEGLIGIBLE);
    CHECK(by_seconds(10 * KB / 60, 65 * GB, NAN) == SEVERITY_NEGLIGIBLE);
    CHECK(by_seconds(10.1 * KB / 60, 65 * GB, NAN) == SEVERITY_LOW);
    CHECK(by_seconds(1000, 65 * GB, NAN) == SEVERITY_LOW);
}

TEST(severity__is_negligible_below_1_percent_of_the_headroom_over_the_plan)
{
    /* 1 GB is free; the leak adds 1 KB a step until the plan ends. */
    double share = 0.01 * GB / KB;
    CHECK(by_steps(KB, 2 * GB, 1000 + 0.9 * share) == SEVERITY_NEGLIGIBLE);
    CHECK(by_steps(KB, 2 * GB, 1000 + share) == SEVERITY_LOW);
    CHECK(by_steps(KB, 2 * GB, 1000 + 9 * share) == SEVERITY_LOW);
    CHECK(by_steps(KB, 2 * GB, 1000 + 11 * share) == SEVERITY_MEDIUM);
    CHECK(by_steps(KB, 2 * GB, 1000 + 100 * share) == SEVERITY_HIGH);
}

TEST(severity__looks_ten_times_the_run_ahead_without_a_plan)
{
    double added = 10 * 1000 * KB;
    CHECK(by_steps(KB, 1 * GB + 101 * added, NAN) == SEVERITY_NEGLIGIBLE);
    CHECK(by_steps(KB, 1 * GB + 100 * added, NAN) == SEVERITY_LOW);
    CHECK(by_steps(KB, 1 * GB + 9 * added, NAN) == SEVERITY_MEDIUM);
    CHECK(by_steps(KB, 1 * GB + added, NAN) == SEVERITY_HIGH);
    added = 10 * 1000 * 100;
    CHECK(by_seconds(100, 1 * GB + 101 * added, NAN) == SEVERITY_NEGLIGIBLE);
    CHECK(by_seconds(100, 1 * GB + 99 * added, NAN) == SEVERITY_LOW);
}

TEST(severity__takes_a_plan_that_is_over_for_none)
{
    CHECK(by_steps(KB, 2 * GB, 900) == by_steps(KB, 2 * GB, NAN));
    CHECK(by_steps(KB, 1 * GB + 100 * MB, 900) == SEVERITY_LOW);
}

TEST(severity__takes_doubling_for_the_limit_where_none_is_known)
{
    CHECK(by_steps(KB, NAN, NAN) == SEVERITY_NEGLIGIBLE); /* 9.8 MB in 10,000 steps, of 1 GB */
    CHECK(by_steps(KB, NAN, 12000) == SEVERITY_LOW);      /* 10.7 MB */
    struct answer a = leak(KB, NAN, 12000);
    a.floor_last = 25 * MB; /* at least 1 GB */
    CHECK(severity_of(&a, SERIES_BYTES, CLOCK_STEP) == SEVERITY_LOW);
    a.floor_last = 2 * GB;
    CHECK(severity_of(&a, SERIES_BYTES, CLOCK_STEP) == SEVERITY_NEGLIGIBLE);
}

/* ---- never negligible ---- */

TEST(severity__is_high_above_the_limit_however_slow)
{
    CHECK(by_steps(1, 1 * GB, NAN) == SEVERITY_HIGH);
    CHECK(by_steps(1, 0.5 * GB, NAN) == SEVERITY_HIGH);
}

TEST(severity__of_a_count_is_never_negligible)
{
    struct answer a = leak(0.001, NAN, NAN);
    a.floor_last = 50;
    CHECK(severity_of(&a, SERIES_COUNT, CLOCK_STEP) == SEVERITY_LOW);
    a.limit = 1e6; /* descriptors have a limit */
    CHECK(severity_of(&a, SERIES_COUNT, CLOCK_STEP) == SEVERITY_LOW);
    CHECK(severity_of(&a, SERIES_COUNT, CLOCK_SECONDS) == SEVERITY_LOW);
    a.limit = 55;
    CHECK(severity_of(&a, SERIES_COUNT, CLOCK_STEP) == SEVERITY_HIGH);
}

TEST(severity__is_low_where_nothing_was_seen_since_a_restart)
{
    struct answer a = leak(100, NAN, NAN);
    a.first_at = a.last_at = a.floor_last = NAN;
    CHECK(severity_of(&a, SERIES_BYTES, CLOCK_STEP) == SEVERITY_LOW);
}

/* ---- in whole runs ---- */

/* Options for an exact counter on the step clock. */
#define EXACT(...) (&(struct engine_options){__VA_ARGS__})

static double kilobyte_a_step(double at, struct random *r)
{
    (void) r;
    return 25 * MB + KB * at;
}

static double ten_kilobytes_a_minute(double at, struct random *r)
{
    (void) r;
    return 25 * MB + 10 * KB / 60 * at;
}

TEST(severity__of_exactly_the_bound_is_negligible_as_fitted)
{
    struct answer a = judge(EXACT(.limit = 64 * GB), 1, 3000, 1, kilobyte_a_step);
    CHECK(a.verdict == VERDICT_LEAK && a.severity == SEVERITY_NEGLIGIBLE);
    a = judge(&(struct engine_options){.clock = CLOCK_SECONDS, .limit = 64 * GB}, 1, 20000, 5,
              ten_kilobytes_a_minute);
    CHECK(a.verdict == VERDICT_LEAK && a.severity == SEVERITY_NEGLIGIBLE);
}

TEST(severity__of_a_negligible_leak_has_its_reason)
{
    struct answer a = judge(EXACT(.limit = 64 * GB, .plan = 50000), 1, 3000, 1, kilobyte_a_step);
    CHECK(holds(a.why[a.why_count - 1],
                "It is negligible: it adds 45.9 MB by the plan's end at step "
                "50,000, 0.07 % of the 64.0 GB that are free."));
    a = judge(&(struct engine_options){0}, 1, 1000, 1, kilobyte_a_step);
    CHECK(holds(a.why[a.why_count - 1], "It is negligible: it adds 9.76 MB in a run 10 times as "
                                        "long, 0.95 % of 1.00 GB (no limit is known)."));
}

/* Ten times the run so far grows with the run, so endless growth comes to matter. */
TEST(severity__rises_as_the_run_gets_longer)
{
    struct engine *e = engine_for(EXACT(.limit = 2 * GB));
    feed(e, 1, 1500, 1, kilobyte_a_step);
    CHECK(ask(e).severity == SEVERITY_NEGLIGIBLE);
    feed(e, 1501, 4000, 1, kilobyte_a_step);
    CHECK(ask(e).severity == SEVERITY_LOW);
    engine_free(e);
}
