/* probe/census/reach.h: what the program's own names lead to. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_REACH_H
#define TIDEMARK_PROBE_CENSUS_REACH_H

#include "probe/base/heap.h"

/*
 * The collector does not track what holds no other object: arrays, texts, and dicts of these. They
 * are met on the way from the variables of running functions and the globals of the program, the
 * nearest first, each object once, some thousand at most; small ones that hold no other are left
 * out. The GIL is held; nothing of the program runs.
 */
struct reach_place {
    /* The object that holds it, and which of its references it is. Another object in the same place
     * has the same number, at the next census as well; it is odd, as no address of an object is. */
    uintptr_t key;
    py_object *owner;   /* whose references are met in a row; NULL: it is a variable's */
    unsigned reference; /* which of these it is, from 1 */
    py_object *around;  /* the nearest container above the owner; NULL: there is none */
};

#define REACH_EACH_MOST 512u /* references of one object that lead on */

/* Of a place with a key of `reach_key_of(owner)` it is the owner as a whole. */
uintptr_t reach_key_of(const py_object *owner);

/* True: it has a size, or gained items. Then the others in a long container are met as well. */
typedef bool reach_visitor(py_object *o, const struct reach_place *place, void *context);
void reach_visit(reach_visitor *visit, void *context);

#endif
