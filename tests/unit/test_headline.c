/* tests/unit/test_headline.c: the verdict in one sentence. */
#include "words/headline.h"

#include "answers.h"
#include "unit.h"

static char sentence[500];

/* The sentence for a job of one series. */
static const char *of_one(const struct made_series *m)
{
    struct job_answer answer = {.verdict = m->answer.verdict, .severity = m->answer.severity};
    struct report_job job = {.series = &m->s, .count = 1, .answer = &answer};
    struct report_style style = {.width = 80};
    struct buf out = BUF_INIT;
    headline_job(&out, &job, &style);
    snprintf(sentence, sizeof(sentence), "%s", buf_text(&out));
    buf_release(&out);
    return sentence;
}

TEST(headline__tells_a_leak)
{
    struct made_series m;
    make_leak(&m);
    CHECK_TEXT(of_one(&m),
               "LEAK (low): torch.allocated grows 512 B/step since step 1, 391 KB an epoch");
    made_series_release(&m);
}

TEST(headline__tells_when_the_limit_is_near)
{
    struct made_series m;
    make_leak(&m);
    m.answer.severity = SEVERITY_HIGH;
    m.answer.rate_per_epoch = NAN;
    m.answer.limit = 8 * GB;
    m.answer.forecast.limit_at = m.answer.last_at + 1234;
    CHECK_TEXT(of_one(&m), "LEAK (high): torch.allocated grows 512 B/step since step 1; reaches "
                           "the limit of 8.00 GB in about 1,200 steps");
    made_series_release(&m);
}

TEST(headline__tells_a_plateau_after_warm_up)
{
    struct made_series m;
    make_run_2(&m);
    CHECK_TEXT(of_one(&m),
               "NO LEAK: warm-up until step 80, then flat at 17.0 GB (at most 1.20 KB/step)");
    made_series_release(&m);
}

TEST(headline__says_for_which_plan_it_holds)
{
    struct made_series m;
    make_run_2(&m);
    m.answer.phases[1].name = PHASE_GROWING;
    m.answer.phases[1].rate = 2.3 * MB;
    m.answer.rate_upper = 2.9 * MB;
    m.answer.plan = 250;
    CHECK_TEXT(of_one(&m), "NO LEAK: warm-up until step 80, then growing 2.30 MB/step at 17.0 GB "
                           "(at most 2.90 MB/step; holds up to step 250)");
    made_series_release(&m);
}

TEST(headline__tells_growth_that_goes_on)
{
    struct made_series m;
    make_run_1(&m);
    CHECK_TEXT(of_one(&m), "INCONCLUSIVE: still growing 170 MB/step after 60 steps; about 150 more "
                           "steps would settle it");
    made_series_release(&m);
}

TEST(headline__admits_too_little_data)
{
    struct made_series m;
    double values[] = {5 * GB, 5 * GB};
    make_series(&m, "x", "memory", CLOCK_SECONDS, values, 2, 0, 60);
    CHECK_TEXT(of_one(&m), "INCONCLUSIVE: too few samples to judge: 2 samples over 60 s");
    made_series_release(&m);
}

TEST(headline__repeats_the_reason_of_the_engine)
{
    struct made_series m;
    make_run_1(&m);
    m.answer.phases[0].name = PHASE_STABLE;
    strcpy(m.answer.needs.why, "The values are rounded to 1 MB: finer ones would tell.");
    CHECK_TEXT(of_one(&m), "INCONCLUSIVE: the values are rounded to 1 MB: finer ones would tell; "
                           "about 150 more steps would settle it");
    strcpy(m.answer.needs.why, "RSS");
    m.answer.needs.at_least = NAN;
    CHECK_TEXT(of_one(&m), "INCONCLUSIVE: RSS");
    made_series_release(&m);
}

TEST(headline__counts_the_series_of_a_job)
{
    struct made_series m[2];
    make_run_1(&m[0]);
    make_leak(&m[1]);
    struct report_series series[] = {m[0].s, m[1].s};
    struct job_answer answer = {
        .verdict = VERDICT_LEAK, .severity = SEVERITY_LOW, .deciding = 1, .leaks = 1};
    struct report_job job = {.series = series, .count = 2, .answer = &answer};
    struct report_style style = {.width = 80};
    struct buf out = BUF_INIT;
    headline_job(&out, &job, &style);
    CHECK(holds(buf_text(&out), "LEAK (low): vram grows 512 B/step"));
    CHECK(holds(buf_text(&out), "; 1 of 2 series leaks"));

    answer = (struct job_answer){.verdict = VERDICT_INCONCLUSIVE, .inconclusives = 2};
    buf_clear(&out);
    headline_job(&out, &job, &style);
    CHECK(holds(buf_text(&out), "; 2 of 2 series are inconclusive"));

    answer = (struct job_answer){
        .verdict = VERDICT_NO_LEAK, .deciding = SIZE_MAX, .inconclusives = 1, .no_leaks = 1};
    buf_clear(&out);
    headline_job(&out, &job, &style);
    CHECK(holds(buf_text(&out), "NO LEAK: none of 2 series leaks; 1 is too short"));
    buf_release(&out);
    made_series_release(&m[0]);
    made_series_release(&m[1]);
}
