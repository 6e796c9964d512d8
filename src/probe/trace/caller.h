/* probe/trace/caller.h: from the registers of a frame to those of its caller. Pure. Private to
 * probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_CALLER_H
#define TIDEMARK_PROBE_TRACE_CALLER_H

#include "probe/trace/cfi.h"

/* The part of the stack that may be read. */
struct caller_stack {
    uintptr_t low, high;
};

/* False: the address is not on the stack, or not aligned. AddressSanitizer must not look: saved
 * registers belong to no variable. */
__attribute__((no_sanitize("address"))) static inline bool
caller_load(const struct caller_stack *s, uintptr_t address, uintptr_t *ret)
{
    if (address < s->low || address % sizeof *ret != 0 || address >= s->high ||
        s->high - address < sizeof *ret)
        return false;
    *ret = *(const volatile uintptr_t *) address; /* NOLINT: on the stack */
    return true;
}

/* By the row of registers[CFI_RETURN]: changes the registers to the caller's. False: it cannot be
 * found; the registers are unchanged. Requires that there is a caller. */
bool caller_find(const struct cfi_row *row, const struct cfi_bytes *b, const struct caller_stack *s,
                 uintptr_t registers[CFI_REGISTERS]);

#endif
