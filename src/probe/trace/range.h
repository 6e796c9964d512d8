/* probe/trace/range.h: the addresses of a loaded file. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_RANGE_H
#define TIDEMARK_PROBE_TRACE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct range {
    uintptr_t begin, end;
};

static inline bool range_has(struct range r, uintptr_t address)
{
    return address >= r.begin && address < r.end;
}

/* All zero: no loaded file has that address. Takes the loader's lock. */
struct range range_of_file(uintptr_t address);

/* That of this library. Found by range_find_own(). */
extern struct range range_own __attribute__((visibility("hidden")));
void range_find_own(void);

#endif
