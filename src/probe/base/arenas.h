/* probe/base/arenas.h: what Python's allocator of small objects holds. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_ARENAS_H
#define TIDEMARK_PROBE_BASE_ARENAS_H

#include <stdbool.h>
#include <stddef.h>

/* Arenas are mapped by themselves: malloc() counts none of them. */
struct arenas_facts {
    size_t in_use; /* blocks of objects */
    size_t free;   /* blocks and pools for later ones; an arena is given back only whole */
};

/* In the parent, before the child that asks is made. */
void arenas_prepare(void);

/*
 * In a child, where the allocator of objects is the program's: every pool is read. Allocates
 * nothing and takes no lock. False: objects are another allocator's (PYTHONMALLOC, mimalloc), or
 * tracemalloc is on.
 */
bool arenas_read(struct arenas_facts *ret);

#endif
