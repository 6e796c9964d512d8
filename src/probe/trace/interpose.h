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
 * others before them that pass on. Allocates. */
bool interpose_is_reached(void);

/* Notes where the allocator is, whose own mappings do not count. Takes the loader's lock. */
void interpose_find_allocator(void);

/* For patch_apply(). Requires that interpose_is_reached() is false: then the program's functions
 * are those that the names lead to. */
const struct patch *interpose_for_patching(size_t *ret_count);

#endif
