/* report/pool.c: texts of any bytes, each kept once and numbered. */
#include "report/pool.h"

#include "base/base.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_AT_FIRST 64u

void pool_release(struct pool *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->list[i].bytes);
    free(p->list);
    free(p->slots);
    *p = POOL_INIT;
}

/* FNV-1a. */
static uint64_t hash(const char *bytes, size_t len)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char) bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* The slot of the text, or the unused one where it belongs. */
static size_t find_slot(const struct pool *p, const char *bytes, size_t len)
{
    size_t i = hash(bytes, len) & (p->slot_count - 1);
    for (; p->slots[i]; i = (i + 1) & (p->slot_count - 1)) {
        const struct pool_text *t = &p->list[p->slots[i] - 1];
        if (t->len == len && memcmp(t->bytes, bytes, len) == 0)
            break;
    }
    return i;
}

static void make_room(struct pool *p)
{
    if (2 * (p->count + 1) <= p->slot_count)
        return;
    free(p->slots);
    p->slot_count = p->slot_count ? 2 * p->slot_count : SLOTS_AT_FIRST;
    p->slots = calloc(p->slot_count, sizeof(*p->slots));
    p->list = reallocarray(p->list, p->slot_count / 2, sizeof(*p->list));
    if (!p->slots || !p->list)
        base_out_of_memory();
    for (size_t i = 0; i < p->count; i++)
        p->slots[find_slot(p, p->list[i].bytes, p->list[i].len)] = i + 1;
}

size_t pool_number(struct pool *p, const char *bytes, size_t len)
{
    make_room(p);
    size_t slot = find_slot(p, bytes, len);
    if (p->slots[slot])
        return p->slots[slot] - 1;
    struct pool_text *t = &p->list[p->count];
    t->bytes = malloc(len + 1);
    t->len = len;
    if (!t->bytes)
        base_out_of_memory();
    memcpy(t->bytes, bytes, len);
    p->slots[slot] = p->count + 1;
    return p->count++;
}
