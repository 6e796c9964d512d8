/* tests/unit/test_compare.c: two runs side by side. */
#include "verdict/verdict.h"

#include "runs.h"
#include "unit.h"

/* A run that settled at `level` after a warm-up of so many epochs of 100 steps; NAN: no warm-up. */
static struct answer settled(double level, double warm_up_epochs)
{
    struct answer a;
    answer_clear(&a);
    a.verdict = VERDICT_NO_LEAK;
    a.samples = 1000;
    a.first_at = 0;
    a.last_at = 1000;
    a.floor_first = a.floor_last = level;
    a.rate = 0;
    a.epoch_length = 100;
    a.warm_up_epochs = warm_up_epochs;
    a.warm_up_end = 100 * warm_up_epochs;
    return a;
}

static struct answer leaking(double level, double rate)
{
    struct answer a = settled(level, NAN);
    a.verdict = VERDICT_LEAK;
    a.rate = rate;
    return a;
}

static bool says(const struct comparison *c, const char *part)
{
    for (unsigned i = 0; i < c->difference_count; i++)
        if (strstr(c->differences[i], part))
            return true;
    return false;
}

static struct comparison compare(const struct answer *a, const struct answer *b)
{
    struct comparison c;
    answers_compare(a, b, SERIES_BYTES, &c);
    return c;
}

TEST(compare__finds_no_difference_to_itself)
{
    const double rates[] = {0, 3 * MB, -3 * MB};
    for (size_t i = 0; i < 3; i++) {
        struct answer a = settled(5 * GB, 1);
        a.rate = rates[i];
        struct comparison c = compare(&a, &a);
        CHECK(c.same_pattern && c.same_warm_up_epochs && c.level_ratio == 1);
        CHECK(c.difference_count == 0);
    }
}

TEST(compare__finds_no_difference_between_nothing_and_nothing)
{
    struct answer a = settled(0, NAN);
    struct comparison c;
    answers_compare(&a, &a, SERIES_COUNT, &c);
    CHECK(c.same_pattern && c.difference_count == 0);
}

TEST(compare__sees_through_the_size)
{
    /* The question in the documents: 17 GB over 663 examples against 9.5 GB over 300. */
    struct answer production = JUDGE_MB(BY_STEP(.epoch_length = 83), run_2_mb);
    struct answer test = JUDGE_MB(BY_STEP(.epoch_length = 37.5), test_run_mb);
    struct comparison c = compare(&production, &test);
    CHECK(c.same_pattern && c.same_warm_up_epochs);
    CHECK_NEAR(c.level_ratio, 9566.0 / 17032, 0.01);
    CHECK(says(&c, "A ends at 16.6 GB, B at 9.34 GB."));
    CHECK_TEXT(c.summary,
               "The same pattern: A warms up for 1.0 and B for 1.1 passes over the data, "
               "then both settle.");
}

TEST(compare__tells_a_leak_from_a_plateau)
{
    struct answer a = settled(5 * GB, NAN), b = leaking(5 * GB, 3 * MB);
    struct comparison c = compare(&a, &b);
    CHECK(!c.same_pattern);
    CHECK(says(&c, "A does not leak, B leaks.") && says(&c, "At the end B still grows"));
    b.severity = SEVERITY_NEGLIGIBLE;
    c = compare(&a, &b);
    CHECK(!c.same_pattern && says(&c, "A does not leak, B has a negligible leak."));
    CHECK_TEXT(c.summary, "Not the same pattern.");
}

TEST(compare__does_not_say_of_leaks_that_they_settle)
{
    struct answer a = leaking(5 * GB, 3 * MB);
    a.warm_up_end = 100;
    a.warm_up_epochs = 1;
    struct comparison c = compare(&a, &a);
    CHECK(c.same_pattern && c.same_warm_up_epochs);
    CHECK(!strstr(c.summary, "settle") && strstr(c.summary, "The same pattern"));
}

TEST(compare__compares_paces)
{
    struct answer a = leaking(5 * GB, 3 * MB), b = leaking(5 * GB, 1 * MB);
    struct comparison c = compare(&a, &b);
    CHECK(c.same_pattern && says(&c, "At the end A grows faster."));
    /* Falling memory does not grow. */
    a = settled(5 * GB, NAN);
    b = settled(5 * GB, NAN);
    a.rate = -1 * MB;
    b.rate = -4 * MB;
    c = compare(&a, &b);
    CHECK(c.difference_count == 1 && !says(&c, "grows"));
    /* Rates that add almost nothing are not mentioned. */
    a.rate = 1;
    b.rate = 100;
    c = compare(&a, &b);
    CHECK(c.difference_count == 0);
}

TEST(compare__measures_warm_ups_in_passes_over_the_data)
{
    struct answer a = settled(5 * GB, 1), b = settled(5 * GB, 3);
    struct comparison c = compare(&a, &b);
    CHECK(c.same_pattern && !c.same_warm_up_epochs);
    CHECK(says(&c, "The warm-up takes 1.0 epochs in A and 3.0 in B."));
    /* Without epochs, the warm-up is in steps. */
    a.warm_up_epochs = b.warm_up_epochs = NAN;
    c = compare(&a, &b);
    CHECK(!c.same_warm_up_epochs && says(&c, "The warm-up ends at 100 in A and at 300 in B."));
}

TEST(compare__misses_a_warm_up)
{
    struct answer a = settled(5 * GB, 1), b = settled(5 * GB, NAN);
    struct comparison c = compare(&a, &b);
    CHECK(!c.same_pattern && says(&c, "A has a warm-up, B does not."));
    c = compare(&b, &a);
    CHECK(!c.same_pattern && says(&c, "B has a warm-up, A does not."));
}

TEST(compare__compares_spikes)
{
    struct answer a = settled(5 * GB, NAN), b = settled(5 * GB, NAN);
    a.spikes.count = 3;
    a.spikes.height = 2 * GB;
    struct comparison c = compare(&a, &b);
    CHECK(says(&c, "Only A has spikes."));
    b.spikes.count = 30;
    b.spikes.height = 5 * GB;
    c = compare(&a, &b);
    CHECK(says(&c, "The spikes of B are higher."));
    b.spikes.height = 2.2 * GB;
    CHECK(compare(&a, &b).difference_count == 0);
}

TEST(compare__cannot_tell_of_a_run_that_was_cut_off)
{
    struct answer a = JUDGE_MB(BY_STEP(.epoch_length = 83), run_1_mb);
    struct answer b = JUDGE_MB(BY_STEP(.epoch_length = 83), run_2_mb);
    struct comparison c = compare(&a, &b);
    CHECK(!c.same_pattern && strncmp(c.summary, "A was cut off", 13) == 0);
    c = compare(&b, &a);
    CHECK(!c.same_pattern && strncmp(c.summary, "B was cut off", 13) == 0);
}

TEST(compare__survives_runs_without_samples)
{
    struct engine *e = engine_for(&by_step);
    struct answer nothing = ask(e), something = settled(5 * GB, 1);
    engine_free(e);
    struct comparison c = compare(&nothing, &something);
    CHECK(!c.same_pattern && isnan(c.level_ratio) && c.summary[0]);
    CHECK(!says(&c, "?") && !says(&c, "nan"));
    CHECK_TEXT(c.summary, "A is too short to say whether both behave alike.");
    c = compare(&nothing, &nothing);
    CHECK(!c.same_pattern && c.summary[0] && !says(&c, "?") && !says(&c, "nan"));
}
