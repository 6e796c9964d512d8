/* base/number.c: decimal digits to a double, the same in every locale. */
#include "base/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Far beyond any double, and far from overflowing an int. */
#define EXPONENT_LIMIT 100000

/* Digits collected so far: mantissa x 10^exponent; digits past the 19th only scale. */
struct digits {
    uint64_t mantissa;
    int exponent;
    unsigned kept;
    size_t seen;
};

static bool is_digit(const char *text, size_t len, size_t at)
{
    return at < len && text[at] >= '0' && text[at] <= '9';
}

static int clamp_exponent(int exponent)
{
    return exponent > EXPONENT_LIMIT ? EXPONENT_LIMIT
                                     : (exponent < -EXPONENT_LIMIT ? -EXPONENT_LIMIT : exponent);
}

static void add_digit(struct digits *d, char c, bool fraction)
{
    d->seen++;
    bool keep = d->kept < 19;
    if (keep) {
        d->mantissa = d->mantissa * 10 + (uint64_t) (c - '0');
        d->kept += d->mantissa > 0;
    }
    d->exponent = clamp_exponent(d->exponent + (keep ? 0 : 1) - (fraction ? 1 : 0));
}

/* A separator followed by exactly three digits. */
static bool is_group(const char *text, size_t len, size_t at)
{
    return at < len && text[at] == ',' && is_digit(text, len, at + 1) &&
           is_digit(text, len, at + 2) && is_digit(text, len, at + 3) &&
           !is_digit(text, len, at + 4);
}

static size_t scan_whole(const char *text, size_t len, size_t at, bool grouped, struct digits *d)
{
    size_t begin = at;
    for (; is_digit(text, len, at); at++)
        add_digit(d, text[at], false);
    if (!grouped || at == begin || at - begin > 3)
        return at;
    for (; is_group(text, len, at); at += 4) {
        for (size_t i = 1; i <= 3; i++)
            add_digit(d, text[at + i], false);
    }
    return at;
}

static size_t scan_fraction(const char *text, size_t len, size_t at, struct digits *d)
{
    if (at >= len || text[at] != '.' || !is_digit(text, len, at + 1))
        return at;
    for (at++; is_digit(text, len, at); at++)
        add_digit(d, text[at], true);
    return at;
}

static size_t scan_exponent(const char *text, size_t len, size_t at, int *ret_exponent)
{
    if (at >= len || (text[at] != 'e' && text[at] != 'E'))
        return at;
    size_t first = at + 1;
    bool negative = first < len && text[first] == '-';
    if (negative || (first < len && text[first] == '+'))
        first++;
    if (!is_digit(text, len, first))
        return at;
    int exponent = 0;
    for (at = first; is_digit(text, len, at); at++)
        exponent = clamp_exponent(exponent * 10 + (text[at] - '0'));
    *ret_exponent = negative ? -exponent : exponent;
    return at;
}

static double scale(uint64_t mantissa, int exponent)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    /* Both factors are exact here, so a single operation rounds correctly. */
    if (mantissa <= (UINT64_C(1) << 53) && exponent >= -22 && exponent <= 22)
        return exponent < 0 ? (double) mantissa / powers[-exponent]
                            : (double) mantissa * powers[exponent];
    char text[48];
    snprintf(text, sizeof text, "%" PRIu64 "e%d", mantissa, exponent);
    return strtod(text, NULL);
}

struct number number_scan(const char *text, size_t len, bool grouped)
{
    size_t at = 0;
    bool negative = len > 0 && text[0] == '-';
    if (negative || (len > 0 && text[0] == '+'))
        at++;
    struct digits d = {0};
    at = scan_whole(text, len, at, grouped, &d);
    at = scan_fraction(text, len, at, &d);
    if (d.seen == 0)
        return (struct number){0};
    int exponent = 0, last_digit = d.exponent;
    if (d.kept == 19 && last_digit > 0)
        last_digit = 0;
    at = scan_exponent(text, len, at, &exponent);
    double value = scale(d.mantissa, clamp_exponent(d.exponent + exponent));
    return (struct number){
        .value = negative ? -value : value,
        .last_digit = clamp_exponent(last_digit + exponent),
        .length = at,
    };
}
