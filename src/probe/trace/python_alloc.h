/* probe/trace/python_alloc.h: traces CPython's own allocators. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_PYTHON_ALLOC_H
#define TIDEMARK_PROBE_TRACE_PYTHON_ALLOC_H

#include <stdbool.h>

/*
 * CPython takes small objects from arenas of its own, which malloc() never sees. While the process
 * is armed, functions of ours stand before the interpreter's in its domains "obj" and "mem"
 * (PyMem_SetAllocator()). The third domain, "raw", is malloc() itself. An interpreter without GIL
 * is left alone.
 *
 * Other tools do the same, such as tracemalloc. Each remembers the functions it found, so only the
 * one in front can be taken out; another that is taken out takes ours with it if they were put
 * there later. Arming tells all of these cases apart.
 */

/* The calling thread may change the allocators now: python_find() has found an interpreter, it is
 * running, and this thread has the GIL. Allocates nothing and takes no lock: it may be asked from
 * inside an allocation. */
bool python_alloc_may_change(void);

/* Requires python_alloc_may_change(), and may be called from inside an allocation. False: not
 * possible in this interpreter. Again: puts our functions back if somebody has taken them out. */
bool python_alloc_arm(void);

/* Requires python_alloc_may_change(). Takes our functions out, unless somebody has put others
 * before them: then ours only pass on, and count for nobody. */
void python_alloc_disarm(void);
bool python_alloc_is_armed(void);

#endif
