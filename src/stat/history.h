/* stat/history.h: the whole run in a bounded number of blocks. No I/O, no clock. */
#ifndef TIDEMARK_STAT_HISTORY_H
#define TIDEMARK_STAT_HISTORY_H

#include <stddef.h>
#include <stdint.h>

/* The most blocks; when full, neighbours merge in pairs. */
#define HISTORY_BLOCKS 192

struct history_block {
    double at;      /* mean position on the series' clock */
    double seconds; /* mean wall clock; NAN where unknown */
    double min, mean, max;
    uint64_t count;
    double peak;       /* including peaks between samples: max or more */
    unsigned activity; /* the activity at the peak, as the program reported it; 0: not known */
};

/*
 * Blocks of `width` samples each, in order of time; the last one may hold fewer. While there are at
 * most HISTORY_BLOCKS samples, each is its own block. The array starts small and grows.
 */
struct history {
    struct history_block *blocks;
    unsigned count, capacity;
    uint64_t width;
};

void history_init(struct history *h);
void history_release(struct history *h);
void history_clear(struct history *h);

/* -ENOMEM: the sample is not counted. */
int history_push(struct history *h, double at, double seconds, double value);

/* Notes a peak of the series between samples; ignored while there are no samples. */
void history_note_peak(struct history *h, double value, unsigned activity);

#endif
