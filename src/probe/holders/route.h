/* probe/holders/route.h: a way from what has a name to an object, in words. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOLDERS_ROUTE_H
#define TIDEMARK_PROBE_HOLDERS_ROUTE_H

#include "probe/holders/holders.h"
#include "probe/holders/roots.h"

#include <stdint.h>

#define ROUTE_MOST 64u

struct route {
    const struct root *root; /* what the first object is a root by */
    py_object *objects[ROUTE_MOST];
    uint32_t nodes[ROUTE_MOST];
    bool is_fork[ROUTE_MOST];  /* other objects of the group take another way from there */
    bool is_chain[ROUTE_MOST]; /* the step to it is repeated many times: left out */
    unsigned count;
};

/* Without its share. False: there are no words for it. */
bool route_describe(const struct route *r, struct holder *ret);

/* An object that a function is at work with. */
void route_describe_temporary(const struct frame_root *temporary, struct holder *ret);

#endif
