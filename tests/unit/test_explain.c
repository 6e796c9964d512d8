/* tests/unit/test_explain.c: every answer is explained in whole sentences. */
#include "verdict/conclude.h"

#include "runs.h"
#include "unit.h"

#include <ctype.h>

/* ---- what a sentence must be ---- */

/* "-0 B", "-0.0": a minus sign before zero. */
static bool has_negative_zero(const char *text)
{
    for (const char *p = strchr(text, '-'); p; p = strchr(p + 1, '-'))
        if (isdigit((unsigned char) p[1]) && (p == text || p[-1] == ' ') && strtod(p, NULL) == 0)
            return true;
    return false;
}

static bool is_sentence(const char *text)
{
    size_t len = strlen(text);
    bool whole = len > 10 && len < ANSWER_WHY_LENGTH - 1 && text[len - 1] == '.' &&
                 (isupper((unsigned char) text[0]) || isdigit((unsigned char) text[0]));
    return whole && !strcasestr(text, "nan") && !strcasestr(text, "inf") && !strchr(text, '?') &&
           !has_negative_zero(text) && !strstr(text, "  ");
}

/* Whether all texts are sentences; prints the one that is not. */
static bool all_are_sentences(const struct answer *a)
{
    for (unsigned i = 0; i < a->why_count; i++)
        if (!is_sentence(a->why[i])) {
            printf("  no sentence: \"%s\"\n", a->why[i]);
            return false;
        }
    if ((a->verdict == VERDICT_INCONCLUSIVE) != (a->needs.why[0] != '\0'))
        return false;
    return a->why_count >= 1 && a->why_count <= ANSWER_WHY &&
           (a->needs.why[0] == '\0' || is_sentence(a->needs.why));
}

TEST(explain__test_itself_can_fail)
{
    CHECK(is_sentence("It grew by -0.5 B/step."));
    CHECK(!is_sentence("It grew by -0.0 B/step."));
    CHECK(!is_sentence("It grew by nan B/step."));
    CHECK(!is_sentence("It grew by 5 B/step"));
}

/* ---- runs of all kinds, asked at all times ---- */

static double flat(double at, struct random *r)
{
    (void) at;
    return 5 * GB + 5 * MB * random_normal(r);
}

static double constant(double at, struct random *r)
{
    (void) at;
    (void) r;
    return 1 * GB;
}

static double zero(double at, struct random *r)
{
    (void) at;
    (void) r;
    return 0;
}

static double leak(double at, struct random *r)
{
    return 5 * GB + 1 * MB * at + 5 * MB * random_normal(r);
}

static double weak_leak(double at, struct random *r)
{
    return 5 * GB + 12 * KB * at + 20 * MB * random_normal(r);
}

static double stopping(double at, struct random *r)
{
    return 5 * GB + 2 * MB * fmin(at, 900) + 5 * MB * random_normal(r);
}

static double accelerating(double at, struct random *r)
{
    return 5 * GB + 1 * KB * at * at + 5 * MB * random_normal(r);
}

static double stairs(double at, struct random *r)
{
    return 2 * GB + 10 * MB * floor(at / 100) + 0.2 * MB * random_normal(r);
}

/* Three stairs, and a fourth that would hide later ones. */
static double resting_stairs(double at, struct random *r)
{
    return 2 * GB + 10 * MB * fmin(3, floor(at / 100)) + (at < 400 ? 0 : 100 * MB) +
           0.2 * MB * random_normal(r);
}

static double warm_up(double at, struct random *r)
{
    return 2 * GB + 20 * MB * fmin(at, 100) + 2 * MB * random_normal(r);
}

static double shift(double at, struct random *r)
{
    return flat(at, r) + (at < 400 ? 0 : 1 * GB);
}

static double spikes(double at, struct random *r)
{
    return flat(at, r) + (fmod(at, 100) >= 95 ? 3 * GB : 0);
}

static double falling(double at, struct random *r)
{
    return 8 * GB - 1 * MB * at + 5 * MB * random_normal(r);
}

static double rounded(double at, struct random *r)
{
    (void) r;
    return MB * round(25.1 + at / 1000);
}

static value_at *const runs[] = {flat,     constant,     zero,    leak,           weak_leak,
                                 stopping, accelerating, stairs,  resting_stairs, warm_up,
                                 shift,    spikes,       falling, rounded};

#define RUNS (sizeof runs / sizeof runs[0])

static enum basis basis_of(const struct engine *e, const struct answer *a)
{
    struct floor_line floor;
    struct conclusion c;
    floor_line_take(e, &floor);
    const struct phase none = {.name = PHASE_START};
    conclude(e, &floor, a->phase_count > 0 ? &a->phases[a->phase_count - 1] : &none, e->alarm.set,
             &c);
    return c.basis;
}

/* Which bases the answers in the tests below had. */
static bool met[BASIS_NO_RISE + 1];

static bool explains_all_through(struct engine *e, double from, double to, value_at *value)
{
    struct random r = {1};
    for (double at = from; at <= to; at++) {
        (void) engine_push(e, at, at / 2, value(at, &r));
        if (at > from + 30 && fmod(at, 7) != 0)
            continue;
        struct answer a = ask(e);
        met[basis_of(e, &a)] = true;
        if (!all_are_sentences(&a)) {
            printf("  at %g\n", at);
            return false;
        }
    }
    return true;
}

static bool explains_run(const struct engine_options *o, double from, double to, value_at *value)
{
    struct engine *e = engine_for(o);
    bool fine = explains_all_through(e, from, to, value);
    engine_free(e);
    return fine;
}

TEST(explain__speaks_before_the_first_sample)
{
    struct engine *e = engine_for(&by_step);
    struct answer a = ask(e);
    CHECK(all_are_sentences(&a));
    CHECK_TEXT(a.why[0], "There is no sample yet.");
    engine_free(e);
}

TEST(explain__speaks_of_every_run_at_every_time)
{
    for (size_t i = 0; i < RUNS; i++) {
        CHECK(explains_run(&by_step, 1, 2000, runs[i]));
        CHECK(explains_run(BY_STEP(.epoch_length = 100, .rounding = MB), 0, 800, runs[i]));
    }
}

TEST(explain__speaks_of_plans_and_limits)
{
    const double limits[] = {1 * MB, 6 * GB, 64 * GB}, plans[] = {300, 1e5};
    for (size_t i = 0; i < RUNS; i++)
        for (size_t k = 0; k < 6; k++)
            CHECK(explains_run(BY_STEP(.limit = limits[k % 3], .plan = plans[k / 3]), 1, 700,
                               runs[i]));
}

TEST(explain__speaks_of_seconds_and_counts)
{
    for (size_t i = 0; i < RUNS; i++) {
        CHECK(explains_run(BY_STEP(.clock = CLOCK_SECONDS, .horizon = 60), 1, 400, runs[i]));
        CHECK(explains_run(BY_STEP(.unit = SERIES_COUNT), 50000, 50600, runs[i]));
    }
}

TEST(explain__speaks_after_restarts)
{
    for (size_t i = 0; i < RUNS; i++) {
        struct engine *e = engine_for(&by_step);
        feed(e, 1, 800, 1, leak);
        for (int restarts = 0; restarts < 2; restarts++) {
            engine_restart(e);
            struct answer a = ask(e);
            CHECK(all_are_sentences(&a));
            CHECK(explains_all_through(e, 1, 700, runs[i]));
        }
        engine_free(e);
    }
}

TEST(explain__has_met_every_basis)
{
    for (int basis = 0; basis <= BASIS_NO_RISE; basis++) {
        if (!met[basis])
            printf("  never met: basis %d\n", basis);
        CHECK(met[basis]);
    }
}

/* ---- what is said ---- */

static bool says(const struct answer *a, const char *part)
{
    for (unsigned i = 0; i < a->why_count; i++)
        if (strstr(a->why[i], part))
            return true;
    for (unsigned i = 0; i < a->why_count; i++)
        printf("  said: \"%s\"\n", a->why[i]);
    return false;
}

TEST(explain__names_one_pass_over_the_data_only_where_it_is_one)
{
    struct answer a = judge(BY_STEP(.epoch_length = 100), 1, 1000, 1, warm_up);
    CHECK(says(&a, "about one pass over the data"));
    a = judge(BY_STEP(.epoch_length = 782), 1, 3000, 1, warm_up);
    CHECK(says(&a, "The warm-up ended at step ") && !strstr(a.why[0], "one pass"));
}

TEST(explain__says_for_which_plan_it_holds)
{
    struct answer a = JUDGE_MB(BY_STEP(.plan = 250, .limit = 32 * GB), test_run_mb);
    CHECK(says(&a, "By the plan's end at step 250 it adds at most "));
    CHECK(says(&a, "This holds for that plan only"));
    /* Falling memory need not be proven to stop. */
    a = judge(BY_STEP(.plan = 1000, .limit = 32 * GB), 1, 700, 1, falling);
    CHECK(a.verdict == VERDICT_NO_LEAK);
    CHECK(says(&a, "By the plan's end at step 1,000 it adds at most 0 B;"));
    for (unsigned i = 0; i < a.why_count; i++)
        CHECK(!strstr(a.why[i], "This holds for that plan only"));
}

TEST(explain__knows_a_limit_that_is_passed)
{
    struct answer a = judge(BY_STEP(.plan = 1e5, .limit = 512 * MB), 1, 700, 1, constant);
    CHECK(says(&a, "It is at 1.00 GB already, and the limit is 512 MB."));
}

TEST(explain__counts_restarts)
{
    struct engine *e = engine_for(&by_step);
    engine_restart(e);
    struct answer a = ask(e);
    CHECK(says(&a, "The process was restarted once; only the last run is judged."));
    engine_restart(e);
    a = ask(e);
    CHECK(says(&a, "The process was restarted 2 times; only the last run is judged."));
    engine_free(e);
}

/* ---- numbers that go together ---- */

static double kinked(double at, struct random *r)
{
    return 5 * GB + 1 * MB * at + 1 * MB * fmax(0, at - 700) + 2 * MB * random_normal(r);
}

static double from_nothing(double at, struct random *r)
{
    return fmax(0, 4 * KB * (at - 50)) + 20 * KB * fabs(random_normal(r));
}

static double stairs_from_nothing(double at, struct random *r)
{
    return 10 * MB * floor(at / 10) + 0.5 * MB * fabs(random_normal(r));
}

static double nearly_gone(double at, struct random *r)
{
    return fmax(0, 300 * MB - 0.2 * MB * at) + 1 * MB * fabs(random_normal(r));
}

/* The rate next to the onset, times the time since then, equals the growth. */
static bool agree(const struct answer *a)
{
    const struct phase *last = &a->phases[a->phase_count - 1];
    double mean = answer_mean_rate(a), told = isnan(mean) ? a->rate : mean;
    double grown = last->level_to - last->level_from;
    return a->verdict == VERDICT_LEAK &&
           fabs(told * (a->last_at - a->onset_at) - grown) <= 0.021 * grown;
}

TEST(explain__rate_times_time_is_the_growth)
{
    value_at *const leaks[] = {leak, accelerating, stairs, kinked, from_nothing};
    for (size_t i = 0; i < sizeof leaks / sizeof *leaks; i++)
        for (double to = 1000; to <= 2000; to += 500) {
            struct answer a = judge(&by_step, 1, to, 1, leaks[i]);
            CHECK(agree(&a));
        }
}

TEST(explain__tells_both_rates_of_growth_that_bends)
{
    struct answer a = judge(&by_step, 1, 1500, 1, accelerating);
    CHECK(answer_mean_rate(&a) < 0.9 * a.rate);
    CHECK(says(&a, " on average, and ") && says(&a, " at the end."));
    a = judge(&by_step, 1, 1500, 1, leak);
    CHECK(isnan(answer_mean_rate(&a)) && says(&a, "The floor has grown by "));
    CHECK(!strstr(a.why[0], "on average"));
}

TEST(explain__no_level_is_below_nothing)
{
    value_at *const lows[] = {stairs_from_nothing, from_nothing, nearly_gone, zero};
    for (size_t i = 0; i < sizeof lows / sizeof *lows; i++) {
        struct answer a = judge(BY_STEP(.plan = 50000), 1, 400, 1, lows[i]);
        for (unsigned k = 0; k < a.phase_count; k++)
            CHECK(a.phases[k].level_from >= 0 && a.phases[k].level_to >= 0);
        CHECK(!(a.forecast.plan_value < 0) && !(a.forecast.plan_low < 0));
        CHECK(!(a.floor_first < 0) && !(a.floor_last < 0));
    }
}
