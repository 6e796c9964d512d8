/* tests/unit/test_text.c: the report of a job for people. */
#include "answers.h"
#include "unit.h"

static void report_one(struct buf *out, const struct made_series *m,
                       const struct report_style *style)
{
    struct job_answer answer = {.verdict = m->answer.verdict, .severity = m->answer.severity};
    struct report_job job = {.series = &m->s, .count = 1, .answer = &answer};
    report_text(out, &job, style);
}

static bool is_ascii(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char) *text >= 0x80)
            return false;
    }
    return true;
}

TEST(text__begins_with_the_verdict)
{
    struct made_series m;
    make_leak(&m);
    struct report_style style = {.width = 80, .full = true};
    struct buf out = BUF_INIT;
    report_one(&out, &m, &style);
    CHECK(strncmp(buf_text(&out), "LEAK (low): torch.allocated grows 512 B/step", 44) == 0);
    CHECK(holds(buf_text(&out), "\xe2\x80\xa2 grew in each of 1,980 steps"));
    CHECK(holds(buf_text(&out), "1 GB more takes about 2.1 million steps"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(text__lists_phases_with_rates_and_intervals)
{
    struct made_series m;
    make_run_2(&m);
    struct report_style style = {.width = 80, .ascii = true, .full = true};
    struct buf out = BUF_INIT;
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out), "warm-up  10-80   171 MB/step (169 to 173 MB)"));
    CHECK(holds(buf_text(&out), "5.31 -> 17.0 GB"));
    CHECK(holds(buf_text(&out), "does not reach the limit of 32.0 GB"));
    CHECK(holds(buf_text(&out), "looks like 50.8 MB/step; 97 % of the"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(text__says_what_is_missing)
{
    struct made_series m;
    make_run_1(&m);
    m.answer.needs.seconds = 720;
    struct report_style style = {.width = 80, .full = true};
    struct buf out = BUF_INIT;
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out),
                "about 150 more steps (12 min): a cache that fills may look like this"));
    memcpy(m.answer.why[0], m.answer.needs.why, sizeof(m.answer.why[0]));
    buf_clear(&out);
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out), "about 150 more steps (12 min)\n"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(text__tells_when_it_grew_wary)
{
    struct made_series m;
    struct report_style style = {.width = 80, .full = true};
    struct buf out = BUF_INIT;
    make_run_1(&m);
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out),
                "growing, but not yet for long enough to be judged; noticed at step"));
    made_series_release(&m);

    buf_clear(&out);
    make_leak(&m);
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out), "first called a leak at step 1,150\n"));
    made_series_release(&m);

    buf_clear(&out);
    make_run_2(&m);
    m.answer.alarm_at = 60;
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out), "called a leak for a while, from step 60\n"));
    made_series_release(&m);
    buf_release(&out);
}

TEST(text__forecasts_with_uncertainty)
{
    struct made_series m;
    make_leak(&m);
    m.answer.plan = 10000;
    m.answer.limit = 8 * GB;
    m.answer.forecast.plan_value = 30 * MB;
    m.answer.forecast.plan_low = 29 * MB;
    m.answer.forecast.plan_high = 31 * MB;
    m.answer.forecast.limit_at = m.answer.last_at + 12345;
    m.answer.forecast.limit_low = m.answer.last_at + 11111;
    m.answer.forecast.limit_high = INFINITY;
    struct report_style style = {.width = 100, .full = true};
    struct buf out = BUF_INIT;
    report_one(&out, &m, &style);
    CHECK(
        holds(buf_text(&out), "about 30.0 MB (29.0 to 31.0 MB) at the plan's end, step 10,000\n"));
    CHECK(holds(buf_text(&out), "            reaches the limit of 8.00 GB in about"));
    CHECK(holds(buf_text(&out), "in about 12,000 steps (11,000 steps or more)"));
    m.answer.forecast.limit_high = m.answer.last_at + 14444;
    buf_clear(&out);
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out), "in about 12,000 steps (11,000 to 14,000 steps)\n"));
    m.answer.forecast.limit_high = m.answer.forecast.limit_low + 1;
    buf_clear(&out);
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out), "in about 12,000 steps\n"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(text__says_that_the_limit_is_passed_or_safe_until_the_plan_ends)
{
    struct made_series m;
    make_run_2(&m);
    m.answer.plan = 250;
    m.answer.forecast.plan_value = 17 * GB;
    struct report_style style = {.width = 80, .full = true};
    struct buf out = BUF_INIT;
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out), "does not reach the limit of 32.0 GB by then\n"));
    m.answer.limit = 9 * GB;
    m.answer.forecast.limit_at = NAN;
    buf_clear(&out);
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out), "is already above the limit of 9.00 GB\n"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(text__gives_one_sample_no_rate)
{
    struct made_series m;
    double value = 100 * MB;
    make_series(&m, "x", "memory", CLOCK_STEP, &value, 1, 7, 1);
    m.answer.phases[m.answer.phase_count++] =
        (struct phase){PHASE_START, 7, 7, value, value, 0, 0, 0};
    struct report_style style = {.width = 80, .ascii = true, .full = true};
    struct buf out = BUF_INIT;
    report_one(&out, &m, &style);
    CHECK(holds(buf_text(&out), "  phase  steps  rate  level\n  start  7-7          100 MB\n"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(text__stays_ascii_and_plain_when_asked)
{
    struct made_series m;
    make_run_1(&m);
    m.info.name = "caf\xc3\xa9 \033[31m";
    strcpy(m.answer.why[0], "rose \xe2\x86\x92 higher");
    struct report_style style = {.width = 80, .ascii = true, .full = true};
    struct buf out = BUF_INIT;
    report_one(&out, &m, &style);
    CHECK(is_ascii(buf_text(&out)));
    CHECK(strchr(buf_text(&out), '\033') == NULL);
    buf_release(&out);
    made_series_release(&m);
}

TEST(text__sums_many_series_up_and_details_the_doubtful)
{
    struct made_series m[4];
    make_run_2(&m[0]);
    make_run_2(&m[1]);
    make_run_1(&m[2]);
    make_leak(&m[3]);
    m[1].info.name = "other";
    struct report_series series[4] = {m[0].s, m[1].s, m[2].s, m[3].s};
    struct job_answer answer = {.verdict = VERDICT_LEAK,
                                .severity = SEVERITY_LOW,
                                .deciding = 3,
                                .leaks = 1,
                                .inconclusives = 1,
                                .no_leaks = 2};
    struct report_job job = {.series = series, .count = 4, .answer = &answer};
    struct report_style style = {.width = 80, .ascii = true, .full = true};
    struct buf out = BUF_INIT;
    report_text(&out, &job, &style);
    const char *text = buf_text(&out);
    CHECK(holds(text, "  LEAK (low)    vram    linear   512 B/step"));
    CHECK(holds(text, "  NO LEAK       other   warm-up  <= 1.20 KB/step  5.31 -> 17.0 GB"));
    CHECK(strstr(text, "LEAK (low)    vram") < strstr(text, "INCONCLUSIVE  Run 1"));
    CHECK(holds(text, "-- vram | torch.allocated | cuda:0 ---"));
    CHECK(holds(text, "-- Run 1 | pid 177381 ---"));
    CHECK(strstr(text, "-- other") == NULL);
    m[3].answer.severity = SEVERITY_NEGLIGIBLE;
    buf_clear(&out);
    report_text(&out, &job, &style);
    CHECK(holds(buf_text(&out), "  LEAK (negligible)  vram    linear   512 B/step"));
    CHECK(strstr(buf_text(&out), "-- vram") == NULL);
    buf_release(&out);
    for (size_t i = 0; i < 4; i++)
        made_series_release(&m[i]);
}

/* Reports a job of `count` series with the same answer and different names. */
static void report_alike(struct buf *out, const struct made_series *m, size_t count, unsigned width)
{
    struct report_series series[20];
    struct series_info infos[20];
    char names[20][40];
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof(names[i]), "worker%02zu_resident_mb", i);
        infos[i] = m->info;
        infos[i].name = names[i];
        series[i] = (struct report_series){&infos[i], &m->answer, &m->history};
    }
    struct job_answer answer = {.verdict = m->answer.verdict, .inconclusives = (unsigned) count};
    struct report_job job = {.series = series, .count = count, .answer = &answer};
    struct report_style style = {.width = width, .ascii = true, .full = true};
    report_text(out, &job, &style);
}

TEST(text__drops_columns_before_names_look_alike)
{
    struct made_series m;
    struct buf out = BUF_INIT;
    make_run_1(&m);
    report_alike(&out, &m, 12, 80);
    CHECK(holds(buf_text(&out), "  INCONCLUSIVE  worker11_resident_mb  unknown  170 MB/step"));
    buf_clear(&out);
    report_alike(&out, &m, 12, 56);
    CHECK(holds(buf_text(&out), "  INCONCLUSIVE  worker11_resident_mb  170 MB/step\n"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(text__does_not_let_the_verdict_scroll_away)
{
    struct made_series m;
    struct buf out = BUF_INIT;
    make_run_1(&m);
    report_alike(&out, &m, 12, 80);
    CHECK(holds(buf_text(&out), "-- worker05_resident_mb | pid 177381 --"));
    CHECK(!strstr(buf_text(&out), "-- worker06"));
    CHECK(holds(buf_text(&out), "\n6 more of them are only in the table: 'FILE#NAME'"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(text__names_a_pid_once)
{
    struct made_series m[2];
    make_run_1(&m[0]);
    make_run_2(&m[1]);
    m[0].info.name = "Run 1 (Process 177381)";
    struct report_series series[] = {m[0].s, m[1].s};
    struct job_answer answer = {.verdict = VERDICT_INCONCLUSIVE, .inconclusives = 1};
    struct report_job job = {.series = series, .count = 2, .answer = &answer};
    struct report_style style = {.width = 80, .ascii = true, .full = true};
    struct buf out = BUF_INIT;
    report_text(&out, &job, &style);
    CHECK(holds(buf_text(&out), "-- Run 1 (Process 177381) ---"));
    buf_release(&out);
    made_series_release(&m[0]);
    made_series_release(&m[1]);
}

static unsigned widest(const char *text)
{
    size_t longest = 0;
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        longest = len > longest ? len : longest;
    }
    return (unsigned) longest;
}

TEST(text__fits_narrow_terminals)
{
    struct made_series m[2];
    make_run_2(&m[0]);
    make_run_1(&m[1]);
    m[0].info.name = "1. a rather long heading that was above the numbers / with a second one";
    struct report_series series[2] = {m[0].s, m[1].s};
    struct job_answer answer = {.verdict = VERDICT_INCONCLUSIVE, .deciding = 1, .inconclusives = 1};
    struct report_job job = {.series = series, .count = 2, .answer = &answer};
    for (unsigned width = 80; width < 120; width += 5) {
        struct report_style style = {.width = width, .ascii = true, .full = true};
        struct buf out = BUF_INIT;
        report_text(&out, &job, &style);
        unsigned columns = widest(buf_text(&out));
        buf_release(&out);
        CHECK(columns <= (width < 100 ? width : 100));
    }
    for (size_t i = 0; i < 2; i++)
        made_series_release(&m[i]);
}

TEST(text__says_the_sentence_alone)
{
    struct made_series m;
    make_run_1(&m);
    struct job_answer answer = {.verdict = VERDICT_INCONCLUSIVE};
    struct report_job job = {.series = &m.s, .count = 1, .answer = &answer};
    struct report_style style = {.width = 40, .full = true};
    struct buf out = BUF_INIT;
    report_headline(&out, &job, &style);
    CHECK_TEXT(buf_text(&out), "INCONCLUSIVE: still growing 170 MB/step after 60 steps; "
                               "about 150 more steps would settle it\n");
    buf_release(&out);
    made_series_release(&m);
}
