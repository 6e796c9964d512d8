/* input/when.h: times as logs print them, in seconds. Pure. */
#ifndef TIDEMARK_INPUT_WHEN_H
#define TIDEMARK_INPUT_WHEN_H

#include <stdbool.h>
#include <stddef.h>

/* A time as written. */
struct when {
    double seconds;   /* since 1970, since midnight, or of the source's own clock */
    bool time_of_day; /* without a date: restarts at midnight */
    size_t length;    /* characters consumed */
};

/*
 * Reads "2025-10-20T13:18:20.5+02:00", "2025/10/20 13:18:20", "10/20/2025 13:18:20", "Oct 20
 * 13:18:20" and "13:18:20,250" at the start of `text`; a plain number is not a time. False: no time
 * here.
 */
bool when_parse(const char *text, size_t len, struct when *ret);

/*
 * The wall clock of one source: gives seconds since its first moment and understands midnight.
 * Plain numbers below 10^8 are a clock that began with the program and are kept as they are.
 */
struct wall {
    bool started;
    double first, last, days;
};

double wall_seconds(struct wall *w, const struct when *moment);

#endif
