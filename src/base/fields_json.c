/* base/fields_json.c: the members of a struct as JSON, and back. */
#include "base/failure.h"
#include "base/fields.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INTEGER_MOST 9007199254740992.0 /* a double represents every integer up to here */

/* The address of the first element. */
static const char *elements_of(const struct field_entry *f, const void *of)
{
    const char *at = (const char *) of + f->offset, *list;
    if (f->many != FIELD_LIST)
        return at;
    memcpy(&list, at, sizeof(list));
    return list;
}

static uint64_t bits_of(const void *at, size_t size)
{
    uint64_t wide = 0;
    uint32_t narrow;
    bool truth;
    if (size == sizeof(truth)) {
        memcpy(&truth, at, sizeof(truth));
        return truth;
    }
    if (size == sizeof(wide)) {
        memcpy(&wide, at, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, at, sizeof(narrow));
    return narrow;
}

static int64_t integer_of(const struct field_entry *f, const void *at)
{
    uint64_t bits = bits_of(at, f->size);
    return f->type == FIELD_SIGNED && f->size == sizeof(int32_t) ? (int32_t) bits : (int64_t) bits;
}

static void add_number(struct json *j, const char *key, const void *at)
{
    double value;
    memcpy(&value, at, sizeof(value));
    json_number(j, key, value);
}

/* Adds a value without parts: a number, bool, word or text. */
static void add_plain(struct json *j, const char *key, const struct field_entry *f, const void *at)
{
    const char *text;
    switch (f->type) {
    case FIELD_NUMBER:
        add_number(j, key, at);
        break;
    case FIELD_BOOL:
        json_bool(j, key, bits_of(at, f->size) != 0);
        break;
    case FIELD_WORD:
        json_string(j, key, f->word((unsigned) bits_of(at, f->size)));
        break;
    case FIELD_TEXT:
        memcpy(&text, at, sizeof(text));
        json_string(j, key, text);
        break;
    case FIELD_LINE:
        json_string(j, key, at);
        break;
    default:
        json_integer(j, key, integer_of(f, at));
    }
}

/* ---- shown ---- */

static bool is_shown(const struct field_entry *f, const void *of, enum series_clock clock)
{
    if ((f->flags & FIELD_HIDDEN) || f->type == FIELD_NOT_KEPT)
        return false;
    if ((f->flags & FIELD_ON_STEPS) && clock != CLOCK_STEP)
        return false;
    return !(f->flags & FIELD_IF) ||
           bits_of((const char *) of + f->condition, f->condition_size) != 0;
}

static void show_one(struct json *j, const char *key, const struct field_entry *f, const void *at,
                     enum series_clock clock)
{
    bool is_absent = f->type == FIELD_LINE && key && *(const char *) at == '\0';
    if (f->type == FIELD_STRUCT) {
        json_object_begin(j, key);
        fields_show(j, f->of, at, clock, NULL, NULL);
        json_object_end(j);
    } else if (!is_absent) {
        add_plain(j, key, f, at);
    }
}

static void show_field(struct json *j, const struct field_entry *f, const void *of,
                       enum series_clock clock)
{
    const char *at = elements_of(f, of), *key = f->shown ? f->shown : f->name;
    struct buf name = BUF_INIT;
    size_t count = f->many == FIELD_ONE ? 1 : field_count(f, of);
    if (f->flags & FIELD_BY_CLOCK) {
        buf_addf(&name, "%s_%s", key, clock == CLOCK_STEP ? "step" : "seconds");
        key = buf_text(&name);
    }
    if (f->many == FIELD_ONE) {
        show_one(j, key, f, at, clock);
    } else if (count > 0 || (f->flags & FIELD_EVEN_EMPTY)) {
        json_array_begin(j, key);
        for (size_t i = 0; i < count; i++)
            show_one(j, NULL, f, at + i * f->size, clock);
        json_array_end(j);
    }
    buf_release(&name);
}

void fields_show(struct json *j, const struct field_table *fields, const void *of,
                 enum series_clock clock, const char *first, const char *last)
{
    bool inside = !first;
    for (size_t i = 0; i < fields->count; i++) {
        const struct field_entry *f = &fields->list[i];
        inside = inside || (first && strcmp(f->name, first) == 0);
        if (inside && is_shown(f, of, clock))
            show_field(j, f, of, clock);
        if (last && strcmp(f->name, last) == 0)
            return;
    }
}

/* ---- kept ---- */

/* JSON has no infinity: it is kept as a word. */
static void keep_plain(struct json *j, const char *key, const struct field_entry *f, const void *at)
{
    double value = 0;
    if (f->type == FIELD_NUMBER)
        memcpy(&value, at, sizeof(value));
    if (isinf(value))
        json_string(j, key, value > 0 ? "inf" : "-inf");
    else
        add_plain(j, key, f, at);
}

static void keep_row(struct json *j, const struct field_table *fields, const char *of)
{
    json_array_begin(j, NULL);
    for (size_t i = 0; i < fields->count; i++)
        keep_plain(j, NULL, &fields->list[i], of + fields->list[i].offset);
    json_array_end(j);
}

static void keep_one(struct json *j, const char *key, const struct field_entry *f, const void *at)
{
    if (f->type != FIELD_STRUCT)
        keep_plain(j, key, f, at);
    else if (f->of->as_rows)
        keep_row(j, f->of, at);
    else
        fields_keep(j, key, f->of, at);
}

static void keep_field(struct json *j, const struct field_entry *f, const void *of)
{
    const char *at = elements_of(f, of);
    if (f->many == FIELD_ONE) {
        keep_one(j, f->name, f, at);
        return;
    }
    json_array_begin(j, f->name);
    for (size_t i = 0; i < field_count(f, of); i++)
        keep_one(j, NULL, f, at + i * f->size);
    json_array_end(j);
}

void fields_keep(struct json *j, const char *key, const struct field_table *fields, const void *of)
{
    json_object_begin(j, key);
    for (size_t i = 0; i < fields->count; i++)
        if (fields->list[i].type != FIELD_NOT_KEPT)
            keep_field(j, &fields->list[i], of);
    json_object_end(j);
}

/* ---- read back ---- */

static int recall_number(const struct json_token *t, void *at)
{
    double value = t->number;
    if (t->type == JSON_NULL)
        value = NAN;
    else if (t->type == JSON_STRING && json_token_is(t, "inf"))
        value = INFINITY;
    else if (t->type == JSON_STRING && json_token_is(t, "-inf"))
        value = -INFINITY;
    else if (t->type != JSON_NUMBER)
        return -EINVAL;
    memcpy(at, &value, sizeof(value));
    return 0;
}

static void put_bits(void *at, size_t size, uint64_t bits)
{
    uint32_t narrow = (uint32_t) bits;
    if (size == sizeof(bits))
        memcpy(at, &bits, sizeof(bits));
    else
        memcpy(at, &narrow, sizeof(narrow));
}

static int recall_integer(const struct field_entry *f, const struct json_token *t, void *at)
{
    bool is_signed = f->type == FIELD_SIGNED, is_wide = f->size == sizeof(int64_t);
    double most = is_wide ? INTEGER_MOST : is_signed ? INT32_MAX : UINT32_MAX;
    double least = is_signed ? -most : f->flags & FIELD_OR_NONE ? -1 : 0;
    if (t->type != JSON_NUMBER || !(t->number >= least && t->number <= most))
        return -EINVAL;
    put_bits(at, f->size, (uint64_t) (int64_t) t->number);
    return 0;
}

static int recall_bool(const struct json_token *t, void *at)
{
    bool truth = t->type == JSON_TRUE;
    if (!truth && t->type != JSON_FALSE)
        return -EINVAL;
    memcpy(at, &truth, sizeof(truth));
    return 0;
}

static int recall_word(const struct field_entry *f, const struct json_token *t, void *at)
{
    const char *word;
    if (t->type != JSON_STRING)
        return -EINVAL;
    for (unsigned i = 0; (word = f->word(i)) != NULL; i++)
        if (json_token_is(t, word)) {
            put_bits(at, f->size, i);
            return 0;
        }
    return -EINVAL;
}

static int recall_text(const struct json_token *t, void *at)
{
    struct buf text = BUF_INIT;
    char **place = at;
    if (t->type != JSON_STRING)
        return -EINVAL;
    json_token_text(t, &text);
    free(*place);
    *place = strdup(buf_text(&text));
    if (!*place)
        base_out_of_memory();
    buf_release(&text);
    return 0;
}

/* Truncates a text that is too long to whole characters. */
static int recall_line(const struct json_token *t, char *ret, size_t size)
{
    struct buf text = BUF_INIT;
    size_t used = 0;
    if (t->type != JSON_STRING)
        return -EINVAL;
    json_token_text(t, &text);
    for (const char *s = buf_text(&text); *s;) {
        size_t len = utf8_length(s), step = len ? len : 1;
        if (used + step >= size)
            break;
        memcpy(ret + used, len ? s : "?", step);
        used += step;
        s += step;
    }
    ret[used] = '\0';
    buf_release(&text);
    return 0;
}

static int recall_plain(const struct field_entry *f, const struct json_token *t, void *at)
{
    switch (f->type) {
    case FIELD_NUMBER:
        return recall_number(t, at);
    case FIELD_BOOL:
        return recall_bool(t, at);
    case FIELD_WORD:
        return recall_word(f, t, at);
    case FIELD_TEXT:
        return recall_text(t, at);
    case FIELD_LINE:
        return recall_line(t, at, f->size);
    default:
        return recall_integer(f, t, at);
    }
}

/* Reads from after the `[` to the `]`. */
static int recall_row(struct json_reader *r, const struct field_table *fields, char *of)
{
    struct json_token t;
    for (size_t i = 0;; i++) {
        if (json_next(r, &t) < 0)
            return -EINVAL;
        if (t.type == JSON_ARRAY_END)
            return 0;
        const struct field_entry *f = i < fields->count ? &fields->list[i] : NULL;
        if (f && recall_plain(f, &t, of + f->offset) < 0)
            return -EINVAL;
    }
}

static int recall_members(struct json_reader *r, const struct field_table *fields, char *of);

/* `t` is the first token of the value. */
static int recall_one(struct json_reader *r, const struct field_entry *f,
                      const struct json_token *t, char *at)
{
    if (f->type != FIELD_STRUCT)
        return recall_plain(f, t, at);
    if (f->of->as_rows)
        return t->type == JSON_ARRAY_BEGIN ? recall_row(r, f->of, at) : -EINVAL;
    return t->type == JSON_OBJECT_BEGIN ? recall_members(r, f->of, at) : -EINVAL;
}

static bool has_required(const struct field_table *fields, const char *of)
{
    const char *text;
    for (size_t i = 0; i < fields->count; i++) {
        const struct field_entry *f = &fields->list[i];
        if (f->type == FIELD_STRUCT && f->many == FIELD_ONE && !has_required(f->of, of + f->offset))
            return false;
        if (f->flags & FIELD_REQUIRED) {
            memcpy(&text, of + f->offset, sizeof(text));
            if (!text)
                return false;
        }
    }
    return true;
}

static void set_count(const struct field_entry *f, char *of, size_t count)
{
    put_bits(of + f->count_offset, f->count_size, count);
}

/* Adds one cleared element and counts it. NULL: there may be no more. */
static char *add_element(const struct field_entry *f, char *of)
{
    size_t count = field_count(f, of);
    char *at = of + f->offset, *list;
    if (f->most > 0 && count == f->most)
        return NULL;
    if (f->many == FIELD_LIST) {
        memcpy(&list, at, sizeof(list));
        list = reallocarray(list, count + 1, f->size);
        if (!list)
            base_out_of_memory();
        memcpy(at, &list, sizeof(list));
        at = list;
    }
    at += count * f->size;
    if (f->type == FIELD_STRUCT)
        fields_clear(f->of, at);
    else
        memset(at, 0, f->size);
    set_count(f, of, count + 1);
    return at;
}

static int recall_elements(struct json_reader *r, const struct field_entry *f, char *of)
{
    struct json_token t;
    if (json_next(r, &t) < 0 || t.type != JSON_ARRAY_BEGIN)
        return -EINVAL;
    for (;;) {
        if (json_next(r, &t) < 0)
            return -EINVAL;
        if (t.type == JSON_ARRAY_END)
            return 0;
        char *at = add_element(f, of);
        if (!at || recall_one(r, f, &t, at) < 0)
            return -EINVAL;
        if (f->type == FIELD_STRUCT && !has_required(f->of, at))
            return -EINVAL;
    }
}

static int recall_field(struct json_reader *r, const struct field_entry *f, char *of)
{
    struct json_token t;
    if (f->many != FIELD_ONE)
        return recall_elements(r, f, of);
    return json_next(r, &t) < 0 ? -EINVAL : recall_one(r, f, &t, of + f->offset);
}

static const struct field_entry *find_field(const struct field_table *fields,
                                            const struct json_token *key)
{
    for (size_t i = 0; i < fields->count; i++)
        if (fields->list[i].type != FIELD_NOT_KEPT && json_token_is(key, fields->list[i].name))
            return &fields->list[i];
    return NULL;
}

/* Reads from after the `{` to the `}`. */
static int recall_members(struct json_reader *r, const struct field_table *fields, char *of)
{
    struct json_token t;
    for (;;) {
        if (json_next(r, &t) < 0)
            return -EINVAL;
        if (t.type == JSON_OBJECT_END)
            return 0;
        if (t.type != JSON_KEY)
            return -EINVAL;
        const struct field_entry *f = find_field(fields, &t);
        if ((f ? recall_field(r, f, of) : json_skip(r)) < 0)
            return -EINVAL;
    }
}

int fields_recall(struct json_reader *r, const struct field_table *fields, void *ret)
{
    struct json_token t;
    if (json_next(r, &t) < 0 || t.type != JSON_OBJECT_BEGIN)
        return -EINVAL;
    return recall_members(r, fields, ret);
}
