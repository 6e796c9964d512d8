/* probe/census/reach.c: breadth first from names. */
#include "probe/census/reach.h"

#include "probe/base/frames.h"
#include "probe/base/places.h"

#include <string.h>

#define OBJECTS_MOST 4096u
#define EACH_MOST 512u /* references of one object that are followed */
#define VARIABLES_MOST 1024u

struct reach {
    py_object *queue[OBJECTS_MOST];
    unsigned count;
    struct places met;
    struct frame_root variables[VARIABLES_MOST];
    reach_visitor *visit;
    void *context;
    /* whose references are looked at */
    const py_object *owner;
    unsigned reference;
    bool is_function, is_container;
};

static void meet(struct reach *r, py_object *o, uintptr_t place)
{
    bool is_new;
    if (r->count == OBJECTS_MOST || !places_add(&r->met, (uintptr_t) o, &is_new) || !is_new)
        return;
    r->queue[r->count++] = o;
    r->visit(o, place, r->context);
}

static int follow(py_object *o, void *context)
{
    struct reach *r = context;
    /* An lru_cache refers to all it has kept before it refers to its dict. */
    if (++r->reference > EACH_MOST && (r->is_container || heap_kind(o) != HEAP_DICT))
        return r->is_container;
    /* A function refers to all globals of its module; what it has of its own are tuples. */
    if (!r->is_function || heap_kind(o) == HEAP_TUPLE)
        meet(r, o, places_hash((uintptr_t) r->owner) + r->reference);
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
        r->reference = 0;
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
    size_t count = frames_learn() ? frames_roots(r->variables, VARIABLES_MOST) : 0;
    for (size_t i = 0; i < count; i++)
        if (r->variables[i].is_certain)
            meet(r, r->variables[i].value,
                 hash_text(hash_text(0, r->variables[i].function), r->variables[i].variable));
}

static void meet_globals(struct reach *r)
{
    py_object *main = python_module("__main__"); /* borrowed */
    r->owner = main;
    r->reference = 0;
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
    if (places_init(&r->met, OBJECTS_MOST, false)) {
        meet_globals(r);
        meet_variables(r);
        follow_all(r);
        places_release(&r->met);
    }
    places_unmap(r, sizeof(*r));
}
