/* words/amounts.h: short texts by value, so that one format takes several of them. Private. */
#ifndef TIDEMARK_WORDS_AMOUNTS_H
#define TIDEMARK_WORDS_AMOUNTS_H

#include "base/base.h"
#include "verdict/verdict.h"

struct words {
    char text[160];
};

struct words words_of_bytes(double bytes);
struct words words_of_rate(double rate, enum series_clock clock);

/* "16,000 steps", "12 min": no more than two digits. */
struct words words_of_length(double length, enum series_clock clock);
struct words words_of_duration(double seconds);
struct words words_joined(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "step 40", "12 min into the run". */
struct words words_of_position(double at, double start, enum series_clock clock);

#endif
