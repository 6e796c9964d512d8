/* probe/census/callers.h: who gave a library what it keeps. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_CALLERS_H
#define TIDEMARK_PROBE_CENSUS_CALLERS_H

#include "probe/base/python.h"

#include <stddef.h>

struct caller {
    char file[512]; /* "": not known */
    int line;       /* of the function that was found; 0: of none, it is the program's main file */
};

/*
 * A registry of a library's (weakref.finalize, atexit, a bus of events) is added to by a line of
 * the program that no object tells. Its newest items mostly lead to a function of the program, and
 * the line is in that one's file; else it may be in the program's main file. Of some objects: of
 * a container the newest items count. No code of the program runs. The GIL is held.
 */
void callers_find(py_object *const *objects, size_t count, struct caller *ret);

#endif
