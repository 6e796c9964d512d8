/* probe/census/callers.h: finds the program's call that adds to a library's container. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_CALLERS_H
#define TIDEMARK_PROBE_CENSUS_CALLERS_H

#include "probe/base/python.h"

#include <stddef.h>

struct caller {
    char file[512]; /* "": not known */
    int line; /* of the function found; 0: none found, and `file` is the program's main file */
};

/*
 * A line of the program adds to a library's registry (weakref.finalize, atexit, an event bus), but
 * no object records that line. The newest items usually lead to a function of the program, and the
 * line is in the same file; otherwise it may be in the main file. `objects` are the library's
 * containers, of which the newest items are followed, or other objects. No code of the program
 * runs. The GIL is held.
 */
void callers_find(py_object *const *objects, size_t count, struct caller *ret);

#endif
