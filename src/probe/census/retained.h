/* probe/census/retained.h: what a run of items keeps alive, within a bounded number of looks.
 * Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_RETAINED_H
#define TIDEMARK_PROBE_CENSUS_RETAINED_H

#include "probe/base/places.h"
#include "probe/census/edges.h"

/*
 * An object is *retained* by the run where the run's items hold it and nobody else does: as many
 * references to it were met, on the ways from the items, as it counts. What several items hold
 * belongs to all of them: each has a *share* of it, and the shares add up to 1 over all holders.
 * Some items of the run are its margin: they are followed, so that what they hold together with
 * the others is recognised, and are not weighed. What only a cycle explains is looked into as well,
 * and kept if all references to it come from there.
 *
 * Where an item reaches more than can be visited, of each generation of objects a random sample is
 * followed (probe/census/picks.h), and what it finds stands for all: its shares are multiplied by
 * how many others are like it. The shares of an object are then more than 1 in sum, and their
 * expectation is right: no object is missed for sure, none counts twice.
 *
 * No reference is taken, no code of the program runs, malloc() is not called. The GIL is held.
 */

#define RETAINED_ITEMS 8u /* that are weighed */
#define RETAINED_ROOTS 32u
#define RETAINED_MARGIN (-1)

struct retained_root {
    py_object *object;
    int item; /* 0 to RETAINED_ITEMS - 1, which may have several; or RETAINED_MARGIN */
};

struct retained;

/* NULL: no memory. */
struct retained *retained_new(void);
struct retained *retained_free(struct retained *r); /* accepts NULL, returns NULL */

/* Objects that are followed from these roots, or one more than `most` where there are more; to find
 * out, before the others are called, how many items they can have. */
size_t retained_reach(struct retained *r, const struct retained_root *roots, size_t count,
                      bool each, size_t most);
#define RETAINED_MOST 6144u /* objects that are visited whole */

/*
 * `each`: others of a root's type are not its own; otherwise that holds for those that are no
 * containers and that others hold as well, as the nodes of a chain, of which one reaches all.
 * False: what they reach cannot be visited whole within bounds.
 */
bool retained_whole(struct retained *r, const struct retained_root *roots, size_t count, bool each);

/* By a sample, by that seed. `together`: of neighbours, for what they share; it varies more. */
void retained_sample(struct retained *r, const struct retained_root *roots, size_t count, bool each,
                     bool together, uint64_t seed);

/* A chain was longer than the sample could follow: more is retained than is known. */
bool retained_is_cut(const struct retained *r);

/* Cycles were larger than could be followed: what they keep is not counted. Most lead into the rest
 * of the program, and are not the run's own anyway. */
bool retained_is_undecided(const struct retained *r);

enum retained_state {
    RETAINED_ITEM,   /* a root */
    RETAINED_INSIDE, /* what they retain */
    RETAINED_MAYBE,  /* of a sample: more references to it may come from what was left out */
};

/* Every object with its shares, one for each item, the roots first and in their order. Those of the
 * margin have none. */
typedef void retained_visitor(py_object *o, enum retained_state state, const double *shares,
                              void *context);
void retained_visit(const struct retained *r, retained_visitor *visit, void *context);

#endif
