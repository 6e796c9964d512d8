/* base/json.c: the one emitter of JSON. */
#include "base/json.h"

#include "base/utf8.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_init(struct json *j, struct buf *out, unsigned indent)
{
    *j = (struct json){.out = out, .indent = indent};
}

static void new_line(struct json *j)
{
    if (j->indent == 0)
        return;
    buf_addc(j->out, '\n');
    buf_repeat(j->out, " ", (size_t) j->indent * j->depth);
}

/* Beyond U+FFFF, JSON requires two surrogates. */
static void add_hexadecimal(struct buf *out, uint32_t c)
{
    if (c < 0x10000)
        buf_addf(out, "\\u%04x", c);
    else
        buf_addf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
}

static void add_escaped(struct buf *out, uint32_t c)
{
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (const char *s = shorts; *s; s += 2) {
        if (c == (uint32_t) (unsigned char) s[0]) {
            buf_addf(out, "\\%c", s[1]);
            return;
        }
    }
    add_hexadecimal(out, c);
}

static void add_string(struct buf *out, const char *text)
{
    buf_addc(out, '"');
    for (const char *s = text; *s;) {
        size_t len = utf8_length(s);
        uint32_t c;
        if (len == 0)
            buf_adds(out, "\xef\xbf\xbd");
        else if (utf8_is_unsafe(s, len, &c) || c == '"' || c == '\\')
            add_escaped(out, c);
        else
            buf_add(out, s, len);
        s += len ? len : 1;
    }
    buf_addc(out, '"');
}

void json_add_foreign(struct buf *out, const char *text)
{
    for (const char *s = text; *s;) {
        size_t len = utf8_length(s);
        uint32_t c;
        if (len == 0)
            buf_adds(out, "\xef\xbf\xbd");
        else if (*s != '\n' && *s != '\t' && utf8_is_unsafe(s, len, &c))
            add_hexadecimal(out, c);
        else
            buf_add(out, s, len);
        s += len ? len : 1;
    }
}

/* The comma, the line and the key that come before any value. */
static void begin_value(struct json *j, const char *key)
{
    if (j->needs_comma)
        buf_adds(j->out, j->indent ? "," : ", ");
    if (j->depth > 0)
        new_line(j);
    j->needs_comma = true;
    if (key) {
        add_string(j->out, key);
        buf_adds(j->out, ": ");
    }
}

static void begin_container(struct json *j, const char *key, char bracket)
{
    begin_value(j, key);
    buf_addc(j->out, bracket);
    j->depth++;
    j->needs_comma = false;
}

static void end_container(struct json *j, char bracket)
{
    j->depth--;
    if (j->needs_comma)
        new_line(j);
    buf_addc(j->out, bracket);
    j->needs_comma = true;
}

void json_object_begin(struct json *j, const char *key)
{
    begin_container(j, key, '{');
}

void json_object_end(struct json *j)
{
    end_container(j, '}');
}

void json_array_begin(struct json *j, const char *key)
{
    begin_container(j, key, '[');
}

void json_array_end(struct json *j)
{
    end_container(j, ']');
}

void json_null(struct json *j, const char *key)
{
    begin_value(j, key);
    buf_adds(j->out, "null");
}

/* An unknown value: omitted from an object, null in an array. */
static void absent(struct json *j, const char *key)
{
    if (!key)
        json_null(j, NULL);
}

void json_string(struct json *j, const char *key, const char *value)
{
    if (!value) {
        absent(j, key);
        return;
    }
    begin_value(j, key);
    add_string(j->out, value);
}

void json_number(struct json *j, const char *key, double value)
{
    if (!isfinite(value)) {
        absent(j, key);
        return;
    }
    char text[32];
    int digits = 15;
    do
        snprintf(text, sizeof(text), "%.*g", digits, value == 0 ? 0.0 : value);
    while (strtod(text, NULL) != value && ++digits <= 17);
    begin_value(j, key);
    buf_adds(j->out, text);
}

void json_integer(struct json *j, const char *key, int64_t value)
{
    begin_value(j, key);
    buf_addf(j->out, "%lld", (long long) value);
}

void json_bool(struct json *j, const char *key, bool value)
{
    begin_value(j, key);
    buf_adds(j->out, value ? "true" : "false");
}
