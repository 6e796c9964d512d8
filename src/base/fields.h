/* base/fields.h: the members of a struct, listed once: to clear, to free, and to write as JSON. */
#ifndef TIDEMARK_BASE_FIELDS_H
#define TIDEMARK_BASE_FIELDS_H

#include "base/json.h"
#include "base/json_reader.h"
#include "base/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A table describes every member of a struct; tests/unit/test_fields.c fails where one is
 * missing. It serves two kinds of JSON. *Shown* to programs (docs/JSON.md): omits members without
 * information and names a position by its clock. *Kept* in a run file: writes every member under
 * its own name, so that it can be read back. A member added by a later version is unknown in an
 * older file, and an older reader skips it.
 */
enum field_type {
    FIELD_NUMBER, /* double; NAN is unknown */
    FIELD_BOOL,
    FIELD_UNSIGNED, /* of any size */
    FIELD_SIGNED,
    FIELD_WORD,     /* an enum, by its words */
    FIELD_TEXT,     /* char *, owned; NULL is unknown */
    FIELD_LINE,     /* char[]; a longer text is truncated */
    FIELD_STRUCT,   /* a struct with a table of its own */
    FIELD_NOT_KEPT, /* means nothing outside the run */
};

/* How many values the member holds. */
enum field_many {
    FIELD_ONE,
    FIELD_ARRAY, /* room for `most` inside the struct, and a count */
    FIELD_LIST,  /* owned memory, and a count */
};

enum field_flag {
    FIELD_HIDDEN = 1,     /* kept, not shown */
    FIELD_EVEN_EMPTY = 2, /* an array or list: shown even if empty */
    FIELD_ENDLESS = 4,    /* INFINITY has a meaning: never */
    FIELD_REQUIRED = 8,   /* an array or list element without it is refused */
    FIELD_ON_STEPS = 16,  /* shown only if the clock is the step */
    FIELD_BY_CLOCK = 32,  /* shown as NAME_step or NAME_seconds */
    FIELD_IF = 64,        /* shown only if the member at `condition` is neither 0 nor NULL */
    FIELD_OR_NONE = 128,  /* a size_t whose SIZE_MAX means none: kept as -1 */
};

struct field_entry {
    const char *name;
    const char *shown; /* NULL: the same name */
    enum field_type type;
    enum field_many many;
    unsigned flags;
    size_t offset, size; /* of one */
    size_t count_offset, count_size, most;
    size_t condition, condition_size;
    const struct field_table *of;  /* FIELD_STRUCT */
    const char *(*word)(unsigned); /* FIELD_WORD; NULL beyond the last */
};

struct field_table {
    const struct field_entry *list;
    size_t count;
    size_t size;  /* of the struct */
    bool as_rows; /* kept as arrays of values in this order, new members at the end: for numerous
                     structs without structs inside */
};

/* ---- for tables: FIELD_PLAIN(answer, rate), FIELD_PLAIN(answer, limit, .flags = FIELD_HIDDEN)
 * ---- */

#define FIELD_TYPE(expression)                                                                     \
    _Generic((expression),                                                                         \
        double: FIELD_NUMBER,                                                                      \
        bool: FIELD_BOOL,                                                                          \
        unsigned: FIELD_UNSIGNED,                                                                  \
        uint64_t: FIELD_UNSIGNED,                                                                  \
        int: FIELD_SIGNED,                                                                         \
        int64_t: FIELD_SIGNED,                                                                     \
        char *: FIELD_TEXT,                                                                        \
        const char *: FIELD_TEXT)

#define FIELD_OF(struct_, member) (((struct struct_ *) 0)->member)
#define FIELD_PLACE(struct_, member)                                                               \
    .name = #member, .offset = offsetof(struct struct_, member),                                   \
    .size = sizeof(FIELD_OF(struct_, member))
#define FIELD_COUNT(struct_, counter)                                                              \
    .count_offset = offsetof(struct struct_, counter),                                             \
    .count_size = sizeof(FIELD_OF(struct_, counter))
/* A flag and its condition, for FIELD_PLAIN(..., FIELD_ONLY_IF(answer, severity)). */
#define FIELD_ONLY_IF(struct_, member)                                                             \
    .flags = FIELD_IF, .condition = offsetof(struct struct_, member),                              \
    .condition_size = sizeof(FIELD_OF(struct_, member))

#define FIELD_PLAIN(struct_, ...) FIELD_WITH(struct_, __VA_ARGS__, .many = FIELD_ONE)
#define FIELD_WITH(struct_, member, ...)                                                           \
    {                                                                                              \
        FIELD_PLACE(struct_, member), .type = FIELD_TYPE(FIELD_OF(struct_, member)), __VA_ARGS__   \
    }
/* FIELD_AS(answer, verdict, .type = FIELD_WORD, .word = verdict_word) */
#define FIELD_AS(struct_, member, ...)                                                             \
    {                                                                                              \
        FIELD_PLACE(struct_, member), __VA_ARGS__                                                  \
    }
#define FIELD_INSIDE(struct_, member, table)                                                       \
    {                                                                                              \
        FIELD_PLACE(struct_, member), .type = FIELD_STRUCT, .of = &(table)                         \
    }
/* FIELD_SEVERAL(answer, why, why_count, .type = FIELD_LINE) */
#define FIELD_SEVERAL(struct_, member, counter, ...)                                               \
    {                                                                                              \
        .name = #member, .many = FIELD_ARRAY, .offset = offsetof(struct struct_, member),          \
        .size = sizeof(FIELD_OF(struct_, member)[0]),                                              \
        .most = sizeof(FIELD_OF(struct_, member)) / sizeof(FIELD_OF(struct_, member)[0]),          \
        FIELD_COUNT(struct_, counter), __VA_ARGS__                                                 \
    }
#define FIELD_OWNED(struct_, member, counter, table, ...)                                          \
    {                                                                                              \
        .name = #member, .many = FIELD_LIST, .type = FIELD_STRUCT, .of = &(table),                 \
        .offset = offsetof(struct struct_, member), .size = sizeof(*FIELD_OF(struct_, member)),    \
        FIELD_COUNT(struct_, counter), __VA_ARGS__                                                 \
    }
#define FIELDS(struct_, list_)                                                                     \
    {                                                                                              \
        .list = (list_), .count = sizeof(list_) / sizeof((list_)[0]),                              \
        .size = sizeof(struct struct_)                                                             \
    }

/* ---- working with structs ---- */

/* Sets every member to unknown (NAN, NULL, 0) without freeing; clears padding too. */
void fields_clear(const struct field_table *fields, void *ret);

/* Frees what is owned, and clears all bytes to 0. */
void fields_release(const struct field_table *fields, void *of);

/* Makes infinite numbers unknown, except with FIELD_ENDLESS. */
void fields_drop_infinite(const struct field_table *fields, void *of);

/* The number of elements of an array or list member. */
size_t field_count(const struct field_entry *f, const void *of);

/* ---- as JSON ---- */

/* The shown members from `first` to `last` by name. NULL: from the first, or to the last. */
void fields_show(struct json *j, const struct field_table *fields, const void *of,
                 enum series_clock clock, const char *first, const char *last);

/* One object with all members. */
void fields_keep(struct json *j, const char *key, const struct field_table *fields, const void *of);

/*
 * Reads the next value into a cleared struct. Checks types, bounds and FIELD_REQUIRED, but not
 * how members relate. -EINVAL: not such an object; the members read so far are set and must be
 * released.
 */
int fields_recall(struct json_reader *r, const struct field_table *fields, void *ret);

#endif
