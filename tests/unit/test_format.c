/* tests/unit/test_format.c: how values, rates, positions and sentences are written. */
#include "words/format.h"

#include "answers.h"
#include "unit.h"
#include "writes.h"

static const struct report_style unicode = {.width = 80}, ascii = {.width = 80, .ascii = true};

TEST(format__writes_rates_on_both_clocks)
{
    struct series_info info = {.name = "x", .kind = "memory"};
    CHECK_WRITES(format_rate(&out, 148 * MB, &info), "148 MB/step");
    CHECK_WRITES(format_rate(&out, 512, &info), "512 B/step");
    info.clock = CLOCK_SECONDS;
    CHECK_WRITES(format_rate(&out, 2.3 * MB, &info), "138 MB/min");
    info.unit = SERIES_COUNT;
    CHECK_WRITES(format_rate(&out, 1.5, &info), "90/min");
}

TEST(format__names_a_shared_unit_once)
{
    CHECK_WRITES(format_values(&out, 145 * MB, 151 * MB, "to", SERIES_BYTES), "145 to 151 MB");
    CHECK_WRITES(format_values(&out, 900 * MB, 2 * GB, "to", SERIES_BYTES), "900 MB to 2.00 GB");
    CHECK_WRITES(format_values(&out, 5, 7, "to", SERIES_COUNT), "5 to 7");
}

TEST(format__leaves_bounds_out_that_say_nothing)
{
    CHECK_WRITES(format_bounds(&out, 512, 512, 512, SERIES_BYTES), "");
    CHECK_WRITES(format_bounds(&out, 512, NAN, 600, SERIES_BYTES), "");
    CHECK_WRITES(format_bounds(&out, 512, 500, 520, SERIES_BYTES), " (500 to 520 B)");
}

TEST(format__writes_bounds_in_the_measure_of_the_rate)
{
    struct series_info info = {.name = "x", .kind = "memory", .clock = CLOCK_SECONDS};
    CHECK_WRITES(format_rate_bounds(&out, MB, 0.5 * MB, 2 * MB, &info), " (30.0 to 120 MB)");
    info.clock = CLOCK_STEP;
    CHECK_WRITES(format_rate_bounds(&out, MB, 0.5 * MB, 2 * MB, &info), " (512 KB to 2.00 MB)");
}

TEST(format__says_once_what_both_ends_share)
{
    CHECK_WRITES(format_range(&out, "9.2 million steps", "12 million steps", "to"),
                 "9.2 to 12 million steps");
    CHECK_WRITES(format_range(&out, "12 min", "3.2 h", "to"), "12 min to 3.2 h");
}

TEST(format__writes_a_change_or_one_level)
{
    CHECK_WRITES(format_change(&out, 5 * GB, 6 * GB, SERIES_BYTES, &ascii), "5.00 -> 6.00 GB");
    CHECK_WRITES(format_change(&out, 5 * GB, 5.001 * GB, SERIES_BYTES, &ascii), "5.00 GB");
}

TEST(format__writes_positions_in_steps)
{
    struct made_series m;
    double values[] = {1, 2};
    make_series(&m, "x", "memory", CLOCK_STEP, values, 2, 50000, 10);
    CHECK_WRITES(format_position(&out, 50010.4, &m.s), "step 50,010");
    CHECK_WRITES(format_position(&out, 2248.5, &m.s), "step 2,249");
    CHECK_WRITES(format_span(&out, 696.5, 2248.5, &m.s, &ascii), "697-2,249");
    CHECK_WRITES(format_span(&out, 50000, 50010, &m.s, &unicode), "50,000–50,010");
    made_series_release(&m);
}

TEST(format__writes_times_since_the_first_sample)
{
    struct made_series m;
    double values[] = {1, 2};
    make_series(&m, "x", "memory", CLOCK_SECONDS, values, 2, 1.7e9, 3600);
    CHECK_WRITES(format_position(&out, 1.7e9 + 720, &m.s), "12 min");
    CHECK_WRITES(format_position_words(&out, 1.7e9, &m.s), "the start");
    CHECK_WRITES(format_position_words(&out, 1.7e9 + 720, &m.s), "12 min into the run");
    CHECK_WRITES(format_span(&out, 1.7e9, 1.7e9 + 3600, &m.s, &ascii), "0-60 min");
    CHECK_WRITES(format_span(&out, 1.7e9 + 60, 1.7e9 + 3600, &m.s, &ascii), "60 s - 60 min");
    made_series_release(&m);
}

TEST(format__says_what_is_missing)
{
    CHECK_WRITES(format_more(&out, 12345, CLOCK_STEP), "about 12,000 more steps");
    CHECK_WRITES(format_more(&out, 720, CLOCK_SECONDS), "about 12 min more");
}

TEST(format__cuts_the_middle_of_long_names)
{
    CHECK_WRITES(format_clean_cut(&out, "short", 10, &ascii), "short");
    CHECK_WRITES(format_clean_cut(&out, "abcdefghijkl", 10, &ascii), "abcd..ijkl");
    CHECK_WRITES(format_clean_cut(&out,
                                  "\xc3\xa9"
                                  "bcdefghijk\xc3\xa9",
                                  7, &unicode),
                 "\xc3\xa9"
                 "bc…jk\xc3\xa9");
    CHECK_WRITES(format_clean_cut(&out, "\033\033\033\033", 3, &ascii), "?..");
}

TEST(format__counts_columns_not_bytes)
{
    CHECK(format_columns("") == 0);
    CHECK(format_columns("caf\xc3\xa9") == 4);
    CHECK(format_columns("\033[1;31mLEAK\033[0m") == 4);
    CHECK(format_columns("\033[") == 0);
}

TEST(format__breaks_lines_between_words)
{
    struct report_style narrow = {.width = 40};
    CHECK_WRITES(
        format_wrapped(&out, "aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd eeeeeeeee", 2, &narrow),
        "aaaaaaaaa bbbbbbbbb ccccccccc\n  ddddddddd eeeeeeeee\n");
    CHECK_WRITES(format_wrapped(&out, "", 2, &narrow), "\n");
}

TEST(format__keeps_a_number_and_its_unit_together)
{
    struct report_style narrow = {.width = 40};
    CHECK_WRITES(
        format_wrapped(&out, "the level at the end of this run is 512 MB, high", 0, &narrow),
        "the level at the end of this run is\n512 MB, high\n");
    CHECK_WRITES(
        format_wrapped(&out, "what it takes by the end of the run is 3 % of it", 0, &narrow),
        "what it takes by the end of the run is\n3 % of it\n");
}

TEST(format__colours_only_when_asked)
{
    struct report_style colour = {.width = 80, .color = true};
    CHECK_WRITES(format_verdict(&out, VERDICT_LEAK, SEVERITY_HIGH, &unicode), "LEAK (high)");
    CHECK_WRITES(format_verdict(&out, VERDICT_LEAK, SEVERITY_LOW, &colour),
                 "\033[1;31mLEAK (low)\033[0m");
    CHECK_WRITES(format_verdict(&out, VERDICT_LEAK, SEVERITY_NEGLIGIBLE, &unicode),
                 "LEAK (negligible)");
    CHECK_WRITES(format_verdict(&out, VERDICT_LEAK, SEVERITY_NEGLIGIBLE, &colour),
                 "LEAK (negligible)\033[0m"); /* no alarm color */
    CHECK_WRITES(format_verdict(&out, VERDICT_NO_LEAK, SEVERITY_NONE, &colour),
                 "\033[1;32mNO LEAK\033[0m");
}
