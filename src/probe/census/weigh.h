/* probe/census/weigh.h: what the newest items of something that grows take. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_WEIGH_H
#define TIDEMARK_PROBE_CENSUS_WEIGH_H

#include "probe/census/survey.h"
#include "probe/census/things.h"

struct weight {
    double host, device; /* bytes of an item, with what it retains; NAN: there is none */
    /* 95 % intervals for these, by how far the weighed items differ: one point where they are all
     * alike, or all that there are, and were visited whole. INFINITY: part of it cannot be seen. */
    double host_low, host_high, device_low, device_high;
    bool carries_graph; /* a tensor among it has what made it: more than is told here */
    bool is_exception;  /* that holds a traceback */
    bool is_function;
    bool is_foreign;       /* it is an extension's, or its heaviest part is */
    double hidden_by_view; /* bytes that views among it pin beyond what they show */
    double tensors;        /* of an item */
    /* What it is; then what weighs most in it, if that is not the item itself, and in that. */
    struct thing things[WIRE_CENSUS_ITEM_DEPTH];
    unsigned depth; /* 0: not known */
};

/* Of the newest items of a container: what it retains for each of them. What neighbours share
 * counts once, what others hold as well does not count. */
void weigh_container(py_object *container, struct weight *ret);

/* Of these objects, WEIGH_MOST at most; `each`: without others of their type, which are counted for
 * themselves. */
#define WEIGH_MOST 8u
void weigh_objects(py_object *const *objects, unsigned count, bool each, struct weight *ret);

/* An item that has so many of what was weighed. */
void weigh_multiply(struct weight *w, double times);

/* The types that the weighed items were made of, for a question: has this type been met? They are
 * kept until weigh_forget(). */
bool weigh_has_met(const py_object *type);
void weigh_forget(void);

#endif
