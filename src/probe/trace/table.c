/* probe/trace/table.c: the live samples, in the process's file. */
#include "probe/trace/table.h"

#include "probe/trace/own_pages.h"
#include "probe/trace/random.h"
#include "probe/trace/sampling.h"

#include <stdatomic.h>

/* ---- the filter ---- */

_Atomic bool sampling_is_used;
OWN_PAGES _Atomic uint8_t sampling_filter[1u << SAMPLING_FILTER_BITS];
static bool keeps_any;

#define STAYS UINT8_MAX /* a count that got so high is not exact any more */

static void filter_add(uint64_t address)
{
    _Atomic uint8_t *count = &sampling_filter[sampling_hash((const void *) address)]; /* NOLINT */
    uint8_t before = atomic_load_explicit(count, memory_order_relaxed);
    while (before != STAYS && !atomic_compare_exchange_weak(count, &before, (uint8_t) (before + 1)))
        continue;
}

static void filter_remove(uint64_t address)
{
    _Atomic uint8_t *count = &sampling_filter[sampling_hash((const void *) address)]; /* NOLINT */
    uint8_t before = atomic_load_explicit(count, memory_order_relaxed);
    while (before != STAYS && before != 0 &&
           !atomic_compare_exchange_weak(count, &before, (uint8_t) (before - 1)))
        continue;
}

void table_clear_filter(void)
{
    if (sampling_is_used)
        for (size_t i = 0; i < sizeof(sampling_filter); i++)
            if (sampling_filter[i] != STAYS)
                sampling_filter[i] = 0;
    sampling_is_used = keeps_any;
}

struct range table_filter_pages(void)
{
    return OWN_PAGES_OF(sampling_filter);
}

bool table_unshare_filter(void)
{
    struct range pages = table_filter_pages();
    bool is_done = keeps_any ? own_pages_unshare(pages) : own_pages_clear(pages);
    sampling_is_used = keeps_any;
    return is_done;
}

void table_keep_in_filter(const void *address)
{
    sampling_filter[sampling_hash(address)] = STAYS;
    sampling_is_used = keeps_any = true;
}

/* ---- slots ---- */

static uint32_t first_of_bucket(uint64_t address)
{
    size_t hash = sampling_hash((const void *) address); /* NOLINT: an address */
    return (uint32_t) (hash % WIRE_TRACE_BUCKETS * WIRE_TRACE_WAYS);
}

static bool claim(struct wire_trace_layout *f, uint32_t slot, uint64_t expected)
{
    return atomic_load_explicit(&f->addresses[slot], memory_order_relaxed) == expected &&
           atomic_compare_exchange_strong(&f->addresses[slot], &expected, TABLE_CLAIMED);
}

static void publish(struct wire_trace_layout *f, uint32_t slot, uint64_t address)
{
    atomic_store_explicit(&f->addresses[slot], address, memory_order_release);
}

void table_drop(struct wire_trace_layout *f, const struct wire_trace_sample *s)
{
    atomic_fetch_add(&f->dropped, 1);
    atomic_fetch_add(&f->dropped_bytes, (uint64_t) s->weight);
}

static void release(struct wire_trace_layout *f, uint32_t slot, uint64_t address)
{
    filter_remove(address);
    atomic_fetch_sub(&f->live, 1);
    publish(f, slot, 0);
}

bool table_take(struct wire_trace_layout *f, uint64_t address, struct wire_trace_sample *ret)
{
    uint32_t first = first_of_bucket(address);
    if (address <= TABLE_CLAIMED) /* realloc(NULL): no slot has it, but unused ones look so */
        return false;
    for (uint32_t slot = first; slot < first + WIRE_TRACE_WAYS; slot++)
        if (claim(f, slot, address)) {
            *ret = f->live_samples[slot];
            release(f, slot, address);
            return true;
        }
    return false;
}

/* An allocator behind ours that calls another of our functions by its name has that one sample the
 * same block; and a block may have been freed past us. The last record stands. */
static void forget_former(struct wire_trace_layout *f, uint64_t address)
{
    struct wire_trace_sample former;
    while (
        atomic_load_explicit(&sampling_filter[sampling_hash((const void *) address)], /* NOLINT */
                             memory_order_relaxed) != 0 &&
        table_take(f, address, &former))
        continue;
}

/* The filter comes first: a thread that sees the address must find it there. */
bool table_add(struct wire_trace_layout *f, uint64_t address, struct wire_trace_sample sample)
{
    uint32_t first = first_of_bucket(address);
    forget_former(f, address);
    sample.check = wire_trace_check(address, &sample);
    for (uint32_t slot = first; slot < first + WIRE_TRACE_WAYS; slot++)
        if (claim(f, slot, 0)) {
            filter_add(address);
            f->live_samples[slot] = sample;
            atomic_fetch_add(&f->live, 1);
            publish(f, slot, address);
            sampling_is_used = true;
            return true;
        }
    table_drop(f, &sample);
    return false;
}

/* ---- thinning ----
 *
 * A sample of `size` bytes was picked with some probability p and has the weight size / p; with the
 * longer interval it would have been picked with p' < p, and have the weight size / p'. It is kept
 * with the probability q = p' / p. Then it was picked with p q = p' in all, as if the longer
 * interval had been in force, so its new weight is right for it: the mean is q (size / p') = size /
 * p, the weight that it had. That holds for each sample alone, whatever p it was drawn with: so a
 * sample that another thread adds meanwhile, still drawn with the shorter interval, needs no care.
 * And one whose p is already as small stays as it is.
 *
 * Weight and stack are one word, exchanged at once. Were the sample freed meanwhile, and the slot
 * used again for one of the same weight and stack, that would be taken for the old one: it has a
 * weight too high, or is dropped. That takes a free and a sample of the same site within some
 * nanoseconds, once in years.
 */
typedef uint64_t __attribute__((may_alias)) weight_word;

static uint64_t with_weight(uint64_t word, float weight)
{
    __builtin_memcpy(&word, &weight, sizeof(weight)); /* the lower half: little-endian */
    return word;
}

static float weight_of(uint64_t word)
{
    float weight;
    __builtin_memcpy(&weight, &word, sizeof(weight));
    return weight;
}

static void thin_slot(struct wire_trace_layout *f, uint32_t slot, double interval, uint64_t *random)
{
    uint64_t address = atomic_load_explicit(&f->addresses[slot], memory_order_acquire);
    if (address <= TABLE_CLAIMED)
        return;
    weight_word *word = (weight_word *) (void *) &f->live_samples[slot].weight;
    uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED);
    double weight = wire_trace_weight(f->live_samples[slot].size, interval);
    if (weight <= weight_of(before))
        return;
    if (random_part(random) * weight < weight_of(before))
        __atomic_compare_exchange_n(word, &before, with_weight(before, (float) weight), false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    else if (claim(f, slot, address))
        release(f, slot, address);
}

void table_thin(struct wire_trace_layout *f, double interval, uint64_t *random)
{
    for (uint32_t slot = 0; slot < WIRE_TRACE_LIVE; slot++)
        thin_slot(f, slot, interval, random);
}
