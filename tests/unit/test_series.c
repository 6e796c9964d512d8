/* tests/unit/test_series.c: the vocabulary of series. */
#include "base/series.h"
#include "unit.h"

/* Checks what one series_add_ call writes. */
#define CHECK_WRITES(call, want)                                                                   \
    do {                                                                                           \
        struct buf out = BUF_INIT;                                                                 \
        call;                                                                                      \
        char text[64];                                                                             \
        snprintf(text, sizeof(text), "%s", buf_text(&out));                                        \
        buf_release(&out);                                                                         \
        CHECK_TEXT(text, want);                                                                    \
    } while (0)

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
    CHECK(series_kind_resolution("py.tensors") == 0.0);
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
    CHECK_WRITES(series_add_rate(&out, -1.5, SERIES_COUNT, CLOCK_SECONDS), "-1.5/s");
}

TEST(series__writes_lengths_with_two_digits_where_they_are_a_guess)
{
    CHECK_WRITES(series_add_length(&out, 152, false, CLOCK_STEP), "152 steps");
    CHECK_WRITES(series_add_length(&out, 152, true, CLOCK_STEP), "150 steps");
    CHECK_WRITES(series_add_length(&out, 1, false, CLOCK_STEP), "1 step");
    CHECK_WRITES(series_add_length(&out, 2097152, true, CLOCK_STEP), "2.1 million steps");
    CHECK_WRITES(series_add_length(&out, 720, true, CLOCK_SECONDS), "12 min");
}
