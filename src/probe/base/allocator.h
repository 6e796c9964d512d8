/* probe/base/allocator.h: in-use and free bytes of malloc(). Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_ALLOCATOR_H
#define TIDEMARK_PROBE_BASE_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

struct allocator_facts {
    size_t in_use; /* by the program */
    size_t free;   /* freed by the program, retained by malloc() */
    size_t mapped; /* part of in_use: large blocks, each in a mapping of its own */
};

/* False: malloc() is not glibc's. */
bool allocator_read(struct allocator_facts *ret);

#endif
