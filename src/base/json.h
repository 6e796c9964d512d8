/* base/json.h: the one emitter of JSON. */
#ifndef TIDEMARK_BASE_JSON_H
#define TIDEMARK_BASE_JSON_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Writes into a buffer it does not own. Commas and escapes are handled here. `key` is NULL
 * inside an array and at the top. With `indent` the text is laid out for a person, else it is
 * one line. A number that is not finite is *absent*: omitted from an object, null in an array.
 * Strings are repaired to valid UTF-8; characters unsafe for a terminal (utf8_is_unsafe()) are
 * escaped.
 */
struct json {
    struct buf *out;
    unsigned indent; /* spaces a level, 0: one line */
    unsigned depth;
    bool needs_comma;
};

void json_init(struct json *j, struct buf *out, unsigned indent);
void json_object_begin(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array_begin(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_string(struct json *j, const char *key, const char *value); /* NULL: absent */
void json_number(struct json *j, const char *key, double value);      /* shortest that reads back */
void json_integer(struct json *j, const char *key, int64_t value);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

/* Adds JSON text from a file. Escapes only characters unsafe for a terminal, which does not change
 * the values of its strings. */
void json_add_foreign(struct buf *out, const char *text);

#endif
