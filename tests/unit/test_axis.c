/* tests/unit/test_axis.c: round numbers for the axes of a chart. */
#include "report/axis.h"
#include "unit.h"

#define MB (1024.0 * 1024.0)
#define GB (1024.0 * MB)

TEST(axis__widens_values_to_round_ticks)
{
    struct axis a;
    axis_values(&a, 5.4 * GB, 17.2 * GB, 4, SERIES_BYTES);
    CHECK_NEAR(a.low, 5 * GB, 1);
    CHECK_NEAR(a.high, 20 * GB, 1);
    CHECK(a.step == 5);
    CHECK_TEXT(a.name, " GB");
}

TEST(axis__never_makes_more_intervals_than_asked)
{
    double high = 1;
    for (int i = 0; i < 60; i++, high *= 1.37) {
        struct axis a;
        axis_values(&a, 0.3 * high, high, 4, SERIES_COUNT);
        double intervals = (a.high - a.low) / (a.step * a.scale);
        CHECK(intervals > 0.5 && intervals < 4.5);
        CHECK(a.low <= 0.3 * high && a.high >= high * (1 - 1e-9));
    }
}

TEST(axis__takes_a_smaller_unit_rather_than_many_decimals)
{
    struct axis a;
    struct buf label = BUF_INIT;
    axis_values(&a, 16.62 * GB, 16.6212 * GB, 4, SERIES_BYTES);
    CHECK_TEXT(a.name, " MB");
    CHECK(a.decimals <= 2);
    axis_add_number(&a, a.low, &label);
    bool has_separator = strchr(buf_text(&label), ',') != NULL;
    buf_release(&label);
    CHECK(has_separator);
}

TEST(axis__measures_time_from_its_origin)
{
    struct axis a;
    axis_clock(&a, 1.7e9, 1.7e9 + 3 * 3600, 1.7e9, 4, CLOCK_SECONDS);
    CHECK_TEXT(a.name, "h");
    struct buf label = BUF_INIT;
    axis_add_number(&a, axis_next_tick(&a, 1.7e9 + 1800), &label);
    bool is_one = strcmp(buf_text(&label), "1") == 0;
    buf_release(&label);
    CHECK(is_one);
}

TEST(axis__never_splits_a_step)
{
    struct axis a;
    axis_clock(&a, 1, 3, 0, 8, CLOCK_STEP);
    CHECK(a.step == 1);
    CHECK(axis_next_tick(&a, 1.5) == 2);
    CHECK(axis_next_tick(&a, 2) == 2);
}

TEST(axis__measures_what_is_below_zero_by_its_size)
{
    struct axis a;
    axis_values(&a, -100 * MB, -60 * MB, 4, SERIES_BYTES);
    CHECK_TEXT(a.name, " MB");
    CHECK_NEAR(a.low, -100 * MB, 1);
}
