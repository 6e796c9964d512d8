/* probe/census/reach.c: a breadth-first walk from the program's names. */
#include "probe/census/reach.h"

#include "probe/base/frames.h"
#include "probe/base/places.h"

#include <string.h>

#define OBJECTS_MOST 4096u /* in the queue */
#define MET_MOST 8192u
#define SMALL_BYTES 512u
#define ITEMS_MOST 4096u
#define SIZED_PART 4u /* go beyond REACH_EACH_MOST while at least one in this many has a size */
#define VARIABLES_MOST 1024u

struct reach {
    py_object *queue[OBJECTS_MOST], *around[OBJECTS_MOST];
    unsigned count;
    struct places met;
    struct frame_root variables[VARIABLES_MOST];
    reach_visitor *visit;
    void *context;
    /* whose references are being visited */
    py_object *owner, *owner_is_in;
    unsigned reference, sized;
    bool is_function, is_container;
};

uintptr_t reach_key_of(const py_object *owner)
{
    return (uintptr_t) places_hash((uintptr_t) owner) | 1;
}

/* True: first met now, and it has a size. */
static bool meet(struct reach *r, py_object *o, const struct reach_place *place)
{
    bool is_new, holds_others = heap_has_edges(o);
    py_object *memory = heap_array_memory(o); /* which several views may show: it counts once */
    if (!holds_others && heap_size(memory) < SMALL_BYTES)
        return false;
    if (!places_add(&r->met, (uintptr_t) memory, &is_new) || !is_new)
        return false;
    if (holds_others && r->count < OBJECTS_MOST && r->reference <= REACH_EACH_MOST) {
        r->around[r->count] = r->is_container ? r->owner : r->owner_is_in;
        r->queue[r->count++] = o;
    }
    return r->visit(o, place, r->context);
}

static bool is_far(const struct reach *r)
{
    return r->reference > ITEMS_MOST ||
           (r->reference > REACH_EACH_MOST && r->sized * SIZED_PART < r->reference);
}

static int follow(py_object *o, void *context)
{
    struct reach *r = context;
    r->reference++;
    /* The traversal of an lru_cache gives all its results before its dict. */
    if (is_far(r) && (r->is_container || heap_kind(o) != HEAP_DICT))
        return r->is_container;
    struct reach_place place = {reach_key_of(r->owner) + 2 * r->reference, r->owner, r->reference,
                                r->owner_is_in};
    /* A function refers to all globals of its module; its own references are tuples. */
    if (!r->is_function || heap_kind(o) == HEAP_TUPLE)
        r->sized += meet(r, o, &place);
    return 0;
}

static bool is_of_the_language(const py_object *o)
{
    const py_object *type = heap_type(o);
    return o == py.none || type == py.PyModule_Type || type == py.PyCode_Type ||
           type == py.PyFrame_Type || heap_kind_of_type(type) == HEAP_TYPE;
}

static void follow_all(struct reach *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        if (is_of_the_language(r->queue[i]))
            continue;
        r->owner = r->queue[i];
        r->owner_is_in = r->around[i];
        r->reference = r->sized = 0;
        r->is_container = heap_length(r->owner) >= 0;
        r->is_function = strcmp(heap_type_name(heap_type(r->owner)), "function") == 0;
        heap_edges(r->queue[i], follow, r);
    }
}

static uintptr_t hash_text(uintptr_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char) *text) * (uintptr_t) 1099511628211u;
    return hash;
}

static void meet_variables(struct reach *r)
{
    r->reference = 0;
    size_t count = frames_learn() ? frames_roots(r->variables, VARIABLES_MOST) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct frame_root *v = &r->variables[i];
        struct reach_place place = {hash_text(hash_text(0, v->function), v->variable) | 1, NULL, 0,
                                    NULL};
        if (v->is_certain)
            meet(r, v->value, &place);
    }
}

static void meet_globals(struct reach *r)
{
    py_object *main = python_module("__main__"); /* borrowed */
    r->owner = main;
    r->reference = r->sized = 0;
    r->is_function = r->is_container = false;
    if (main)
        heap_edges(main, follow, r);
}

void reach_visit(reach_visitor *visit, void *context)
{
    struct reach *r = places_map(sizeof(*r));
    if (!r)
        return;
    r->visit = visit;
    r->context = context;
    if (places_init(&r->met, MET_MOST, false)) {
        meet_globals(r);
        meet_variables(r);
        follow_all(r);
        places_release(&r->met);
    }
    places_unmap(r, sizeof(*r));
}
