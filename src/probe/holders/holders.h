/* probe/holders/holders.h: the holders of objects, by the names they have in the program. Private
 * to probe/. */
#ifndef TIDEMARK_PROBE_HOLDERS_HOLDERS_H
#define TIDEMARK_PROBE_HOLDERS_HOLDERS_H

#include "probe/base/python.h"
#include "wire/wire.h"

struct holder {
    enum wire_holder_kind kind;
    double share;       /* of the objects followed */
    char path[256];     /* UTF-8 like all texts here; too long ones are cut with "..." */
    char function[128]; /* "": does not apply, or not known */
    char file[512];
    int line;     /* 0: not known */
    bool is_weak; /* it holds its content weakly */
};

/*
 * Finds at most `most` holders of some objects of one group, the holder of most objects first. If
 * several hold an object, the one where a reader looks first is named: functions and modules of the
 * program before those of libraries, short paths before long ones. Parts of the path that differ
 * between the objects are written [...], and left out at its end. Objects whose holder is not found
 * within bounds are left out, so shares may add up to less than 1.
 *
 * Makes several passes over the heap, about 0.03 us per object each, and begins none after 4
 * seconds: only in a forked child. No code of the program runs. The GIL is held; malloc() is not
 * called.
 */
size_t holders_find(py_object *const *objects, size_t count, struct holder *ret, size_t most);

/*
 * All holders of this one object, those where a reader looks first come first: variables of running
 * functions with this value, and one path for each object that refers to it. A variable of the
 * calling function (the innermost that is not tidemark's) comes last.
 */
size_t holders_of(py_object *o, struct holder *ret, size_t most);

#endif
