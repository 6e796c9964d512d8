/* base/fields.c: the members of a struct, cleared and freed by their table. */
#include "base/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t field_count(const struct field_entry *f, const void *of)
{
    const char *at = (const char *) of + f->count_offset;
    size_t size = 0;
    unsigned count = 0;
    if (f->count_size == sizeof(size)) {
        memcpy(&size, at, sizeof(size));
        return size;
    }
    memcpy(&count, at, sizeof(count));
    return count;
}

static bool is_number(const struct field_entry *f)
{
    return f->type == FIELD_NUMBER && f->many == FIELD_ONE;
}

static bool is_struct_inside(const struct field_entry *f)
{
    return f->type == FIELD_STRUCT && f->many == FIELD_ONE;
}

static void clear_numbers(const struct field_table *fields, char *of)
{
    const double unknown = NAN;
    for (size_t i = 0; i < fields->count; i++) {
        const struct field_entry *f = &fields->list[i];
        if (is_number(f))
            memcpy(of + f->offset, &unknown, sizeof(unknown));
        else if (is_struct_inside(f))
            clear_numbers(f->of, of + f->offset);
    }
}

void fields_clear(const struct field_table *fields, void *ret)
{
    memset(ret, 0, fields->size);
    clear_numbers(fields, ret);
}

void fields_drop_infinite(const struct field_table *fields, void *of)
{
    const double unknown = NAN;
    for (size_t i = 0; i < fields->count; i++) {
        const struct field_entry *f = &fields->list[i];
        char *at = (char *) of + f->offset;
        double value;
        if (is_struct_inside(f))
            fields_drop_infinite(f->of, at);
        if (!is_number(f) || (f->flags & FIELD_ENDLESS))
            continue;
        memcpy(&value, at, sizeof(value));
        if (isinf(value))
            memcpy(at, &unknown, sizeof(unknown));
    }
}

/* Releases one element at `at`. */
static void release_one(const struct field_entry *f, char *at)
{
    char *text;
    if (f->type == FIELD_STRUCT)
        fields_release(f->of, at);
    if (f->type != FIELD_TEXT)
        return;
    memcpy(&text, at, sizeof(text));
    free(text);
}

static void release_field(const struct field_entry *f, char *of)
{
    char *at = of + f->offset, *list = NULL;
    if (f->many == FIELD_ONE) {
        release_one(f, at);
        return;
    }
    if (f->many == FIELD_LIST) {
        memcpy(&list, at, sizeof(list));
        at = list;
    }
    for (size_t i = 0; i < field_count(f, of); i++)
        release_one(f, at + i * f->size);
    free(list);
}

void fields_release(const struct field_table *fields, void *of)
{
    for (size_t i = 0; i < fields->count; i++)
        release_field(&fields->list[i], of);
    memset(of, 0, fields->size);
}
