/* probe/picks.c: systematic sampling of blocks. */
#include "probe/picks.h"

#define BLOCK 8u
#define MARGIN_FROM 4u /* a block that is shorter has no margin */

struct picks picks_choose(size_t count, size_t most, double turn)
{
    if (count <= most)
        return (struct picks){.count = count, .blocks = count > 0, .length = count};
    size_t length = most < BLOCK ? most : BLOCK;
    struct picks p = {
        .count = count,
        .blocks = most / length,
        .length = length,
        .margin = length >= MARGIN_FROM,
        .first = (size_t) (turn * (double) count),
    };
    if (p.first >= count)
        p.first = 0;
    return p;
}

size_t picks_visited(const struct picks *p)
{
    return p->blocks * p->length;
}

size_t picks_sampled(const struct picks *p)
{
    return p->blocks * (p->length - 2 * p->margin);
}

/* From the first block: block * count / blocks, rounded down. Two are never less than a block's
 * length apart. */
static size_t distance(const struct picks *p, size_t block)
{
    return block * p->count / p->blocks;
}

size_t picks_block(const struct picks *p, size_t block)
{
    return (p->first + distance(p, block)) % p->count;
}

bool picks_is_margin(const struct picks *p, size_t in_block)
{
    return in_block < p->margin || in_block >= p->length - p->margin;
}

bool picks_has(const struct picks *p, size_t place, size_t *ret_in_block)
{
    size_t from_first = place >= p->first ? place - p->first : place + p->count - p->first;
    size_t block = ((from_first + 1) * p->blocks - 1) / p->count; /* the last that begins by then */
    size_t in_block = from_first - distance(p, block);
    if (in_block < p->length)
        *ret_in_block = in_block;
    return in_block < p->length;
}
