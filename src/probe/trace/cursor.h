/* probe/trace/cursor.h: numbers as DWARF writes them. Pure. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_CURSOR_H
#define TIDEMARK_PROBE_TRACE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are read from front to back. Past their end everything reads as 0 and `is_short` stays
 * set, so that a reader may check once, at its own end. */
struct cursor {
    const uint8_t *at, *end;
    bool is_short;
};

static inline size_t cursor_left(const struct cursor *c)
{
    return (size_t) (c->end - c->at);
}

/* Little endian, of 1, 2, 4 or 8 bytes. */
uint64_t cursor_number(struct cursor *c, size_t size);
int64_t cursor_signed(struct cursor *c, size_t size);
/* LEB128. Of a number of more than 64 bits the lower 64 count. */
uint64_t cursor_uleb(struct cursor *c);
int64_t cursor_sleb(struct cursor *c);
/* NULL: there are fewer bytes. */
const uint8_t *cursor_bytes(struct cursor *c, uint64_t length);
/* NULL: it does not end. */
const char *cursor_text(struct cursor *c);

/* An address. `encoding`: DW_EH_PE_...; `data`: what addresses relative to data begin at. Pointers
 * that lead to the address (DW_EH_PE_indirect) are read, not followed. */
uintptr_t cursor_address(struct cursor *c, uint8_t encoding, uintptr_t data);

#endif
