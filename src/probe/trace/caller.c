/* probe/trace/caller.c: applies a row; evaluates DWARF expressions. */
#include "probe/trace/caller.h"

#include "probe/trace/cursor.h"

#include <stddef.h>
#include <string.h>

#define MOST_VALUES 16
#define MOST_OPERATIONS 200

/* ---- expressions ---- */

enum {
    DEREFERENCE = 0x06,
    CONST_1U = 0x08, /* then signed, then 2, 4 and 8 bytes */
    CONST_8S = 0x0f,
    CONST_ULEB,
    CONST_SLEB,
    DUPLICATE,
    DROP,
    OVER,
    PICK,
    SWAP,
    AND = 0x1a,
    MINUS = 0x1c,
    MULTIPLY = 0x1e,
    NEGATE,
    NOT,
    OR,
    PLUS,
    PLUS_ULEB,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    SHIFT_RIGHT_SIGNED,
    XOR,
    BRANCH,
    EQUAL,
    GREATER_OR_EQUAL,
    GREATER,
    LESS_OR_EQUAL,
    LESS,
    NOT_EQUAL,
    SKIP,
    LITERAL_0 = 0x30,
    LITERAL_31 = 0x4f,
    REGISTER_0 = 0x70,
    REGISTER_31 = 0x8f,
    NOTHING = 0x96,
};

struct evaluation {
    struct cursor c;
    const uint8_t *start;
    const struct caller_stack *stack;
    const uintptr_t *registers;
    uintptr_t values[MOST_VALUES];
    size_t count;
    bool is_bad;
};

static void push(struct evaluation *e, uint64_t value)
{
    if (e->count == MOST_VALUES)
        e->is_bad = true;
    else
        e->values[e->count++] = (uintptr_t) value;
}

static uintptr_t pop(struct evaluation *e)
{
    if (e->count > 0)
        return e->values[--e->count];
    e->is_bad = true;
    return 0;
}

static void push_register(struct evaluation *e, unsigned number)
{
    uint64_t offset = (uint64_t) cursor_sleb(&e->c);
    if (number >= CFI_REGISTERS)
        e->is_bad = true;
    else
        push(e, e->registers[number] + offset);
}

static void push_constant(struct evaluation *e, unsigned operation)
{
    unsigned kind = operation - CONST_1U;
    if (kind % 2)
        push(e, (uint64_t) cursor_signed(&e->c, (size_t) 1 << kind / 2));
    else
        push(e, cursor_number(&e->c, (size_t) 1 << kind / 2));
}

static void push_copy(struct evaluation *e, size_t depth)
{
    if (depth >= e->count)
        e->is_bad = true;
    else
        push(e, e->values[e->count - 1 - depth]);
}

static void dereference(struct evaluation *e)
{
    uintptr_t value = 0;
    if (!caller_load(e->stack, pop(e), &value))
        e->is_bad = true;
    push(e, value);
}

static void jump(struct evaluation *e, int64_t bytes)
{
    if (bytes < e->start - e->c.at || bytes > e->c.end - e->c.at)
        e->is_bad = true;
    else
        e->c.at += bytes;
}

static uint64_t shifted(unsigned operation, uint64_t left, uint64_t right)
{
    if (operation == SHIFT_RIGHT_SIGNED)
        return (uint64_t) ((int64_t) left >> (right < 63 ? right : 63));
    if (right > 63)
        return 0;
    return operation == SHIFT_LEFT ? left << right : left >> right;
}

static bool compares(unsigned operation, int64_t left, int64_t right)
{
    switch (operation) {
    case EQUAL:
        return left == right;
    case GREATER_OR_EQUAL:
        return left >= right;
    case GREATER:
        return left > right;
    case LESS_OR_EQUAL:
        return left <= right;
    case LESS:
        return left < right;
    default:
        return left != right;
    }
}

static void combine(struct evaluation *e, unsigned operation)
{
    uint64_t right = pop(e), left = pop(e);
    if (operation == AND)
        push(e, left & right);
    else if (operation == OR)
        push(e, left | right);
    else if (operation == XOR)
        push(e, left ^ right);
    else if (operation == PLUS)
        push(e, left + right);
    else if (operation == MINUS)
        push(e, left - right);
    else if (operation == MULTIPLY)
        push(e, left * right);
    else if (operation >= SHIFT_LEFT && operation <= SHIFT_RIGHT_SIGNED)
        push(e, shifted(operation, left, right));
    else if (operation >= EQUAL && operation <= NOT_EQUAL)
        push(e, compares(operation, (int64_t) left, (int64_t) right));
    else
        e->is_bad = true;
}

static void swap(struct evaluation *e)
{
    uintptr_t top = pop(e), next = pop(e);
    push(e, top);
    push(e, next);
}

/* Operations with one operand or none. */
static bool operate_simply(struct evaluation *e, unsigned operation)
{
    if (operation == DEREFERENCE)
        dereference(e);
    else if (operation == CONST_ULEB)
        push(e, cursor_uleb(&e->c));
    else if (operation == CONST_SLEB)
        push(e, (uint64_t) cursor_sleb(&e->c));
    else if (operation == DUPLICATE || operation == OVER)
        push_copy(e, operation == OVER);
    else if (operation == PICK)
        push_copy(e, cursor_number(&e->c, 1));
    else if (operation == DROP)
        pop(e);
    else if (operation == SWAP)
        swap(e);
    else if (operation == NEGATE)
        push(e, -(uint64_t) pop(e));
    else if (operation == NOT)
        push(e, ~(uint64_t) pop(e));
    else if (operation == PLUS_ULEB)
        push(e, pop(e) + cursor_uleb(&e->c));
    else
        return operation == NOTHING;
    return true;
}

static void operate(struct evaluation *e, unsigned operation)
{
    if (operation >= REGISTER_0 && operation <= REGISTER_31)
        push_register(e, operation - REGISTER_0);
    else if (operation >= LITERAL_0 && operation <= LITERAL_31)
        push(e, operation - LITERAL_0);
    else if (operation >= CONST_1U && operation <= CONST_8S)
        push_constant(e, operation);
    else if (operation == SKIP || operation == BRANCH) {
        int64_t bytes = cursor_signed(&e->c, 2);
        if (operation == SKIP || pop(e) != 0)
            jump(e, bytes);
    } else if (!operate_simply(e, operation)) {
        combine(e, operation);
    }
}

/* `first`: what lies on the expression's stack at its beginning; NULL: nothing. */
static bool evaluate(const struct cfi_place *p, const struct cfi_bytes *b,
                     const struct caller_stack *s, const uintptr_t *registers,
                     const uintptr_t *first, uintptr_t *ret)
{
    const uint8_t *start = b->start + p->offset;
    struct evaluation e = {
        .c = {start, start + p->length, false}, .start = start, .stack = s, .registers = registers};
    if (first)
        push(&e, *first);
    for (unsigned i = 0; cursor_left(&e.c) > 0; i++) {
        if (i == MOST_OPERATIONS)
            return false;
        operate(&e, (unsigned) cursor_number(&e.c, 1));
        if (e.is_bad || e.c.is_short)
            return false;
    }
    *ret = pop(&e);
    return !e.is_bad;
}

/* ---- rows ---- */

struct frame {
    const struct cfi_bytes *bytes;
    const struct caller_stack *stack;
    const uintptr_t *registers;
    uintptr_t cfa;
};

static bool find_value(const struct frame *f, unsigned number, const struct cfi_place *p,
                       uintptr_t *ret)
{
    uintptr_t address;
    switch ((enum cfi_way) p->way) {
    case CFI_SAME:
        *ret = number == CFI_RSP ? f->cfa : f->registers[number];
        return true;
    case CFI_UNDEFINED:
        *ret = 0;
        return true;
    case CFI_SAVED:
        return caller_load(f->stack, f->cfa + (uintptr_t) (intptr_t) p->offset, ret);
    case CFI_OFFSET:
        *ret = f->cfa + (uintptr_t) (intptr_t) p->offset;
        return true;
    case CFI_REGISTER:
        *ret = f->registers[p->base];
        return true;
    case CFI_SAVED_EXPRESSION:
        return evaluate(p, f->bytes, f->stack, f->registers, &f->cfa, &address) &&
               caller_load(f->stack, address, ret);
    case CFI_EXPRESSION:
        return evaluate(p, f->bytes, f->stack, f->registers, &f->cfa, ret);
    }
    return false;
}

static bool find_cfa(struct frame *f, const struct cfi_place *p)
{
    if (p->way == CFI_EXPRESSION)
        return evaluate(p, f->bytes, f->stack, f->registers, NULL, &f->cfa);
    f->cfa = f->registers[p->base] + (uintptr_t) (intptr_t) p->offset;
    return p->way == CFI_OFFSET;
}

/* Addresses depend on these; where others were saved is of no interest, unless all were. */
static bool is_needed(unsigned number, bool is_signal)
{
    return is_signal || number == CFI_RBX || number == CFI_RBP || number == CFI_RSP ||
           number >= CFI_R12;
}

bool caller_find(const struct cfi_row *row, const struct cfi_bytes *b, const struct caller_stack *s,
                 uintptr_t registers[CFI_REGISTERS])
{
    struct frame f = {.bytes = b, .stack = s, .registers = registers};
    uintptr_t caller[CFI_REGISTERS] = {0};
    if (!find_cfa(&f, &row->cfa))
        return false;
    for (unsigned i = 0; i < CFI_REGISTERS; i++)
        if (is_needed(i, row->is_signal) && !find_value(&f, i, &row->registers[i], &caller[i]))
            return false;
    memcpy(registers, caller, sizeof caller);
    return true;
}
