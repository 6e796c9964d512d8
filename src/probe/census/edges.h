/* probe/census/edges.h: what an object refers to, all of it or a sample. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_EDGES_H
#define TIDEMARK_PROBE_CENSUS_EDGES_H

#include "probe/base/heap.h"

/*
 * Beside heap_edges() these know what the collector does not: the keys of a dict that are texts,
 * the memory behind an array of numpy's, and its elements. Of a function they give what it closes
 * over and its defaults: all else belongs to its module. No code of the program runs.
 */

#define EDGES_MOST 1024u /* in a sample; of dicts, keys and values */

/* A sample. `scale` times as many references are like those that are not of the margin, `reach`
 * times as many like all of them. */
struct edges {
    double scale, reach;
    size_t count;
    struct edge {
        py_object *object;
        bool is_margin; /* see probe/census/picks.h */
    } at[EDGES_MOST];
};

/* May it refer to anything? False for numbers and texts, at no cost. */
bool edges_any(const py_object *o);

/* References, a key with its value as one; those of a container are known at no cost, others are
 * counted. */
size_t edges_count(py_object *o);

void edges_all(py_object *o, heap_edge_visitor *visit, void *context);

/* At most `most` places, 1 to EDGES_MOST / 2, by picks_choose(). Objects with equally many
 * references, at an equal turn, have the same places visited. */
void edges_some(py_object *o, size_t most, size_t block, double turn, struct edges *ret);

#endif
