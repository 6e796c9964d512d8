/* probe/holders/holders.c: searches for holders, and chooses the best path to each object. */
#include "probe/holders/holders.h"
#include "probe/base/pages.h"

#include "probe/base/frames.h"
#include "probe/base/heap.h"
#include "probe/holders/referrers.h"
#include "probe/holders/roots.h"
#include "probe/holders/route.h"

#include <limits.h>
#include <string.h>
#include <time.h>

#define FOLLOWED_MOST 1024u
#define PASSES_MOST 24u
#define BETTER_WITHIN 3u /* further passes to find a better name, once there is one */
#define ROUNDS_MOST 64u
#define SECONDS_MOST 4 /* then no new pass begins */
#define GROUPS_MOST 64u
#define CHAIN_LEAST 4u /* longer chains are abbreviated */
#define NO_WAY UINT_MAX

/* What the search knows of a node of the graph. */
struct place {
    struct root root;
    unsigned cost; /* of the cheapest path from a root; NO_WAY: none */
    uint32_t via;  /* the last edge of that path; REFERRERS_NONE: the node is a root */
    uint32_t one;  /* the next node on the paths of all objects, plus one */
    bool is_fork;  /* the paths of the objects differ here */
    uint32_t seen; /* the last object whose closure contained it */
};

struct group {
    struct holder holder;
    size_t count;
    unsigned cost;
};

struct search {
    struct referrers graph;
    struct place places[REFERRERS_NODES];
    struct group groups[GROUPS_MOST];
    py_object *left[FOLLOWED_MOST]; /* objects without a path */
    py_object *objects[FOLLOWED_MOST];
    size_t group_count, left_count, count;
    uint32_t todo[REFERRERS_NODES];
    bool is_whole; /* all their referrers were visited */
    bool for_all;  /* search for all holders of one object, not through the object itself */
    struct timespec begun;
};

/* ---- the cheapest path ---- */

enum { COST_LINK = 8, SHORT_WAY = 3 * ROOTS_STEP_COST };

static unsigned step_cost(const py_object *owner, const py_object *held)
{
    switch (heap_kind(owner)) {
    case HEAP_LIST:
    case HEAP_TUPLE:
    case HEAP_DICT:
    case HEAP_SET:
    case HEAP_DEQUE:
        return ROOTS_STEP_COST;
    case HEAP_EXCEPTION:
        return COST_LINK;
    default:
        break;
    }
    const py_object *type = heap_type(owner);
    if (roots_is_bystander(owner))
        return ROOTS_LIBRARY_COST;
    if (type == py.PyTraceBack_Type)
        return 1;
    if (type == py.PyCell_Type || type == py.PyFrame_Type)
        return COST_LINK;
    if (heap_type(held) == py.PyDict_Type)
        return 1; /* its __dict__: an attribute in it pays the full cost */
    return type == py.PyMethod_Type ? ROOTS_STEP_COST + COST_LINK : ROOTS_STEP_COST;
}

static bool improve(struct search *s, uint32_t edge)
{
    const struct referrers_edge *e = &s->graph.edges[edge];
    const struct place *from = &s->places[e->referrer];
    struct place *to = &s->places[e->held];
    if (from->cost == NO_WAY || (s->for_all && e->referrer == 0))
        return false;
    unsigned cost =
        from->cost + step_cost(s->graph.nodes[e->referrer].object, s->graph.nodes[e->held].object);
    if (cost >= to->cost)
        return false;
    to->cost = cost;
    to->via = edge;
    return true;
}

static void settle(struct search *s)
{
    bool changed = true;
    for (unsigned i = 0; changed && i < ROUNDS_MOST; i++) {
        changed = false;
        for (uint32_t e = s->graph.edge_count; e-- > 0;)
            changed |= improve(s, e);
    }
}

/* ---- the search ---- */

static bool place_node(const struct referrers_node *node, uint32_t index, void *context)
{
    struct search *s = context;
    struct root root = roots_find(node->object, node->distance == 0);
    bool holds = root.form != ROOT_NONE && root.form != ROOT_OURS;
    if (s->for_all && node->distance == 0)
        holds = false;
    s->places[index] =
        (struct place){.root = root, .cost = holds ? root.cost : NO_WAY, .via = REFERRERS_NONE};
    return roots_is_end(&root) && !(s->for_all && node->distance == 0);
}

static unsigned worst_cost(const struct search *s)
{
    unsigned worst = 0;
    for (uint32_t i = 0; i < s->graph.node_count && s->graph.nodes[i].distance == 0; i++)
        if (s->places[i].cost > worst)
            worst = s->places[i].cost;
    return worst;
}

/* Could a later pass find a better name? The first pass visits everything near, the second
 * everything the first led to. */
static bool is_enough(unsigned worst, unsigned passes, unsigned named_since)
{
    if (worst < SHORT_WAY)
        return true;
    return worst < ROOTS_LIBRARY_COST ? passes >= 2 : named_since > BETTER_WITHIN;
}

static bool is_late(const struct search *s)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - s->begun.tv_sec >= SECONDS_MOST;
}

/* The worst cost of the object's referrers: does each have a path? */
static unsigned worst_of_referrers(const struct search *s)
{
    unsigned worst = s->graph.nodes[0].edges == REFERRERS_NONE ? NO_WAY : 0;
    for (uint32_t e = s->graph.nodes[0].edges; e != REFERRERS_NONE; e = s->graph.edges[e].next)
        if (s->places[s->graph.edges[e].referrer].cost > worst)
            worst = s->places[s->graph.edges[e].referrer].cost;
    return worst;
}

static void make_passes(struct search *s)
{
    unsigned named_since = 0;
    for (unsigned passes = 0; passes < PASSES_MOST; passes++) {
        settle(s);
        unsigned worst = s->for_all ? worst_of_referrers(s) : worst_cost(s);
        named_since += worst != NO_WAY;
        if ((is_enough(worst, passes, named_since) && (passes > 0 || !s->for_all)) || is_late(s))
            return;
        if (!referrers_pass(&s->graph)) {
            s->is_whole = !s->graph.is_cut;
            return;
        }
    }
}

/* ---- holders by name ---- */

static bool is_same(const struct holder *a, const struct holder *b)
{
    return a->kind == b->kind && a->line == b->line && strcmp(a->path, b->path) == 0 &&
           strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0;
}

static void add_to_groups(struct search *s, const struct holder *h, unsigned cost)
{
    size_t i = 0;
    while (i < s->group_count && !is_same(&s->groups[i].holder, h))
        i++;
    if (i == GROUPS_MOST)
        return;
    if (i == s->group_count)
        s->groups[s->group_count++] = (struct group){.holder = *h, .cost = cost};
    s->groups[i].count++;
}

/* Stores the nodes from an object to its root in `todo`; returns their number. */
static size_t way_back(struct search *s, uint32_t node)
{
    size_t count = 0;
    for (uint32_t i = node; count < REFERRERS_NODES;
         i = s->graph.edges[s->places[i].via].referrer) {
        s->todo[count++] = i;
        if (s->places[i].via == REFERRERS_NONE)
            break;
    }
    return count;
}

static const py_object *type_on_way(const struct search *s, size_t at)
{
    return heap_type(s->graph.nodes[s->todo[at]].object);
}

/* The links of a chain from there to the object, each of `length` nodes. */
static size_t count_links(const struct search *s, size_t at, size_t length)
{
    size_t same = 0;
    if (length > 1 && type_on_way(s, at) == py.PyDict_Type)
        return 0; /* a link begins with the owner of the __dict__ */
    while (at >= same + length && type_on_way(s, at - same) == type_on_way(s, at - same - length))
        same++;
    return same / length;
}

static void add_to_route(const struct search *s, size_t at, struct route *r)
{
    uint32_t node = s->todo[at];
    r->nodes[r->count] = node;
    r->objects[r->count] = s->graph.nodes[node].object;
    r->is_fork[r->count] = s->places[node].is_fork;
    r->is_chain[r->count] = false;
    r->count++;
}

/* Abbreviates a chain that begins here to its first link. Returns where the last link ends. */
static size_t shorten_chain(const struct search *s, size_t at, struct route *r)
{
    for (size_t length = 1; length <= REFERRERS_LINK; length++) {
        size_t links = count_links(s, at, length);
        if (links < CHAIN_LEAST || r->count + length >= ROUTE_MOST)
            continue;
        for (size_t i = 1; i <= length; i++)
            add_to_route(s, at - i, r);
        r->is_chain[r->count - 1] = true;
        return at - links * length;
    }
    return at;
}

/* False: too long. */
static bool route_to(struct search *s, uint32_t node, struct route *ret)
{
    size_t left = way_back(s, node);
    bool was_chain = false;
    ret->count = 0;
    do {
        add_to_route(s, --left, ret);
        size_t end = was_chain ? left : shorten_chain(s, left, ret);
        was_chain = end != left;
        left = was_chain ? end + 1 : left;
    } while (left > 0 && ret->count < ROUTE_MOST);
    ret->root = &s->places[ret->nodes[0]].root;
    return left == 0;
}

static void note_forks(struct search *s, const struct route *r)
{
    for (unsigned k = 0; k + 1 < r->count; k++) {
        struct place *p = &s->places[r->nodes[k]];
        if (p->one && p->one != r->nodes[k + 1] + 1)
            p->is_fork = true;
        p->one = r->nodes[k + 1] + 1;
    }
}

static bool route_of(struct search *s, size_t object, struct route *ret)
{
    uint32_t node = referrers_node(&s->graph, s->objects[object]);
    return s->places[node].cost != NO_WAY && route_to(s, node, ret);
}

static void name_all(struct search *s)
{
    struct route route;
    for (size_t i = 0; i < s->count; i++)
        if (route_of(s, i, &route))
            note_forks(s, &route);
    for (size_t i = 0; i < s->count; i++) {
        struct holder h;
        if (route_of(s, i, &route) && route_describe(&route, &h))
            add_to_groups(s, &h, s->places[route.nodes[route.count - 1]].cost);
    }
}

static void keep_left(struct search *s)
{
    s->left_count = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->places[referrers_node(&s->graph, s->objects[i])].cost == NO_WAY)
            s->left[s->left_count++] = s->objects[i];
}

/* ---- objects without a named holder ---- */

#define IMMORTAL 0x3fffffff

/* Stores all direct and indirect referrers of a node in `todo`. False: not all of them are known.
 */
static bool closure(struct search *s, uint32_t node, uint32_t stamp, size_t *ret_count)
{
    size_t count = 0;
    s->todo[count++] = node;
    s->places[node].seen = stamp;
    for (size_t i = 0; i < count; i++) {
        const struct referrers_node *n = &s->graph.nodes[s->todo[i]];
        if (n->is_cut || n->is_end || n->is_far || heap_references(n->object) >= IMMORTAL)
            return false;
        for (uint32_t e = n->edges; e != REFERRERS_NONE; e = s->graph.edges[e].next) {
            uint32_t referrer = s->graph.edges[e].referrer;
            if (s->places[referrer].seen != stamp) {
                s->places[referrer].seen = stamp;
                s->todo[count++] = referrer;
            }
        }
    }
    *ret_count = count;
    return true;
}

static bool is_explained(const struct referrers_node *n)
{
    return heap_references(n->object) <= (ptrdiff_t) n->references;
}

/* True: no invisible Python holder is possible. The probe itself, a function with an unreadable
 * frame, and a thread that handles an exception are such holders. */
static bool is_sure_of(const py_object *o)
{
    return frames_learn() && !roots_is_ours(o) && heap_kind(o) != HEAP_EXCEPTION &&
           heap_type(o) != py.PyTraceBack_Type;
}

/* Decides whether a running function, native code, or only a cycle holds the object. False: not
 * certain. */
static bool judge(const struct search *s, size_t closed, struct holder *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->kind = WIRE_HOLDER_GARBAGE;
    for (size_t i = 0; i < closed; i++) {
        const struct referrers_node *n = &s->graph.nodes[s->todo[i]];
        if (is_explained(n))
            continue;
        if (!is_sure_of(n->object))
            return false;
        ret->kind = WIRE_HOLDER_NATIVE;
        const struct frame_root *temporary = roots_temporary(n->object);
        if (temporary) {
            route_describe_temporary(temporary, ret);
            return temporary->is_certain;
        }
    }
    return true;
}

static void judge_all(struct search *s)
{
    size_t closed;
    struct holder h;
    for (size_t i = 0; s->is_whole && i < s->count; i++) {
        uint32_t node = referrers_node(&s->graph, s->objects[i]);
        if (s->places[node].cost != NO_WAY || !closure(s, node, (uint32_t) i + 1, &closed))
            continue;
        if (judge(s, closed, &h))
            add_to_groups(s, &h, NO_WAY);
    }
}

/* ---- the whole ---- */

static bool search(struct search *s, bool is_deep)
{
    if (!referrers_begin(&s->graph, s->objects, s->count, is_deep, place_node, s))
        return false;
    s->is_whole = false;
    make_passes(s);
    name_all(s);
    keep_left(s);
    if (is_deep)
        judge_all(s);
    referrers_end(&s->graph);
    return true;
}

static void take_evenly(struct search *s, py_object *const *objects, size_t count)
{
    s->count = count < FOLLOWED_MOST ? count : FOLLOWED_MOST;
    for (size_t i = 0; i < s->count; i++)
        s->objects[i] = objects[i * count / s->count];
}

static bool is_before(const struct group *a, const struct group *b)
{
    return a->count != b->count ? a->count > b->count : a->cost < b->cost;
}

/* If few objects have a path, their holders may not be those of the others. */
static bool speaks_for_most(const struct search *s, size_t followed)
{
    size_t named = 0;
    for (size_t i = 0; i < s->group_count; i++)
        named += s->groups[i].count;
    return 2 * named >= followed;
}

static size_t give(struct search *s, size_t followed, struct holder *ret, size_t most)
{
    size_t given = 0;
    for (; given < most && given < s->group_count; given++) {
        struct group *best = s->groups;
        for (size_t i = 1; i < s->group_count; i++)
            if (is_before(&s->groups[i], best))
                best = &s->groups[i];
        ret[given] = best->holder;
        ret[given].share = (double) best->count / (double) followed;
        *best = (struct group){.cost = NO_WAY}; /* ranks last from now on */
    }
    return given;
}

static size_t find(py_object *const *objects, size_t count, struct holder *ret, size_t most)
{
    struct search *s = pages_map(NULL, sizeof(*s), MAP_PRIVATE);
    if (!s)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &s->begun);
    take_evenly(s, objects, count);
    size_t followed = s->count;
    if (search(s, false) && s->left_count > 0) {
        memcpy(s->objects, s->left, sizeof(s->objects));
        s->count = s->left_count;
        search(s, true);
    }
    size_t given = speaks_for_most(s, followed) ? give(s, followed, ret, most) : 0;
    pages_unmap(s, sizeof(*s));
    return given;
}

/* ---- all holders of one object ---- */

#define COST_ASKING 100000u
#define ASKING_DEPTH 1u /* tidemark's own function is the innermost */

static void add_variables(struct search *s)
{
    const struct frame_root *v = NULL;
    while ((v = roots_next_variable(s->objects[0], v))) {
        struct holder h = {0};
        struct root root = {.form = ROOT_VARIABLE, .variable = v};
        struct route route = {.root = &root, .objects = {s->objects[0]}, .count = 1};
        if (v->variable[0] && route_describe(&route, &h))
            add_to_groups(s, &h,
                          roots_variable_cost(v) + (v->depth <= ASKING_DEPTH ? COST_ASKING : 0));
    }
}

static void add_referrer(struct search *s, uint32_t edge)
{
    struct route route;
    struct holder h;
    struct place *own = &s->places[0];
    const struct place *from = &s->places[s->graph.edges[edge].referrer];
    if (from->cost == NO_WAY)
        return;
    own->via = edge;
    if (route_to(s, 0, &route) && route_describe(&route, &h))
        add_to_groups(s, &h, from->cost + ROOTS_STEP_COST);
}

static void search_all(struct search *s)
{
    if (!referrers_begin(&s->graph, s->objects, 1, true, place_node, s))
        return;
    make_passes(s);
    add_variables(s);
    for (uint32_t e = s->graph.nodes[0].edges; e != REFERRERS_NONE; e = s->graph.edges[e].next)
        add_referrer(s, e);
    referrers_end(&s->graph);
}

/* Each holder counts once, so they rank by cost only. */
static size_t give_all(struct search *s, struct holder *ret, size_t most)
{
    for (size_t i = 0; i < s->group_count; i++)
        s->groups[i].count = 1;
    return give(s, 1, ret, most);
}

static size_t find_all(py_object *o, struct holder *ret, size_t most)
{
    struct search *s = pages_map(NULL, sizeof(*s), MAP_PRIVATE);
    if (!s)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &s->begun);
    s->for_all = true;
    s->objects[0] = o;
    s->count = 1;
    search_all(s);
    size_t given = give_all(s, ret, most);
    pages_unmap(s, sizeof(*s));
    return given;
}

/* Our allocations must not start a collection, which would run code of the program. True: the
 * collector was enabled. */
static bool stop_collector(void)
{
    py_object *gc = python_module("gc");
    py_object *was_on = gc ? py.PyObject_CallMethod(gc, "isenabled", NULL) : NULL;
    py_object *none = gc ? py.PyObject_CallMethod(gc, "disable", NULL) : NULL;
    bool was = was_on && py.PyObject_IsTrue(was_on);
    py.PyErr_Clear();
    python_drop(was_on);
    python_drop(none);
    return was;
}

static void start_collector(void)
{
    py_object *gc = python_module("gc");
    py_object *none = gc ? py.PyObject_CallMethod(gc, "enable", NULL) : NULL;
    py.PyErr_Clear();
    python_drop(none);
}

size_t holders_find(py_object *const *objects, size_t count, struct holder *ret, size_t most)
{
    if (count == 0 || !heap_learn())
        return 0;
    bool was_on = stop_collector();
    size_t given = roots_learn() ? find(objects, count, ret, most) : 0;
    if (was_on)
        start_collector();
    return given;
}

size_t holders_of(py_object *o, struct holder *ret, size_t most)
{
    if (!heap_learn())
        return 0;
    bool was_on = stop_collector();
    size_t given = roots_learn() ? find_all(o, ret, most) : 0;
    if (was_on)
        start_collector();
    return given;
}
