/* probe/trace/mappings.c: where sampled mappings lie, for what is unmapped in parts. */
#include "probe/trace/mappings.h"

#include "probe/trace/own_pages.h"

#include <stdatomic.h>

#define SLOTS 1024u
#define CLAIMED 1u /* as a start: no mapping begins there */

OWN_PAGES static struct {
    _Atomic uintptr_t start; /* 0: unused */
    _Atomic uintptr_t end;
} slots[SLOTS];
static _Atomic uint32_t reached; /* slots beyond were never used */

struct range mappings_pages(void)
{
    return OWN_PAGES_OF(slots);
}

static bool claim(uint32_t i, uintptr_t expected)
{
    return atomic_compare_exchange_strong(&slots[i].start, &expected, CLAIMED);
}

static void reach(uint32_t count)
{
    uint32_t before = atomic_load(&reached);
    while (before < count && !atomic_compare_exchange_weak(&reached, &before, count))
        continue;
}

bool mappings_add(struct mapping m)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        if (atomic_load_explicit(&slots[i].start, memory_order_relaxed) == 0 && claim(i, 0)) {
            atomic_store(&slots[i].end, m.end);
            reach(i + 1);
            atomic_store(&slots[i].start, m.start);
            return true;
        }
    return false;
}

bool mappings_take(struct mapping range, struct mapping *ret)
{
    uint32_t count = atomic_load(&reached);
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t start = atomic_load_explicit(&slots[i].start, memory_order_acquire);
        struct mapping m = {start, atomic_load_explicit(&slots[i].end, memory_order_relaxed)};
        if (start > CLAIMED && m.start < range.end && m.end > range.start && claim(i, start)) {
            *ret = m;
            atomic_store(&slots[i].start, 0);
            return true;
        }
    }
    return false;
}

bool mappings_take_at(uintptr_t start)
{
    uint32_t count = atomic_load(&reached);
    for (uint32_t i = 0; i < count; i++)
        if (atomic_load_explicit(&slots[i].start, memory_order_relaxed) == start &&
            claim(i, start)) {
            atomic_store(&slots[i].start, 0);
            return true;
        }
    return false;
}

bool mappings_is_empty(void)
{
    return atomic_load_explicit(&reached, memory_order_relaxed) == 0;
}

void mappings_clear(void)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        atomic_store(&slots[i].start, 0);
    atomic_store(&reached, 0);
}
