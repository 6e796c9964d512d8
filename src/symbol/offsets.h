/* symbol/offsets.h: a search in offsets in ascending order. Private to symbol/. */
#ifndef TIDEMARK_SYMBOL_OFFSETS_H
#define TIDEMARK_SYMBOL_OFFSETS_H

#include <stddef.h>
#include <stdint.h>

/* The index of the first that is not below `from`; `count` where there is none. */
static inline size_t offsets_first_from(const uint64_t *offsets, size_t count, uint64_t from)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (offsets[middle] < from)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

#endif
