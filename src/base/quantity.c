/* base/quantity.c: numbers with units, as in logs and arguments. */
#include "base/quantity.h"

#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char) c) || c == '_';
}

/* The factor of a unit word; 0: not a unit. All are binary: see units.h. */
static double unit_factor(const char *word, size_t len)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {
        {"b", 1},        {"byte", 1},     {"bytes", 1},   {"k", 0x1p10},   {"kb", 0x1p10},
        {"ki", 0x1p10},  {"kib", 0x1p10}, {"m", 0x1p20},  {"mb", 0x1p20},  {"mi", 0x1p20},
        {"mib", 0x1p20}, {"g", 0x1p30},   {"gb", 0x1p30}, {"gi", 0x1p30},  {"gib", 0x1p30},
        {"t", 0x1p40},   {"tb", 0x1p40},  {"ti", 0x1p40}, {"tib", 0x1p40},
    };
    if (len == 0 || len > strlen("bytes"))
        return 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i].name) == len && strncasecmp(units[i].name, word, len) == 0)
            return units[i].factor;
    }
    return 0;
}

double quantity_unit(const char *text, size_t len, size_t *ret_length)
{
    size_t end = 0;
    while (end < len && is_word(text[end]))
        end++;
    double factor = unit_factor(text, end);
    if (factor > 0)
        *ret_length = end;
    return factor;
}

int quantity_parse(const char *text, size_t len, struct quantity *ret)
{
    struct number number = number_scan(text, len, true);
    if (number.length == 0)
        return -EINVAL;
    size_t at = number.length, unit_length = 0;
    size_t unit_at = at < len && text[at] == ' ' ? at + 1 : at;
    double factor = quantity_unit(text + unit_at, len - unit_at, &unit_length);
    bool has_unit = factor > 0;
    double value = has_unit ? number.value * factor : number.value;
    if (!isfinite(value))
        return -ERANGE;
    *ret = (struct quantity){
        .value = value,
        .resolution =
            (number.last_digit ? pow(10, number.last_digit) : 1) * (has_unit ? factor : 1),
        .has_unit = has_unit,
        .length = has_unit ? unit_at + unit_length : at,
    };
    return 0;
}

int quantity_parse_size(const char *text, double *ret_bytes)
{
    size_t len = strlen(text);
    struct quantity q;
    int r = quantity_parse(text, len, &q);
    if (r < 0 || q.length != len || q.value < 0)
        return -EINVAL;
    *ret_bytes = q.value;
    return 0;
}
