/* base/json_reader.h: a small JSON reader that returns one token at a time. Pure. */
#ifndef TIDEMARK_BASE_JSON_READER_H
#define TIDEMARK_BASE_JSON_READER_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A cursor over one document in memory; nothing is allocated. Depth is bounded (64).
 * json_next() returns one token after another in document order. Strings are raw (still escaped);
 * json_token_text() unescapes them.
 */
enum json_type {
    JSON_END, /* the document is over */
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_KEY, /* a string followed by ':' */
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
    JSON_ARRAY_BEGIN,
    JSON_ARRAY_END,
};

struct json_token {
    enum json_type type;
    const char *text; /* number or raw string, without quotes; not NUL-terminated */
    size_t len;
    double number; /* JSON_NUMBER */
};

struct json_reader {
    const char *text;
    size_t len, pos;
    unsigned depth;
    uint64_t is_array; /* one bit a level */
    int expect;        /* private: what may come next */
};

void json_reader_init(struct json_reader *r, const char *text, size_t len);

/* 0, or -EINVAL if the text is not JSON (r->pos says where). NaN and Infinity, which Python
 * writes, are read as JSON_NULL. */
int json_next(struct json_reader *r, struct json_token *ret);

/* After a KEY or inside an array: skips the whole next value. -EINVAL. */
int json_skip(struct json_reader *r);

/* Unescapes a string token into `b` (appends). */
void json_token_text(const struct json_token *t, struct buf *b);

/* True if the token's raw text is exactly `text`. */
bool json_token_is(const struct json_token *t, const char *text);

#endif
