/* probe/trace/stacks.c: where an allocation was made, in the process's file. */
#include "probe/trace/stacks.h"

#include "probe/trace/frame_words.h"
#include "probe/trace/python_stack.h"
#include "probe/trace/range.h"
#include "probe/trace/sampling.h"
#include "probe/trace/unwind.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROBES 64u /* slots that are tried for a stack */
#define SHORT 12u  /* frames */

struct trail {
    uint64_t words[WIRE_TRACE_DEPTH];
    size_t depth;
    bool is_truncated;
};

/* ---- how far the stack can be read ---- */

#define REACH ((uintptr_t) 256 << 10) /* bytes of stack that are looked at, at most */
#define PAGE ((uintptr_t) 4096)

extern void *stack_of_main __asm__("__libc_stack_end") __attribute__((weak));

/* What a thread's stack ends at, if it is the stack that `at` is in: the thread's own block, which
 * the C library puts there, or where main() began. */
static uintptr_t nearest_end(uintptr_t at)
{
    uintptr_t own = (uintptr_t) __builtin_thread_pointer();
    uintptr_t first = &stack_of_main ? (uintptr_t) stack_of_main : 0;
    uintptr_t end = at + REACH;
    if (own > at && own < end)
        end = own;
    if (first > at && first < end)
        end = first;
    return end;
}

static bool is_mapped(uintptr_t low, uintptr_t high)
{
    unsigned char pages[REACH / PAGE + 2];
    return mincore((void *) low, high - low, pages) == 0; /* NOLINT: addresses */
}

/* The stack may be one that the program made, with anything or nothing above it. */
static void learn_stack(struct sampling_thread *t, uintptr_t at)
{
    uintptr_t low = at & ~(PAGE - 1), high = nearest_end(at);
    for (; high > low + PAGE; high = low + (high - low) / 2 / PAGE * PAGE)
        if (is_mapped(low, high))
            break;
    t->stack_low = low;
    t->stack_high = high;
}

/* Learns anew where little is known of what lies above. */
static uintptr_t readable_end(uintptr_t at)
{
    struct sampling_thread *t = &sampling_here;
    uintptr_t enough = at + REACH / 4;
    bool is_known = at >= t->stack_low && at < t->stack_high;
    if (!is_known || (t->stack_high < enough && t->stack_high != nearest_end(at)))
        learn_stack(t, at);
    return t->stack_high;
}

/* ---- frames ---- */

static void put(struct trail *t, uint64_t word)
{
    if (t->depth < WIRE_TRACE_DEPTH)
        t->words[t->depth++] = word;
    else
        t->is_truncated = true;
}

static size_t count_loops(const uintptr_t *native, size_t count)
{
    size_t loops = 0;
    for (size_t i = 0; i < count; i++)
        loops += python_stack_is_loop(native[i]);
    return loops;
}

/*
 * A native frame inside the interpreter's loop stands for Python functions: until 3.10 for one, so
 * that their numbers agree; later for one or several. If the numbers do not agree, all Python
 * functions are put where the innermost loop is, and the other loops are left out.
 */
static void interleave(struct wire_trace_layout *f, struct trail *t, const uintptr_t *native,
                       size_t count, const struct python_stack_frame *python, size_t functions)
{
    bool agrees = count_loops(native, count) == functions;
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (!functions || !python_stack_is_loop(native[i])) {
            put(t, frame_word_native(f, native[i]));
            continue;
        }
        size_t until = agrees ? next + 1 : functions;
        for (; next < until; next++)
            put(t, frame_word_python(f, &python[next]));
    }
    for (; next < functions; next++)
        put(t, frame_word_python(f, &python[next]));
}

__attribute__((noinline)) static void follow(struct wire_trace_layout *f, struct trail *t)
{
    uintptr_t native[WIRE_TRACE_DEPTH];
    struct python_stack_frame python[WIRE_TRACE_DEPTH];
    bool is_complete = false;
    uintptr_t here = (uintptr_t) __builtin_frame_address(0);
    size_t count = unwind(readable_end(here), native, WIRE_TRACE_DEPTH, &is_complete);
    size_t functions = python_stack(python, WIRE_TRACE_DEPTH), own = 0;
    while (own < count && range_has(range_own, native[own]))
        own++;
    t->is_truncated = !is_complete || functions == WIRE_TRACE_DEPTH;
    interleave(f, t, native + own, count - own, python, functions);
}

/* ---- the table of stacks ---- */

static uint64_t hash_of(const struct trail *t, struct stack_place place)
{
    uint64_t hash = (uint64_t) place.device << 8 | ((uint64_t) place.kind + 1);
    for (size_t i = 0; i < t->depth; i++) {
        hash = (hash ^ t->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash ? hash : 1;
}

/* The end of the table is for the blocks of torch: few stacks, which come late. */
#define FOR_BLOCKS (1u << 14)

static uint32_t room_for(struct stack_place place)
{
    bool is_block = place.kind == WIRE_TRACE_DEVICE || place.kind == WIRE_TRACE_PINNED;
    return is_block ? WIRE_TRACE_FRAMES : WIRE_TRACE_FRAMES - FOR_BLOCKS;
}

/* Room that was claimed in vain is not given back: there is none for others either. */
static bool place_frames(struct wire_trace_layout *f, struct wire_trace_stack *s,
                         const struct trail *t, uint32_t room)
{
    uint32_t depth = (uint32_t) t->depth;
    uint32_t first = atomic_load(&f->frames_used);
    do
        if (first > room - depth)
            return false;
    while (!atomic_compare_exchange_weak(&f->frames_used, &first, first + depth));
    memcpy(&f->frames[first], t->words, depth * sizeof(t->words[0]));
    s->frames = first;
    s->depth = (uint16_t) depth;
    s->truncated = t->is_truncated;
    return true;
}

/* Without room for its frames the stack is empty, and truncated. */
static void fill(struct wire_trace_layout *f, struct wire_trace_stack *s, const struct trail *t,
                 struct stack_place place)
{
    s->kind = (uint8_t) place.kind;
    s->device = place.device;
    if (!place_frames(f, s, t, room_for(place))) {
        s->truncated = 1;
        atomic_fetch_add(&f->stackless, 1);
    }
    atomic_store_explicit(&s->ready, 1, memory_order_release);
}

static bool is_known(const struct wire_trace_layout *f, uint64_t hash)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t at = (uint32_t) (hash + i) % WIRE_TRACE_STACKS;
        uint64_t there = atomic_load_explicit(&f->stacks[at].hash, memory_order_acquire);
        if (there == 0 || there == hash)
            return there == hash;
    }
    return false;
}

/* The Python functions, which repeat more often than all that native code does below them; without
 * any, the innermost frames. */
static void shorten(struct trail *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->depth; i++)
        if (t->words[i] & WIRE_TRACE_PYTHON_FRAME)
            t->words[kept++] = t->words[i];
    t->is_truncated = true;
    if (kept > 0)
        t->depth = kept;
    else if (t->depth > SHORT)
        t->depth = SHORT;
}

/* The last part of the table is for short stacks: what is new then has its line at least. */
static void fit(const struct wire_trace_layout *f, struct trail *t, struct stack_place place)
{
    uint32_t used = atomic_load_explicit(&f->frames_used, memory_order_relaxed);
    if (used > WIRE_TRACE_FRAMES / 4 * 3 && !is_known(f, hash_of(t, place)))
        shorten(t);
}

static uint32_t find(struct wire_trace_layout *f, const struct trail *t, struct stack_place place)
{
    uint64_t hash = hash_of(t, place);
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t at = (uint32_t) (hash + i) % WIRE_TRACE_STACKS;
        struct wire_trace_stack *s = &f->stacks[at];
        uint64_t there = atomic_load_explicit(&s->hash, memory_order_acquire);
        if (there == 0 && atomic_compare_exchange_strong(&s->hash, &there, hash)) {
            fill(f, s, t, place);
            return at;
        }
        if (there == hash)
            return at;
    }
    atomic_fetch_add(&f->stackless, 1);
    return WIRE_TRACE_STACKS;
}

/* ns between two looks whether files were unloaded: their lock is that of the whole process. */
#define REVIEW UINT64_C(5000000)

static bool is_review_due(uint64_t now)
{
    static _Atomic uint64_t next;
    uint64_t due = atomic_load_explicit(&next, memory_order_relaxed);
    return now >= due && atomic_compare_exchange_strong(&next, &due, now + REVIEW);
}

uint32_t stacks_here(struct wire_trace_layout *f, enum wire_trace_kind kind, uint64_t now)
{
    struct trail t;
    t.depth = 0;
    if (is_review_due(now))
        unwind_review();
    follow(f, &t);
    struct stack_place place = {.kind = kind};
    fit(f, &t, place);
    return find(f, &t, place);
}

uint32_t stacks_none(struct wire_trace_layout *f)
{
    atomic_fetch_add(&f->stackless, 1);
    return WIRE_TRACE_STACKS;
}

uint32_t stacks_of(struct wire_trace_layout *f, struct stack_place place, const uint64_t *words,
                   size_t depth)
{
    struct trail t = {.depth = 0};
    for (size_t i = 0; i < depth; i++)
        put(&t, words[i]);
    return find(f, &t, place);
}

void stacks_count(struct wire_trace_layout *f, uint32_t stack, double weight)
{
    if (stack >= WIRE_TRACE_STACKS)
        return;
    atomic_fetch_add_explicit(&f->stacks[stack].samples, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&f->stacks[stack].bytes, (uint64_t) (weight + .5),
                              memory_order_relaxed);
}
