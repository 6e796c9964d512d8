/* probe/census/retained.h: what a run of items keeps alive, within a bounded number of visits.
 * Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_RETAINED_H
#define TIDEMARK_PROBE_CENSUS_RETAINED_H

#include "probe/base/places.h"
#include "probe/census/edges.h"

/*
 * The run *retains* an object if its items hold it and nobody else does: the references met on the
 * ways from the items equal its reference count. An object held by several items belongs to all of
 * them: each has a *share* of it, and the shares add up to 1. Some items are the run's margin: they
 * are followed, so that what they share with the others is recognised, but they are not weighed.
 * Objects that only a cycle holds are followed as well, and retained if all their references come
 * from there.
 *
 * If an item reaches more than can be visited, a random sample of each generation is followed
 * (probe/census/picks.h). Each sampled object stands for others like it: its shares are multiplied
 * by their number, and may add up to more than 1. The estimate is unbiased: every object can be
 * sampled, and none counts twice.
 *
 * No reference is taken, no code of the program runs, malloc() is not called. The GIL is held.
 */

#define RETAINED_ITEMS 8u /* weighed items */
#define RETAINED_ROOTS 32u
#define RETAINED_MARGIN (-1)

struct retained_root {
    py_object *object;
    int item; /* 0 to RETAINED_ITEMS - 1 (an item may have several roots), or RETAINED_MARGIN */
};

struct retained;

/* NULL: no memory. */
struct retained *retained_new(void);
struct retained *retained_free(struct retained *r); /* accepts NULL, returns NULL */

/* The number of objects reached from these roots, or `most` + 1 if there are more. Shows in advance
 * how many items a run can have. */
size_t retained_reach(struct retained *r, const struct retained_root *roots, size_t count,
                      bool each, size_t most);
#define RETAINED_MOST 6144u /* objects visited whole */

/*
 * Visits everything the roots reach. `each`: other objects of a root's type are not its own.
 * Without it, that holds only for non-containers that others hold as well, such as the nodes of a
 * chain, where one reaches all. False: too much to visit whole.
 */
bool retained_whole(struct retained *r, const struct retained_root *roots, size_t count, bool each);

/* Visits a sample, chosen by the seed. `together`: blocks of neighbours, to recognise what they
 * share; its variance is larger. */
void retained_sample(struct retained *r, const struct retained_root *roots, size_t count, bool each,
                     bool together, uint64_t seed);

/* A chain was longer than the sample could follow: the run retains more than was measured. */
bool retained_is_cut(const struct retained *r);

/* Cycles were too large to follow, and what they keep is not counted. Most of them lead into the
 * rest of the program and are not the run's own. */
bool retained_is_undecided(const struct retained *r);

enum retained_state {
    RETAINED_ITEM,   /* a root */
    RETAINED_INSIDE, /* retained by the roots */
    RETAINED_MAYBE,  /* in a sample: further references to it may come from objects left out */
};

/* Visits every object with its shares, one for each item; the roots first and in order. Roots of
 * the margin have none. */
typedef void retained_visitor(py_object *o, enum retained_state state, const double *shares,
                              void *context);
void retained_visit(const struct retained *r, retained_visitor *visit, void *context);

#endif
