/* probe/trace/unwind.c: walks from frame to frame. */
#include "probe/trace/unwind.h"

#include "probe/trace/caller.h"
#include "probe/trace/modules.h"
#include "probe/trace/rules.h"

#include <stddef.h>

void unwind_review(void)
{
    if (modules_review())
        rules_forget();
}

void unwind_before_fork(void)
{
    modules_before_fork();
}

void unwind_after_fork(bool is_child)
{
    modules_after_fork(is_child);
}

bool unwind_module(uintptr_t address, struct unwind_module *ret)
{
    struct module m;
    if (!modules_find(address, &m))
        return false;
    size_t length = 0;
    const uint8_t *build_id = module_build_id(&m, &length);
    *ret = (struct unwind_module){m.start, m.end, m.bias, m.path, build_id, length};
    return true;
}

#if !defined(__x86_64__)

bool unwind_is_possible(void)
{
    return false;
}

size_t unwind(uintptr_t stack_end, uintptr_t *ret, size_t most, bool *ret_complete)
{
    (void) stack_end, (void) ret, (void) most;
    *ret_complete = false;
    return 0;
}

#else

/* Deeper stacks are taken for one that is not this thread's, as that of a signal handler or a
 * coroutine: what lies between may be unmapped. The main thread's stack is at least this far from
 * all other memory. */
#define MOST_STACK ((uintptr_t) 128 << 20)

bool unwind_is_possible(void)
{
    return true;
}

enum step {
    STEP_CALLER,
    STEP_OUTERMOST,
    STEP_LOST,
    STEP_WHOLE, /* all registers are needed */
};

/* ---- one frame, by its rule ---- */

struct frame {
    struct caller_stack stack; /* `low`: the stack pointer */
    uintptr_t rbp, address;
};

__attribute__((noinline)) static rule learn_rule(uintptr_t address)
{
    unsigned generation = rules_generation();
    struct module m;
    struct cfi_row row;
    if (!modules_find(address, &m))
        return RULE_UNKNOWN;
    rule r = RULE_UNKNOWN;
    if (m.frames_header && cfi_find(&m.bytes, m.frames_header, address, &row) == 0)
        r = rule_of(&row, &m.bytes);
    rules_learn(address, r, generation);
    return r;
}

static inline rule rule_at(uintptr_t address)
{
    rule r = rules_find(address);
    return __builtin_expect(r != RULE_NOT_LEARNT, 1) ? r : learn_rule(address);
}

static inline enum step to_caller(struct frame *f, uintptr_t cfa, uintptr_t rbp)
{
    if (cfa <= f->stack.low || !caller_load(&f->stack, cfa - sizeof cfa, &f->address))
        return STEP_LOST;
    f->stack.low = cfa;
    f->rbp = rbp;
    return f->address ? STEP_CALLER : STEP_OUTERMOST;
}

static inline enum step step_from(struct frame *f, uintptr_t base, rule r)
{
    uintptr_t cfa = base + rule_distance(r), rbp = f->rbp;
    if (rule_saved_rbp(r) && !caller_load(&f->stack, cfa - rule_saved_rbp(r), &rbp))
        return STEP_LOST;
    return to_caller(f, cfa, rbp);
}

static enum step step_realigned(struct frame *f, rule r)
{
    uintptr_t cfa, rbp;
    if (!caller_load(&f->stack, f->rbp - rule_distance(r), &cfa) ||
        !caller_load(&f->stack, f->rbp, &rbp))
        return STEP_LOST;
    return to_caller(f, cfa, rbp);
}

/*
 * Machine code that was made at run time has no call frame information, but often a frame pointer.
 * It is believed if it leads to a function that is known. A frame pointer of 0 marks the outermost
 * frame.
 */
static enum step step_unknown(struct frame *f)
{
    struct frame caller = *f;
    uintptr_t rbp;
    if (f->rbp == 0)
        return STEP_OUTERMOST;
    if (!caller_load(&f->stack, f->rbp, &rbp) ||
        to_caller(&caller, f->rbp + 2 * sizeof rbp, rbp) != STEP_CALLER ||
        rule_kind(rule_at(caller.address - 1)) == RULE_UNKNOWN)
        return STEP_LOST;
    *f = caller;
    return STEP_CALLER;
}

static inline enum step step(struct frame *f)
{
    rule r = rule_at(f->address - 1);
    switch (rule_kind(r)) {
    case RULE_FROM_RSP:
        return step_from(f, f->stack.low, r);
    case RULE_FROM_RBP:
        return step_from(f, f->rbp, r);
    case RULE_REALIGNED:
        return step_realigned(f, r);
    case RULE_OUTERMOST:
        return STEP_OUTERMOST;
    case RULE_WHOLE:
        return STEP_WHOLE;
    default:
        return step_unknown(f);
    }
}

/* ---- one frame, by its whole row ---- */

struct whole_frame {
    uintptr_t stack_end;
    uintptr_t registers[CFI_REGISTERS];
    bool is_interrupted; /* its address is that of the next instruction, not behind a call */
};

static enum step step_unknown_whole(struct whole_frame *w)
{
    struct frame f = {
        {w->registers[CFI_RSP], w->stack_end}, w->registers[CFI_RBP], w->registers[CFI_RETURN]};
    enum step s = step_unknown(&f);
    w->registers[CFI_RSP] = f.stack.low;
    w->registers[CFI_RBP] = f.rbp;
    w->registers[CFI_RETURN] = f.address;
    w->is_interrupted = false;
    return s;
}

__attribute__((noinline)) static enum step step_whole(struct whole_frame *w)
{
    struct caller_stack stack = {w->registers[CFI_RSP], w->stack_end};
    uintptr_t address = w->registers[CFI_RETURN] - !w->is_interrupted;
    struct module m;
    struct cfi_row row;
    if (!modules_find(address, &m) || !m.frames_header ||
        cfi_find(&m.bytes, m.frames_header, address, &row) < 0)
        return step_unknown_whole(w);
    if (row.registers[CFI_RETURN].way == CFI_UNDEFINED)
        return STEP_OUTERMOST;
    if (!caller_find(&row, &m.bytes, &stack, w->registers) || w->registers[CFI_RSP] <= stack.low ||
        w->registers[CFI_RSP] > stack.high)
        return STEP_LOST;
    w->is_interrupted = row.is_signal;
    return w->registers[CFI_RETURN] ? STEP_CALLER : STEP_OUTERMOST;
}

/* ---- all frames ---- */

/* Steps that are not in the answer: out of unwind(), and out of what called it. */
#define SKIPPED 1

static size_t walk_whole(struct whole_frame w, uintptr_t *ret, size_t most, enum step *ret_last)
{
    size_t steps = 0;
    while ((*ret_last = step_whole(&w)) == STEP_CALLER && steps < most + SKIPPED) {
        if (steps >= SKIPPED)
            ret[steps - SKIPPED] = w.registers[CFI_RETURN];
        steps++;
    }
    return steps > SKIPPED ? steps - SKIPPED : 0;
}

static size_t walk(struct frame f, uintptr_t *ret, size_t most, enum step *ret_last)
{
    size_t steps = 0;
    while ((*ret_last = step(&f)) == STEP_CALLER && steps < most + SKIPPED) {
        if (steps >= SKIPPED)
            ret[steps - SKIPPED] = f.address;
        steps++;
    }
    return steps > SKIPPED ? steps - SKIPPED : 0;
}

/* The registers at one instruction of the function that this is put into. */
__attribute__((always_inline)) static inline void capture(uintptr_t registers[CFI_REGISTERS])
{
    __asm__ volatile("movq %%rbx, 3*8(%0)\n\t"
                     "movq %%rbp, 6*8(%0)\n\t"
                     "movq %%rsp, 7*8(%0)\n\t"
                     "movq %%r12, 12*8(%0)\n\t"
                     "movq %%r13, 13*8(%0)\n\t"
                     "movq %%r14, 14*8(%0)\n\t"
                     "movq %%r15, 15*8(%0)\n\t"
                     "leaq 0(%%rip), %%rax\n\t"
                     "movq %%rax, 16*8(%0)"
                     :
                     : "r"(registers)
                     : "rax", "memory");
}

size_t unwind(uintptr_t stack_end, uintptr_t *ret, size_t most, bool *ret_complete)
{
    struct whole_frame w = {.stack_end = stack_end};
    capture(w.registers);
    struct frame f = {
        {w.registers[CFI_RSP], stack_end}, w.registers[CFI_RBP], w.registers[CFI_RETURN]};
    enum step last = STEP_LOST;
    size_t count = 0;
    if (stack_end - f.stack.low <= MOST_STACK)
        count = walk(f, ret, most, &last);
    if (last == STEP_WHOLE)
        count = walk_whole(w, ret, most, &last);
    *ret_complete = last == STEP_OUTERMOST;
    return count;
}

#endif
