/* probe/holders/route.h: writes the path from a root to an object. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOLDERS_ROUTE_H
#define TIDEMARK_PROBE_HOLDERS_ROUTE_H

#include "probe/holders/holders.h"
#include "probe/holders/roots.h"

#include <stdint.h>

#define ROUTE_MOST 64u

struct route {
    const struct root *root; /* of the first object */
    py_object *objects[ROUTE_MOST];
    uint32_t nodes[ROUTE_MOST];
    bool is_fork[ROUTE_MOST];  /* the paths of other objects of the group differ from here on */
    bool is_chain[ROUTE_MOST]; /* the step to it is repeated many times and abbreviated */
    unsigned count;
};

/* Fills everything but the share. False: the path cannot be written. */
bool route_describe(const struct route *r, struct holder *ret);

/* For an object on the stack of a running function. */
void route_describe_temporary(const struct frame_root *temporary, struct holder *ret);

#endif
