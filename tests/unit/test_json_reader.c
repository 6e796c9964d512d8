/* tests/unit/test_json_reader.c: JSON, one token after another. */
#include "base/base.h"
#include "unit.h"

#include <errno.h>

/* The types of all tokens as letters; "!" at the end where the text is not JSON. */
static const char *shape(const char *text)
{
    static char out[256];
    static const char letters[] = ".nftds:{}[]";
    struct json_reader r;
    json_reader_init(&r, text, strlen(text));
    size_t n = 0;
    while (n + 2 < sizeof out) {
        struct json_token t;
        if (json_next(&r, &t) < 0) {
            out[n++] = '!';
            break;
        }
        out[n++] = letters[t.type];
        if (t.type == JSON_END)
            break;
    }
    out[n] = '\0';
    return out;
}

TEST(json_reader__gives_tokens_in_order)
{
    CHECK_TEXT(shape("{\"a\": 1, \"b\": [true, false, null], \"c\": {}}"), "{:d:[tfn]:{}}.");
    CHECK_TEXT(shape("[]"), "[].");
    CHECK_TEXT(shape(" \"x\" "), "s.");
    CHECK_TEXT(shape("-0.5e+3"), "d.");
}

TEST(json_reader__reads_what_python_writes_for_numbers_that_are_none)
{
    CHECK_TEXT(shape("[NaN, Infinity, -Infinity, 1e999]"), "[nnnn].");
}

TEST(json_reader__refuses_what_is_not_json)
{
    static const char *texts[] = {
        "",           "{",    "[1,]",     "{\"a\"}", "{\"a\":}", "{a: 1}", "[1 2]",     "1 2",
        "[01]",       "[+1]", "[.5]",     "nul",     "nullx",    "\"abc",  "\"\\x\"",   "\"\\u12\"",
        "{\"a\":1,}", "[}",   "{'a': 1}", "]",       "\"a\nb\"", "[1}",    "{\"a\":1]", "-"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *got = shape(texts[i]);
        if (got[strlen(got) - 1] != '!')
            UNIT_FAIL("taken for JSON: %s", texts[i]);
    }
}

TEST(json_reader__bounds_the_depth)
{
    char text[256];
    memset(text, '[', 65);
    text[65] = '\0';
    CHECK(strlen(shape(text)) == 65 && shape(text)[64] == '!');
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    CHECK(shape(text)[128] == '.');
}

TEST(json_reader__says_where_it_failed)
{
    struct json_reader r;
    struct json_token t = {.type = JSON_NULL};
    json_reader_init(&r, "[1, x]", 6);
    CHECK(json_next(&r, &t) == 0);
    CHECK(json_next(&r, &t) == 0);
    CHECK(json_next(&r, &t) == -EINVAL);
    CHECK(r.pos == 4);
}

TEST(json_reader__skips_a_whole_value)
{
    struct json_reader r;
    struct json_token t;
    const char *text = "{\"skip\": [1, {\"x\": [2]}], \"take\": 5}";
    json_reader_init(&r, text, strlen(text));
    CHECK(json_next(&r, &t) == 0 && t.type == JSON_OBJECT_BEGIN);
    CHECK(json_next(&r, &t) == 0 && json_token_is(&t, "skip"));
    CHECK(json_skip(&r) == 0);
    CHECK(json_next(&r, &t) == 0 && json_token_is(&t, "take"));
    CHECK(json_next(&r, &t) == 0 && t.number == 5);
}

TEST(json_reader__finds_nothing_to_skip_at_the_end_of_an_array)
{
    struct json_reader r;
    struct json_token t;
    json_reader_init(&r, "[]", 2);
    CHECK(json_next(&r, &t) == 0);
    CHECK(json_skip(&r) == -EINVAL);
}

TEST(json_reader__unescapes_strings)
{
    struct json_reader r;
    struct json_token t;
    const char *text = "\"a\\n\\\"\\/ \\u00e9 \\ud83d\\ude00 \\ud800 \\u0000\"";
    json_reader_init(&r, text, strlen(text));
    CHECK(json_next(&r, &t) == 0);
    struct buf b = BUF_INIT;
    json_token_text(&t, &b);
    CHECK_TEXT(buf_text(&b), "a\n\"/ \xc3\xa9 \xf0\x9f\x98\x80 \xef\xbf\xbd \xef\xbf\xbd");
    buf_release(&b);
}

TEST(json_reader__reads_numbers_exactly)
{
    struct json_reader r;
    struct json_token t;
    json_reader_init(&r, "1918.4765625", 12);
    CHECK(json_next(&r, &t) == 0);
    CHECK(t.number == 1918.4765625);
    CHECK(t.len == 12);
}

TEST(json_reader__compares_raw_text)
{
    struct json_token t = {.type = JSON_KEY, .text = "rss_mb", .len = 6};
    CHECK(json_token_is(&t, "rss_mb"));
    CHECK(!json_token_is(&t, "rss"));
    CHECK(!json_token_is(&t, "rss_mb2"));
}
