/* tests/unit/test_utf8.c: what is a character in bytes from outside. */
#include "base/utf8.h"
#include "unit.h"
#include "writes.h"

TEST(utf8__measures_characters)
{
    CHECK(utf8_length("a") == 1);
    CHECK(utf8_length("\xc3\xa9") == 2);
    CHECK(utf8_length("\xe2\x86\x92") == 3);
    CHECK(utf8_length("\xf0\x9f\x98\x80") == 4);
}

TEST(utf8__refuses_what_is_none)
{
    CHECK(utf8_length("\x80") == 0);
    CHECK(utf8_length("\xc3") == 0);
    CHECK(utf8_length("\xc0\xaf") == 0);
    CHECK(utf8_length("\xe0\x80\xaf") == 0);
    CHECK(utf8_length("\xed\xa0\x80") == 0);
    CHECK(utf8_length("\xf4\x90\x80\x80") == 0);
    CHECK(utf8_length("\xff") == 0);
}

TEST(utf8__keeps_a_terminal_from_being_driven)
{
    CHECK_WRITES(utf8_add_clean(&out, "a\033[31mb\n\x7f", false), "a?[31mb??");
    CHECK_WRITES(utf8_add_clean(&out,
                                "\xc2\x9b"
                                "31m",
                                false),
                 "?31m");
    CHECK_WRITES(utf8_add_clean(&out, "caf\xc3\xa9 \xff\xc3", false), "caf\xc3\xa9 ??");
    CHECK_WRITES(utf8_add_clean(&out, "caf\xc3\xa9", true), "caf?");
}
