/* probe/holders/referrers.h: from objects back to those that refer to them. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOLDERS_REFERRERS_H
#define TIDEMARK_PROBE_HOLDERS_REFERRERS_H

#include "probe/base/python.h"

#include <stdint.h>

/*
 * A graph of who refers to whom, which begins with some objects and grows by passes over the heap.
 * A pass finds all that refers to the objects which were known before it; and of those that it
 * finds itself, what refers to them and comes later in the pass, or came just before: a node and
 * its __dict__ are made one after the other. The first goes from the youngest object to the
 * oldest, as what holds an object is mostly older; the next the other way, as each link of a list
 * may hold the one before it; and so on. Its memory is mapped, and bounded; malloc() is not called.
 * No reference is taken, no code of the program runs. The GIL is held all the time.
 */

#define REFERRERS_NODES 16384u
#define REFERRERS_EDGES 65536u
#define REFERRERS_EACH 48u   /* of one object; of more the first that are met */
#define REFERRERS_OTHERS 32u /* beyond that, of another kind than most of them */
#define REFERRERS_FAR 16u    /* steps from the objects at most; the links of a chain count once */
#define REFERRERS_LINK 3u    /* objects of a link at most: a node, its __dict__, a tuple in it */
#define REFERRERS_AHEAD                                                                            \
    4096u /* nodes of a pass that are followed in it; the others in the next                       \
           */

#define REFERRERS_RECENT 16u /* objects that are looked at again when one is found, ... */
#define REFERRERS_LIGHT 32u  /* ... of so many references at most */

#define REFERRERS_NONE UINT32_MAX

struct referrers_node {
    py_object *object;
    uint32_t from;       /* the node that led to it; REFERRERS_NONE: none */
    uint32_t edges;      /* the first to a referrer; REFERRERS_NONE: none */
    uint32_t references; /* found, with those from objects that are not in the graph */
    uint16_t referrers;
    uint16_t distance; /* 0: it is one of the objects themselves; along a chain it stays */
    uint16_t pass;     /* that found it */
    bool is_end;       /* what refers to it is not looked for */
    bool is_far;       /* nor here, as it is too far away */
    bool is_cut;       /* not all that refers to it was taken */
};

struct referrers_edge {
    uint32_t held, referrer; /* nodes */
    uint32_t next;           /* of the same held one */
    bool is_counted;         /* among the references */
};

/* Called with every node when it is found; true: it is an end. It may allocate, but must not run
 * code of the program. */
typedef bool referrers_found(const struct referrers_node *node, uint32_t index, void *context);

struct referrers {
    struct referrers_node *nodes;
    struct referrers_edge *edges;
    uint32_t node_count, edge_count;
    bool is_cut; /* something did not fit */

    /* private */
    referrers_found *found;
    void *context;
    bool is_deep;
    uint16_t pass;
    uint32_t ahead;     /* nodes found by this pass that it follows */
    uint32_t *table;    /* nodes by address */
    uint64_t *likely;   /* a bit by address: most that is not looked for is seen here */
    py_object *current; /* whose edges are looked at */
    size_t met;         /* references, of all objects so far */
    py_object *recent[REFERRERS_RECENT];
    size_t recent_count; /* that were there, in this pass */
    bool is_looking_back;
};

/*
 * Begins with some objects, each once. `is_deep`: look also into dicts and tuples that the
 * collector does not track as there is nothing in them that it needs to know; slower. False: no
 * memory.
 */
bool referrers_begin(struct referrers *r, py_object *const *objects, size_t count, bool is_deep,
                     referrers_found *found, void *context);

/* One pass. False: there was nothing left to look for. */
bool referrers_pass(struct referrers *r);

/* The node of an object; REFERRERS_NONE: it is not in the graph. */
uint32_t referrers_node(const struct referrers *r, const py_object *o);

void referrers_end(struct referrers *r);

#endif
