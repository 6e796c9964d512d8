/* probe/trace/sampling.c: picks allocations and follows them until they are freed. */
#include "probe/trace/sampling.h"

#include "probe/trace/interpreter.h"
#include "probe/trace/mappings.h"
#include "probe/trace/random.h"
#include "probe/trace/room.h"
#include "probe/trace/stacks.h"
#include "probe/trace/table.h"
#include "probe/trace/tracer.h"

#include <errno.h>
#include <stdatomic.h>

/* Bytes that a thread requests between two looks at the orders. A look takes some nanoseconds, ...
 */
#define LOOK ((int64_t) 256 << 10)
/* ... but for the first, which opens their file: a helper of the job ends before it. */
#define FIRST_LOOK ((int64_t) 1 << 20)

SAMPLING_THREAD struct sampling_thread sampling_here;

/* ---- the countdown ---- */

/* The address of the thread's own variable differs between threads, the time between forks. */
static void seed(struct sampling_thread *t)
{
    t->random = wire_now() ^ (uint64_t) (uintptr_t) t << 20;
    t->random |= 1;
}

static void draw(struct sampling_thread *t)
{
    t->interval = tracer_interval();
    if (t->interval == 0) {
        t->left = LOOK;
        return;
    }
    if (t->random == 0)
        seed(t);
    double bytes = random_exponential(&t->random, t->interval);
    t->left = bytes < 0x1p60 ? (int64_t) bytes : INT64_C(1) << 60;
}

void tracer_begin_thread(void)
{
    bool is_busy = sampling_here.is_busy;
    sampling_here = (struct sampling_thread){.left = FIRST_LOOK, .is_busy = is_busy};
}

/* ---- what samples cost ---- */

/* Samples may take this part of a thread's time, over WINDOW ns or longer. */
#define SHARE 50u
#define WINDOW UINT64_C(50000000)
/* What a sample is counted as at most: the thread may have waited for the processor meanwhile, and
 * the first samples find their tables empty. */
#define MOST UINT64_C(50000)

/* So far below what is allowed, twice as many samples are no risk. */
#define QUIET 8u
/* Beyond that, buckets of the table overflow now and then. */
#define FULL (WIRE_TRACE_LIVE / 2)

static uint64_t count_live(const struct wire_trace_layout *f)
{
    return atomic_load_explicit(&f->live, memory_order_relaxed);
}

static void begin_window(struct sampling_thread *t, uint64_t now)
{
    t->paced_since = now;
    t->paced_spent = 0;
    t->paced_interval = t->interval;
}

static void pace(struct wire_trace_layout *f, struct sampling_thread *t, uint64_t before)
{
    uint64_t now = wire_now(), took = now - before;
    atomic_fetch_add_explicit(&f->spent, took, memory_order_relaxed);
    atomic_store_explicit(&f->moment, now, memory_order_relaxed);
    if (t->paced_since == 0 || t->paced_interval != t->interval)
        begin_window(t, before);
    t->paced_spent += took < MOST ? took : MOST;
    uint64_t elapsed = now - t->paced_since;
    bool is_over = elapsed >= WINDOW;
    if (t->paced_spent * SHARE > (is_over ? elapsed : WINDOW))
        tracer_lengthen(f, t->interval, &t->random);
    else if (!is_over)
        return;
    else if (t->paced_spent * SHARE * QUIET < elapsed && count_live(f) * QUIET < FULL)
        tracer_shorten(f, t->interval);
    begin_window(t, now);
}

/* ---- samples ---- */

static uint32_t birth(const struct wire_trace_layout *f, uint64_t now)
{
    return (uint32_t) ((now - f->began) / WIRE_TRACE_TICK);
}

static struct mapping mapping_of(uint64_t address, uint64_t size)
{
    return (struct mapping){(uintptr_t) address, (uintptr_t) (address + size)};
}

/* False: there is no room, and it is counted as dropped. */
static bool keep(struct wire_trace_layout *f, uint64_t address, struct wire_trace_sample s,
                 bool is_mapping)
{
    if (!table_add(f, address, s))
        return false;
    if (!is_mapping || mappings_add(mapping_of(address, s.size)))
        return true;
    if (table_take(f, address, &s))
        table_drop(f, &s);
    return false;
}

static void record(struct wire_trace_layout *f, struct sampling_thread *t, uint64_t address,
                   size_t size, enum wire_trace_kind kind, uint64_t now, bool has_room)
{
    double weight = wire_trace_weight(size, t->interval);
    uint32_t stack = has_room ? stacks_here(f, kind, now) : stacks_none(f);
    bool is_libcs = atomic_load_explicit(&sampling_heap_is_libcs, memory_order_relaxed);
    struct wire_trace_sample s = {
        .size = size, .weight = (float) weight, .stack = stack, .birth = birth(f, now)};
    stacks_count(f, stack,
                 weight * (double) wire_trace_taken(size, kind, is_libcs) / (double) size);
    atomic_fetch_add(&f->samples, 1);
    keep(f, address, s, kind == WIRE_TRACE_MAPPED);
    if (count_live(f) > FULL)
        tracer_lengthen(f, tracer_interval(), &t->random);
}

static void sample(struct sampling_thread *t, void *address, size_t size, enum wire_trace_kind kind)
{
    uint64_t now = wire_now();
    bool has_room = room_is_enough();
    if (has_room)
        tracer_look();
    struct wire_trace_layout *f = has_room ? tracer_enter_or_open() : tracer_enter();
    if (!f)
        return;
    if (address && size)
        record(f, t, (uintptr_t) address, size, kind, now, has_room);
    pace(f, t, now);
    tracer_leave();
    if (has_room)
        interpreter_ask();
}

static void look(void)
{
    tracer_look();
    interpreter_ask();
}

void sampling_take(void *address, size_t size, enum wire_trace_kind kind)
{
    struct sampling_thread *t = &sampling_here;
    if (t->is_busy) {
        t->left = LOOK;
        return;
    }
    int kept = errno;
    t->is_busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    if (t->interval > 0)
        sample(t, address, size, kind);
    else
        look();
    draw(t);
    atomic_signal_fence(memory_order_seq_cst);
    t->is_busy = false;
    errno = kept;
}

void sampling_look(void)
{
    struct sampling_thread *t = &sampling_here;
    if (t->is_busy)
        return;
    int kept = errno;
    t->is_busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    tracer_look();
    if (t->interval == 0)
        draw(t);
    atomic_signal_fence(memory_order_seq_cst);
    t->is_busy = false;
    errno = kept;
}

/* ---- frees ---- */

struct sampling_record sampling_remove(void *address)
{
    struct sampling_record r = {.address = address};
    struct wire_trace_layout *f = tracer_enter();
    if (!f)
        return r;
    if (table_take(f, (uintptr_t) address, &r.sample))
        r.is_mapping = !mappings_is_empty() && mappings_take_at((uintptr_t) address);
    tracer_leave();
    return r;
}

void sampling_forget(void *address)
{
    (void) sampling_remove(address);
}

void sampling_restore(const struct sampling_record *r)
{
    struct wire_trace_layout *f = r->sample.size ? tracer_enter() : NULL;
    if (!f)
        return;
    keep(f, (uintptr_t) r->address, r->sample, r->is_mapping);
    tracer_leave();
}

/* A part of a sampled mapping has the same part of its weight: each byte stands for as many as
 * before. */
static void keep_part(struct wire_trace_layout *f, const struct wire_trace_sample *whole,
                      uintptr_t start, uintptr_t end)
{
    struct wire_trace_sample part = *whole;
    if (start >= end)
        return;
    part.size = end - start;
    part.weight = (float) (part.weight * ((double) part.size / (double) whole->size));
    keep(f, start, part, true);
}

static void forget_in(struct wire_trace_layout *f, struct mapping range)
{
    struct mapping m;
    struct wire_trace_sample s;
    while (mappings_take(range, &m))
        if (table_take(f, m.start, &s)) {
            keep_part(f, &s, m.start, range.start);
            keep_part(f, &s, range.end, m.end);
        }
}

void sampling_forget_range(const void *address, size_t size)
{
    struct wire_trace_layout *f = mappings_is_empty() ? NULL : tracer_enter();
    if (!f)
        return;
    forget_in(f, mapping_of((uintptr_t) address, size));
    tracer_leave();
}

void sampling_watch(const void *address)
{
    table_keep_in_filter(address);
}
