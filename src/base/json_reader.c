/* base/json_reader.c: a small JSON reader that returns one token at a time. */
#include "base/json_reader.h"

#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define JSON_MAX_DEPTH 64

enum expect {
    EXPECT_VALUE,
    EXPECT_VALUE_OR_END, /* just after '[' */
    EXPECT_KEY,
    EXPECT_KEY_OR_END, /* just after '{' */
    EXPECT_COMMA_OR_END,
    EXPECT_NOTHING, /* the document is over */
};

void json_reader_init(struct json_reader *r, const char *text, size_t len)
{
    *r = (struct json_reader){.text = text, .len = len, .expect = EXPECT_VALUE};
}

static void skip_space(struct json_reader *r)
{
    while (r->pos < r->len && memchr(" \t\r\n", r->text[r->pos], 4))
        r->pos++;
}

static bool in_array(const struct json_reader *r)
{
    return r->depth > 0 && (r->is_array >> (r->depth - 1) & 1);
}

static void after_value(struct json_reader *r)
{
    r->expect = r->depth > 0 ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
}

static int begin(struct json_reader *r, bool array, struct json_token *ret)
{
    if (r->depth >= JSON_MAX_DEPTH)
        return -EINVAL;
    uint64_t bit = UINT64_C(1) << r->depth;
    r->is_array = array ? r->is_array | bit : r->is_array & ~bit;
    r->depth++;
    r->pos++;
    r->expect = array ? EXPECT_VALUE_OR_END : EXPECT_KEY_OR_END;
    *ret = (struct json_token){.type = array ? JSON_ARRAY_BEGIN : JSON_OBJECT_BEGIN};
    return 0;
}

static int end(struct json_reader *r, struct json_token *ret)
{
    bool array = in_array(r);
    if (r->depth == 0 || r->text[r->pos] != (array ? ']' : '}'))
        return -EINVAL;
    r->depth--;
    r->pos++;
    after_value(r);
    *ret = (struct json_token){.type = array ? JSON_ARRAY_END : JSON_OBJECT_END};
    return 0;
}

/* The length of the escape at `at`; 0: not an escape. */
static size_t escape_length(const struct json_reader *r, size_t at)
{
    if (at + 1 >= r->len)
        return 0;
    if (r->text[at + 1] != 'u')
        return memchr("\"\\/bfnrt", r->text[at + 1], 8) ? 2 : 0;
    for (size_t i = at + 2; i < at + 6; i++) {
        if (i >= r->len || !isxdigit((unsigned char) r->text[i]))
            return 0;
    }
    return 6;
}

static int read_string(struct json_reader *r, struct json_token *ret)
{
    size_t at = r->pos + 1;
    while (at < r->len && r->text[at] != '"') {
        size_t length = r->text[at] == '\\' ? escape_length(r, at) : 1;
        if (length == 0 || (unsigned char) r->text[at] < 0x20) {
            r->pos = at;
            return -EINVAL;
        }
        at += length;
    }
    if (at >= r->len)
        return -EINVAL;
    *ret = (struct json_token){
        .type = JSON_STRING, .text = r->text + r->pos + 1, .len = at - r->pos - 1};
    r->pos = at + 1;
    return 0;
}

static int read_key(struct json_reader *r, struct json_token *ret)
{
    struct json_token key;
    if (r->text[r->pos] != '"' || read_string(r, &key) < 0)
        return -EINVAL;
    skip_space(r);
    if (r->pos >= r->len || r->text[r->pos] != ':')
        return -EINVAL;
    r->pos++;
    r->expect = EXPECT_VALUE;
    key.type = JSON_KEY;
    *ret = key;
    return 0;
}

static int read_word(struct json_reader *r, struct json_token *ret)
{
    static const struct {
        const char *word;
        enum json_type type;
    } words[] = {
        {"null", JSON_NULL}, {"true", JSON_TRUE},     {"false", JSON_FALSE},
        {"NaN", JSON_NULL},  {"Infinity", JSON_NULL}, {"-Infinity", JSON_NULL},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i].word);
        if (r->len - r->pos < len || memcmp(r->text + r->pos, words[i].word, len) != 0)
            continue;
        if (r->pos + len < r->len && isalnum((unsigned char) r->text[r->pos + len]))
            continue;
        r->pos += len;
        after_value(r);
        *ret = (struct json_token){.type = words[i].type};
        return 0;
    }
    return -EINVAL;
}

static int read_number(struct json_reader *r, struct json_token *ret)
{
    const char *text = r->text + r->pos;
    struct number number = number_scan(text, r->len - r->pos, false);
    size_t sign = text[0] == '-';
    bool leading_zero =
        number.length > sign + 1 && text[sign] == '0' && isdigit((unsigned char) text[sign + 1]);
    if (number.length == 0 || text[0] == '+' || text[sign] == '.' || leading_zero)
        return -EINVAL;
    *ret = (struct json_token){
        .type = isfinite(number.value) ? JSON_NUMBER : JSON_NULL,
        .text = text,
        .len = number.length,
        .number = number.value,
    };
    r->pos += number.length;
    after_value(r);
    return 0;
}

static int read_value(struct json_reader *r, struct json_token *ret)
{
    char c = r->text[r->pos];
    if (c == '{' || c == '[')
        return begin(r, c == '[', ret);
    if (c == '"') {
        if (read_string(r, ret) < 0)
            return -EINVAL;
        after_value(r);
        return 0;
    }
    return read_word(r, ret) == 0 ? 0 : read_number(r, ret);
}

int json_next(struct json_reader *r, struct json_token *ret)
{
    skip_space(r);
    if (r->pos >= r->len || r->expect == EXPECT_NOTHING) {
        if (r->pos < r->len || r->expect != EXPECT_NOTHING)
            return -EINVAL;
        *ret = (struct json_token){.type = JSON_END};
        return 0;
    }
    char c = r->text[r->pos];
    if (r->expect == EXPECT_COMMA_OR_END && c == ',') {
        r->pos++;
        r->expect = in_array(r) ? EXPECT_VALUE : EXPECT_KEY;
        return json_next(r, ret);
    }
    switch (r->expect) {
    case EXPECT_COMMA_OR_END:
        return end(r, ret);
    case EXPECT_VALUE_OR_END:
        return c == ']' ? end(r, ret) : read_value(r, ret);
    case EXPECT_KEY_OR_END:
        return c == '}' ? end(r, ret) : read_key(r, ret);
    case EXPECT_KEY:
        return read_key(r, ret);
    default:
        return read_value(r, ret);
    }
}

int json_skip(struct json_reader *r)
{
    unsigned depth = r->depth;
    struct json_token token;
    do {
        int result = json_next(r, &token);
        if (result < 0)
            return result;
        if (r->depth < depth || token.type == JSON_END)
            return -EINVAL;
    } while (r->depth > depth);
    return 0;
}

static void add_utf8(struct buf *b, uint32_t c)
{
    if (c < 0x80) {
        buf_addc(b, (char) c);
    } else if (c < 0x800) {
        buf_addc(b, (char) (0xc0 | c >> 6));
        buf_addc(b, (char) (0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        buf_addc(b, (char) (0xe0 | c >> 12));
        buf_addc(b, (char) (0x80 | (c >> 6 & 0x3f)));
        buf_addc(b, (char) (0x80 | (c & 0x3f)));
    } else {
        buf_addc(b, (char) (0xf0 | c >> 18));
        buf_addc(b, (char) (0x80 | (c >> 12 & 0x3f)));
        buf_addc(b, (char) (0x80 | (c >> 6 & 0x3f)));
        buf_addc(b, (char) (0x80 | (c & 0x3f)));
    }
}

static uint32_t hex4(const char *text)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char) text[i];
        value = value * 16 + (uint32_t) (isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
    }
    return value;
}

/* Reads the \uXXXX at `at`, and the second half of a surrogate pair. Returns the length read. */
static size_t add_unicode(const struct json_token *t, size_t at, struct buf *b)
{
    uint32_t c = hex4(t->text + at + 2);
    bool pair = c >= 0xd800 && c < 0xdc00 && at + 12 <= t->len && t->text[at + 6] == '\\' &&
                t->text[at + 7] == 'u';
    uint32_t low = pair ? hex4(t->text + at + 8) : 0;
    if (low >= 0xdc00 && low < 0xe000) {
        add_utf8(b, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
        return 12;
    }
    /* A lone surrogate is no character, and a NUL would end every C string early. */
    add_utf8(b, c == 0 || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
    return 6;
}

void json_token_text(const struct json_token *t, struct buf *b)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    for (size_t i = 0; i < t->len;) {
        if (t->text[i] != '\\') {
            buf_addc(b, t->text[i++]);
        } else if (t->text[i + 1] == 'u') {
            i += add_unicode(t, i, b);
        } else {
            const char *named = strchr(from, t->text[i + 1]);
            buf_addc(b, named ? to[named - from] : t->text[i + 1]);
            i += 2;
        }
    }
}

bool json_token_is(const struct json_token *t, const char *text)
{
    return strlen(text) == t->len && (t->len == 0 || memcmp(t->text, text, t->len) == 0);
}
