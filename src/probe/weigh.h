/* probe/weigh.h: what the newest items of something that grows take. Private to probe/. */
#ifndef TIDEMARK_PROBE_WEIGH_H
#define TIDEMARK_PROBE_WEIGH_H

#include "probe/survey.h"

struct weight {
    double host, device; /* bytes of an item, with what it alone reaches; NAN: there is none */
    bool carries_graph;  /* a tensor among it has what made it: more than is told here */
    bool is_exception;   /* that holds a traceback */
    bool is_function;
    bool is_foreign;       /* it is an extension's, or its heaviest part is */
    double hidden_by_view; /* bytes that views among it pin beyond what they show */
    double tensors;        /* of an item */
    char what[160];        /* "tuple of tensor float32 [1024, 1024] cpu" */
};

/* Of the newest items of a container. */
void weigh_container(py_object *container, struct weight *ret);

/* Of these objects, each with what it alone reaches; `each`: without others of its type, which are
 * counted for themselves. */
void weigh_objects(py_object *const *objects, unsigned count, bool each, struct weight *ret);

/* The types that the weighed items were made of, for a question: has this type been met? They are
 * kept until weigh_forget(). */
bool weigh_has_met(const py_object *type);
void weigh_forget(void);

#endif
