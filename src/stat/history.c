/* stat/history.c: the whole run in a bounded number of blocks. */
#include "stat/history.h"

#include <errno.h>
#include <stdlib.h>

#define HISTORY_FIRST_CAPACITY 6

void history_init(struct history *h)
{
    *h = (struct history){.width = 1};
}

void history_release(struct history *h)
{
    free(h->blocks);
    history_init(h);
}

void history_clear(struct history *h)
{
    h->count = 0;
    h->width = 1;
}

static struct history_block merge(const struct history_block *a, const struct history_block *b)
{
    /* In this form rounding cannot push a mean outside the range of its values. */
    double share = (double) b->count / (double) (a->count + b->count);
    return (struct history_block){
        .at = a->at + (b->at - a->at) * share,
        .seconds = a->seconds + (b->seconds - a->seconds) * share,
        .min = a->min < b->min ? a->min : b->min,
        .mean = a->mean + (b->mean - a->mean) * share,
        .max = a->max > b->max ? a->max : b->max,
        .count = a->count + b->count,
        .peak = a->peak > b->peak ? a->peak : b->peak,
        .activity = b->peak > a->peak ? b->activity : a->activity,
    };
}

static void merge_pairs(struct history *h)
{
    unsigned pairs = h->count / 2;
    for (unsigned i = 0; i < pairs; i++)
        h->blocks[i] = merge(&h->blocks[2 * i], &h->blocks[2 * i + 1]);
    h->count = pairs;
    h->width *= 2;
}

/* Room for one more block: enlarges the array up to HISTORY_BLOCKS, then merges blocks. */
static int make_room(struct history *h)
{
    if (h->count < h->capacity)
        return 0;
    if (h->capacity == HISTORY_BLOCKS) {
        merge_pairs(h);
        return 0;
    }
    unsigned capacity = h->capacity ? h->capacity * 2 : HISTORY_FIRST_CAPACITY;
    struct history_block *blocks = realloc(h->blocks, capacity * sizeof *blocks);
    if (!blocks)
        return -ENOMEM;
    h->blocks = blocks;
    h->capacity = capacity;
    return 0;
}

int history_push(struct history *h, double at, double seconds, double value)
{
    struct history_block sample = {at, seconds, value, value, value, 1, value, 0};
    if (h->count > 0 && h->blocks[h->count - 1].count < h->width) {
        h->blocks[h->count - 1] = merge(&h->blocks[h->count - 1], &sample);
        return 0;
    }
    int r = make_room(h);
    if (r < 0)
        return r;
    h->blocks[h->count++] = sample;
    return 0;
}

void history_note_peak(struct history *h, double value, unsigned activity)
{
    struct history_block *last = h->count > 0 ? &h->blocks[h->count - 1] : NULL;
    if (!last || value < last->peak)
        return;
    last->peak = value;
    last->activity = activity;
}
