/* probe/base/peek.h: memory of this process that may not be there. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_PEEK_H
#define TIDEMARK_PROBE_BASE_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pipe: the kernel copies what it can read and refuses the rest, so no address is dangerous. */
struct peek {
    int ends[2];
};

/* False: no more files can be opened. */
bool peek_init(struct peek *p);
void peek_release(struct peek *p);

/* Copies up to `most` bytes (4096 at the most) from an address, and returns how many: where they
 * are not all there, those up to the end of the page or none. */
size_t peek_read(const struct peek *p, uint64_t address, void *ret, size_t most);

/* Can this be the address of an object? For pointers that are followed without asking. */
static inline bool peek_is_pointer(uint64_t value)
{
    return value >= UINT64_C(1) << 16 && value < UINT64_C(1) << 56 && value % sizeof(void *) == 0;
}

#endif
