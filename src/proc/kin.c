/* proc/kin.c: pids that belong to a job without being members: not yet, or no longer. */
#include "proc/kin.h"

#include <stdlib.h>
#include <string.h>

void kin_release(struct kin *k)
{
    free(k->list);
    *k = (struct kin){NULL, 0, 0};
}

/* The newest are at the end, and are the ones mostly searched for. */
static size_t index_of(const struct kin *k, pid_t pid)
{
    size_t i = k->count;
    while (i > 0 && k->list[i - 1].pid != pid)
        i--;
    return i > 0 ? i - 1 : k->count;
}

const struct kin_entry *kin_find(const struct kin *k, pid_t pid)
{
    size_t i = index_of(k, pid);
    return i < k->count ? &k->list[i] : NULL;
}

static void forget(struct kin *k, size_t from, size_t count)
{
    memmove(&k->list[from], &k->list[from + count], (k->count - from - count) * sizeof *k->list);
    k->count -= count;
}

void kin_remove(struct kin *k, pid_t pid)
{
    size_t i = index_of(k, pid);
    if (i < k->count)
        forget(k, i, 1);
}

static bool has_room(struct kin *k)
{
    if (k->count == KIN_MOST)
        forget(k, 0, KIN_MOST / 2);
    if (k->count < k->capacity)
        return true;
    size_t capacity = k->capacity ? 2 * k->capacity : 16;
    struct kin_entry *list = realloc(k->list, capacity * sizeof *list);
    if (!list)
        return false;
    k->list = list;
    k->capacity = capacity;
    return true;
}

void kin_add(struct kin *k, pid_t pid, bool is_new, unsigned scan)
{
    kin_remove(k, pid);
    if (has_room(k))
        k->list[k->count++] = (struct kin_entry){pid, is_new, scan};
}

void kin_prune(struct kin *k, unsigned scan, struct kin_use (*use_of)(void *context, pid_t pid),
               void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < k->count; i++) {
        struct kin_entry e = k->list[i];
        struct kin_use use = use_of(context, e.pid);
        e.is_new = e.is_new && !use.is_met;
        if (use.leads)
            e.scan = scan;
        /* An orphan appears in the scan that misses its leader, or in the next one. */
        if (scan - e.scan <= 1)
            k->list[kept++] = e;
    }
    k->count = kept;
}
