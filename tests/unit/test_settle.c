/* tests/unit/test_settle.c: growth of a whole job in which no process is suspect. */
#include "job/job.h"
#include "judge/judge.h"
#include "unit.h"

#include <stdlib.h>

#define MB 1048576.0
#define STEPS 1000

/* The sum of `parts` processes, which grows by `rise` in 1,000 steps of 0.1 s. */
static struct answer sum_of(unsigned parts, double rise, enum ledger_rule *ret_rule)
{
    struct job j;
    struct answer a = {0};
    const struct history *h;
    job_init(&j);
    struct track *sum = &j.sums[JOB_ANON];
    sum->parts = parts;
    for (int i = 1; i <= STEPS; i++) {
        track_push(sum, &j.terms, 0.1 * i - 0.05, 1000 * MB + rise * i / STEPS);
        clock_mark(&j.clock, 0.1 * i, i);
        track_mark(sum, &j.terms);
    }
    settle_job(&j);
    track_answer(sum, &j.terms, &a, &h);
    *ret_rule = sum->judgement.rule;
    job_release(&j);
    return a;
}

TEST(settle__little_in_each_process_of_a_job_may_end_soon)
{
    enum ledger_rule rule;
    struct answer a = sum_of(5, 7.5 * MB, &rule);
    CHECK(rule == RULE_LITTLE && a.verdict == VERDICT_INCONCLUSIVE && !a.suspect);
    CHECK(a.reasons[0].kind == REASON_LIBRARIES);
    CHECK_NEAR(a.reasons[0].bound, 20 * MB, 1);
    CHECK_NEAR(a.needs.at_least, 1667, 20);
    a = sum_of(5, 25 * MB, &rule);
    CHECK(rule == RULE_LASTING && a.verdict == VERDICT_LEAK);
    a = sum_of(1, 3 * MB, &rule); /* the same as its process says */
    CHECK(rule == RULE_LASTING && a.verdict == VERDICT_LEAK);
}
