/* proc/fields.h: the kernel's tables of "name value" lines. Pure. */
#ifndef TIDEMARK_PROC_FIELDS_H
#define TIDEMARK_PROC_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the value of line `name` goes: a double at `offset` of the record. */
struct field {
    const char *name;
    size_t offset;
};

/*
 * Reads lines of the forms "Name:   12 kB" and "name 12", kB being 1024, into the doubles of
 * `record`. A field that is missing or has no number becomes absent. Returns the number of fields
 * found.
 */
size_t fields_parse(const char *text, size_t len, const struct field *fields, size_t count,
                    void *record);

/* Reads digits at *s, before `end`, and moves *s past them. False, with *s unmoved, if there are
 * none or the number exceeds 64 bits. */
bool scan_unsigned(const char **s, const char *end, uint64_t *ret);

#endif
