/*
 * workloads/retention.c: the heap is fragmented while it grows, and the allocator keeps the pages.
 *
 * In each of the first --ramp steps (0: a third of them) blocks are allocated and every other one
 * is freed at once; the next step's are a little larger, so that the holes do not fit them. Then
 * all but one in 64 survivors are freed.
 *
 * grows:   RssAnon, for the ramp only, by about 330 KB a step; after it live bytes fall to almost
 *          nothing and RssAnon stays where it is, flat
 * verdict: no leak, where the ramp is no longer than the horizon; --fix gives the pages back
 *          (malloc_trim): RssAnon falls
 */
#include "load.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { PER_STEP = 64, SURVIVORS = PER_STEP / 2, KEEP_ONE_IN = 64 };

struct heap {
    void **blocks;
    size_t count;
};

static void *allocate(size_t bytes)
{
    void *block = malloc(bytes);
    if (!block)
        load_fail("malloc");
    return memset(block, 0x5a, bytes);
}

static void grow(struct heap *h, size_t bytes)
{
    void *holes[SURVIVORS];
    for (int i = 0; i < SURVIVORS; i++) {
        holes[i] = allocate(bytes);
        h->blocks[h->count++] = allocate(bytes);
    }
    for (int i = 0; i < SURVIVORS; i++)
        free(holes[i]);
}

/* The youngest block stays: it lies at the top of the heap, which would be cut off above it. */
static void shrink(struct heap *h)
{
    for (size_t i = 0; i + 1 < h->count; i++) {
        if (i % KEEP_ONE_IN == 0)
            continue;
        free(h->blocks[i]);
        h->blocks[i] = NULL;
    }
    if (load.fix)
        malloc_trim(0);
}

int main(int argc, char **argv)
{
    long ramp = 0;
    load_init(argc, argv, (struct load_option[]){{"ramp", &ramp, NULL}, {0}});
    if (ramp == 0)
        ramp = load.steps / 3;
    static struct heap heap;
    heap.blocks = load_keep((size_t) (ramp + 1) * SURVIVORS * sizeof(void *));
    for (long n = 1; load_running(n); n++) {
        if (n <= ramp)
            grow(&heap, 4096 + 16 * (size_t) n);
        else if (n == ramp + 1)
            shrink(&heap);
        load_step(n);
    }
    return load_end();
}
