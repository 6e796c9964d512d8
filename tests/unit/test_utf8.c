/* tests/unit/test_utf8.c: which bytes from outside are characters. */
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

/* U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069: a name that reads backwards. */
TEST(utf8__shows_no_text_in_another_order)
{
    CHECK_WRITES(utf8_add_clean(&out, "\xd8\x9c|\xe2\x80\x8e|\xe2\x80\x8f", false), "?|?|?");
    for (unsigned char last = 0xaa; last <= 0xae; last++)
        CHECK_WRITES(
            utf8_add_clean(&out, (char[]){'a', '\xe2', '\x80', (char) last, 'b', 0}, false), "a?b");
    for (unsigned char last = 0xa6; last <= 0xa9; last++)
        CHECK_WRITES(
            utf8_add_clean(&out, (char[]){'a', '\xe2', '\x81', (char) last, 'b', 0}, false), "a?b");
}

/* Zero-width characters, the soft hyphen, a byte order mark, line separators, tags. */
TEST(utf8__shows_no_invisible_text)
{
    CHECK_WRITES(utf8_add_clean(&out, "\xe2\x80\x8b\xe2\x80\x8d\xc2\xad\xef\xbb\xbf", false),
                 "????");
    CHECK_WRITES(utf8_add_clean(&out, "\xe2\x80\xa8\xe2\x80\xa9\xe2\x81\xa0", false), "???");
    CHECK_WRITES(utf8_add_clean(&out, "\xf3\xa0\x81\x81\xe3\x85\xa4", false), "??");
}

TEST(utf8__leaves_what_can_be_seen)
{
    static const char visible[] = "\xd9\x85\xd8\xb1 \xd7\xa9 \xe4\xb8\xad \xe2\x9d\xa4\xef\xb8\x8f "
                                  "\xe2\x80\x93 \xc2\xb5s \xe2\x80\xa6 \xf0\x9f\x98\x80";
    CHECK_WRITES(utf8_add_clean(&out, visible, false), visible);
}
