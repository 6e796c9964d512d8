/* probe/base/arenas.h: in-use and free bytes of Python's small-object allocator. Private to probe/.
 */
#ifndef TIDEMARK_PROBE_BASE_ARENAS_H
#define TIDEMARK_PROBE_BASE_ARENAS_H

#include <stdbool.h>
#include <stddef.h>

/* Arenas have mappings of their own; malloc() counts none of them. */
struct arenas_facts {
    size_t in_use; /* blocks of objects */
    size_t free;   /* free blocks and pools; Python unmaps an arena only when all of it is free */
};

/* Call it in the parent, before the fork of the child that calls arenas_read(). */
void arenas_prepare(void);

/*
 * Reads every pool. Call it in a child, through child_ask_allocator(). Allocates nothing and takes
 * no lock. False: another allocator serves objects (PYTHONMALLOC, mimalloc), or tracemalloc is on.
 */
bool arenas_read(struct arenas_facts *ret);

#endif
