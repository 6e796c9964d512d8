/* probe/trace/cursor.c: little endian numbers, LEB128, encoded addresses. */
#include "probe/trace/cursor.h"

#include <string.h>

const uint8_t *cursor_bytes(struct cursor *c, uint64_t length)
{
    if (length > cursor_left(c)) {
        c->is_short = true;
        c->at = c->end;
        return NULL;
    }
    const uint8_t *bytes = c->at;
    c->at += length;
    return bytes;
}

uint64_t cursor_number(struct cursor *c, size_t size)
{
    const uint8_t *bytes = cursor_bytes(c, size);
    uint64_t number = 0;
    if (bytes)
        memcpy(&number, bytes, size);
    return number;
}

int64_t cursor_signed(struct cursor *c, size_t size)
{
    unsigned unused_bits = (unsigned) (64 - 8 * size);
    return (int64_t) (cursor_number(c, size) << unused_bits) >> unused_bits;
}

/* *ret_bits: how many bits were written. */
static uint64_t take_leb(struct cursor *c, unsigned *ret_bits)
{
    uint64_t number = 0, byte;
    *ret_bits = 0;
    do {
        byte = cursor_number(c, 1);
        if (*ret_bits < 64)
            number |= (byte & 127) << *ret_bits;
        *ret_bits += *ret_bits < 64 ? 7 : 0;
    } while (byte & 128);
    return number;
}

uint64_t cursor_uleb(struct cursor *c)
{
    unsigned bits;
    return take_leb(c, &bits);
}

int64_t cursor_sleb(struct cursor *c)
{
    unsigned bits;
    uint64_t number = take_leb(c, &bits);
    if (bits < 64 && number >> (bits - 1) & 1)
        number |= ~UINT64_C(0) << bits;
    return (int64_t) number;
}

const char *cursor_text(struct cursor *c)
{
    const uint8_t *end = memchr(c->at, 0, cursor_left(c));
    return (const char *) cursor_bytes(c, end ? (uint64_t) (end + 1 - c->at) : UINT64_MAX);
}

/* ---- addresses ---- */

enum {
    FORM = 0x0f,
    FORM_ULEB = 1,
    FORM_SLEB = 9,
    FORM_SIGNED = 8,
    RELATIVE = 0x70,
    RELATIVE_TO_ITSELF = 0x10,
    RELATIVE_TO_DATA = 0x30,
};

static uint64_t take_form(struct cursor *c, uint8_t form)
{
    static const uint8_t sizes[] = {8, 0, 2, 4, 8};
    if (form == FORM_ULEB)
        return cursor_uleb(c);
    if (form == FORM_SLEB)
        return (uint64_t) cursor_sleb(c);
    uint8_t size = form % FORM_SIGNED < sizeof sizes ? sizes[form % FORM_SIGNED] : 0;
    if (!size)
        c->is_short = true;
    else if (form >= FORM_SIGNED)
        return (uint64_t) cursor_signed(c, size);
    return size ? cursor_number(c, size) : 0;
}

uintptr_t cursor_address(struct cursor *c, uint8_t encoding, uintptr_t data)
{
    uintptr_t itself = (uintptr_t) c->at;
    uint64_t number = take_form(c, encoding & FORM);
    switch (encoding & RELATIVE) {
    case 0:
        return (uintptr_t) number;
    case RELATIVE_TO_ITSELF:
        return itself + (uintptr_t) number;
    case RELATIVE_TO_DATA:
        return data + (uintptr_t) number;
    default:
        c->is_short = true;
        return 0;
    }
}
