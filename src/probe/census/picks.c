/* probe/census/picks.c: systematic sampling of blocks. */
#include "probe/census/picks.h"

#include <stdint.h>

#define MARGIN_FROM 4u /* shorter blocks have no margin */

struct picks picks_choose(size_t count, size_t most, size_t block, double turn)
{
    if (count <= most)
        return (struct picks){.count = count, .blocks = count > 0, .length = count};
    size_t length = most < block ? most : block;
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

/* The first place of a part. A part is at least as long as a block. */
static size_t part(const struct picks *p, size_t block)
{
    return block * p->count / p->blocks;
}

/* The offset of the block in its part. */
static size_t offset(const struct picks *p, size_t block)
{
    size_t slack = p->count / p->blocks - p->length;
    uint64_t x = ((uint64_t) block + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t) ((x ^ x >> 29) % (slack + 1));
}

size_t picks_block(const struct picks *p, size_t block)
{
    return (p->first + part(p, block) + offset(p, block)) % p->count;
}

bool picks_is_margin(const struct picks *p, size_t in_block)
{
    return in_block < p->margin || in_block >= p->length - p->margin;
}

/* The same, with places counted from the first part. */
static size_t next_on_circle(const struct picks *p, size_t place, size_t *ret_in_block)
{
    size_t block = ((place + 1) * p->blocks - 1) / p->count; /* the part it is in */
    size_t begin = part(p, block) + offset(p, block);
    if (place >= begin + p->length) {
        block++;
        begin = block < p->blocks ? part(p, block) + offset(p, block) : p->count;
    }
    size_t next = place > begin ? place : begin;
    *ret_in_block = next - begin;
    return next;
}

size_t picks_next(const struct picks *p, size_t place, size_t *ret_in_block)
{
    if (place < p->first) {
        size_t turned = p->count - p->first;
        size_t next = next_on_circle(p, place + turned, ret_in_block);
        if (next < p->count)
            return next - turned;
        place = p->first;
    }
    if (place >= p->count)
        return p->count;
    size_t next = next_on_circle(p, place - p->first, ret_in_block) + p->first;
    return next < p->count ? next : p->count;
}
