/* probe/hook/dataset.h: the parts of a dataset that its data workers would copy. Private to probe/.
 */
#ifndef TIDEMARK_PROBE_HOOK_DATASET_H
#define TIDEMARK_PROBE_HOOK_DATASET_H

#include "probe/base/python.h"

/*
 * A forked worker shares its parent's pages until one of them is written, and using an object
 * writes its reference count. In the end every page with Python objects is copied, and no page with
 * the numbers of an array.
 */

/* An attribute that holds many objects ("list", "Files", "samples"), and the bytes of their pages
 * that are written by using them. */
typedef void dataset_found(const char *type, const char *owner, const char *attribute,
                           double bytes);

/*
 * Weighs the dataset of a loader's iterator that has workers: the lists, dicts, tuples and sets
 * among its attributes, and among those of the datasets and objects it contains. Samples a few
 * dozen objects of each. No code of the program runs. The GIL is held.
 */
void dataset_weigh(py_object *iterator, dataset_found *found);

/* The dataset of an iterator that has workers, borrowed; NULL: it has none. */
py_object *dataset_of(py_object *iterator);

#endif
