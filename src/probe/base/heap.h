/* probe/base/heap.h: the objects of the interpreter, walked without asking them. Private to probe/.
 */
#ifndef TIDEMARK_PROBE_BASE_HEAP_H
#define TIDEMARK_PROBE_BASE_HEAP_H

#include "probe/base/python.h"

#include <stdint.h>

/*
 * Everything here reads memory: no code of the program runs, nothing is allocated but in
 * heap_learn(), no reference is taken. What it reads is laid out alike in CPython 3.9 to 3.14 with
 * the GIL, which every caller holds; what is not is learnt from objects made for it.
 */

/* Finds out how to walk, once. False: not in this interpreter. */
bool heap_learn(void);

/* Every object that the collector tracks. False from `visit` ends the walk. */
typedef bool heap_visitor(py_object *o, void *context);
void heap_visit(heap_visitor *visit, void *context);
/* The same from the newest to the oldest, as far as the interpreter lets: what holds an object is
 * mostly older than it. */
void heap_visit_back(heap_visitor *visit, void *context);

/* What an object refers to; not 0 from `visit` ends it. */
typedef int heap_edge_visitor(py_object *o, void *context);
void heap_edges(py_object *o, heap_edge_visitor *visit, void *context);
/* False: it is of a type that refers to nothing, as numbers and texts. */
bool heap_has_edges(const py_object *o);

/* ---- what an object is ---- */

py_object *heap_type(const py_object *o);
const char *heap_type_name(const py_object *type);
/* Is it that type, or derived from it? */
bool heap_is_subtype(const py_object *type, const py_object *base);
/* Its objects are an extension's: what else belongs to them cannot be seen. */
bool heap_is_foreign(const py_object *type);
/* An extension's number or date: there is nothing behind it. */
bool heap_is_scalar(const py_object *type);
/* Written in C, as the language's own types are; no class statement made it. */
bool heap_is_builtin(const py_object *type);
bool heap_is_weak_reference(const py_object *type);
/* Its own namespace, borrowed; NULL: not to be had. */
py_object *heap_type_dict(const py_object *type);
/* The tuple of classes in which names are looked for, itself first; NULL: none yet. */
py_object *heap_type_order(const py_object *type);
bool heap_is_tracked(const py_object *o);
ptrdiff_t heap_references(const py_object *o); /* its count of them */

enum heap_kind {
    HEAP_OTHER,
    HEAP_LIST, /* these with the types derived from them */
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

/* Items of a list, tuple, dict, set or deque; -1: it is none of these. */
ptrdiff_t heap_length(const py_object *o);
ptrdiff_t heap_length_as(const py_object *o, enum heap_kind kind); /* whose kind is known */
/* The most that a deque will hold; -1: no end to it, or no deque. */
ptrdiff_t heap_most(const py_object *o);
/* The same of the functools.lru_cache that keeps its results in this dict; a walk over the heap. */
ptrdiff_t heap_most_of_cache(const py_object *dict);

/* An array of numpy's refers to objects of which the collector does not know: the one whose memory
 * it shows, NULL where that is its own; and its elements where they are objects. An element may be
 * NULL. Of anything else there are none. */
py_object *heap_array_owner(const py_object *o);
/* The array whose memory an array shows, itself where it has its own; of anything else itself. */
py_object *heap_array_memory(py_object *o);
size_t heap_array_objects(const py_object *o, py_object *const **ret_objects);

/* Bytes of host memory that are the object's own, with what belongs to nobody else (a list's table,
 * an array's numbers). */
size_t heap_size(const py_object *o);
size_t heap_size_as(const py_object *o, enum heap_kind kind);

#endif
