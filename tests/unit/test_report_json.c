/* tests/unit/test_report_json.c: the JSON answer, the batch line, the comparison. */
#include "answers.h"
#include "unit.h"

/* Whether `text` is one JSON document for the project's own reader. */
static bool is_json(const char *text)
{
    struct json_reader reader;
    struct json_token token;
    json_reader_init(&reader, text, strlen(text));
    do {
        if (json_next(&reader, &token) < 0)
            return false;
    } while (token.type != JSON_END);
    return true;
}

TEST(report_json__names_what_programs_rely_on)
{
    struct made_series m;
    make_leak(&m);
    m.info.pid = 7;
    struct job_answer answer = {.verdict = VERDICT_LEAK, .severity = SEVERITY_LOW, .leaks = 1};
    struct report_job job = {
        .series = &m.s, .count = 1, .answer = &answer, .source = "a \"b\".log"};
    struct buf out = BUF_INIT;
    report_json(&out, &job);
    const char *text = buf_text(&out);
    CHECK(is_json(text));
    static const char *const members[] = {
        "\"tidemark\": ",
        "\"schema\": 1",
        "\"verdict\": \"leak\"",
        "\"severity\": \"low\"",
        "\"summary\": \"LEAK (low): ",
        "\"source\": \"a \\\"b\\\".log\"",
        "\"steps\": 1980",
        "\"pid\": 7",
        "\"kind\": \"torch.allocated\"",
        "\"device\": \"cuda:0\"",
        "\"unit\": \"bytes\"",
        "\"clock\": \"step\"",
        "\"pattern\": \"linear\"",
        "\"suspect_step\": 90",
        "\"alarm_step\": 1150",
        "\"onset_step\": 1",
        "\"rate\": 512",
        "\"rate_low\": 512",
        "\"rate_per_epoch\": 400384",
        "\"confidence\": 0.99",
        "\"floor_first\": 26214400",
        "\"phases\": [",
        "\"from\": 1",
        "\"name\": \"growing\"",
        "\"why\": [",
    };
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        CHECK(holds(text, members[i]));
    CHECK(strstr(text, "\"needs\"") == NULL);
    CHECK(strstr(text, "nan") == NULL && strstr(text, "inf") == NULL);
    buf_release(&out);
    made_series_release(&m);
}

TEST(report_json__says_what_is_missing)
{
    struct made_series m;
    make_run_1(&m);
    struct job_answer answer = {.verdict = VERDICT_INCONCLUSIVE, .inconclusives = 1};
    struct report_job job = {.series = &m.s, .count = 1, .answer = &answer, .source = NULL};
    struct buf out = BUF_INIT;
    report_json(&out, &job);
    CHECK(is_json(buf_text(&out)));
    CHECK(holds(buf_text(&out), "\"steps\": 152"));
    CHECK(strstr(buf_text(&out), "\"severity\"") == NULL);
    buf_release(&out);
    made_series_release(&m);
}

TEST(report_json__names_times_on_the_other_clock)
{
    struct made_series m;
    double values[] = {1, 2, 3};
    make_series(&m, "x", "host.rss", CLOCK_SECONDS, values, 3, 100, 10);
    m.answer.onset_at = m.answer.onset_seconds = 110;
    m.answer.alarm_at = 120;
    m.answer.needs.at_least = m.answer.needs.seconds = 900;
    struct job_answer answer = {.verdict = VERDICT_INCONCLUSIVE, .inconclusives = 1};
    struct report_job job = {.series = &m.s, .count = 1, .answer = &answer, .source = NULL};
    struct buf out = BUF_INIT;
    report_json(&out, &job);
    CHECK(holds(buf_text(&out), "\"clock\": \"s\""));
    CHECK(holds(buf_text(&out), "\"onset_seconds\": 110"));
    CHECK(holds(buf_text(&out), "\"alarm_seconds\": 120"));
    CHECK(holds(buf_text(&out), "\"seconds\": 900"));
    CHECK(strstr(buf_text(&out), "_step\"") == NULL);
    buf_release(&out);
    made_series_release(&m);
}

TEST(report_json__tells_a_limit_that_is_never_reached)
{
    struct made_series m;
    make_run_2(&m);
    struct job_answer answer = {.verdict = VERDICT_NO_LEAK, .no_leaks = 1};
    struct report_job job = {.series = &m.s, .count = 1, .answer = &answer, .source = NULL};
    struct buf out = BUF_INIT;
    report_json(&out, &job);
    CHECK(holds(buf_text(&out), "\"reaches_limit\": false"));
    CHECK(strstr(buf_text(&out), "\"limit_step\"") == NULL);
    CHECK(holds(buf_text(&out), "\"limit_bytes\": 34359738368"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(report_json__knows_that_a_limit_is_passed)
{
    struct made_series m;
    make_run_2(&m);
    struct job_answer answer = {.verdict = VERDICT_NO_LEAK};
    struct report_job job = {.series = &m.s, .count = 1, .answer = &answer, .source = "a.log"};
    struct buf out = BUF_INIT;
    report_json(&out, &job);
    CHECK(holds(buf_text(&out), "\"reaches_limit\": false"));
    m.answer.limit = 9 * GB;
    m.answer.forecast.limit_at = NAN;
    buf_clear(&out);
    report_json(&out, &job);
    CHECK(holds(buf_text(&out), "\"reaches_limit\": true"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(batch__writes_one_line_in_megabytes)
{
    struct made_series m;
    make_leak(&m);
    m.answer.forecast.limit_at = m.answer.last_at + 100;
    struct buf out = BUF_INIT;
    m.info.name = "a\"1";
    report_batch(&out, &m.info, &m.answer);
    CHECK_TEXT(buf_text(&out),
               "{\"id\": \"a\\\"1\", \"verdict\": \"leak\", \"pattern\": \"linear\", "
               "\"rate\": 0.00048828125, \"rate_low\": 0.00048828125, "
               "\"rate_high\": 0.00048828125, \"onset\": 1, \"alarm_t\": 1150, \"eta\": 100, "
               "\"conf\": 0.99, \"why\": \"grew in each of 1,980 steps\"}\n");
    buf_release(&out);
    made_series_release(&m);
}

TEST(batch__leaves_counts_as_they_are)
{
    struct answer a;
    answer_clear(&a);
    a.rate = 2;
    struct buf out = BUF_INIT;
    report_batch(&out, &(struct series_info){.name = "x", .unit = SERIES_COUNT}, &a);
    CHECK(holds(buf_text(&out), "\"rate\": 2,"));
    buf_release(&out);
}

TEST(batch__writes_the_unknown_as_null)
{
    struct answer a;
    answer_clear(&a);
    a.forecast.limit_at = INFINITY;
    struct buf out = BUF_INIT;
    report_batch(&out, &(struct series_info){.name = "x"}, &a);
    CHECK_TEXT(buf_text(&out),
               "{\"id\": \"x\", \"verdict\": \"inconclusive\", \"pattern\": \"unknown\", "
               "\"rate\": null, \"rate_low\": null, \"rate_high\": null, \"onset\": null, "
               "\"alarm_t\": null, \"eta\": null, \"conf\": null, \"why\": \"\"}\n");
    buf_release(&out);
}

TEST(comparison__sets_two_runs_side_by_side)
{
    struct made_series a, b;
    make_run_2(&a);
    make_run_1(&b);
    struct comparison c = {.level_ratio = 0.9, .difference_count = 1, .summary = "B was cut off"};
    strcpy(c.differences[0], "the warm-up of B has no end");
    struct report_style style = {.width = 80, .ascii = true, .full = true};
    struct buf out = BUF_INIT;
    struct job_answer answer = {.verdict = VERDICT_INCONCLUSIVE};
    struct report_job job_a = {.series = &a.s, .count = 1, .answer = &answer};
    struct report_job job_b = {.series = &b.s, .count = 1, .answer = &answer};
    struct report_runs runs = {
        .job_a = &job_a, .job_b = &job_b, .a = a.s, .b = b.s, .comparison = &c};
    report_comparison(&out, &runs, &style);
    CHECK(holds(buf_text(&out), "B was cut off\nwhy: A: "));
    CHECK(holds(buf_text(&out), "\n\n  A  Run 2\n  B  Run 1 | pid 177381\n"));
    CHECK(holds(buf_text(&out), "\n\nA: INCONCLUSIVE; B: INCONCLUSIVE\n"));
    CHECK(holds(buf_text(&out), "verdict                    NO LEAK            INCONCLUSIVE\n"));
    CHECK(holds(buf_text(&out), "warm-up ends               step 80            none seen\n"));
    CHECK(holds(buf_text(&out), "in passes over the data  0.96 epochs        not known\n"));
    CHECK(holds(buf_text(&out), "- the warm-up of B has no end\n"));
    buf_clear(&out);
    report_comparison_json(&out, &runs);
    CHECK(is_json(buf_text(&out)));
    CHECK(holds(buf_text(&out), "\"same_pattern\": false"));
    CHECK(holds(buf_text(&out), "\"a\": {"));
    CHECK(holds(buf_text(&out), "\"b\": {"));
    buf_release(&out);
    made_series_release(&a);
    made_series_release(&b);
}

TEST(comparison__sets_counts_side_by_side)
{
    struct made_series a, b;
    double few[] = {6484, 6529}, many[] = {7070, 7070};
    make_series(&a, "tensors", "py.tensors", CLOCK_STEP, few, 2, 10, 10);
    make_series(&b, "tensors", "py.tensors", CLOCK_STEP, many, 2, 10, 10);
    a.info.unit = b.info.unit = SERIES_COUNT;
    a.info.device = b.info.device = "cuda";
    struct comparison c = {.summary = "The same pattern."};
    struct report_pair pair = {&a.s, &b.s};
    struct job_answer answer = {.verdict = VERDICT_NO_LEAK, .no_leaks = 1};
    struct report_job job_a = {.series = &a.s, .count = 1, .answer = &answer};
    struct report_job job_b = {.series = &b.s, .count = 1, .answer = &answer};
    struct report_runs runs = {&job_a, &job_b, a.s, b.s, &c, &pair, 1};
    struct report_style style = {.width = 80, .ascii = true, .full = true};
    struct buf out = BUF_INIT;
    report_comparison(&out, &runs, &style);
    CHECK(holds(buf_text(&out), "py.tensors (cuda)          6,484 to 6,529"));
    CHECK(holds(buf_text(&out), "  7,070\n"));
    buf_clear(&out);
    report_comparison_json(&out, &runs);
    CHECK(is_json(buf_text(&out)) && holds(buf_text(&out), "\"counts\": ["));
    buf_release(&out);
    made_series_release(&a);
    made_series_release(&b);
}
