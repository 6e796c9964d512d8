/* probe/trace/python_alloc.h: traces CPython's own allocators. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_PYTHON_ALLOC_H
#define TIDEMARK_PROBE_TRACE_PYTHON_ALLOC_H

#include <stdbool.h>

/*
 * CPython takes small objects from arenas of its own, which malloc() never sees. While the process
 * is armed, functions of ours stand before the interpreter's in its domains "obj" and "mem"
 * (PyMem_SetAllocator()).
 */

/* The calling thread may change the allocators now: there is an interpreter, it is running, and
 * this thread has the GIL. Calls nothing that allocates. */
bool python_alloc_may_change(void);

/* Requires python_alloc_may_change(). False: not possible in this interpreter. Again: no change. */
bool python_alloc_arm(void);
/* Takes our functions out, unless somebody has put others before them: then ours only pass on. */
void python_alloc_disarm(void);
bool python_alloc_is_armed(void);

#endif
