/* probe/holders/referrers.c: finds referrers of objects, one pass over the heap at a time. */
#include "probe/holders/referrers.h"
#include "probe/base/pages.h"

#include "probe/base/frames.h"
#include "probe/base/heap.h"

#include <string.h>

#define TABLE_BITS 15u /* twice as many slots as nodes */
#define LIKELY_BITS 19u
#define UNTRACKED_DEPTH 4
#define TRACEBACKS_MOST 4096u /* per exception */

_Static_assert((1u << TABLE_BITS) >= 2 * REFERRERS_NODES, "the table must not fill");

/* ---- memory ---- */

static size_t bytes_of_all(void)
{
    return sizeof(struct referrers_node) * REFERRERS_NODES +
           sizeof(struct referrers_edge) * REFERRERS_EDGES + sizeof(uint32_t) * (1u << TABLE_BITS) +
           (1u << LIKELY_BITS) / 8;
}

static bool get_memory(struct referrers *r)
{
    char *all = pages_map(NULL, bytes_of_all(), MAP_PRIVATE);
    if (!all)
        return false;
    r->likely = (uint64_t *) all;
    r->nodes = (struct referrers_node *) (all + (1u << LIKELY_BITS) / 8);
    r->edges = (struct referrers_edge *) (r->nodes + REFERRERS_NODES);
    r->table = (uint32_t *) (r->edges + REFERRERS_EDGES);
    memset(r->table, 0xff, sizeof(uint32_t) * (1u << TABLE_BITS)); /* REFERRERS_NONE */
    return true;
}

void referrers_end(struct referrers *r)
{
    if (r->likely)
        pages_unmap(r->likely, bytes_of_all());
    r->likely = NULL;
}

/* ---- nodes by address ---- */

static uint64_t scramble(const py_object *o)
{
    return ((uint64_t) (uintptr_t) o >> 4) * 0x9e3779b97f4a7c15u;
}

static uint32_t *place_of(const struct referrers *r, const py_object *o)
{
    uint64_t at = scramble(o) >> (64 - TABLE_BITS);
    while (r->table[at] != REFERRERS_NONE && r->nodes[r->table[at]].object != o)
        at = (at + 1) & ((1u << TABLE_BITS) - 1);
    return &r->table[at];
}

uint32_t referrers_node(const struct referrers *r, const py_object *o)
{
    return *place_of(r, o);
}

/* ---- objects to search for ---- */

static void expect(struct referrers *r, const py_object *o)
{
    uint64_t bit = scramble(o) >> (64 - LIKELY_BITS);
    r->likely[bit / 64] |= 1ull << bit % 64;
}

static bool is_likely(const struct referrers *r, const py_object *o)
{
    uint64_t bit = scramble(o) >> (64 - LIKELY_BITS);
    return r->likely[bit / 64] >> bit % 64 & 1;
}

/* The node of an object whose referrers are searched for now: from where it was found to the end of
 * that pass, and during the whole next pass. NULL: not such an object. */
static struct referrers_node *searched_node(struct referrers *r, const py_object *o)
{
    if (!is_likely(r, o))
        return NULL;
    uint32_t i = referrers_node(r, o);
    struct referrers_node *n = i == REFERRERS_NONE ? NULL : &r->nodes[i];
    return n && n->pass + 1 >= r->pass && !n->is_end && !n->is_far ? n : NULL;
}

/* ---- chains ---- */

/* The node `before` steps back towards the objects; REFERRERS_NONE: none. */
static uint32_t node_before(const struct referrers *r, uint32_t node, unsigned before)
{
    for (; before > 0 && node != REFERRERS_NONE; before--)
        node = r->nodes[node].from;
    return node;
}

/* Do `referrer` and the nodes that led to it have the same types as the `length` nodes before them?
 */
static bool is_repeated(const struct referrers *r, const py_object *referrer, uint32_t held,
                        unsigned length)
{
    for (unsigned i = 0; i < length; i++) {
        uint32_t near = node_before(r, held, i + length - 1);
        const py_object *far = i == 0 ? referrer : r->nodes[node_before(r, held, i - 1)].object;
        if (near == REFERRERS_NONE || heap_type(r->nodes[near].object) != heap_type(far))
            return false;
    }
    return true;
}

/* A further link of a chain has the distance of the link before. */
static uint16_t distance_of(const struct referrers *r, const py_object *referrer, uint32_t held)
{
    for (unsigned length = 1; length <= REFERRERS_LINK; length++)
        if (is_repeated(r, referrer, held, length) && r->nodes[held].distance >= length)
            return r->nodes[node_before(r, held, length - 1)].distance;
    return (uint16_t) (r->nodes[held].distance + 1);
}

/* ---- nodes ---- */

static void follow(struct referrers *r, struct referrers_node *n)
{
    n->pass = r->pass;
    if (r->ahead < REFERRERS_AHEAD) {
        r->ahead++;
        expect(r, n->object);
    }
}

static void place_node(struct referrers *r, uint32_t index)
{
    struct referrers_node *n = &r->nodes[index];
    n->is_end = r->found(n, index, r->context);
    n->is_far = !n->is_end && n->distance >= REFERRERS_FAR;
    if (!n->is_end && !n->is_far)
        follow(r, n);
}

/* Another path to it was found, perhaps a shorter one. */
static void come_nearer(struct referrers *r, struct referrers_node *n, uint16_t distance)
{
    if (distance >= n->distance)
        return;
    n->distance = distance;
    if (n->is_far && distance < REFERRERS_FAR) {
        n->is_far = false;
        follow(r, n);
    }
}

static uint32_t add_node(struct referrers *r, py_object *o, uint32_t from, uint16_t distance)
{
    uint32_t *place = place_of(r, o);
    if (*place != REFERRERS_NONE)
        return *place;
    if (r->node_count == REFERRERS_NODES) {
        r->is_cut = true;
        return REFERRERS_NONE;
    }
    uint32_t index = r->node_count++;
    *place = index;
    r->nodes[index] = (struct referrers_node){
        .object = o, .from = from, .edges = REFERRERS_NONE, .distance = distance, .pass = r->pass};
    place_node(r, index);
    return index;
}

/* ---- edges ---- */

/* Objects refer to their class, and classes to their bases, but that does not hold them. The frame
 * of a running function is represented by its variables. */
static bool is_holding(const py_object *referrer, const py_object *held)
{
    if (referrer == held || heap_type(referrer) == held || frames_is_running(referrer))
        return false;
    return heap_kind(referrer) != HEAP_TYPE || heap_kind(held) == HEAP_DICT;
}

static struct referrers_edge *
edge_from(const struct referrers *r, const struct referrers_node *held, const py_object *referrer)
{
    for (uint32_t e = held->edges; e != REFERRERS_NONE; e = r->edges[e].next)
        if (r->nodes[r->edges[e].referrer].object == referrer)
            return &r->edges[e];
    return NULL;
}

/* If many objects of one type refer to it, such as items that know their container, a referrer of
 * another type is more likely to be its owner: some extra room is reserved for those. */
static bool has_room_for(const struct referrers *r, const struct referrers_node *held,
                         const py_object *referrer)
{
    if (held->referrers < REFERRERS_EACH)
        return true;
    const struct referrers_node *last = &r->nodes[r->edges[held->edges].referrer];
    return held->referrers < REFERRERS_EACH + REFERRERS_OTHERS &&
           heap_type(last->object) != heap_type(referrer);
}

static void add_edge(struct referrers *r, struct referrers_node *held, py_object *referrer)
{
    bool has_room = r->edge_count < REFERRERS_EDGES && has_room_for(r, held, referrer);
    uint32_t index = (uint32_t) (held - r->nodes);
    uint16_t distance = distance_of(r, referrer, index);
    uint32_t node = has_room ? add_node(r, referrer, index, distance) : REFERRERS_NONE;
    if (node == REFERRERS_NONE) {
        held->is_cut = true;
        return;
    }
    come_nearer(r, &r->nodes[node], distance);
    r->edges[r->edge_count] = (struct referrers_edge){
        .held = index, .referrer = node, .next = held->edges, .is_counted = held->pass < r->pass};
    held->edges = r->edge_count++;
    held->referrers++;
}

/* Counts references in the pass that sees all of them. An untracked object is visited from each of
 * its referrers, but its references count once. */
static void count_reference(const struct referrers *r, struct referrers_node *held,
                            struct referrers_edge *known)
{
    if (held->pass == r->pass)
        return;
    if (!known || !known->is_counted || heap_is_tracked(r->current))
        held->references++;
    if (known)
        known->is_counted = true;
}

static void meet(struct referrers *r, py_object *o)
{
    r->met++;
    struct referrers_node *held = searched_node(r, o);
    if (!held || (r->is_revisiting && held->pass < r->pass))
        return;
    struct referrers_edge *known = edge_from(r, held, r->current);
    count_reference(r, held, known);
    if (known)
        come_nearer(r, &r->nodes[known->referrer],
                    distance_of(r, r->current, (uint32_t) (held - r->nodes)));
    else if (is_holding(r->current, o))
        add_edge(r, held, r->current);
    else if (r->current != o)
        held->is_cut = true; /* something holds it all the same */
}

static int visit_edge(py_object *o, void *context)
{
    if (o)
        meet(context, o);
    return 0;
}

/* ---- tracebacks ---- */

static int is_next(py_object *o, void *context)
{
    if (!o || heap_type(o) != py.PyTraceBack_Type)
        return 0;
    *(py_object **) context = o;
    return 1;
}

static py_object *traceback_in(py_object *o)
{
    py_object *next = NULL;
    heap_edges(o, is_next, &next);
    return next;
}

/* All further tracebacks of an exception count as its own: the chain may be long, but is no detour.
 */
static void add_tracebacks(struct referrers *r, py_object *exception)
{
    py_object *o = traceback_in(exception);
    for (unsigned i = 0; o && i < TRACEBACKS_MOST; i++) {
        struct referrers_node *held = searched_node(r, o);
        if (held && !edge_from(r, held, exception))
            add_edge(r, held, exception);
        o = traceback_in(o);
    }
}

/* ---- untracked dicts and tuples ---- */

struct inside {
    struct referrers *r;
    int depth;
};

static int visit_inside(py_object *o, void *context)
{
    struct inside *i = context;
    if (!o)
        return 0;
    meet(i->r, o);
    enum heap_kind kind = heap_kind(o);
    if ((kind != HEAP_DICT && kind != HEAP_TUPLE) || i->depth == 0 || heap_is_tracked(o))
        return 0;
    py_object *outer = i->r->current;
    i->r->current = o;
    heap_edges(o, visit_inside, &(struct inside){i->r, i->depth - 1});
    i->r->current = outer;
    return 0;
}

/* ---- passes ---- */

static void visit_object(struct referrers *r, py_object *o)
{
    r->current = o;
    if (r->is_deep)
        heap_edges(o, visit_inside, &(struct inside){r, UNTRACKED_DEPTH});
    else
        heap_edges(o, visit_edge, r);
    if (heap_kind(o) == HEAP_EXCEPTION)
        add_tracebacks(r, o);
}

/* Referrers of a node found just now may have been passed a moment ago. */
static void visit_recent(struct referrers *r)
{
    size_t count = r->recent_count < REFERRERS_RECENT ? r->recent_count : REFERRERS_RECENT;
    r->is_revisiting = true;
    for (size_t i = 1; i <= count; i++)
        visit_object(r, r->recent[(r->recent_count - i) % REFERRERS_RECENT]);
    r->is_revisiting = false;
}

static bool visit_next(py_object *o, void *context)
{
    struct referrers *r = context;
    uint32_t known = r->node_count;
    size_t met = r->met;
    visit_object(r, o);
    bool is_light = r->met - met <= REFERRERS_LIGHT;
    if (r->node_count > known)
        visit_recent(r);
    if (is_light)
        r->recent[r->recent_count++ % REFERRERS_RECENT] = o;
    return true;
}

static bool expect_known(struct referrers *r)
{
    bool any = false;
    memset(r->likely, 0, (1u << LIKELY_BITS) / 8);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const struct referrers_node *n = &r->nodes[i];
        if (n->is_end || n->is_far || n->pass + 1 != r->pass)
            continue;
        expect(r, n->object);
        any = true;
    }
    return any;
}

bool referrers_begin(struct referrers *r, py_object *const *objects, size_t count, bool is_deep,
                     referrers_found *found, void *context)
{
    *r = (struct referrers){.is_deep = is_deep, .found = found, .context = context};
    if (!get_memory(r))
        return false;
    for (size_t i = 0; i < count; i++)
        add_node(r, objects[i], REFERRERS_NONE, 0);
    return true;
}

bool referrers_pass(struct referrers *r)
{
    r->pass++;
    r->ahead = 0;
    r->recent_count = 0;
    if (!expect_known(r))
        return false;
    if (r->pass % 2)
        heap_visit_back(visit_next, r);
    else
        heap_visit(visit_next, r);
    return true;
}
