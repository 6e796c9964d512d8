/* probe/trace/interpose.h: functions of ours that stand before the allocator's. Private to
 * probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_INTERPOSE_H
#define TIDEMARK_PROBE_TRACE_INTERPOSE_H

#include "probe/trace/patch.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * They stand for malloc() and its family, mmap() and its, and sbrk(). Each counts, samples, and
 * passes on to the function that the program would call without it. They are reached in one of two
 * ways: libtidemark_preload.so exports them under the C library's names, and the loader takes the
 * first of a name; or import tables are patched to lead to them. C++'s operators new and delete
 * call malloc() and free(), unless an allocator brings its own.
 *
 * A mapping counts if it is memory of its own: anonymous, writable, not a mere reservation
 * (MAP_NORESERVE), and not made by the allocator or by this library. Files do not count.
 */

/* Whether calls of this library itself, and so the program's, come to ours: directly, or through
 * others before them that pass on. If so, dlsym() is followed from now on, and import tables lead
 * to functions before the allocator's operators new and delete, if it has any. Allocates. */
bool interpose_is_reached(void);

/*
 * Import tables lead to ours from now on, where interpose_is_reached() is false. Again: those of
 * files loaded since. False: the program has an allocator of its own inside, which it calls without
 * an import table, or patch_apply() was not possible.
 */
bool interpose_patch(void);

/* Returns what patch_undo() does. What the program got by dlsym() stays ours, and passes on. */
int interpose_unpatch(void);

/* Files may have been loaded since interpose_patch(), which has them patched: `at_once`, or when
 * patch_is_calm(). Takes a lock of the loader for a moment. */
void interpose_heed_loaded(bool at_once);

/* NULL: none of ours, or dlsym() is not followed. */
const struct patch *interpose_find(const char *name);

#endif
