/* probe/base/pieces.h: the lists in which an io.StringIO collects its pieces. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_PIECES_H
#define TIDEMARK_PROBE_BASE_PIECES_H

#include "probe/base/heap.h"

/*
 * Up to CPython 3.11 an io.StringIO has two lists of texts. The collector tracks these lists, but
 * the StringIO's tp_traverse omits them, so they would look as if only native code held them. Later
 * versions have one buffer, and nothing is found.
 */

/* Makes a StringIO and searches for its list among the newest tracked objects. `size`: tp_basicsize
 * of io.StringIO. */
void pieces_learn(py_object *type, size_t size);

/* Only for exact io.StringIO objects. */
void pieces_visit(const py_object *file, heap_edge_visitor *visit, void *context);

/* Is `list` one of its lists? `file` may be any object. */
bool pieces_has(const py_object *file, const py_object *list);

#endif
