/* page/levels.c: a series as minimum and maximum of equal spans of time. */
#include "page/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MS 4503599627370496.0 /* 2^52: every whole number below it is a double */
#define COARSER 4                  /* a level's spans are so many times as wide as the finer's */

/* A level's numbers are whole multiples of its scale, below this. */
#define MOST_UNITS 1048576.0
#define MOST_SCALE 1048576.0

void levels_init(struct levels *l, size_t most)
{
    *l = (struct levels){.most = most > LEVELS_LEAST ? most : LEVELS_LEAST, .width = 1};
}

void levels_release(struct levels *l)
{
    free(l->blocks);
    *l = (struct levels){.most = LEVELS_LEAST, .width = 1};
}

static void merge(struct levels_block *into, const struct levels_block *b)
{
    into->low = fmin(into->low, b->low);
    into->high = fmax(into->high, b->high);
}

static void widen(struct levels *l, int64_t times)
{
    size_t kept = 0;
    l->width *= times;
    for (size_t i = 0; i < l->count; i++) {
        struct levels_block b = l->blocks[i];
        b.span = b.at / l->width;
        if (kept > 0 && l->blocks[kept - 1].span == b.span)
            merge(&l->blocks[kept - 1], &b);
        else
            l->blocks[kept++] = b;
    }
    l->count = kept;
}

void levels_reduce(struct levels *l, size_t most)
{
    l->most = most > LEVELS_LEAST ? most : LEVELS_LEAST;
    while (l->count > l->most)
        widen(l, 2);
}

static void append(struct levels *l, struct levels_block b)
{
    if (l->count == l->capacity) {
        l->capacity = l->capacity > 0 ? 2 * l->capacity : 64;
        l->blocks = reallocarray(l->blocks, l->capacity, sizeof(*l->blocks));
        if (!l->blocks)
            base_out_of_memory();
    }
    l->blocks[l->count++] = b;
    if (l->count > l->most)
        levels_reduce(l, l->most);
}

static double bounded(double value)
{
    return fmin(fmax(value, -LEVELS_MOST_VALUE), LEVELS_MOST_VALUE);
}

void levels_add(struct levels *l, double seconds, double low, double high)
{
    if (!isfinite(seconds) || !isfinite(low) || !isfinite(high) || high < low)
        return;
    int64_t at = llround(fmin(fmax(seconds * 1000, 0), MOST_MS));
    if (l->samples > 0 && at < l->last)
        return;
    struct levels_block b = {at, at / l->width, bounded(low), bounded(high)};
    l->samples++;
    l->last = at;
    if (l->count > 0 && l->blocks[l->count - 1].span == b.span)
        merge(&l->blocks[l->count - 1], &b);
    else
        append(l, b);
}

/* ---- as JSON ---- */

static bool divides(double scale, double value)
{
    return fmod(value, scale) == 0;
}

/* The largest power of two that divides every value; below 1 where they have fractions. */
static double common_scale(const struct levels *l)
{
    double scale = MOST_SCALE;
    for (size_t i = 0; i < l->count; i++)
        while (scale > 1.0 / MOST_SCALE &&
               !(divides(scale, l->blocks[i].low) && divides(scale, l->blocks[i].high)))
            scale /= 2;
    return scale;
}

/* Exact where numbers stay short; else the range in MOST_UNITS. */
static double scale_of(const struct levels *l)
{
    double low = INFINITY, high = -INFINITY, scale = common_scale(l);
    for (size_t i = 0; i < l->count; i++) {
        low = fmin(low, l->blocks[i].low);
        high = fmax(high, l->blocks[i].high);
    }
    while (l->count > 0 && ((high - low) / scale > MOST_UNITS || fabs(high) / scale > 1e15))
        scale *= 2;
    return scale;
}

static void json_times(struct json *j, const struct levels *l)
{
    int64_t before = 0;
    json_array_begin(j, "t");
    for (size_t i = 0; i < l->count; i++) {
        json_integer(j, NULL, l->blocks[i].at - before);
        before = l->blocks[i].at;
    }
    json_array_end(j);
}

static int64_t units(double value, double scale)
{
    return llround(value / scale);
}

static void json_values(struct json *j, const struct levels *l, double scale)
{
    int64_t before = 0;
    json_array_begin(j, "low");
    for (size_t i = 0; i < l->count; i++) {
        int64_t low = units(l->blocks[i].low, scale);
        json_integer(j, NULL, low - before);
        before = low;
    }
    json_array_end(j);
    json_array_begin(j, "high");
    for (size_t i = 0; i < l->count; i++)
        json_integer(j, NULL, units(l->blocks[i].high, scale) - units(l->blocks[i].low, scale));
    json_array_end(j);
}

void levels_json_one(struct json *j, const char *key, const struct levels *l)
{
    double scale = scale_of(l);
    json_object_begin(j, key);
    json_number(j, "scale", scale);
    json_times(j, l);
    json_values(j, l, scale);
    json_object_end(j);
}

static void copy(const struct levels *l, struct levels *ret)
{
    *ret = *l;
    ret->capacity = l->count;
    ret->blocks = reallocarray(NULL, l->count + 1, sizeof(*ret->blocks));
    if (!ret->blocks)
        base_out_of_memory();
    if (l->count > 0)
        memcpy(ret->blocks, l->blocks, l->count * sizeof(*ret->blocks));
}

void levels_json(struct json *j, const struct levels *l)
{
    struct levels coarser;
    copy(l, &coarser);
    json_array_begin(j, "levels");
    levels_json_one(j, NULL, &coarser);
    while (coarser.count > LEVELS_COARSEST) {
        size_t before = coarser.count;
        /* Wider spans change nothing while each holds one sample. */
        while (coarser.count > before / 2)
            widen(&coarser, COARSER);
        levels_json_one(j, NULL, &coarser);
    }
    json_array_end(j);
    levels_release(&coarser);
}
