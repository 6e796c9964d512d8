/* tests/unit/test_json.c: the JSON writer. */
#include "base/json.h"
#include "unit.h"

#include <stdlib.h>

/* A document being written, and a copy of its text that outlives the buffer. */
struct document {
    struct buf out;
    struct json json;
    char text[400];
};

static void begin(struct document *d, unsigned indent)
{
    *d = (struct document){0};
    json_init(&d->json, &d->out, indent);
}

static const char *finish(struct document *d)
{
    snprintf(d->text, sizeof(d->text), "%s", buf_text(&d->out));
    buf_release(&d->out);
    return d->text;
}

TEST(json__writes_one_line)
{
    struct document d;
    begin(&d, 0);
    json_object_begin(&d.json, NULL);
    json_string(&d.json, "a", "b");
    json_array_begin(&d.json, "list");
    json_integer(&d.json, NULL, -3);
    json_bool(&d.json, NULL, true);
    json_null(&d.json, NULL);
    json_array_end(&d.json);
    json_object_begin(&d.json, "none");
    json_object_end(&d.json);
    json_object_end(&d.json);
    CHECK_TEXT(finish(&d), "{\"a\": \"b\", \"list\": [-3, true, null], \"none\": {}}");
}

TEST(json__lays_out_for_a_person)
{
    struct document d;
    begin(&d, 2);
    json_object_begin(&d.json, NULL);
    json_integer(&d.json, "a", 1);
    json_array_begin(&d.json, "list");
    json_integer(&d.json, NULL, 2);
    json_integer(&d.json, NULL, 3);
    json_array_end(&d.json);
    json_array_begin(&d.json, "empty");
    json_array_end(&d.json);
    json_object_end(&d.json);
    CHECK_TEXT(finish(&d),
               "{\n  \"a\": 1,\n  \"list\": [\n    2,\n    3\n  ],\n  \"empty\": []\n}");
}

TEST(json__leaves_the_unknown_out_of_objects)
{
    struct document d;
    begin(&d, 0);
    json_object_begin(&d.json, NULL);
    json_number(&d.json, "nan", NAN);
    json_number(&d.json, "one", 1);
    json_number(&d.json, "infinite", -INFINITY);
    json_string(&d.json, "text", NULL);
    json_object_end(&d.json);
    CHECK_TEXT(finish(&d), "{\"one\": 1}");
}

TEST(json__writes_the_unknown_as_null_in_arrays)
{
    struct document d;
    begin(&d, 0);
    json_array_begin(&d.json, NULL);
    json_number(&d.json, NULL, NAN);
    json_string(&d.json, NULL, NULL);
    json_array_end(&d.json);
    CHECK_TEXT(finish(&d), "[null, null]");
}

TEST(json__writes_the_shortest_number_that_reads_back)
{
    struct document d;
    begin(&d, 0);
    json_array_begin(&d.json, NULL);
    json_number(&d.json, NULL, 0.1);
    json_number(&d.json, NULL, 512.0);
    json_number(&d.json, NULL, 17859346432.0);
    json_number(&d.json, NULL, -0.0);
    json_number(&d.json, NULL, 1e300);
    json_array_end(&d.json);
    CHECK_TEXT(finish(&d), "[0.1, 512, 17859346432, 0, 1e+300]");
}

TEST(json__keeps_every_bit_of_a_number)
{
    double values[] = {1.0 / 3.0, 0.1 + 0.2, 5e-324, 123456789.123456789};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct document d;
        begin(&d, 0);
        json_number(&d.json, NULL, values[i]);
        CHECK(strtod(finish(&d), NULL) == values[i]);
    }
}

TEST(json__escapes_keys_and_strings)
{
    struct document d;
    begin(&d, 0);
    json_object_begin(&d.json, NULL);
    json_string(&d.json, "a\"b", "quote \" back \\ line\n tab\t bell\a del\x7f");
    json_object_end(&d.json);
    CHECK_TEXT(finish(&d),
               "{\"a\\\"b\": \"quote \\\" back \\\\ line\\n tab\\t bell\\u0007 del\\u007f\"}");
}

/* They read back unchanged, but never reach a terminal: U+009B, U+202E, U+E0041. */
TEST(json__escapes_what_a_terminal_must_not_get)
{
    struct document d;
    begin(&d, 0);
    json_string(&d.json, NULL, "\xc2\x9b \xe2\x80\xae \xf3\xa0\x81\x81");
    CHECK_TEXT(finish(&d), "\"\\u009b \\u202e \\udb40\\udc41\"");
}

TEST(json__of_a_file_is_escaped_too)
{
    struct buf out = BUF_INIT;
    json_add_foreign(&out, "{\n\t\"a\\n\": \"x\033[2J\xe2\x80\xae\xff\"\n}");
    CHECK_TEXT(buf_text(&out), "{\n\t\"a\\n\": \"x\\u001b[2J\\u202e\xef\xbf\xbd\"\n}");
    buf_release(&out);
}

TEST(json__keeps_good_utf8)
{
    struct document d;
    begin(&d, 0);
    json_string(&d.json, NULL, "\xc3\xa9 \xe2\x80\x93 \xf0\x9f\x8c\x8a");
    CHECK_TEXT(finish(&d), "\"\xc3\xa9 \xe2\x80\x93 \xf0\x9f\x8c\x8a\"");
}

TEST(json__repairs_bad_utf8)
{
    static const char *const bad[] = {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80"};
    static const unsigned marks[] = {1, 1, 2, 3, 4};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct document d;
        begin(&d, 0);
        json_string(&d.json, NULL, bad[i]);
        char want[32];
        const char *four_marks = "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd";
        snprintf(want, sizeof(want), "\"%.*s\"", (int) (3 * marks[i]), four_marks);
        CHECK_TEXT(finish(&d), want);
    }
}
