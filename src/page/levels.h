/* page/levels.h: a series as minimum and maximum of equal spans of time, at several levels of
 * detail. Pure. */
#ifndef TIDEMARK_PAGE_LEVELS_H
#define TIDEMARK_PAGE_LEVELS_H

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>

/* Times in milliseconds of the run. */
struct levels_block {
    int64_t at, span; /* of its first sample; the number of its span of time */
    double low, high;
};

/*
 * The finest level, made of samples as they come. It starts with spans of a millisecond; when there
 * are more than `most` blocks, spans double in width. Spans without a sample have no block, so that
 * a block of one sample has its time and value. Memory is bounded by `most`; a sample costs a
 * constant time. One owner, one thread.
 */
struct levels {
    struct levels_block *blocks;
    size_t count, capacity, most;
    int64_t width; /* of a span, in milliseconds: a power of two */
    int64_t last;  /* time of the last sample */
    uint64_t samples;
};

#define LEVELS_LEAST 4u        /* the smallest `most` */
#define LEVELS_COARSEST 256u   /* a level of so many blocks has no coarser one */
#define LEVELS_MOST_VALUE 1e18 /* larger values are cut to it */

void levels_init(struct levels *l, size_t most);
void levels_release(struct levels *l);

/* A sample, or a block of samples with their minimum and maximum. Without a finite time or value,
 * or earlier than the last one, it is left out. */
void levels_add(struct levels *l, double seconds, double low, double high);

/* Widens the spans until at most `most` blocks are left. */
void levels_reduce(struct levels *l, size_t most);

/* The array "levels" of docs/PAGE.md: the finest first, each with half as many blocks or fewer, in
 * spans a power of four times as wide. */
void levels_json(struct json *j, const struct levels *l);

/* One of its elements: `l` as it is. */
void levels_json_one(struct json *j, const char *key, const struct levels *l);

#endif
