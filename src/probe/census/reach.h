/* probe/census/reach.h: what the program's own names lead to. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_REACH_H
#define TIDEMARK_PROBE_CENSUS_REACH_H

#include "probe/base/heap.h"

/*
 * The collector does not track what holds no other object: arrays, texts, and dicts of these. They
 * are met on the way from the variables of running functions and the globals of the program, the
 * nearest first, each object once, some thousand at most. `place` is a number for where it is: the
 * object that holds it and which of its references it is. Another object in the same place has the
 * same number, at the next census as well. The GIL is held; nothing of the program runs.
 */
typedef void reach_visitor(py_object *o, uintptr_t place, void *context);
void reach_visit(reach_visitor *visit, void *context);

#endif
