/* probe/trace/patch.h: puts functions of ours into the import tables of loaded files. Private to
 * probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_PATCH_H
#define TIDEMARK_PROBE_TRACE_PATCH_H

#include <stdbool.h>
#include <stddef.h>

/* A function and what stands for it. `*real`: the function that the program calls without us; NULL:
 * there is none. It is never changed again, so that a thread inside `ours` can always go on. */
struct patch {
    const char *name;
    void *ours;
    void **real;
};

#define PATCH_MOST 64u

/*
 * Changes every slot of every loaded file, except those of this library and of the allocator, that
 * leads to *real, or that the loader would have lead there on its first use. Slots that lead
 * elsewhere stay: a file with an allocator of its own keeps it. Each slot is one aligned word,
 * exchanged at once. Pages that the loader has made read-only are writable for that moment. No file
 * is loaded or unloaded meanwhile.
 *
 * Returns the number of slots changed; -EAGAIN: another thread is here, or there is no way to keep
 * files from being loaded. Again: only files loaded since. Takes the loader's locks: never call it
 * from an allocation.
 */
int patch_apply(const struct patch *list, size_t count);

/* Files were loaded since the last patch_apply(). Takes a lock of the loader for a moment. */
bool patch_is_stale(void);

/* No file was loaded or unloaded for a while, as far as this was asked now and then. Else another
 * thread may be inside dlopen(), waiting for a lock that the caller holds, such as the GIL. Takes a
 * lock of the loader for a moment. */
bool patch_is_calm(void);

/* Puts *real back where a slot still leads to ours. Returns the number of slots that could not be
 * put back; -EAGAIN as above. */
int patch_undo(const struct patch *list, size_t count);

#endif
