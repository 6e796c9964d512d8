/* tests/unit/test_job.c: one verdict from those of all series. */
#include "verdict/verdict.h"

#include "answers.h"
#include "unit.h"

/* An answer, as far as the job reads it. */
static struct answer answered(enum verdict verdict, enum severity severity, double max)
{
    struct answer a;
    answer_clear(&a);
    a.verdict = verdict;
    a.severity = severity;
    a.max = max;
    a.samples = 100;
    return a;
}

static struct job_answer judge_all(const struct answer *answers, size_t count)
{
    const struct answer *all[8];
    for (size_t i = 0; i < count; i++)
        all[i] = &answers[i];
    struct job_answer job;
    job_judge(all, NULL, count, &job);
    return job;
}

TEST(job__without_series_says_nothing)
{
    struct job_answer job;
    job_judge(NULL, NULL, 0, &job);
    CHECK(job.verdict == VERDICT_INCONCLUSIVE && job.severity == SEVERITY_NONE);
    CHECK(job.deciding == SIZE_MAX);
    CHECK(job.leaks == 0 && job.inconclusives == 0 && job.no_leaks == 0);
}

TEST(job__leaks_if_one_series_leaks)
{
    struct answer answers[] = {
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 90 * GB),
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, 80 * GB),
        answered(VERDICT_LEAK, SEVERITY_LOW, 25 * MB),
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 1 * GB),
    };
    struct job_answer job = judge_all(answers, 4);
    CHECK(job.verdict == VERDICT_LEAK && job.severity == SEVERITY_LOW && job.deciding == 2);
    CHECK(job.leaks == 1 && job.inconclusives == 1 && job.no_leaks == 2);
}

TEST(job__is_as_severe_as_its_worst_leak)
{
    struct answer answers[] = {
        answered(VERDICT_LEAK, SEVERITY_MEDIUM, 90 * GB),
        answered(VERDICT_LEAK, SEVERITY_HIGH, 1 * GB),
        answered(VERDICT_LEAK, SEVERITY_LOW, 50 * GB),
    };
    struct job_answer job = judge_all(answers, 3);
    CHECK(job.severity == SEVERITY_HIGH && job.deciding == 1 && job.leaks == 3);
}

TEST(job__is_not_left_open_by_a_bystander_of_a_few_samples)
{
    struct answer answers[] = {
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 8 * GB),
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, 90 * GB),
    };
    answers[1].samples = 3;
    CHECK(judge_all(answers, 2).verdict == VERDICT_NO_LEAK);
    CHECK(judge_all(answers + 1, 1).verdict == VERDICT_INCONCLUSIVE);
}

TEST(job__is_open_if_a_series_is_and_none_leaks)
{
    struct answer answers[] = {
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 90 * GB),
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, 8 * GB),
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, 1 * GB),
    };
    struct job_answer job = judge_all(answers, 3);
    CHECK(job.verdict == VERDICT_INCONCLUSIVE && job.deciding == 1);
    /* A suspect series is the one to report. */
    answers[2].suspect = true;
    CHECK(judge_all(answers, 3).deciding == 2);
}

TEST(job__is_clean_if_all_series_are)
{
    struct answer answers[] = {
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 1 * GB),
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 9 * GB),
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 3 * GB),
    };
    struct job_answer job = judge_all(answers, 3);
    CHECK(job.verdict == VERDICT_NO_LEAK && job.severity == SEVERITY_NONE);
    CHECK(job.deciding == 1 && job.no_leaks == 3);
}

TEST(job__takes_the_first_of_equals)
{
    struct answer answers[] = {
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, NAN),
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, NAN),
    };
    CHECK(judge_all(answers, 2).deciding == 0);
}

/* ---- parts of a watched job ---- */

static struct job_answer judge_parts(const struct answer *answers, const enum job_part *parts,
                                     size_t count)
{
    const struct answer *all[8];
    for (size_t i = 0; i < count; i++)
        all[i] = &answers[i];
    struct job_answer job;
    job_judge(all, parts, count, &job);
    return job;
}

TEST(job__is_decided_although_a_bystander_is_not)
{
    struct answer answers[] = {
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 1 * GB),
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, 2 * GB),
    };
    enum job_part parts[] = {PART_MAIN, PART_BYSTANDER};
    struct job_answer job = judge_parts(answers, parts, 2);
    CHECK(job.verdict == VERDICT_NO_LEAK && job.deciding == 0);
    parts[1] = PART_MAIN;
    job = judge_parts(answers, parts, 2);
    CHECK(job.verdict == VERDICT_INCONCLUSIVE && job.deciding == 1);
}

TEST(job__names_the_bystander_that_grows_while_it_is_open)
{
    struct answer answers[] = {
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, 2 * GB),
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, 1 * GB),
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, 1 * GB),
    };
    enum job_part parts[] = {PART_MAIN, PART_BYSTANDER, PART_BYSTANDER};
    answers[1].suspect = answers[2].suspect = true;
    answers[1].rate_per_second = 1;
    answers[2].rate_per_second = 2;
    CHECK(judge_parts(answers, parts, 3).deciding == 2);
    answers[0].suspect = true;
    CHECK(judge_parts(answers, parts, 3).deciding == 0);
    /* It leaves no job open. */
    answers[0] = answered(VERDICT_NO_LEAK, SEVERITY_NONE, 2 * GB);
    struct job_answer job = judge_parts(answers, parts, 3);
    CHECK(job.verdict == VERDICT_NO_LEAK && job.deciding == 0);
}

TEST(job__is_open_as_long_as_only_bystanders_are_known)
{
    struct answer answers[] = {
        answered(VERDICT_INCONCLUSIVE, SEVERITY_NONE, 1 * GB),
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 40),
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 2 * GB),
    };
    answers[0].samples = 3;
    enum job_part parts[] = {PART_MAIN, PART_BYSTANDER, PART_TOTAL};
    struct job_answer job = judge_parts(answers, parts, 3);
    CHECK(job.verdict == VERDICT_INCONCLUSIVE && job.deciding == 0);
    parts[0] = PART_TOTAL;
    job = judge_parts(answers, parts, 2);
    CHECK(job.verdict == VERDICT_INCONCLUSIVE && job.deciding == 0);
    parts[2] = PART_MAIN;
    CHECK(judge_parts(answers, parts, 3).verdict == VERDICT_NO_LEAK);
}

TEST(job__leaks_if_a_bystander_does)
{
    struct answer answers[] = {
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 9 * GB),
        answered(VERDICT_LEAK, SEVERITY_LOW, 1 * GB),
    };
    enum job_part parts[] = {PART_MAIN, PART_BYSTANDER};
    struct job_answer job = judge_parts(answers, parts, 2);
    CHECK(job.verdict == VERDICT_LEAK && job.deciding == 1);
}

TEST(job__names_the_part_before_the_sum)
{
    struct answer answers[] = {
        answered(VERDICT_LEAK, SEVERITY_HIGH, 9 * GB),
        answered(VERDICT_LEAK, SEVERITY_LOW, 1 * GB),
    };
    enum job_part parts[] = {PART_TOTAL, PART_BYSTANDER};
    struct job_answer job = judge_parts(answers, parts, 2);
    CHECK(job.deciding == 1 && job.severity == SEVERITY_HIGH);
    answers[1] = answered(VERDICT_NO_LEAK, SEVERITY_NONE, 1 * GB);
    job = judge_parts(answers, parts, 2);
    CHECK(job.verdict == VERDICT_LEAK && job.deciding == 0);
}

TEST(job__has_the_highest_severity_of_its_series)
{
    struct answer answers[] = {
        answered(VERDICT_LEAK, SEVERITY_NEGLIGIBLE, 9 * GB),
        answered(VERDICT_NO_LEAK, SEVERITY_NONE, 90 * GB),
    };
    struct job_answer job = judge_parts(answers, NULL, 2);
    CHECK(job.verdict == VERDICT_LEAK && job.severity == SEVERITY_NEGLIGIBLE && job.deciding == 0);
    answers[1] = answered(VERDICT_LEAK, SEVERITY_LOW, 1 * GB);
    job = judge_parts(answers, NULL, 2);
    CHECK(job.severity == SEVERITY_LOW && job.deciding == 1);
}

TEST(job__names_the_sum_of_negligible_parts_where_it_is_not)
{
    struct answer answers[] = {
        answered(VERDICT_LEAK, SEVERITY_LOW, 9 * GB),
        answered(VERDICT_LEAK, SEVERITY_NEGLIGIBLE, 1 * GB),
        answered(VERDICT_LEAK, SEVERITY_NEGLIGIBLE, 2 * GB),
    };
    enum job_part parts[] = {PART_TOTAL, PART_MAIN, PART_MAIN};
    struct job_answer job = judge_parts(answers, parts, 3);
    CHECK(job.deciding == 0 && job.severity == SEVERITY_LOW);
    enum job_part sum_last[] = {PART_MAIN, PART_MAIN, PART_TOTAL};
    struct answer swapped[] = {answers[1], answers[2], answers[0]};
    CHECK(judge_parts(swapped, sum_last, 3).deciding == 2);
    answers[0].severity = SEVERITY_NEGLIGIBLE;
    CHECK(judge_parts(answers, parts, 3).deciding == 2);
}

/* ---- a limit for several ---- */

/* Leaks `rate` bytes a step at `steps_per_second`; 1 GB is free. */
static struct answer leaking(double rate, double steps_per_second)
{
    struct answer a = answered(VERDICT_LEAK, SEVERITY_LOW, 1 * GB);
    a.rate = rate;
    a.rate_low = 0.5 * rate;
    a.rate_high = 2 * rate;
    a.rate_per_second = rate * steps_per_second;
    a.first_at = a.first_seconds = 0;
    a.last_at = 1000;
    a.last_seconds = 1000 / steps_per_second;
    a.floor_last = 1 * GB;
    a.limit = 2 * GB;
    a.forecast.limit_at = a.last_at + GB / rate;
    a.forecast.limit_seconds = GB / a.rate_per_second;
    return a;
}

TEST(job__two_ranks_fill_one_machine)
{
    struct answer a = leaking(1 * MB, 10), b = leaking(3 * MB, 10);
    struct answer *const both[] = {&a, &b};
    answers_share_limit(both, 2);
    CHECK_NEAR(a.forecast.limit_at, 1000 + 1024 / 4.0, 1e-6);
    CHECK_NEAR(b.forecast.limit_at, 1000 + 1024 / 4.0, 1e-6);
    CHECK_NEAR(a.forecast.limit_low, 1000 + 1024 / 8.0, 1e-6);
    CHECK_NEAR(a.forecast.limit_high, 1000 + 1024 / 2.0, 1e-6);
    CHECK_NEAR(a.forecast.limit_seconds, 25.6, 1e-6);
    CHECK(a.reasons[0].kind == REASON_SHARED_LIMIT && a.reasons[0].count == 2);
}

TEST(job__processes_with_other_clocks_fill_one_machine)
{
    struct answer a = leaking(1 * MB, 10), b = leaking(10 * MB, 1);
    b.last_at = 100;
    b.last_seconds = 100;
    struct answer *const both[] = {&a, &b};
    answers_share_limit(both, 2);
    CHECK_NEAR(a.forecast.limit_seconds, 1024 / 20.0, 1e-6);
    CHECK_NEAR(b.forecast.limit_seconds, 1024 / 20.0, 1e-6);
    CHECK_NEAR(b.forecast.limit_at, 100 + 1024 / 20.0, 1e-6);
}

TEST(job__who_is_gone_or_does_not_leak_fills_nothing)
{
    struct answer a = leaking(1 * MB, 10), gone = leaking(3 * MB, 10), flat = leaking(5 * MB, 10);
    gone.last_seconds = 50;
    flat.verdict = VERDICT_NO_LEAK;
    struct answer *const all[] = {&a, &gone, &flat};
    answers_share_limit(all, 3);
    CHECK_NEAR(a.forecast.limit_at, 1000 + 1024, 1e-6);
    CHECK_NEAR(flat.forecast.limit_at, 1000 + 1024 / 5.0, 1e-6);
    CHECK(a.reason_count == 0 && flat.reason_count == 0);
}
