/* tests/unit/test_series.c: the vocabulary of series. */
#include "base/series.h"
#include "unit.h"
#include "writes.h"

TEST(series__names_its_clocks_and_units)
{
    CHECK_TEXT(series_clock_name(CLOCK_STEP), "step");
    CHECK_TEXT(series_clock_name(CLOCK_SECONDS), "s");
    CHECK_TEXT(series_unit_name(SERIES_BYTES), "bytes");
    CHECK_TEXT(series_unit_name(SERIES_COUNT), "count");
}

TEST(series__holds_kernel_counters_to_a_mebibyte)
{
    CHECK(series_kind_resolution("host.rss") == 1048576.0);
    CHECK(series_kind_resolution("host.anon") == 1048576.0);
}

TEST(series__knows_the_granule_of_the_gpu_driver)
{
    CHECK(series_kind_resolution("gpu.used") == 2097152.0);
    CHECK(series_kind_resolution("gpu.used_by_others") == -1.0);
}

TEST(series__takes_allocators_and_counts_as_exact)
{
    CHECK(series_kind_resolution("torch.allocated") == 0.0);
    CHECK(series_kind_resolution("py.tensors") == 16.0);
    CHECK(series_kind_resolution("fds") == 0.0);
    CHECK(series_kind_resolution("threads") == 0.0);
}

TEST(series__does_not_know_other_kinds)
{
    CHECK(series_kind_resolution("memory") == -1.0);
    CHECK(series_kind_resolution("") == -1.0);
    CHECK(series_kind_resolution("host") == -1.0);
    CHECK(series_kind_resolution("threads.waiting") == -1.0);
}

TEST(series__writes_values_in_their_unit)
{
    CHECK_WRITES(series_add_value(&out, 9.34 * 1073741824, SERIES_BYTES), "9.34 GB");
    CHECK_WRITES(series_add_value(&out, 7070, SERIES_COUNT), "7,070");
    CHECK_WRITES(series_add_value(&out, 1.25, SERIES_COUNT), "1.25");
    CHECK_WRITES(series_add_value(&out, 12.34, SERIES_COUNT), "12.3");
    CHECK_WRITES(series_add_value(&out, NAN, SERIES_COUNT), "?");
}

TEST(series__writes_rates_per_unit_of_the_clock)
{
    CHECK_WRITES(series_add_rate(&out, 512, SERIES_BYTES, CLOCK_STEP), "512 B/step");
    CHECK_WRITES(series_add_rate(&out, -1.5, SERIES_COUNT, CLOCK_STEP), "-1.5/step");
}

TEST(series__writes_rates_on_the_clock_of_the_wall_per_minute)
{
    CHECK_WRITES(series_add_rate(&out, 1024, SERIES_BYTES, CLOCK_SECONDS), "60.0 KB/min");
    CHECK_WRITES(series_add_rate(&out, -0.5, SERIES_COUNT, CLOCK_SECONDS), "-30/min");
    CHECK(series_rate_shown(2, CLOCK_SECONDS) == 120);
    CHECK(series_rate_shown(2, CLOCK_STEP) == 2);
}

TEST(series__does_not_write_a_slow_count_as_none)
{
    CHECK_WRITES(series_add_rate(&out, 0.004, SERIES_COUNT, CLOCK_STEP), "0.004/step");
    CHECK_WRITES(series_add_rate(&out, -0.0123, SERIES_COUNT, CLOCK_STEP), "-0.012/step");
    CHECK_WRITES(series_add_rate(&out, 0, SERIES_COUNT, CLOCK_STEP), "0/step");
}

TEST(series__writes_positions_for_sentences)
{
    CHECK_WRITES(series_add_position(&out, 1200.5, 1, CLOCK_STEP), "step 1,201");
    CHECK_WRITES(series_add_position(&out, 820, 100, CLOCK_SECONDS), "12 min into the run");
    CHECK_WRITES(series_add_position(&out, 100, 100, CLOCK_SECONDS), "the start");
}

TEST(series__writes_lengths_with_two_digits_where_they_are_a_guess)
{
    CHECK_WRITES(series_add_length(&out, 152, false, CLOCK_STEP), "152 steps");
    CHECK_WRITES(series_add_length(&out, 152, true, CLOCK_STEP), "150 steps");
    CHECK_WRITES(series_add_length(&out, 1, false, CLOCK_STEP), "1 step");
    CHECK_WRITES(series_add_length(&out, 2097152, true, CLOCK_STEP), "2.1 million steps");
    CHECK_WRITES(series_add_length(&out, 1.02e11, true, CLOCK_STEP), "100 billion steps");
    CHECK_WRITES(series_add_length(&out, 720, true, CLOCK_SECONDS), "12 min");
}
