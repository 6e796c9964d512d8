/* probe/base/places.h: a number per address. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_PLACES_H
#define TIDEMARK_PROBE_BASE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Maps an address, or any key but 0, to a number. The memory is mapped, not allocated: another
 * thread may be inside malloc(), and the probe's memory must not look like the program's. The
 * capacity is fixed; keys that do not fit are left out.
 */
struct place {
    uintptr_t key; /* 0: free */
    uint64_t value;
};

struct places {
    struct place *slots;
    size_t mask, count;
    bool is_shared;
};

/* `shared`: visible to forked children, and not part of the process's anonymous memory. After a
 * release, nothing fits. False: no memory. */
bool places_init(struct places *p, size_t most, bool shared);
/* The same, private, with all pages populated at once: cheaper if most of them will be used. */
bool places_init_at_once(struct places *p, size_t most);
void places_release(struct places *p); /* accepts all zero */
void places_clear(struct places *p);
size_t places_room(const struct places *p); /* capacity in keys */

/* The slot of a key; NULL: none. */
struct place *places_find(const struct places *p, uintptr_t key);

/* The slot of a key, created with the value 0 if needed. NULL: no room left. */
struct place *places_add(struct places *p, uintptr_t key, bool *ret_is_new);

/* Zeroed memory of that size; NULL: none. */
void *places_map(size_t bytes);
void places_unmap(void *memory, size_t bytes); /* accepts NULL */

/* The same, visible to forked children. All pages are populated at once, so that the watcher knows
 * how much of the process's shared memory belongs to the probe. */
void *places_map_shared(size_t bytes);
void places_unmap_shared(void *memory, size_t bytes);
size_t places_shared_bytes(void);

/* Processor time of this thread: excludes time that other threads take meanwhile. */
uint64_t places_thread_ns(void);

/* Spreads the bits of an address. */
uint64_t places_hash(uintptr_t key);

#endif
