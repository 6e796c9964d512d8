/* tests/unit/test_report_tradeoff.c: settings of a job side by side, for people and programs. */
#include "report/report.h"

#include "unit.h"

#define MB 1048576.0
#define ROUNDS 4u

static const struct tradeoff_setting settings[] = {
    {{TRADEOFF_UNSAID, TRADEOFF_UNSAID, TRADEOFF_UNSAID}},
    {{10, TRADEOFF_UNSAID, TRADEOFF_UNSAID}},
    {{TRADEOFF_UNSAID, 0, 2}},
};

/* The second setting frees 212 MB and costs 10 %; the third changes nothing. */
static void make_runs(struct tradeoff_run *runs)
{
    static const double noises[3 * ROUNDS] = {3, 1, 5, 1, 5, 0, 2, 6, 5, 4, 3, 1};
    for (unsigned i = 0; i < 3 * ROUNDS; i++) {
        double noise = noises[i];
        bool cleans = i % 3 == 1;
        runs[i] = (struct tradeoff_run){.setting = i % 3, .round = i / 3};
        for (unsigned m = 0; m < TRADEOFF_MEASURES; m++)
            runs[i].values[m] = NAN;
        runs[i].values[TRADEOFF_FLOOR] = (cleans ? 588 : 800) * MB + noise * MB / 100;
        runs[i].values[TRADEOFF_STEP_SECONDS] = (cleans ? 0.0132 : 0.012) + noise * 1e-6;
        runs[i].values[TRADEOFF_CLEANUP_SHARE] = cleans ? 0.0951 : NAN;
    }
}

/* Valid until the next call. */
static const char *written(bool json, size_t runs, unsigned width)
{
    static char text[8000];
    static const char *const notes[] = {"A note."};
    struct tradeoff_run all[3 * ROUNDS];
    struct tradeoff_row rows[3];
    make_runs(all);
    struct tradeoff t = {settings, 3, all, runs};
    tradeoff_compare(&t, rows);
    struct report_tradeoff report = {&t, rows, "python \"train\".py", 300, 305, notes, 1};
    struct report_style style = {.width = width, .ascii = true};
    struct buf out = BUF_INIT;
    if (json)
        report_tradeoff_json(&out, &report);
    else
        report_tradeoff(&out, &report, &style);
    snprintf(text, sizeof(text), "%s", buf_text(&out));
    buf_release(&out);
    return text;
}

TEST(report_tradeoff__says_what_was_found_then_every_measure)
{
    static const char *const lines[] = {
        "Cleanup every 10 steps takes 212 MB off the floor, and costs 10 % of step time.",
        "",
        "  12 runs, 300 to 305 steps each, of: python \"train\".py",
        "",
        "  floor, host memory           mean     lowest to highest  difference",
        "    as it is                   800 MB   800 to 800 MB",
        "    every 10                   588 MB   588 to 588 MB      -212 MB     real",
        "    set_to_none no, 2 workers  800 MB   800 to 800 MB      +2.56 KB    within noise",
        "",
        "  step time",
        "    as it is                   12.0 ms  12.0 to 12.0 ms",
        "    every 10                   13.2 ms  13.2 to 13.2 ms    +10 %       real",
        "    set_to_none no, 2 workers  12.0 ms  12.0 to 12.0 ms    0 %         within noise",
        "",
        "  cleanup by its own clock",
        "    every 10                   9.5 %    9.5 to 9.5 %",
        "",
        "  - A note.",
    };
    struct buf want = BUF_INIT;
    for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        buf_addf(&want, "%s\n", lines[i]);
    CHECK_TEXT(written(false, 3 * ROUNDS, 80), buf_text(&want));
    buf_release(&want);
}

TEST(report_tradeoff__programs_get_every_value)
{
    const char *text = written(true, 3 * ROUNDS, 80);
    struct json_reader reader;
    struct json_token token;
    json_reader_init(&reader, text, strlen(text));
    do
        CHECK(json_next(&reader, &token) >= 0);
    while (token.type != JSON_END);
    static const char *const members[] = {
        "\"schema\": 1",
        "\"summary\": \"Cleanup every 10 steps takes 212 MB off the floor",
        "\"command\": \"python \\\"train\\\".py\"",
        "\"runs\": 12",
        "\"steps_low\": 300",
        "\"name\": \"as it is\"",
        "\"every\": 10",
        "\"set_to_none\": false",
        "\"workers\": 2",
        "\"host_floor\": {",
        "\"step_seconds\": {",
        "\"cleanup_share\": {",
        "\"real\": true",
        "\"real\": false",
        "\"difference_low\": ",
        "\"A note.\"",
    };
    for (unsigned i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (!strstr(text, members[i]))
            UNIT_FAIL("%s is not there", members[i]);
    CHECK(!strstr(text, "gpu_floor") && !strstr(text, "null"));
}

TEST(report_tradeoff__says_what_was_not_measured)
{
    const char *text = written(false, 2, 80);
    CHECK(strncmp(text, "Not enough repeats", 18) == 0);
    CHECK(strstr(text, "2 workers  not measured\n"));
    CHECK(strstr(text, "-212 MB     not enough repeats\n"));
    text = written(true, 2, 80);
    CHECK(!strstr(text, "\"real\"") && strstr(text, "\"difference\""));
}
