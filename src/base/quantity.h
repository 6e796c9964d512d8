/* base/quantity.h: numbers with units, as in logs and arguments. Pure. */
#ifndef TIDEMARK_BASE_QUANTITY_H
#define TIDEMARK_BASE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

/* A number as written in a text. */
struct quantity {
    double value; /* in bytes if a unit was given, else the plain number */
    double
        resolution; /* one unit of the last printed digit, in the same measure: 6.2 GB -> 0.1 GB */
    bool has_unit;  /* a size unit followed the number */
    size_t length;  /* characters consumed, unit included */
};

/*
 * Reads a number at the start of `text`: sign, thousands separators ("5,552" but not "5,55"),
 * decimals, exponent, and a size unit after at most one space (B, byte(s), K/KB/KiB/kB, M.., G..,
 * T..; case-insensitive; not the beginning of a longer word). -EINVAL: no number here; -ERANGE: not
 * finite.
 */
int quantity_parse(const char *text, size_t len, struct quantity *ret);

/*
 * The factor of the unit word that `text` begins with (1 for "B", 2^20 for "MB" and "MiB"), and
 * its length. 0, with *ret_length untouched: the word is not a unit.
 */
double quantity_unit(const char *text, size_t len, size_t *ret_length);

/* A whole argument as a size ("500MB", "32 GB", "1e9"). Plain numbers are bytes. -EINVAL. */
int quantity_parse_size(const char *text, double *ret_bytes);

#endif
