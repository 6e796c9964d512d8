/* tests/unit/test_chart.c: the floor of a series and the range above it. */
#include "answers.h"
#include "unit.h"

#include <stdlib.h>

/* The width of the longest line, in columns. */
static unsigned widest(const char *text)
{
    unsigned longest = 0, columns = 0;
    for (; *text; text++) {
        columns += ((unsigned char) *text & 0xc0) != 0x80;
        if (*text == '\n') {
            longest = columns - 1 > longest ? columns - 1 : longest;
            columns = 0;
        }
    }
    return longest;
}

static unsigned lines(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

TEST(chart__draws_a_ramp_and_its_plateau)
{
    struct made_series m;
    make_run_2(&m);
    struct report_style style = {.width = 60, .ascii = true};
    struct buf out = BUF_INIT;
    report_chart(&out, &m.s, 8, &style);
    CHECK_TEXT(buf_text(&out), "  20 GB +\n"
                               "        |                    *************************\n"
                               "  15 GB +                ****\n"
                               "        |            ****\n"
                               "  10 GB +       *****\n"
                               "        |  *****\n"
                               "   5 GB +**\n"
                               "        +------------+-------------+--------------+---\n"
                               "                    50            100            150   step\n");
    buf_release(&out);
    made_series_release(&m);
}

TEST(chart__keeps_to_the_width)
{
    struct made_series m;
    make_run_2(&m);
    for (unsigned width = 10; width < 300; width += 7) {
        struct report_style style = {.width = width, .ascii = width % 2};
        struct buf out = BUF_INIT;
        report_chart(&out, &m.s, 8, &style);
        unsigned columns = widest(buf_text(&out)), rows = lines(buf_text(&out));
        buf_release(&out);
        CHECK(columns <= (width < 40 ? 40 : width < 100 ? width : 100));
        CHECK(rows >= 8 && rows <= 12);
    }
    made_series_release(&m);
}

TEST(chart__shows_spikes_as_a_range_above_the_floor)
{
    struct made_series m;
    double values[180];
    for (size_t i = 0; i < 180; i++)
        values[i] = (i % 45 == 20 ? 10 : 5) * GB;
    make_series(&m, "x", "memory", CLOCK_STEP, values, 180, 1, 1);
    struct report_style style = {.width = 70, .ascii = true};
    struct buf out = BUF_INIT;
    report_chart(&out, &m.s, 8, &style);
    char *line = strtok(out.text, "\n");
    bool floor_is_whole = false;
    while (line) {
        floor_is_whole = floor_is_whole || strstr(line, "**************************************");
        CHECK(!strchr(line, '.') || !strstr(line, "10 GB") || strchr(line, '*') == NULL);
        line = strtok(NULL, "\n");
    }
    CHECK(floor_is_whole);
    buf_release(&out);
    made_series_release(&m);
}

TEST(chart__does_not_bend_the_end_of_a_ramp)
{
    struct made_series m;
    double values[192];
    for (size_t i = 0; i < 192; i++)
        values[i] = (double) i * MB;
    make_series(&m, "x", "memory", CLOCK_STEP, values, 192, 1, 1);
    m.answer.verdict = VERDICT_LEAK;
    struct report_style style = {.width = 80, .ascii = true};
    struct buf out = BUF_INIT;
    report_chart(&out, &m.s, 8, &style);
    /* The last column is in the top row only: there is no range above the floor to draw as dots. */
    CHECK(holds(buf_text(&out), "200 MB +"));
    CHECK(strchr(buf_text(&out), '.') == NULL);
    buf_release(&out);
    made_series_release(&m);
}

TEST(chart__draws_what_is_flat_as_flat)
{
    struct made_series m;
    double values[50];
    for (size_t i = 0; i < 50; i++)
        values[i] = 16 * GB + (i % 2 ? 30 * KB : 0);
    make_series(&m, "x", "memory", CLOCK_STEP, values, 50, 1, 1);
    m.answer.verdict = VERDICT_NO_LEAK;
    struct report_style style = {.width = 80, .ascii = true};
    struct buf out = BUF_INIT;
    report_chart(&out, &m.s, 8, &style);
    CHECK(holds(buf_text(&out), "*******************************************************"));
    buf_release(&out);
    made_series_release(&m);
}

TEST(chart__survives_odd_series)
{
    static const double odd[][2] = {{0, 0}, {-5, -5}, {1e300, -1e300}, {1, 1e17}, {-3e9, 4e9}};

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        for (size_t count = 1; count <= 2; count++) {
            struct made_series m;
            make_series(&m, "x", "memory", CLOCK_SECONDS, odd[i], count, 1.7e9, 1e-3);
            struct report_style style = {.width = 80};
            struct buf out = BUF_INIT;
            report_chart(&out, &m.s, 8, &style);
            CHECK(fabs(odd[i][0]) > 1e18 || out.len > 0);
            buf_release(&out);
            made_series_release(&m);
        }
    }
}

TEST(chart__draws_nothing_without_samples)
{
    struct made_series m;
    make_run_1(&m);
    struct report_series s = {&m.info, &m.answer, NULL};
    struct report_style style = {.width = 80};
    struct buf out = BUF_INIT;
    report_chart(&out, &s, 8, &style);
    CHECK(out.len == 0);
    buf_release(&out);
    made_series_release(&m);
}
