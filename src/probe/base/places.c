/* probe/base/places.c: a hash table in mapped memory, at most half full. */
#include "probe/base/places.h"

#include "probe/base/pages.h"

#include <string.h>
#include <time.h>

static size_t shared_bytes;

static void *map(size_t bytes, int more_flags)
{
    return pages_map(NULL, bytes, MAP_PRIVATE | more_flags);
}

void *places_map(size_t bytes)
{
    return map(bytes, 0);
}

void places_unmap(void *memory, size_t bytes)
{
    if (memory)
        pages_unmap(memory, bytes);
}

#define PAGE_BYTES 4096u

static size_t in_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

void *places_map_shared(size_t bytes)
{
    void *memory = pages_map(NULL, bytes, MAP_SHARED | MAP_POPULATE);
    if (!memory)
        return NULL;
    shared_bytes += in_pages(bytes);
    return memory;
}

void places_unmap_shared(void *memory, size_t bytes)
{
    if (!memory)
        return;
    pages_unmap(memory, bytes);
    shared_bytes -= in_pages(bytes);
}

size_t places_shared_bytes(void)
{
    return shared_bytes;
}

uint64_t places_thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

uint64_t places_hash(uintptr_t key)
{
    uint64_t h = (uint64_t) key * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static size_t slots_for(size_t most)
{
    size_t slots = 64;
    while (slots < 2 * most)
        slots *= 2;
    return slots;
}

bool places_init(struct places *p, size_t most, bool shared)
{
    size_t slots = slots_for(most), bytes = slots * sizeof(struct place);
    struct place *memory = shared ? places_map_shared(bytes) : places_map(bytes);
    if (!memory)
        return false;
    *p = (struct places){.slots = memory, .mask = slots - 1, .is_shared = shared};
    return true;
}

bool places_init_at_once(struct places *p, size_t most)
{
    size_t slots = slots_for(most);
    struct place *memory = map(slots * sizeof(struct place), MAP_POPULATE);
    if (!memory)
        return false;
    *p = (struct places){.slots = memory, .mask = slots - 1};
    return true;
}

static size_t bytes_of(const struct places *p)
{
    return (p->mask + 1) * sizeof(struct place);
}

void places_release(struct places *p)
{
    if (p->slots && p->is_shared)
        places_unmap_shared(p->slots, bytes_of(p));
    else if (p->slots)
        places_unmap(p->slots, bytes_of(p));
    *p = (struct places){0};
}

void places_clear(struct places *p)
{
    if (p->slots)
        memset(p->slots, 0, bytes_of(p));
    p->count = 0;
}

size_t places_room(const struct places *p)
{
    return p->slots ? p->mask / 2 : 0;
}

/* The slot of a key, or the free slot where it belongs. */
static struct place *slot_of(const struct places *p, uintptr_t key)
{
    size_t i = places_hash(key) & p->mask;
    while (p->slots[i].key && p->slots[i].key != key)
        i = (i + 1) & p->mask;
    return &p->slots[i];
}

struct place *places_find(const struct places *p, uintptr_t key)
{
    if (!p->slots)
        return NULL;
    struct place *slot = slot_of(p, key);
    return slot->key ? slot : NULL;
}

struct place *places_add(struct places *p, uintptr_t key, bool *ret_is_new)
{
    if (!p->slots)
        return NULL;
    struct place *slot = slot_of(p, key);
    *ret_is_new = !slot->key;
    if (slot->key)
        return slot;
    if (2 * p->count > p->mask)
        return NULL;
    p->count++;
    slot->key = key;
    return slot;
}
