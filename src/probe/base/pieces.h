/* probe/base/pieces.h: the lists in which an io.StringIO gathers what is written. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_BASE_PIECES_H
#define TIDEMARK_PROBE_BASE_PIECES_H

#include "probe/base/heap.h"

/*
 * To CPython 3.11 an io.StringIO has two lists of texts, which the collector tracks as lists and of
 * which the io.StringIO says nothing when it is traversed. Without this they look like lists that
 * only native code holds. Later versions have one buffer, and nothing is found.
 */

/* Makes one, and looks for its list among what the collector has got last. `size`: of an object of
 * the type io.StringIO. */
void pieces_learn(py_object *type, size_t size);

/* Of an object of that very type. */
void pieces_visit(const py_object *file, heap_edge_visitor *visit, void *context);

/* Is `list` one of them? `file`: any object. */
bool pieces_has(const py_object *file, const py_object *list);

#endif
