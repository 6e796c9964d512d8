/* probe/base/peek.h: reads memory that may be unmapped. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_PEEK_H
#define TIDEMARK_PROBE_BASE_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pipe: write() copies what is readable and refuses the rest, so no address is dangerous. */
struct peek {
    int ends[2];
};

/* False: no more files can be opened. */
bool peek_init(struct peek *p);
void peek_release(struct peek *p);

/* Copies up to `most` bytes (at most 4096) from an address and returns how many. If not all of them
 * are readable: those up to the end of the page, or 0. */
size_t peek_read(const struct peek *p, uint64_t address, void *ret, size_t most);

/* Could this be the address of an object? For pointers that are followed without peek_read(). */
static inline bool peek_is_pointer(uint64_t value)
{
    return value >= UINT64_C(1) << 16 && value < UINT64_C(1) << 56 && value % sizeof(void *) == 0;
}

#endif
