/* tests/unit/test_trace_weight.c: what one sample stands for. */
#include "wire/wire.h"

#include "unit.h"

TEST(trace_weight__is_the_size_over_the_chance_of_being_picked)
{
    CHECK_NEAR(wire_trace_weight(8, 65536), 8 / (1 - exp(-9.0 / 65536)), 1e-6);
    CHECK_NEAR(wire_trace_weight(65536, 65536), 65536 / (1 - exp(-65537.0 / 65536)), 1e-6);
}

TEST(trace_weight__of_a_large_allocation_is_its_size)
{
    CHECK(wire_trace_weight(UINT64_C(1) << 30, 65536) == 0x1p30);
    CHECK(wire_trace_weight(UINT64_C(1) << 40, 1 << 23) == 0x1p40);
}

TEST(trace_weight__of_a_small_allocation_is_about_the_interval)
{
    CHECK_NEAR(wire_trace_weight(8, 524288), 524288 * 8 / 9.0, 8);
    CHECK_NEAR(wire_trace_weight(4096, 524288), 524288, 4096);
}

TEST(trace_weight__is_never_less_than_the_size)
{
    for (uint64_t size = 0; size < UINT64_C(1) << 50; size = 3 * size + 1)
        for (double interval = 1; interval < 1e9; interval *= 7)
            CHECK(wire_trace_weight(size, interval) >= (double) size);
}

TEST(trace_weight__without_an_interval_is_the_size)
{
    CHECK(wire_trace_weight(100, 0) == 100);
    CHECK(wire_trace_weight(100, NAN) == 100);
    CHECK(wire_trace_weight(0, 65536) == 0);
}
