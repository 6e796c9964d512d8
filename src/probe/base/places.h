/* probe/base/places.h: what is known of an address. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_PLACES_H
#define TIDEMARK_PROBE_BASE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A number by address, or by any key but 0. Its memory is mapped, not allocated: the program may be
 * inside malloc() in another thread, and what we hold is not to be mistaken for what it holds. It
 * has room for a number of keys that is given once; what does not fit is left out.
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

/* `shared`: seen by forked children too, and not among the process's anonymous memory. Released
 * places have no room. False: no memory. */
bool places_init(struct places *p, size_t most, bool shared);
/* The same, not shared, with all of its memory there at once: cheaper where most will be used. */
bool places_init_at_once(struct places *p, size_t most);
void places_release(struct places *p); /* accepts all zero */
void places_clear(struct places *p);
size_t places_room(const struct places *p); /* for so many keys */

/* The place of a key; NULL: it has none. */
struct place *places_find(const struct places *p, uintptr_t key);

/* The same, made where there is none, with the value 0. NULL: there is no more room. */
struct place *places_add(struct places *p, uintptr_t key, bool *ret_is_new);

/* Memory of that size, zeroed; NULL: none. */
void *places_map(size_t bytes);
void places_unmap(void *memory, size_t bytes); /* accepts NULL */

/* The same, seen by forked children too. All of it is there at once, so that the watcher knows how
 * much of the process's shared memory is ours. */
void *places_map_shared(size_t bytes);
void places_unmap_shared(void *memory, size_t bytes);
size_t places_shared_bytes(void);

/* Processor time of this thread: what others take of it meanwhile is not our doing. */
uint64_t places_thread_ns(void);

/* Spreads the bits of an address. */
uint64_t places_hash(uintptr_t key);

#endif
