/* probe/trace/patch.h: puts functions of ours into the import tables of loaded files. Private to
 * probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_PATCH_H
#define TIDEMARK_PROBE_TRACE_PATCH_H

#include <stdbool.h>
#include <stddef.h>

/* A function and what stands for it. `real` gets the function that the program called so far; it is
 * never changed again, so that a thread inside `ours` can always go on. */
struct patch {
    const char *name;
    void *ours;
    void **real;
};

/*
 * Changes every slot of every loaded file, except those of this library, that leads to the function
 * of that name which the program uses. Each slot is one aligned word, exchanged at once. Pages that
 * the loader has made read-only are writable for that moment. Returns the number of slots changed.
 * Again: only files loaded since. Takes the loader's lock: never call it from an allocation.
 */
int patch_apply(const struct patch *list, size_t count);

/* Files were loaded since the last patch_apply(). Cheap, and takes no lock. */
bool patch_is_stale(void);

/* Puts back what still leads to ours. Returns the number of slots that could not be put back. */
int patch_undo(const struct patch *list, size_t count);

#endif
