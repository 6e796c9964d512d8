/* tests/unit/test_details.c: the details of one series in a full report. */
#include "words/details.h"

#include "answers.h"
#include "unit.h"

static const struct report_style plain = {.width = 80, .ascii = true};

static char text[400];

static const char *taken(struct buf *b)
{
    snprintf(text, sizeof(text), "%s", buf_text(b));
    buf_release(b);
    return text;
}

static const char *detail(details_writer write, const struct made_series *m)
{
    struct buf b = BUF_INIT;
    write(&b, &m->s);
    return taken(&b);
}

static void make_level(struct made_series *m)
{
    static const double values[] = {GB, GB, 2 * GB};
    make_series(m, "trainer 7 host.anon", "host.anon", CLOCK_STEP, values, 3, 0, 50);
    m->answer.verdict = VERDICT_NO_LEAK;
}

TEST(details__levels_are_min_mean_max_and_floor)
{
    struct made_series m;
    struct buf b = BUF_INIT;
    make_level(&m);
    details_levels(&b, &m.s, &plain);
    CHECK_TEXT(taken(&b), "min 1.00 GB, mean 1.33 GB, max 2.00 GB; floor 1.00 -> 2.00 GB");
    made_series_release(&m);
}

TEST(details__nothing_to_say_is_nothing)
{
    static const details_writer writers[] = {details_spikes, details_alarm, details_naive,
                                             details_needs,  details_plan,  details_limit,
                                             details_pace};
    struct made_series m;
    make_level(&m);
    for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++)
        CHECK_TEXT(detail(writers[i], &m), "");
    made_series_release(&m);
}

TEST(details__spikes_say_whether_they_came_down)
{
    struct made_series m;
    make_level(&m);
    m.answer.spikes.count = 1;
    m.answer.spikes.height = MB;
    CHECK_TEXT(detail(details_spikes, &m),
               "1, 1.00 MB above the floor; the last has not come down yet");
    m.answer.spikes.count = 3;
    m.answer.spikes.recovered = true;
    CHECK_TEXT(detail(details_spikes, &m),
               "3, typically 1.00 MB above the floor; each came down again");
    made_series_release(&m);
}

TEST(details__an_alarm_comes_before_a_suspicion)
{
    struct made_series m;
    make_level(&m);
    m.answer.suspect = true;
    m.answer.suspect_at = 40;
    CHECK_TEXT(detail(details_alarm, &m),
               "growing, but not yet for long enough to be judged; noticed at step 40");
    m.answer.alarm_at = 90;
    CHECK_TEXT(detail(details_alarm, &m), "called a leak for a while, from step 90");
    m.answer.verdict = VERDICT_LEAK;
    CHECK_TEXT(detail(details_alarm, &m), "first called a leak at step 90");
    made_series_release(&m);
}

TEST(details__an_average_that_misleads_is_named)
{
    struct made_series m;
    make_level(&m);
    m.answer.naive.misleads = true;
    m.answer.naive.rate = MB;
    m.answer.naive.warm_up_share = 0.9;
    CHECK_TEXT(detail(details_naive, &m), "averaged over all steps this looks like 1.00 MB/step; "
                                          "90 % of the growth was warm-up");
    made_series_release(&m);
}

TEST(details__an_open_answer_says_what_it_needs_once)
{
    struct made_series m;
    make_level(&m);
    m.answer.verdict = VERDICT_INCONCLUSIVE;
    m.answer.needs.at_least = 150;
    m.answer.needs.seconds = 30;
    snprintf(m.answer.needs.why, sizeof(m.answer.needs.why), "too short");
    CHECK_TEXT(detail(details_needs, &m), "about 150 more steps (30 s): too short");
    snprintf(m.answer.why[0], sizeof(m.answer.why[0]), "too short");
    m.answer.why_count = 1;
    CHECK_TEXT(detail(details_needs, &m), "about 150 more steps (30 s)");
    made_series_release(&m);
}

TEST(details__the_forecast_is_of_the_plan_the_limit_or_the_pace)
{
    struct made_series m;
    make_level(&m);
    m.answer.verdict = VERDICT_LEAK;
    m.answer.rate = MB;
    CHECK_TEXT(detail(details_pace, &m), "1 GB more takes about 1,000 steps");
    m.answer.plan = 1000;
    m.answer.forecast.plan_value = 3 * GB;
    CHECK_TEXT(detail(details_plan, &m), "about 3.00 GB at the plan's end, step 1,000");
    m.answer.limit = 1.5 * GB;
    CHECK_TEXT(detail(details_limit, &m), "is already above the limit of 1.50 GB");
    m.answer.limit = 4 * GB;
    m.answer.forecast.limit_at = 2100;
    CHECK_TEXT(detail(details_limit, &m), "reaches the limit of 4.00 GB in about 2,000 steps");
    m.answer.forecast.limit_at = INFINITY;
    CHECK_TEXT(detail(details_limit, &m), "does not reach the limit of 4.00 GB by then");
    made_series_release(&m);
}
