/* tests/unit/test_series.c: the vocabulary of series. */
#include "base/series.h"
#include "unit.h"

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
