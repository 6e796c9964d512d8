/* probe/census/edges.h: all references of an object, or a sample of them. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_EDGES_H
#define TIDEMARK_PROBE_CENSUS_EDGES_H

#include "probe/base/heap.h"

/*
 * Unlike heap_edges(), these know keys of a dict that are texts, the memory behind a numpy array,
 * and its elements. For a function they give only its closure and defaults: everything else belongs
 * to its module. No code of the program runs.
 */

#define EDGES_MOST 1024u /* in a sample; for dicts, keys and values each count */

/* A sample. Each sampled reference outside the margin stands for `scale` references; each one,
 * margin included, for `reach`. */
struct edges {
    double scale, reach;
    size_t count;
    struct edge {
        py_object *object;
        bool is_margin; /* see probe/census/picks.h */
    } at[EDGES_MOST];
};

/* Could it refer to anything? Costs nothing; false for numbers and texts. */
bool edges_any(const py_object *o);

/* The number of references; a key and its value count as one. Free for containers; other objects
 * are traversed. */
size_t edges_count(py_object *o);

void edges_all(py_object *o, heap_edge_visitor *visit, void *context);

/* Samples at most `most` places (1 to EDGES_MOST / 2) by picks_choose(). Objects with the same
 * number of references and the same turn are sampled at the same places. */
void edges_some(py_object *o, size_t most, size_t block, double turn, struct edges *ret);

#endif
