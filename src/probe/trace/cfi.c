/* probe/trace/cfi.c: .eh_frame_hdr, CIE, FDE, and the instructions that make a row. */
#include "probe/trace/cfi.h"

#include "probe/trace/cursor.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Compilers nest two. */
#define MOST_REMEMBERED 6

/* A function's entry, and what it takes from its CIE. */
struct entry {
    const struct cfi_bytes *bytes;
    uintptr_t header;
    struct cursor common_instructions, instructions;
    uint64_t code_unit;
    int64_t data_unit;
    uintptr_t start, size;
    uint8_t address_encoding;
    bool is_augmented, is_signal;
};

static struct cursor cursor_at(const struct cfi_bytes *b, uintptr_t address)
{
    struct cursor c = {b->end, b->end, true};
    if (address >= (uintptr_t) b->start && address < (uintptr_t) b->end)
        c = (struct cursor){b->start + (address - (uintptr_t) b->start), b->end, false};
    return c;
}

/* ---- the table of functions ---- */

/* Both relative to the header, sorted by the first. */
struct table_row {
    int32_t start, entry;
};

#define TABLE_VERSION 1
#define TABLE_ENCODING 0x3b /* relative to the header, 4 bytes: all that linkers write */

static int find_in_table(struct cursor *c, uint64_t count, int64_t wanted, int32_t *ret_entry)
{
    const uint8_t *rows = c->at;
    struct table_row row = {0};
    if (count > cursor_left(c) / sizeof row)
        return -ENOEXEC;
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        memcpy(&row, rows + middle * sizeof row, sizeof row);
        if (row.start <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return -ENOENT;
    memcpy(&row, rows + (low - 1) * sizeof row, sizeof row);
    *ret_entry = row.entry;
    return 0;
}

static int find_entry(const struct cfi_bytes *b, uintptr_t header, uintptr_t address,
                      uintptr_t *ret_entry)
{
    struct cursor c = cursor_at(b, header);
    uint8_t version = (uint8_t) cursor_number(&c, 1);
    uint8_t frames_encoding = (uint8_t) cursor_number(&c, 1);
    uint8_t count_encoding = (uint8_t) cursor_number(&c, 1);
    uint8_t table_encoding = (uint8_t) cursor_number(&c, 1);
    if (version != TABLE_VERSION || table_encoding != TABLE_ENCODING)
        return -ENOEXEC;
    cursor_address(&c, frames_encoding, header);
    uint64_t count = cursor_address(&c, count_encoding, header);
    int32_t entry;
    int r = c.is_short ? -ENOEXEC : find_in_table(&c, count, (int64_t) (address - header), &entry);
    if (r == 0)
        *ret_entry = header + (uintptr_t) (intptr_t) entry;
    return r;
}

/* ---- entries ---- */

/* The entry's bytes after its length. */
static struct cursor entry_at(const struct cfi_bytes *b, uintptr_t address)
{
    struct cursor c = cursor_at(b, address);
    uint64_t length = cursor_number(&c, 4);
    if (length == UINT32_MAX)
        length = cursor_number(&c, 8);
    if (length > cursor_left(&c))
        c.is_short = true;
    else
        c.end = c.at + length;
    return c;
}

static bool read_augmentation(struct entry *e, struct cursor *c, const char *letters)
{
    struct cursor data = {c->at, c->at, false};
    uint64_t length = cursor_uleb(c);
    data.at = cursor_bytes(c, length);
    if (!data.at)
        return false;
    data.end = data.at + length;
    for (; *letters; letters++) {
        if (*letters == 'R')
            e->address_encoding = (uint8_t) cursor_number(&data, 1);
        else if (*letters == 'P')
            cursor_address(&data, (uint8_t) cursor_number(&data, 1), e->header);
        else if (*letters == 'L')
            cursor_number(&data, 1);
        else if (*letters == 'S')
            e->is_signal = true;
        else
            return false;
    }
    return !data.is_short;
}

static bool read_common(struct entry *e, uintptr_t address)
{
    struct cursor c = entry_at(e->bytes, address);
    uint64_t id = cursor_number(&c, 4), version = cursor_number(&c, 1);
    const char *letters = cursor_text(&c);
    if (id != 0 || (version != 1 && version != 3) || !letters)
        return false;
    e->code_unit = cursor_uleb(&c);
    e->data_unit = cursor_sleb(&c);
    uint64_t return_register = version == 1 ? cursor_number(&c, 1) : cursor_uleb(&c);
    e->is_augmented = letters[0] == 'z';
    if (e->is_augmented ? !read_augmentation(e, &c, letters + 1) : letters[0] != '\0')
        return false;
    e->common_instructions = c;
    return !c.is_short && return_register == CFI_RETURN;
}

static bool read_entry(struct entry *e, uintptr_t address)
{
    struct cursor c = entry_at(e->bytes, address);
    uintptr_t at = (uintptr_t) c.at;
    uint32_t way_back = (uint32_t) cursor_number(&c, 4);
    if (c.is_short || way_back == 0 || !read_common(e, at - way_back))
        return false;
    e->start = cursor_address(&c, e->address_encoding, e->header);
    e->size = cursor_address(&c, e->address_encoding & 0x0f, 0);
    if (e->is_augmented)
        cursor_bytes(&c, cursor_uleb(&c));
    e->instructions = c;
    return !c.is_short;
}

/* ---- instructions ---- */

enum {
    ADVANCE = 0x40, /* in the upper two bits; the operand is in the others */
    OFFSET = 0x80,
    RESTORE = 0xc0,
    NOTHING = 0x00,
    SET_ADDRESS,
    ADVANCE_1,
    ADVANCE_2,
    ADVANCE_4,
    OFFSET_EXTENDED,
    RESTORE_EXTENDED,
    UNDEFINED,
    SAME_VALUE,
    IN_REGISTER,
    REMEMBER,
    RESTORE_REMEMBERED,
    CFA,
    CFA_REGISTER,
    CFA_OFFSET,
    CFA_EXPRESSION,
    SAVED_EXPRESSION,
    OFFSET_SIGNED,
    CFA_SIGNED,
    CFA_OFFSET_SIGNED,
    VALUE_OFFSET,
    VALUE_OFFSET_SIGNED,
    VALUE_EXPRESSION,
    GNU_ARGUMENTS_SIZE = 0x2e,
    GNU_OFFSET_NEGATIVE = 0x2f,
};

struct execution {
    const struct entry *entry;
    struct cursor c;
    uintptr_t location;
    struct cfi_row row, common; /* `common`: after the CIE's instructions */
    struct cfi_place ignored;   /* of registers that hold no addresses (vectors) */
    bool is_bad;
    unsigned depth;
    struct cfi_row remembered[MOST_REMEMBERED];
};

static struct cfi_place *place_of(struct execution *x, uint64_t number)
{
    return number < CFI_REGISTERS ? &x->row.registers[number] : &x->ignored;
}

static void set(struct execution *x, uint64_t number, enum cfi_way way, int64_t offset)
{
    if (offset != (int32_t) offset)
        x->is_bad = true;
    *place_of(x, number) = (struct cfi_place){(int32_t) offset, 0, (uint8_t) way, 0};
}

static void set_scaled(struct execution *x, uint64_t number, enum cfi_way way, int64_t units)
{
    int64_t offset;
    if (__builtin_mul_overflow(units, x->entry->data_unit, &offset))
        x->is_bad = true;
    else
        set(x, number, way, offset);
}

static void set_register(struct execution *x, uint64_t number)
{
    uint64_t base = cursor_uleb(&x->c);
    if (base >= CFI_REGISTERS)
        x->is_bad = true;
    *place_of(x, number) = (struct cfi_place){0, 0, CFI_REGISTER, (uint8_t) base};
}

static struct cfi_place take_expression(struct execution *x, enum cfi_way way)
{
    uint64_t length = cursor_uleb(&x->c);
    const uint8_t *expression = cursor_bytes(&x->c, length);
    ptrdiff_t offset = expression ? expression - x->entry->bytes->start : -1;
    if (offset < 0 || offset > INT32_MAX || length > UINT16_MAX)
        x->is_bad = true;
    return (struct cfi_place){(int32_t) offset, (uint16_t) length, (uint8_t) way, 0};
}

static void set_cfa_offset(struct execution *x, int64_t offset)
{
    if (offset != (int32_t) offset || x->row.cfa.way != CFI_OFFSET)
        x->is_bad = true;
    x->row.cfa.offset = (int32_t) offset;
}

static void set_cfa_register(struct execution *x, uint64_t number)
{
    if (number >= CFI_RETURN || x->row.cfa.way != CFI_OFFSET)
        x->is_bad = true;
    x->row.cfa.base = (uint8_t) number;
}

static void restore(struct execution *x, uint64_t number)
{
    if (number < CFI_REGISTERS)
        x->row.registers[number] = x->common.registers[number];
}

static void remember(struct execution *x)
{
    if (x->depth == MOST_REMEMBERED)
        x->is_bad = true;
    else
        x->remembered[x->depth++] = x->row;
}

static void restore_remembered(struct execution *x)
{
    if (x->depth == 0)
        x->is_bad = true;
    else
        x->row = x->remembered[--x->depth];
}

static void advance(struct execution *x, uint64_t units)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(units, x->entry->code_unit, &bytes) ||
        __builtin_add_overflow(x->location, bytes, &x->location))
        x->is_bad = true;
}

static void execute_cfa(struct execution *x, uint8_t instruction)
{
    struct cursor *c = &x->c;
    if (instruction == CFA || instruction == CFA_SIGNED) {
        x->row.cfa.way = CFI_OFFSET;
        set_cfa_register(x, cursor_uleb(c));
    }
    if (instruction == CFA_REGISTER)
        set_cfa_register(x, cursor_uleb(c));
    else if (instruction == CFA_EXPRESSION)
        x->row.cfa = take_expression(x, CFI_EXPRESSION);
    else if (instruction == CFA_SIGNED || instruction == CFA_OFFSET_SIGNED)
        set_cfa_offset(x, (int64_t) ((uint64_t) cursor_sleb(c) * (uint64_t) x->entry->data_unit));
    else
        set_cfa_offset(x, (int64_t) cursor_uleb(c));
}

/* Those that begin with a register. */
static void execute_register(struct execution *x, uint8_t instruction)
{
    struct cursor *c = &x->c;
    uint64_t number = cursor_uleb(c);
    if (instruction == OFFSET_EXTENDED)
        set_scaled(x, number, CFI_SAVED, (int64_t) cursor_uleb(c));
    else if (instruction == OFFSET_SIGNED)
        set_scaled(x, number, CFI_SAVED, cursor_sleb(c));
    else if (instruction == GNU_OFFSET_NEGATIVE)
        set_scaled(x, number, CFI_SAVED, -(int64_t) (cursor_uleb(c) & INT64_MAX));
    else if (instruction == VALUE_OFFSET)
        set_scaled(x, number, CFI_OFFSET, (int64_t) cursor_uleb(c));
    else if (instruction == VALUE_OFFSET_SIGNED)
        set_scaled(x, number, CFI_OFFSET, cursor_sleb(c));
    else if (instruction == SAVED_EXPRESSION)
        *place_of(x, number) = take_expression(x, CFI_SAVED_EXPRESSION);
    else if (instruction == VALUE_EXPRESSION)
        *place_of(x, number) = take_expression(x, CFI_EXPRESSION);
    else if (instruction == IN_REGISTER)
        set_register(x, number);
    else if (instruction == RESTORE_EXTENDED)
        restore(x, number);
    else
        set(x, number, instruction == UNDEFINED ? CFI_UNDEFINED : CFI_SAME, 0);
}

static void execute_extended(struct execution *x, uint8_t instruction)
{
    struct cursor *c = &x->c;
    if (instruction == SET_ADDRESS)
        x->location = cursor_address(c, x->entry->address_encoding, x->entry->header);
    else if (instruction >= ADVANCE_1 && instruction <= ADVANCE_4)
        advance(x, cursor_number(c, (size_t) 1 << (instruction - ADVANCE_1)));
    else if (instruction == REMEMBER)
        remember(x);
    else if (instruction == RESTORE_REMEMBERED)
        restore_remembered(x);
    else if (instruction == GNU_ARGUMENTS_SIZE)
        cursor_uleb(c);
    else if ((instruction >= CFA && instruction <= CFA_EXPRESSION) || instruction == CFA_SIGNED ||
             instruction == CFA_OFFSET_SIGNED)
        execute_cfa(x, instruction);
    else if ((instruction > ADVANCE_4 && instruction <= VALUE_EXPRESSION) ||
             instruction == GNU_OFFSET_NEGATIVE)
        execute_register(x, instruction);
    else if (instruction != NOTHING)
        x->is_bad = true;
}

/* Up to the last instruction, or to the first for an address past `address`. */
static bool execute(struct execution *x, struct cursor instructions, uintptr_t address)
{
    x->c = instructions;
    while (cursor_left(&x->c) > 0 && x->location <= address && !x->is_bad) {
        uint8_t instruction = (uint8_t) cursor_number(&x->c, 1), operand = instruction & 0x3f;
        switch (instruction & 0xc0) {
        case ADVANCE:
            advance(x, operand);
            break;
        case OFFSET:
            set_scaled(x, operand, CFI_SAVED, (int64_t) cursor_uleb(&x->c));
            break;
        case RESTORE:
            restore(x, operand);
            break;
        default:
            execute_extended(x, instruction);
        }
    }
    return !x->is_bad && !x->c.is_short;
}

static int find_row(const struct entry *e, uintptr_t address, struct cfi_row *ret)
{
    struct execution x;
    memset(&x, 0, offsetof(struct execution, remembered));
    x.entry = e;
    x.location = e->start;
    if (!execute(&x, e->common_instructions, address))
        return -ENOEXEC;
    x.common = x.row;
    x.location = e->start;
    if (!execute(&x, e->instructions, address) || x.row.cfa.way == CFI_SAME)
        return -ENOEXEC;
    *ret = x.row;
    ret->is_signal = e->is_signal;
    return 0;
}

int cfi_find(const struct cfi_bytes *b, const uint8_t *header, uintptr_t address,
             struct cfi_row *ret_row)
{
    struct entry e = {.bytes = b, .header = (uintptr_t) header};
    uintptr_t at = 0;
    int r = find_entry(b, e.header, address, &at);
    if (r < 0)
        return r;
    if (!read_entry(&e, at))
        return -ENOEXEC;
    return address - e.start < e.size ? find_row(&e, address, ret_row) : -ENOENT;
}
