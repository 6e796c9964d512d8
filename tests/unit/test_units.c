/* tests/unit/test_units.c: sizes, counts and durations as text. */
#include "base/units.h"
#include "unit.h"
#include "writes.h"

#define KB 1024.0
#define MB (1024.0 * KB)
#define GB (1024.0 * MB)

TEST(units__writes_sizes_with_three_digits)
{
    CHECK_WRITES(units_add_bytes(&out, 512), "512 B");
    CHECK_WRITES(units_add_bytes(&out, 16 * KB), "16.0 KB");
    CHECK_WRITES(units_add_bytes(&out, 2.3 * MB), "2.30 MB");
    CHECK_WRITES(units_add_bytes(&out, 148 * MB), "148 MB");
    CHECK_WRITES(units_add_bytes(&out, 9566 * MB), "9.34 GB");
    CHECK_WRITES(units_add_bytes(&out, 3 * 1024 * GB), "3.00 TB");
}

TEST(units__never_writes_1024_of_a_unit)
{
    CHECK_WRITES(units_add_bytes(&out, 1023.6), "1.00 KB");
    CHECK_WRITES(units_add_bytes(&out, 1023.7 * MB), "1.00 GB");
    CHECK_WRITES(units_add_bytes(&out, 1000 * MB), "1000 MB");
    CHECK_WRITES(units_add_bytes(&out, 9.996 * MB), "10.0 MB");
    CHECK_WRITES(units_add_bytes(&out, 99.96 * MB), "100 MB");
}

TEST(units__writes_sizes_below_a_byte_and_none)
{
    CHECK_WRITES(units_add_bytes(&out, 0), "0 B");
    CHECK_WRITES(units_add_bytes(&out, 0.25), "0.25 B");
    CHECK_WRITES(units_add_bytes(&out, 1.5), "1.5 B");
    CHECK_WRITES(units_add_bytes(&out, 1000), "1000 B");
}

TEST(units__writes_what_rounding_leaves_of_nothing_as_nothing)
{
    CHECK_WRITES(units_add_bytes(&out, 1.16e-10), "0 B");
    CHECK_WRITES(units_add_bytes(&out, -1e-9), "0 B");
    CHECK_WRITES(units_add_bytes(&out, 0.00124), "0.00124 B");
}

TEST(units__writes_signs)
{
    CHECK_WRITES(units_add_bytes(&out, -4.2 * MB), "-4.20 MB");
    CHECK_WRITES(units_add_bytes(&out, -512), "-512 B");
}

TEST(units__writes_a_question_mark_for_the_unknown)
{
    CHECK_WRITES(units_add_bytes(&out, NAN), "?");
    CHECK_WRITES(units_add_count(&out, NAN, 0), "?");
    CHECK_WRITES(units_add_duration(&out, INFINITY), "?");
}

TEST(units__does_not_spell_out_what_nobody_counts)
{
    CHECK_WRITES(units_add_count(&out, -1.5e300, 2), "-1.5e+300");
    CHECK_WRITES(units_add_bytes(&out, 1e300), "8.88e+284 PB");
}

TEST(units__separates_thousands)
{
    CHECK_WRITES(units_add_count(&out, 6529, 0), "6,529");
    CHECK_WRITES(units_add_count(&out, 999, 0), "999");
    CHECK_WRITES(units_add_count(&out, 1234567, 0), "1,234,567");
    CHECK_WRITES(units_add_count(&out, 1234.5, 1), "1,234.5");
    CHECK_WRITES(units_add_count(&out, 1000.0, 2), "1,000");
    CHECK_WRITES(units_add_count(&out, -45000.25, 2), "-45,000.25");
    CHECK_WRITES(units_add_count(&out, -0.001, 2), "0");
}

TEST(units__writes_durations_in_their_own_scale)
{
    CHECK_WRITES(units_add_duration(&out, 45), "45 s");
    CHECK_WRITES(units_add_duration(&out, 0.254), "0.25 s");
    CHECK_WRITES(units_add_duration(&out, 0.00061), "0.61 ms");
    CHECK_WRITES(units_add_duration(&out, 0.0099), "9.9 ms");
    CHECK_WRITES(units_add_duration(&out, 0.01), "0.01 s");
    CHECK_WRITES(units_add_duration(&out, 0), "0 s");
    CHECK_WRITES(units_add_duration(&out, 720), "12 min");
    CHECK_WRITES(units_add_duration(&out, 150), "2.5 min");
    CHECK_WRITES(units_add_duration(&out, 3.2 * 3600), "3.2 h");
    CHECK_WRITES(units_add_duration(&out, 4.1 * 86400), "4.1 days");
    CHECK_WRITES(units_add_duration(&out, 5 * 365.25 * 86400), "5 years");
    CHECK_WRITES(units_add_duration(&out, -45), "-45 s");
}
