/* words/amounts.c: short texts by value. */
#include "words/amounts.h"

#include <stdarg.h>
#include <stdio.h>

static struct words words_of(struct buf *b)
{
    struct words w;
    snprintf(w.text, sizeof w.text, "%s", buf_text(b));
    buf_release(b);
    return w;
}

struct words words_joined(const char *format, ...)
{
    struct words w;
    va_list args;
    va_start(args, format);
    vsnprintf(w.text, sizeof w.text, format, args);
    va_end(args);
    return w;
}

struct words words_of_bytes(double bytes)
{
    struct buf b = BUF_INIT;
    units_add_bytes(&b, bytes);
    return words_of(&b);
}

struct words words_of_rate(double rate, enum series_clock clock)
{
    struct buf b = BUF_INIT;
    series_add_rate(&b, rate, SERIES_BYTES, clock);
    return words_of(&b);
}

struct words words_of_position(double at, double start, enum series_clock clock)
{
    struct buf b = BUF_INIT;
    series_add_position(&b, at, start, clock);
    return words_of(&b);
}

struct words words_of_length(double length, enum series_clock clock)
{
    struct buf b = BUF_INIT;
    series_add_length(&b, length, true, clock);
    return words_of(&b);
}

struct words words_of_duration(double seconds)
{
    struct buf b = BUF_INIT;
    units_add_duration(&b, seconds);
    return words_of(&b);
}
