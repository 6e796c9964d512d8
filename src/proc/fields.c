/* proc/fields.c: the kernel's tables of "name value" lines. */
#include "proc/fields.h"

#include <math.h>
#include <string.h>

bool scan_unsigned(const char **s, const char *end, uint64_t *ret)
{
    uint64_t value = 0;
    const char *p = *s;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned) (*p - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (p == *s)
        return false;
    *s = p;
    *ret = value;
    return true;
}

static double *field_value(const struct field *f, void *record)
{
    return (double *) (void *) ((char *) record + f->offset);
}

static const struct field *find_field(const char *name, size_t len, const struct field *fields,
                                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(fields[i].name) == len && memcmp(fields[i].name, name, len) == 0)
            return &fields[i];
    }
    return NULL;
}

/* True if a value was found. */
static bool parse_line(const char *s, const char *end, const struct field *fields, size_t count,
                       void *record)
{
    const char *name = s;
    while (s < end && *s != ':' && *s != ' ' && *s != '\t')
        s++;
    const struct field *f = find_field(name, (size_t) (s - name), fields, count);
    if (!f)
        return false;
    while (s < end && (*s == ':' || *s == ' ' || *s == '\t'))
        s++;
    uint64_t value;
    if (!scan_unsigned(&s, end, &value))
        return false;
    bool in_kb = end - s >= 3 && memcmp(s, " kB", 3) == 0;
    *field_value(f, record) = (double) value * (in_kb ? 1024.0 : 1.0);
    return true;
}

size_t fields_parse(const char *text, size_t len, const struct field *fields, size_t count,
                    void *record)
{
    for (size_t i = 0; i < count; i++)
        *field_value(&fields[i], record) = NAN;
    size_t found = 0;
    for (const char *end = text + len; text < end;) {
        const char *newline = memchr(text, '\n', (size_t) (end - text));
        const char *line_end = newline ? newline : end;
        found += parse_line(text, line_end, fields, count, record);
        text = newline ? newline + 1 : end;
    }
    return found;
}
