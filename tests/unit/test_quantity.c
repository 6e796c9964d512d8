/* tests/unit/test_quantity.c: numbers with units. */
#include "base/base.h"
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

static struct quantity parse(const char *text)
{
    struct quantity q = {.value = NAN};
    quantity_parse(text, strlen(text), &q);
    return q;
}

TEST(quantity__reads_plain_numbers)
{
    CHECK(parse("42").value == 42);
    CHECK(!parse("42").has_unit);
    CHECK(parse("42").length == 2);
    CHECK(parse("-1.5").value == -1.5);
    CHECK(parse("+7").value == 7);
    CHECK(parse(".25").value == 0.25);
    CHECK(parse("1e9").value == 1e9);
    CHECK(parse("1.25E-3x").value == 1.25e-3);
}

TEST(quantity__reads_thousands_separators)
{
    CHECK(parse("5,552").value == 5552);
    CHECK(parse("1,234,567.5").value == 1234567.5);
    CHECK(parse("12,227 MB").value == 12227 * 0x1p20);
}

TEST(quantity__stops_where_a_comma_does_not_separate_thousands)
{
    CHECK(parse("5,55").value == 5);
    CHECK(parse("5,55").length == 1);
    CHECK(parse("5,5555").value == 5);
    CHECK(parse("1234,567").value == 1234);
    CHECK(parse("1,234,56").value == 1234);
    CHECK(parse("1, 234").value == 1);
}

TEST(quantity__leaves_what_is_not_part_of_the_number)
{
    CHECK(parse("5.").length == 1);
    CHECK(parse("5e").length == 1);
    CHECK(parse("5e+").length == 1);
    CHECK(parse("13:18").length == 2);
}

TEST(quantity__knows_the_units)
{
    CHECK(parse("3B").value == 3);
    CHECK(parse("3 bytes").value == 3);
    CHECK(parse("3 byte").has_unit);
    CHECK(parse("2K").value == 0x1p11);
    CHECK(parse("2 kB").value == 0x1p11);
    CHECK(parse("2KiB").value == 0x1p11);
    CHECK(parse("25MB").value == 25 * 0x1p20);
    CHECK(parse("1234 MiB").value == 1234 * 0x1p20);
    CHECK(parse("6.2 GB").value == 6.2 * 0x1p30);
    CHECK(parse("6.2 GB").length == 6);
    CHECK(parse("1 tib").value == 0x1p40);
    CHECK(parse("512Mi").value == 0x1p29);
}

TEST(quantity__takes_no_unit_from_a_longer_word)
{
    CHECK(!parse("5 models").has_unit);
    CHECK(parse("5 models").length == 1);
    CHECK(!parse("5 MBps").has_unit);
    CHECK(!parse("5 mb_total").has_unit);
    CHECK(!parse("5 k8s").has_unit);
    CHECK(!parse("5  MB").has_unit);
    CHECK(parse("5 MB/s").has_unit);
}

TEST(quantity__says_how_finely_it_was_printed)
{
    CHECK(parse("5,552 MB").resolution == 0x1p20);
    CHECK_NEAR(parse("6.2 GB").resolution, 0.1 * 0x1p30, 1);
    CHECK(parse("25").resolution == 1);
    CHECK_NEAR(parse("0.00").resolution, 0.01, 1e-12);
    CHECK(parse("3e2").resolution == 100);
    CHECK(parse("12345678901234567890123").resolution == 1);
}

TEST(quantity__rounds_as_the_c_library_does)
{
    static const char *texts[] = {"0.1",
                                  "1918.4765625",
                                  "123456789012345678901234567890",
                                  "9007199254740993",
                                  "2.2250738585072014e-308",
                                  "1.7976931348623157e308",
                                  "4.35",
                                  "1e-400"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK_NEAR(parse(texts[i]).value, strtod(texts[i], NULL), 0);
}

TEST(quantity__refuses_what_is_no_number)
{
    static const char *texts[] = {"", "-", "+", ".", "MB", "abc", "e5", "nan", "inf", " 5", "--5"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct quantity q = {.value = -77};
        CHECK(quantity_parse(texts[i], strlen(texts[i]), &q) == -EINVAL);
        CHECK(q.value == -77);
    }
}

TEST(quantity__refuses_what_is_not_finite)
{
    struct quantity q = {.value = -77};
    CHECK(quantity_parse("1e999", 5, &q) == -ERANGE);
    CHECK(quantity_parse("1e308 TB", 8, &q) == -ERANGE);
    CHECK(q.value == -77);
}

TEST(quantity__minds_the_length_it_was_given)
{
    struct quantity q;
    CHECK(quantity_parse("1234MB", 2, &q) == 0);
    CHECK(q.value == 12);
    CHECK(quantity_parse("5,552", 4, &q) == 0);
    CHECK(q.value == 5);
    CHECK(quantity_parse("5", 0, &q) == -EINVAL);
}

TEST(quantity__reads_an_argument_as_a_size)
{
    double bytes = -1;
    CHECK(quantity_parse_size("500MB", &bytes) == 0);
    CHECK(bytes == 500 * 0x1p20);
    CHECK(quantity_parse_size("32 GB", &bytes) == 0);
    CHECK(bytes == 0x1p35);
    CHECK(quantity_parse_size("1e9", &bytes) == 0);
    CHECK(bytes == 1e9);
}

TEST(quantity__refuses_an_argument_that_is_no_size)
{
    static const char *texts[] = {"", "MB", "5MB/step", "5 MB x", "-5MB", "1e999", "5 5"};
    double bytes = -1;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(quantity_parse_size(texts[i], &bytes) == -EINVAL);
    CHECK(bytes == -1);
}
