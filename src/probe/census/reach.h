/* probe/census/reach.h: walks the objects reachable from the program's own names. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_REACH_H
#define TIDEMARK_PROBE_CENSUS_REACH_H

#include "probe/base/heap.h"

/*
 * The collector does not track arrays, texts, and dicts of these, because they hold no other
 * objects. This walk meets them on the way from the variables of running functions and the
 * program's globals: breadth first, each object once, some thousand at most, without small objects
 * that hold no others. The GIL is held; no code of the program runs.
 */
struct reach_place {
    /* Identifies the reference: its owner and its number. Another object in the same place has the
     * same key, also at the next census. It is odd; addresses of objects are even. */
    uintptr_t key;
    py_object *owner;   /* all its references are visited in a row; NULL: a variable */
    unsigned reference; /* its number, from 1 */
    py_object *around;  /* the nearest container above the owner; NULL: none */
};

#define REACH_EACH_MOST 512u /* references followed per object */

/* The key of the owner as a whole, instead of one of its places. */
uintptr_t reach_key_of(const py_object *owner);

/* Returns true if the object has a size, or gained items. Then the walk also goes through the rest
 * of a long container. */
typedef bool reach_visitor(py_object *o, const struct reach_place *place, void *context);
void reach_visit(reach_visitor *visit, void *context);

#endif
