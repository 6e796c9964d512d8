/* tests/unit/test_size.c: how much memory a job needs, with the reasons. */
#include "unit.h"
#include "words/size.h"

#define MB (1024.0 * 1024)
#define GB (1024 * MB)

static struct answer level_answer(enum verdict verdict)
{
    struct answer a;
    answer_clear(&a);
    a.verdict = verdict;
    a.first_at = 1;
    a.last_at = 1000;
    a.floor_last = 800 * MB;
    a.max = 900 * MB;
    return a;
}

static struct size_facts host_facts(const struct answer *a)
{
    return (struct size_facts){
        .name = "host",
        .answer = a,
        .clock = CLOCK_STEP,
        .settled = 800 * MB,
        .peak = 900 * MB,
        .files = NAN,
        .needed = NAN,
        .capacity = 32 * GB,
        .capacity_source = "RAM",
    };
}

static bool says(const struct size_facts *f, const struct size_reasons *r, const char *words)
{
    bool found = false;
    for (unsigned i = 0; i < r->count && !found; i++) {
        struct buf text = BUF_INIT;
        size_describe(&text, &r->list[i], f);
        found = strstr(buf_text(&text), words);
        buf_release(&text);
    }
    return found;
}

TEST(size__the_least_is_the_peak)
{
    struct answer a = level_answer(VERDICT_NO_LEAK);
    struct size_facts f = host_facts(&a);
    struct size s;
    size_judge(&f, &s);
    CHECK_NEAR(s.minimum, 900 * MB, 1);
    CHECK_NEAR(s.recommended, 900 * MB, 1);
    CHECK(says(&f, &s.minimum_why, "The peak was 900 MB."));
    CHECK(s.recommended_why.count == 1 &&
          says(&f, &s.recommended_why, "Nothing in this run exceeded the minimum."));
}

static bool is_caveat(enum size_caveat caveat, const char *ending, const char *sentence)
{
    struct buf text = BUF_INIT;
    size_caveat(&text, caveat, ending);
    bool is_so = strcmp(buf_text(&text), sentence) == 0;
    buf_release(&text);
    return is_so;
}

TEST(size__caveats_come_before_any_number)
{
    CHECK(is_caveat(CAVEAT_NONE, NULL, ""));
    CHECK(is_caveat(CAVEAT_LEAK, NULL,
                    "No amount of memory is enough for a job that leaks: fix the leak first. The "
                    "figures below say how long memory lasts."));
    CHECK(is_caveat(CAVEAT_FAILED, "exited with status 3",
                    "This run supports no recommendation: the command failed (exited with status "
                    "3). Record a run that trains to its end. The figures below are what this run "
                    "took."));
    CHECK(is_caveat(CAVEAT_SHORT, NULL,
                    "This run supports no recommendation: it is too short. Record a longer one. "
                    "The figures below are what this run took."));
}

TEST(size__overhead_is_by_RSS_and_by_share)
{
    struct part_facts p = {"compile worker", 20, 8 * GB, 1.5 * GB, GB, true};
    struct buf text = BUF_INIT;
    size_overhead(&text, &p);
    CHECK_TEXT(buf_text(&text),
               "8.00 GB by RSS, 1.50 GB by share, stable; without them 1.00 GB less");
    buf_clear(&text);
    p.pss = NAN;
    size_overhead(&text, &p);
    CHECK_TEXT(buf_text(&text), "8.00 GB by RSS");
    buf_release(&text);
}

TEST(size__too_little_is_said_to_be)
{
    struct answer a = level_answer(VERDICT_NO_LEAK);
    struct size_facts f = host_facts(&a);
    f.capacity = 800 * MB;
    struct size s;
    size_judge(&f, &s);
    CHECK(says(&f, &s.minimum_why, "That is 100 MB more than there is: 800 MB (RAM)."));
}

TEST(size__every_part_of_the_margin_has_its_reason)
{
    struct answer a = level_answer(VERDICT_NO_LEAK);
    a.noise = 5 * MB;
    a.plan = 10000;
    a.forecast.plan_value = 800 * MB;
    a.forecast.plan_high = 840 * MB;
    struct size_facts f = host_facts(&a);
    f.files = 100 * MB;
    f.copies_to_come = 60 * MB;
    struct size s;
    size_judge(&f, &s);
    CHECK_NEAR(s.minimum, 900 * MB, 1);
    CHECK_NEAR(s.recommended, (900 + 15 + 40 + 100 + 60) * MB, 1);
    CHECK(s.recommended_why.count == 4);
    CHECK(says(&f, &s.recommended_why, "15.0 MB for noise"));
    CHECK(says(&f, &s.recommended_why, "40.0 MB that growth within the noise may add"));
    CHECK(says(&f, &s.recommended_why, "60.0 MB that data workers may still copy"));
    CHECK(says(&f, &s.recommended_why, "100 MB of mapped files"));
}

TEST(size__the_highest_spike_stands_for_the_next)
{
    struct answer a = level_answer(VERDICT_NO_LEAK);
    a.noise = MB;
    a.max = 1400 * MB;
    a.spikes.count = 5;
    a.spikes.height = 400 * MB;
    struct size_facts f = host_facts(&a);
    f.peak = 1400 * MB;
    struct size s;
    size_judge(&f, &s);
    CHECK_NEAR(s.recommended, 1600 * MB, 1);
    CHECK(
        says(&f, &s.recommended_why, "200 MB by which the highest spike exceeded the usual ones"));
    CHECK(!says(&f, &s.recommended_why, "noise"));
}

TEST(size__what_still_grows_is_counted_to_the_plan)
{
    struct answer a = level_answer(VERDICT_NO_LEAK);
    a.rate = 10 * 1024;
    a.plan = 101000;
    a.forecast.plan_value = 1800 * MB;
    a.forecast.plan_high = 1900 * MB;
    struct size_facts f = host_facts(&a);
    struct size s;
    size_judge(&f, &s);
    CHECK_NEAR(s.minimum, 1900 * MB, 1);
    CHECK(says(&f, &s.minimum_why, "1000 MB more by the end of the plan (step 101,000)"));
    CHECK(says(&f, &s.recommended_why,
               "100 MB by which the growth to the end of the plan is uncertain"));
}

TEST(size__a_leak_has_none_but_lasts_for_a_while)
{
    struct answer a = level_answer(VERDICT_LEAK);
    a.rate = MB;
    a.forecast.limit_at = 32000;
    a.first_seconds = 10;
    a.last_seconds = 10 + 999 * 2;
    struct size_facts f = host_facts(&a);
    struct size s;
    size_judge(&f, &s);
    CHECK(isnan(s.minimum) && isnan(s.recommended) && s.recommended_why.count == 0);
    CHECK(!s.settled && isnan(s.for_plan));
    CHECK_NEAR(s.grows_until, 32000, 0);
    CHECK(
        says(&f, &s.minimum_why, "It grows 1.00 MB/step without end: no size is enough for good."));
    CHECK(says(&f, &s.minimum_why,
               "32.0 GB (RAM) last until step 32,000, about 31,000 steps (17 h) "
               "after the end of this run."));
    CHECK(says(&f, &s.minimum_why, "Each GB more lasts about 1,000 steps (34 min)."));
}

/* What a plan would need is not a minimum: in the end no amount is enough. */
TEST(size__a_leak_with_a_plan_has_no_minimum_either)
{
    struct answer a = level_answer(VERDICT_LEAK);
    a.rate = MB;
    a.plan = 2000;
    a.forecast.plan_value = 1800 * MB;
    a.forecast.plan_high = 1800 * MB;
    struct size_facts f = host_facts(&a);
    struct size s;
    size_judge(&f, &s);
    CHECK(isnan(s.minimum) && isnan(s.recommended));
    CHECK_NEAR(s.for_plan, 1900 * MB, 1);
    CHECK(says(&f, &s.minimum_why, "The plan up to step 2,000 would take 1.86 GB."));
}

TEST(size__a_negligible_leak_has_one_with_its_growth)
{
    struct answer a = level_answer(VERDICT_LEAK);
    a.severity = SEVERITY_NEGLIGIBLE;
    a.rate = 1024;
    struct size_facts f = host_facts(&a);
    struct size s;
    size_judge(&f, &s);
    CHECK(!s.leaks && !s.settled && isnan(s.grows_until));
    CHECK_NEAR(s.minimum, 900 * MB, 1);
    CHECK(says(&f, &s.recommended_why,
               "9.76 MB that its negligible leak adds in a run 10 times as long."));
    a.plan = 10000;
    a.forecast.plan_value = 809 * MB;
    a.forecast.plan_high = 809 * MB;
    size_judge(&f, &s);
    CHECK_NEAR(s.minimum, 909 * MB, 1);
    CHECK(says(&f, &s.minimum_why, "9.00 MB more by the end of the plan (step 10,000)"));
    CHECK(!says(&f, &s.recommended_why, "negligible leak"));
    a.severity = SEVERITY_LOW;
    size_judge(&f, &s);
    CHECK(s.leaks && isnan(s.minimum));
}

TEST(size__a_run_that_is_too_short_supports_none)
{
    struct answer a = level_answer(VERDICT_INCONCLUSIVE);
    struct size_facts f = host_facts(&a);
    f.files = 100 * MB;
    struct size s;
    size_judge(&f, &s);
    CHECK(isnan(s.minimum) && isnan(s.recommended) && s.recommended_why.count == 0);
    CHECK(says(&f, &s.minimum_why, "The peak was 900 MB"));
    CHECK(says(&f, &s.minimum_why, "The run is too short to show where that ends."));
}

TEST(size__a_run_that_failed_supports_none)
{
    struct answer a = level_answer(VERDICT_NO_LEAK);
    struct size_facts f = host_facts(&a);
    f.failed = true;
    struct size s;
    size_judge(&f, &s);
    CHECK(isnan(s.minimum) && isnan(s.recommended) && s.recommended_why.count == 0);
    CHECK(says(&f, &s.minimum_why, "The command failed"));
}

/* "Settles at 800 MB" and "it grows" are never said together. */
TEST(size__what_is_expected_to_grow_has_not_settled)
{
    struct answer a = level_answer(VERDICT_NO_LEAK);
    struct size_facts f = host_facts(&a);
    struct size s;
    size_judge(&f, &s);
    CHECK(s.settled);
    f.copies_to_come = 60 * MB;
    size_judge(&f, &s);
    CHECK(!s.settled);
    f.copies_to_come = 0;
    a.rate = 10 * 1024;
    a.plan = 101000;
    a.forecast.plan_value = 1800 * MB;
    size_judge(&f, &s);
    CHECK(!s.settled);
}

TEST(size__the_parts_of_the_peak_are_told)
{
    struct answer a = level_answer(VERDICT_NO_LEAK);
    struct size_facts f = host_facts(&a);
    f.copied = 200 * MB;
    f.shared = 50 * MB;
    f.unseen = 70 * MB;
    f.files = 0;
    struct size s;
    size_judge(&f, &s);
    CHECK_NEAR(s.minimum, 970 * MB, 1);
    CHECK(says(&f, &s.minimum_why, "without file pages"));
    CHECK(says(&f, &s.minimum_why, "Data workers copied 200 MB of that; 650 MB is the job's own"));
    CHECK(says(&f, &s.minimum_why, "50.0 MB of that was in /dev/shm"));
    CHECK(says(&f, &s.minimum_why, "70.0 MB more for a moment between two samples"));
    f.unseen = 0.5 * MB;
    size_judge(&f, &s);
    CHECK_NEAR(s.minimum, 900 * MB, 1);
}

TEST(size__a_device_needs_what_tensors_took)
{
    struct answer a = level_answer(VERDICT_NO_LEAK);
    struct size_facts f = host_facts(&a);
    f.name = "gpu0";
    f.needed = 600 * MB;
    struct size s;
    size_judge(&f, &s);
    CHECK_NEAR(s.minimum, 600 * MB, 1);
    CHECK_NEAR(s.recommended, 900 * MB, 1);
    CHECK(says(&f, &s.recommended_why, "300 MB that torch's allocator retained"));
}
