/* probe/census/edges.c: the references of an object, by its kind. */
#include "probe/census/edges.h"

#include "probe/census/picks.h"

#define WALKED_MOST 200000u /* places counted in objects that have no random access */

/* A memory file's content counts as its own size. */
bool edges_any(const py_object *o)
{
    py_object *const *objects;
    if (heap_kind(o) == HEAP_MEMORY_FILE)
        return false;
    return heap_has_edges(o) || heap_array_owner(o) || heap_array_objects(o, &objects) > 0;
}

/* ---- all references ---- */

struct filter {
    heap_edge_visitor *visit;
    void *context;
};

static int visit_tuple(py_object *o, void *context)
{
    const struct filter *f = context;
    return heap_kind(o) == HEAP_TUPLE ? f->visit(o, f->context) : 0;
}

static void visit_array(const py_object *o, heap_edge_visitor *visit, void *context)
{
    py_object *const *objects = NULL;
    py_object *owner = heap_array_owner(o);
    size_t count = heap_array_objects(o, &objects);
    if (owner && visit(owner, context) != 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (objects[i] && visit(objects[i], context) != 0)
            return;
}

/* The collector's traversal skips keys that are texts. */
static void visit_dict(py_object *o, heap_edge_visitor *visit, void *context)
{
    ptrdiff_t position = 0;
    py_object *key, *value;
    while (py.PyDict_Next(o, &position, &key, &value))
        if (visit(key, context) != 0 || visit(value, context) != 0)
            return;
}

void edges_all(py_object *o, heap_edge_visitor *visit, void *context)
{
    const py_object *type = heap_type(o);
    if (type == py.PyDict_Type)
        visit_dict(o, visit, context);
    else if (type == py.PyFunction_Type)
        heap_edges(o, visit_tuple, &(struct filter){visit, context});
    else
        heap_edges(o, visit, context);
    if (heap_kind_of_type(type) == HEAP_ARRAY)
        visit_array(o, visit, context);
}

/* ---- counts ---- */

static int count_one(py_object *o, void *context)
{
    size_t *count = context;
    (void) o;
    return ++*count == WALKED_MOST;
}

static size_t count_by_walk(py_object *o)
{
    size_t count = 0;
    edges_all(o, count_one, &count);
    return count;
}

/* For subclasses of dict the traversal may or may not visit keys, so count them. */
size_t edges_count(py_object *o)
{
    enum heap_kind kind = heap_kind(o);
    ptrdiff_t length = heap_length_as(o, kind);
    bool is_known = length >= 0 && (kind != HEAP_DICT || heap_type(o) == py.PyDict_Type);
    return is_known ? (size_t) length : count_by_walk(o);
}

/* ---- a sample of them ---- */

static void take(struct edges *e, py_object *o, bool is_margin)
{
    if (o && e->count < EDGES_MOST)
        e->at[e->count++] = (struct edge){o, is_margin};
}

static void take_from_sequence(py_object *o, const struct picks *p, struct edges *e)
{
    py_object *(*item)(py_object *, ptrdiff_t) =
        heap_type(o) == py.PyList_Type ? py.PyList_GetItem : py.PyTuple_GetItem;
    for (size_t b = 0; b < p->blocks; b++)
        for (size_t k = 0; k < p->length; k++)
            take(e, item(o, (ptrdiff_t) ((picks_block(p, b) + k) % p->count)),
                 picks_is_margin(p, k));
}

/* A walk once around the table of a dict, from any place. Deleted entries leave holes: a block
 * takes its full number of entries, and may reach into the next block, which then begins after it.
 */
struct dict_walk {
    py_object *dict;
    ptrdiff_t begin, position;
    bool came_round;
};

static bool next_entry(struct dict_walk *w, py_object **ret_key, py_object **ret_value)
{
    if (!py.PyDict_Next(w->dict, &w->position, ret_key, ret_value)) {
        if (w->came_round)
            return false;
        w->came_round = true;
        w->position = 0;
        if (!py.PyDict_Next(w->dict, &w->position, ret_key, ret_value))
            return false;
    }
    return !w->came_round ||
           w->position <= w->begin; /* the entry read is one before the position */
}

static void go_to(struct dict_walk *w, ptrdiff_t place)
{
    if (place < w->begin && !w->came_round) {
        w->came_round = true;
        w->position = place;
    } else if ((place < w->begin) == w->came_round && place > w->position) {
        w->position = place;
    }
}

static void take_from_dict(py_object *o, const struct picks *p, struct edges *e)
{
    struct dict_walk w = {.dict = o, .begin = (ptrdiff_t) p->first};
    py_object *key, *value;
    w.position = w.begin;
    for (size_t b = 0; b < p->blocks; b++) {
        go_to(&w, (ptrdiff_t) picks_block(p, b));
        for (size_t k = 0; k < p->length && next_entry(&w, &key, &value); k++) {
            take(e, key, picks_is_margin(p, k));
            take(e, value, picks_is_margin(p, k));
        }
    }
}

struct walk {
    const struct picks *picks;
    struct edges *edges;
    size_t place, next, in_block; /* next: the next place to take */
};

static int take_if_next(py_object *o, void *context)
{
    struct walk *w = context;
    if (w->place++ < w->next)
        return 0;
    take(w->edges, o, picks_is_margin(w->picks, w->in_block));
    w->next = picks_next(w->picks, w->place, &w->in_block);
    return w->next >= w->picks->count;
}

static void take_by_walk(py_object *o, const struct picks *p, struct edges *e)
{
    struct walk w = {.picks = p, .edges = e};
    if (p->count == 0)
        return;
    w.next = picks_next(p, 0, &w.in_block);
    edges_all(o, take_if_next, &w);
}

static void set_scales(struct edges *e, double places, double each)
{
    size_t sampled = 0;
    for (size_t i = 0; i < e->count; i++)
        sampled += !e->at[i].is_margin;
    e->scale = sampled > 0 ? each * places / (double) sampled : 0;
    e->reach = e->count > 0 ? each * places / (double) e->count : 0;
}

void edges_some(py_object *o, size_t most, size_t block, double turn, struct edges *ret)
{
    const py_object *type = heap_type(o);
    size_t count = edges_count(o), walked = count < WALKED_MOST ? count : WALKED_MOST;
    bool is_dict = type == py.PyDict_Type;
    ret->count = 0;
    if (type == py.PyList_Type || type == py.PyTuple_Type || is_dict) {
        struct picks p = picks_choose(count, most, block, turn);
        (is_dict ? take_from_dict : take_from_sequence)(o, &p, ret);
    } else {
        struct picks p = picks_choose(walked, most, block, turn);
        take_by_walk(o, &p, ret);
    }
    set_scales(ret, (double) count, is_dict ? 2 : 1);
}
