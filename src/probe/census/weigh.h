/* probe/census/weigh.h: the size of the newest items of a growth. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_WEIGH_H
#define TIDEMARK_PROBE_CENSUS_WEIGH_H

#include "probe/census/survey.h"
#include "probe/census/things.h"

struct weight {
    double host, device; /* bytes per item, including what it retains; NAN: not known */
    /* 95 % intervals of these, by the spread of the weighed items. A single point if all are alike,
     * or if all items there are were visited whole. INFINITY: part of it cannot be seen. */
    double host_low, host_high, device_low, device_high;
    bool carries_graph; /* a tensor in it has a grad_fn, whose graph is not weighed */
    bool is_exception;  /* an exception, which holds a traceback */
    bool is_function;
    bool is_foreign;       /* it or its heaviest part belongs to an extension */
    double hidden_by_view; /* bytes that views in it pin beyond what they show */
    double tensors;        /* per item */
    /* The item; then the heaviest object in it, if that is not the item itself; then the heaviest
     * in that. */
    struct thing things[WIRE_CENSUS_ITEM_DEPTH];
    unsigned depth; /* 0: not known */
};

/* The newest items of a container: what the container retains per item. Memory shared by neighbours
 * counts once; memory that others hold does not count. */
void weigh_container(py_object *container, struct weight *ret);

/* These objects, at most WEIGH_MOST. `each`: without other objects of their type, which count for
 * themselves. */
#define WEIGH_MOST 8u
void weigh_objects(py_object *const *objects, unsigned count, bool each, struct weight *ret);

/* Turns the weight into that of an item with this many of the weighed objects. */
void weigh_multiply(struct weight *w, double times);

/* True: a weighed item contained an object of this type. Kept until weigh_forget(). */
bool weigh_has_met(const py_object *type);
void weigh_forget(void);

#endif
