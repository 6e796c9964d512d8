/* stat/pyramid.c: a series at every scale, in bounded memory. */
#include "stat/pyramid.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pyramid_init(struct pyramid *p, unsigned max_levels)
{
    *p = (struct pyramid){.max_levels = max_levels};
}

static void drop_levels(struct pyramid *p, unsigned keep)
{
    while (p->count > keep)
        free(p->levels[--p->count]);
}

void pyramid_release(struct pyramid *p)
{
    drop_levels(p, 0);
    free(p->levels);
    p->levels = NULL;
}

void pyramid_clear(struct pyramid *p)
{
    drop_levels(p, 1);
    if (p->count > 0)
        *p->levels[0] = (struct pyramid_level){.has_half = false};
}

static int add_level(struct pyramid *p)
{
    if (!p->levels)
        p->levels = calloc(p->max_levels, sizeof(struct pyramid_level *));
    if (!p->levels)
        return -ENOMEM;
    struct pyramid_level *level = calloc(1, sizeof *level);
    if (!level)
        return -ENOMEM;
    p->levels[p->count++] = level;
    return 0;
}

static struct block merge(struct block a, struct block b)
{
    return (struct block){(a.at + b.at) / 2, (a.mean + b.mean) / 2, fmin(a.min, b.min)};
}

int pyramid_add(struct pyramid *p, struct block b, unsigned *ret_completed)
{
    unsigned level = 0;
    for (;;) {
        if (level == p->count && add_level(p) < 0)
            return -ENOMEM;
        struct pyramid_level *l = p->levels[level];
        l->ring[l->completed++ % PYRAMID_RING] = b;
        level++;
        if (level == p->max_levels)
            break;
        if (!l->has_half) {
            l->half = b;
            l->has_half = true;
            break;
        }
        l->has_half = false;
        b = merge(l->half, b);
    }
    *ret_completed = level;
    return 0;
}

void pyramid_cut(struct pyramid *p)
{
    for (unsigned i = 0; i < p->count; i++)
        p->levels[i]->has_half = false;
}

size_t pyramid_held(const struct pyramid *p, unsigned level)
{
    if (level >= p->count)
        return 0;
    uint64_t completed = p->levels[level]->completed;
    return completed < PYRAMID_RING ? (size_t) completed : PYRAMID_RING;
}

const struct block *pyramid_recent(const struct pyramid *p, unsigned level, size_t back)
{
    assert(back < pyramid_held(p, level));
    const struct pyramid_level *l = p->levels[level];
    return &l->ring[(l->completed - 1 - back) % PYRAMID_RING];
}

size_t pyramid_blocks(const struct pyramid *p, unsigned level,
                      struct block ret_blocks[PYRAMID_RING])
{
    size_t n = pyramid_held(p, level);
    if (n == 0)
        return 0;
    const struct pyramid_level *l = p->levels[level];
    size_t oldest = n < PYRAMID_RING ? 0 : l->completed % PYRAMID_RING;
    memcpy(ret_blocks, l->ring + oldest, (n - oldest) * sizeof *ret_blocks);
    memcpy(ret_blocks + (n - oldest), l->ring, oldest * sizeof *ret_blocks);
    return n;
}

size_t pyramid_bytes(const struct pyramid *p)
{
    size_t table = p->levels ? p->max_levels * sizeof(struct pyramid_level *) : 0;
    return table + p->count * sizeof(struct pyramid_level);
}
