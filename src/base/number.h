/* base/number.h: decimal digits to a double, the same in every locale. Pure; inside base only. */
#ifndef TIDEMARK_BASE_NUMBER_H
#define TIDEMARK_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* A decimal number as it was printed: value = digits x 10^exponent. */
struct number {
    double value;   /* infinite if too large */
    int last_digit; /* the power of ten of the last printed digit */
    size_t length;  /* characters consumed */
};

/*
 * Reads [+-] digits [. digits] [e [+-] digits]; does not consume an incomplete part ("5.", "5e").
 * With `grouped`, thousands separators count: "1,234,567" but not "1,23".
 * length 0: no number here.
 */
struct number number_scan(const char *text, size_t len, bool grouped);

#endif
