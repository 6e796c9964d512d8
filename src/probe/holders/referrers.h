/* probe/holders/referrers.h: a graph of objects and their referrers. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOLDERS_REFERRERS_H
#define TIDEMARK_PROBE_HOLDERS_REFERRERS_H

#include "probe/base/python.h"

#include <stdint.h>

/*
 * The graph starts with some objects and grows by passes over the heap. A pass finds all referrers
 * of the nodes known before it. For nodes it finds itself, it finds the referrers that come later
 * in the pass or came just before, as an object and its __dict__ are created together. The first
 * pass goes from the youngest object to the oldest, since a holder is usually older than the object
 * it holds. The next goes the other way, since links of a list may hold the link before; and so on.
 * The memory is mapped and bounded; malloc() is not called. No reference is taken, no code of the
 * program runs. The GIL is held throughout.
 */

#define REFERRERS_NODES 16384u
#define REFERRERS_EDGES 65536u
#define REFERRERS_EACH 48u    /* referrers per object; the first ones met */
#define REFERRERS_OTHERS 32u  /* further ones, of another type than the last of those */
#define REFERRERS_FAR 16u     /* maximum distance from the objects; links of a chain count once */
#define REFERRERS_LINK 3u     /* maximum objects per link: a node, its __dict__, a tuple in it */
#define REFERRERS_AHEAD 4096u /* new nodes followed in the pass that finds them; others later */

#define REFERRERS_RECENT 16u /* when a node is found, this many objects are revisited, ... */
#define REFERRERS_LIGHT 32u  /* ... each with at most this many references */

#define REFERRERS_NONE UINT32_MAX

struct referrers_node {
    py_object *object;
    uint32_t from;       /* the node through which it was found; REFERRERS_NONE: none */
    uint32_t edges;      /* the first edge to a referrer; REFERRERS_NONE: none */
    uint32_t references; /* references found, including those from objects outside the graph */
    uint16_t referrers;
    uint16_t distance; /* 0: one of the objects; constant along a chain */
    uint16_t pass;     /* the pass that found it */
    bool is_end;       /* its referrers are not searched for */
    bool is_far;       /* nor here, because of its distance */
    bool is_cut;       /* some of its referrers were left out */
};

struct referrers_edge {
    uint32_t held, referrer; /* nodes */
    uint32_t next;           /* the next edge of `held` */
    bool is_counted;         /* counted in `references` */
};

/* Called for every new node; true: do not search for its referrers. It may allocate, but must not
 * run code of the program. */
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
    uint32_t ahead;     /* nodes found and followed in this pass */
    uint32_t *table;    /* nodes by address */
    uint64_t *likely;   /* a bit per hashed address: rules out most other objects */
    py_object *current; /* the object whose references are being visited */
    size_t met;         /* references visited so far */
    py_object *recent[REFERRERS_RECENT];
    size_t recent_count; /* objects passed in this pass */
    bool is_revisiting;
};

/*
 * Begins with some distinct objects. `is_deep`: also visit dicts and tuples that the collector does
 * not track, which is slower. False: no memory.
 */
bool referrers_begin(struct referrers *r, py_object *const *objects, size_t count, bool is_deep,
                     referrers_found *found, void *context);

/* Makes one pass. False: nothing was left to search for. */
bool referrers_pass(struct referrers *r);

/* The node of an object; REFERRERS_NONE: not in the graph. */
uint32_t referrers_node(const struct referrers *r, const py_object *o);

void referrers_end(struct referrers *r);

#endif
