/* probe/base/allocator.h: what malloc() holds. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_ALLOCATOR_H
#define TIDEMARK_PROBE_BASE_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

struct allocator_facts {
    size_t in_use; /* by the program */
    size_t free;   /* given back by the program, kept by malloc() */
    size_t mapped; /* of what is in use: large blocks, each mapped by itself */
};

/* False: not glibc's malloc(), or another one has taken its place. */
bool allocator_read(struct allocator_facts *ret);

#endif
