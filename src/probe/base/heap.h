/* probe/base/heap.h: walks and reads the objects of the interpreter. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_HEAP_H
#define TIDEMARK_PROBE_BASE_HEAP_H

#include "probe/base/python.h"

#include <stdint.h>

/*
 * Everything here only reads memory: no code of the program runs, no reference is taken, and only
 * heap_learn() allocates. Fixed layouts are the same in CPython 3.9 to 3.14 with a GIL; all others
 * are learned from sample objects. Every caller holds the GIL.
 */

/* Learns once how to walk the objects. False: not possible in this interpreter. */
bool heap_learn(void);

/* Visits every object that the collector tracks. `visit` returns false to end the walk. */
typedef bool heap_visitor(py_object *o, void *context);
void heap_visit(heap_visitor *visit, void *context);
/* The same from the newest to the oldest, as far as the interpreter allows: a holder is usually
 * older than the object it holds. */
void heap_visit_back(heap_visitor *visit, void *context);

/* Visits everything an object refers to. `visit` returns nonzero to end it. */
typedef int heap_edge_visitor(py_object *o, void *context);
void heap_edges(py_object *o, heap_edge_visitor *visit, void *context);
/* False: its type refers to nothing, such as numbers and texts. */
bool heap_has_edges(const py_object *o);

/* ---- what an object is ---- */

py_object *heap_type(const py_object *o);
const char *heap_type_name(const py_object *type);
/* Is it `base`, or derived from it? */
bool heap_is_subtype(const py_object *type, const py_object *base);
/* An extension's type: memory behind its objects cannot be seen. */
bool heap_is_foreign(const py_object *type);
/* An extension's number or date, with nothing behind it. */
bool heap_is_scalar(const py_object *type);
/* A type written in C, such as the language's own; not made by a class statement. */
bool heap_is_builtin(const py_object *type);
bool heap_is_weak_reference(const py_object *type);
/* The type's own namespace, borrowed; NULL: not available. */
py_object *heap_type_dict(const py_object *type);
/* The method resolution order, a tuple of classes; NULL: none yet. */
py_object *heap_type_order(const py_object *type);
bool heap_is_tracked(const py_object *o);
ptrdiff_t heap_references(const py_object *o); /* its reference count */

enum heap_kind {
    HEAP_OTHER,
    HEAP_LIST, /* these include derived types */
    HEAP_TUPLE,
    HEAP_DICT,
    HEAP_SET,
    HEAP_DEQUE,
    HEAP_TEXT,
    HEAP_BYTES,
    HEAP_INT,
    HEAP_EXCEPTION,
    HEAP_TYPE,
    HEAP_BYTEARRAY,
    HEAP_ARRAY,       /* numpy's */
    HEAP_MEMORY_FILE, /* io.BytesIO, io.StringIO */
    HEAP_NUMBERS,     /* array.array */
};

enum heap_kind heap_kind_of_type(const py_object *type);
enum heap_kind heap_kind(const py_object *o);

/* Cheaper than asking for the kind. */
bool heap_is_dict(const py_object *o);

/* The number of items of a list, tuple, dict, set or deque; -1: something else. */
ptrdiff_t heap_length(const py_object *o);
ptrdiff_t heap_length_as(const py_object *o, enum heap_kind kind); /* if its kind is known */
/* The maxlen of a deque; -1: unbounded, or not a deque. */
ptrdiff_t heap_most(const py_object *o);
/* The maxsize of the functools.lru_cache that stores its results in this dict. Walks the heap. */
ptrdiff_t heap_most_of_cache(const py_object *dict);

/* The collector does not know everything a numpy array refers to. The owner is the object whose
 * memory the array shows; NULL: the array owns its memory, or `o` is not an array. The objects are
 * its elements if they are objects; an element may be NULL. */
py_object *heap_array_owner(const py_object *o);
/* The array whose memory an array shows, itself where it has its own; of anything else itself. */
py_object *heap_array_memory(py_object *o);
size_t heap_array_objects(const py_object *o, py_object *const **ret_objects);

/* Bytes of host memory of the object and of its private memory, such as the table of a list or the
 * numbers of an array. */
size_t heap_size(const py_object *o);
size_t heap_size_as(const py_object *o, enum heap_kind kind);

#endif
