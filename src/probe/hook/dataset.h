/* probe/hook/dataset.h: what of a dataset its data workers would copy. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOOK_DATASET_H
#define TIDEMARK_PROBE_HOOK_DATASET_H

#include "probe/base/python.h"

/*
 * A forked worker shares its parent's pages until one is written, and a reference count is written
 * by whoever so much as looks at an object: of Python objects every page is copied in the end, of
 * the numbers in an array none.
 */

/* An attribute that holds many objects: "list", "Files", "samples", and the bytes of all objects in
 * it, so far as their pages are written by being used. */
typedef void dataset_found(const char *type, const char *owner, const char *attribute,
                           double bytes);

/*
 * Looks at the dataset of a loader's iterator, where that has workers: at the lists, dicts, tuples
 * and sets among its attributes, and those of the datasets and objects that it holds itself. From
 * each a few dozen objects are weighed. No code of the program runs. The GIL is held.
 */
void dataset_weigh(py_object *iterator, dataset_found *found);

/* The dataset of an iterator that has workers, borrowed; NULL: it has none. */
py_object *dataset_of(py_object *iterator);

#endif
