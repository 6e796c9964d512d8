/* probe/census/growing.c: makes findings of growths: what they consist of and what holds them. */
#include "probe/census/growing.h"

#include "probe/base/code.h"
#include "probe/base/pieces.h"
#include "probe/census/points.h"
#include "probe/census/slots.h"
#include "probe/holders/roots.h"
#include "wire/wire.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SEARCH_MOST_NS UINT64_C(10000000000)

/* ---- growths ---- */

/* The list of pieces of a large io.StringIO, which is a finding itself. */
static bool is_list_of_file(const struct survey *c, const py_object *o)
{
    for (unsigned i = 0; i < c->size_count; i++)
        if (pieces_has(c->sizes[i].object, o))
            return true;
    return false;
}

/* In a pair, a name bound by the measured block is not growth of its module. */
static bool describe_container(const struct survey *c, py_object *o, struct finding *f)
{
    if (!places_find(&c->lengths, (uintptr_t) o) || (c->is_pair && roots_is_namespace(o)) ||
        is_list_of_file(c, o))
        return false;
    things_describe(o, &f->what);
    weigh_container(o, &f->item);
    f->most = heap_most(o);
    return true;
}

static bool describe_tally(struct survey *c, struct finding *f)
{
    const struct survey_tally *t = survey_tally_of(c, f->growth);
    unsigned samples = t ? (unsigned) t->survivors : 0;
    if (samples == 0)
        return false;
    if (samples > SURVEY_SAMPLES)
        samples = SURVEY_SAMPLES;
    things_describe(t->samples[0], &f->what);
    weigh_objects(t->samples, samples, true, &f->item);
    return true;
}

static void describe_graph(struct survey *c, struct finding *f)
{
    f->item.host = f->item.device = NAN;
    f->item.host_high = f->item.device_high = INFINITY;
    f->item.carries_graph = true;
    things_describe(c->largest_graph, &f->what);
    f->item.things[0] = f->what;
    f->item.depth = 1;
}

static bool describe_size(struct survey *c, struct finding *f)
{
    struct tensor_facts facts;
    const struct survey_sized *sized = survey_sized_in(c, f->growth);
    if (!sized)
        return false;
    py_object *o = sized->object;
    things_describe(o, &f->what);
    weigh_objects(&o, 1, false, &f->item);
    f->item.carries_graph = tensors_read(o, &facts) && facts.node && !survey_graph_is_new(c, o);
    if (tensors_is(o) && !f->item.carries_graph)
        f->item.host_high = f->item.host;
    return true;
}

static bool describe_items(const struct survey *c, struct finding *f)
{
    const struct survey_sized *sized = survey_sized_in(c, f->growth);
    if (!sized)
        return false;
    things_describe(sized->part, &f->what);
    weigh_container(sized->part, &f->item);
    return true;
}

/* False: it no longer exists, or an earlier finding explains it. */
static bool describe(struct survey *c, struct finding *f)
{
    const struct survey_growth *g = f->growth;
    f->most = -1;
    switch (g->form) {
    case FORM_CONTAINER:
        return describe_container(c, (py_object *) g->key, f); /* NOLINT */
    case FORM_OBJECTS:
        if (!c->is_pair && weigh_has_met((const py_object *) g->key)) /* NOLINT */
            return false;
        return describe_tally(c, f);
    case FORM_TENSORS:
        return describe_tally(c, f);
    case FORM_GRAPH:
        if (!c->largest_graph)
            return false;
        describe_graph(c, f);
        return true;
    case FORM_SIZE:
        return describe_size(c, f);
    case FORM_ITEMS:
        return describe_items(c, f);
    }
    return false;
}

/* For ranking: the bytes added, if known. A graph's bytes are unknown, so it comes first. */
static double importance(const struct finding *f)
{
    double bytes = f->growth->form == FORM_SIZE ? 1 : f->item.host + f->item.device;
    if (!isfinite(bytes) || f->item.carries_graph)
        return 1e18 + (double) growth_amount(f->growth);
    return bytes * (double) growth_amount(f->growth);
}

static size_t insert(struct finding *ret, size_t count, size_t most, const struct finding *f)
{
    size_t at = count;
    while (at > 0 && importance(&ret[at - 1]) < importance(f))
        at--;
    if (at == most)
        return count;
    if (count < most)
        count++;
    memmove(&ret[at + 1], &ret[at], (count - at - 1) * sizeof(*ret));
    ret[at] = *f;
    return count;
}

/* A bounded container that was still filling. It is no leak, but its memory looks like one, so it
 * must be reported. */
#define POINTS_OF_FILLING 2u

static bool is_filling(const struct survey *c, const struct survey_growth *g)
{
    return g->form == FORM_CONTAINER && g->points.count >= POINTS_OF_FILLING &&
           g->last_growth == c->number && places_find(&c->lengths, g->key) &&
           heap_most((py_object *) g->key) >= 0; /* NOLINT(performance-no-int-to-ptr) */
}

static size_t collect(struct survey *c, enum survey_form form, bool is_new, struct finding *ret,
                      size_t most)
{
    struct finding f;
    size_t count = 0;
    for (size_t i = 0; i < SURVEY_GROWTHS; i++) {
        const struct survey_growth *g = &c->growths[i];
        if (!g->key || g->form != form || g->is_new != is_new ||
            (!growth_is_steady(c, g) && !is_filling(c, g)))
            continue;
        f = (struct finding){.growth = g};
        if (describe(c, &f))
            count = insert(ret, count, most, &f);
    }
    return count;
}

/* ---- holders ---- */

/* Objects of one kind, wherever they are. */
static bool is_tally(const struct finding *f)
{
    return f->growth->form == FORM_TENSORS || f->growth->form == FORM_OBJECTS;
}

static size_t members_of(struct survey *c, const struct finding *f, py_object **ret)
{
    if (f->growth->form == FORM_CONTAINER) {
        ret[0] = (py_object *) f->growth->key; /* NOLINT(performance-no-int-to-ptr) */
        return 1;
    }
    if (f->growth->form == FORM_GRAPH) {
        ret[0] = c->largest_graph;
        return 1;
    }
    if (f->growth->form == FORM_SIZE || f->growth->form == FORM_ITEMS) {
        const struct survey_sized *sized = survey_sized_in(c, f->growth);
        ret[0] = sized->another ? sized->part : sized->object;
        ret[1] = sized->another;
        return sized->another ? 2 : 1;
    }
    const struct survey_tally *t = survey_tally_of(c, f->growth);
    size_t count = t->survivors < SURVEY_SAMPLES ? t->survivors : SURVEY_SAMPLES;
    memcpy(ret, t->samples, count * sizeof(*ret));
    return count;
}

#define ANY_ITEM "[...]"

/* Is this the path of one of many, as `meters[3].history` of `meters[...].history`? */
static bool is_one_of(const char *path, const char *many, size_t before)
{
    const char *behind = many + before + strlen(ANY_ITEM);
    size_t length = strlen(path), tail = strlen(behind);
    return length >= before + tail && strcmp(path + length - tail, behind) == 0;
}

static bool is_same_holder(const struct finding *a, const struct finding *b)
{
    if (a->holder_count == 0 || b->holder_count == 0)
        return false;
    const struct holder *x = &a->holders[0], *y = &b->holders[0];
    const char *any = b->growth->form == FORM_ITEMS ? strstr(y->path, ANY_ITEM) : NULL;
    size_t common = any ? (size_t) (any - y->path) : strlen(y->path);
    if (any && any[strlen(ANY_ITEM)] && !is_one_of(x->path, y->path, common))
        return false;
    return x->kind != WIRE_HOLDER_NATIVE && x->kind != WIRE_HOLDER_GARBAGE && common > 0 &&
           strncmp(x->path, y->path, common) == 0 && strchr(".[", x->path[common]) &&
           strcmp(x->function, y->function) == 0;
}

/* A weak container does not keep its items alive: it grows with others and is never the cause. */
static bool is_weak(const struct finding *f)
{
    const char *last = f->holder_count > 0 ? strrchr(f->holders[0].path, '.') : NULL;
    return last && f->holders[0].is_weak && strcmp(last, ".data") == 0;
}

/* A container that already existed is a finding of its own, unless it is one of many in a growing
 * one. */
static bool explains(const struct finding *container, const struct finding *f)
{
    enum survey_form form = f->growth->form;
    if (container->growth->form == FORM_ITEMS)
        return form != FORM_ITEMS;
    return container->growth->form == FORM_CONTAINER && form != FORM_ITEMS &&
           (form != FORM_CONTAINER || f->growth->is_new);
}

static double rate_of(const struct survey_growth *g)
{
    uint64_t time = g->points.at[g->points.count - 1].time - g->points.at[0].time;
    return (double) growth_amount(g) / (double) time;
}

static double bytes_a_second(const struct finding *f)
{
    return (f->item.host + f->item.device) * rate_of(f->growth);
}

/* so much more that the weighed items cannot have been complete */
#define MUCH_MORE 2

static bool explains_more(const struct finding *objects, const struct finding *container)
{
    bool has_graph = objects->item.carries_graph && !container->item.carries_graph;
    return has_graph || objects->holders[0].share * bytes_a_second(objects) >
                            MUCH_MORE * bytes_a_second(container);
}

/* Makes `outer` the item, and what was the item so far its content. */
static void put_around(struct weight *item, const struct thing *outer)
{
    if (item->depth < WIRE_CENSUS_ITEM_DEPTH)
        item->depth++;
    memmove(&item->things[1], &item->things[0], (item->depth - 1) * sizeof(item->things[0]));
    item->things[0] = *outer;
}

/* An item may share its content with others, such as the links of an lru_cache, or a record that
 * two lists keep. It does not own that content, so the growing objects describe it better. */
static void weigh_by(struct finding *container, const struct finding *objects)
{
    struct weight *item = &container->item;
    const struct thing own = item->things[0];
    bool are_items = things_are_alike(&own, &objects->item.things[0]);
    if (container->growth->is_new || !is_tally(objects) || item->depth == 0 || are_items ||
        !explains_more(objects, container))
        return;
    double each = objects->holders[0].share * rate_of(objects->growth) / rate_of(container->growth);
    *item = objects->item;
    weigh_multiply(item, each);
    put_around(item, &own);
}

/* The container among the findings that holds these objects; NULL: none. */
static struct finding *container_of(struct finding *ret, size_t count, const struct finding *f)
{
    for (size_t k = 0; k < count; k++)
        if (&ret[k] != f && explains(&ret[k], f) && is_same_holder(f, &ret[k]))
            return &ret[k];
    return NULL;
}

/* Sorts the findings of each form by importance again. */
static void sort(struct finding *ret, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && ret[k - 1].growth->form == ret[k].growth->form &&
                           ret[k - 1].growth->is_new == ret[k].growth->is_new &&
                           importance(&ret[k - 1]) < importance(&ret[k]);
             k--) {
            struct finding f = ret[k - 1];
            ret[k - 1] = ret[k];
            ret[k] = f;
        }
}

/* Drops objects held by a container that is a finding itself, and everything that only holds
 * weakly. */
static size_t drop_explained(struct finding *ret, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct finding *container = container_of(ret, count, &ret[i]);
        if (container)
            weigh_by(container, &ret[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (!container_of(ret, count, &ret[i]) && !is_weak(&ret[i]))
            ret[kept++] = ret[i];
    sort(ret, kept);
    return kept;
}

/* Tensors that only graphs hold, while a name of the program leads to a graph large enough for all
 * of them. */
static bool is_in_named_graph(const struct survey *c, const struct finding *f)
{
    return f->growth->form == FORM_TENSORS && c->largest_named &&
           c->named_nodes >= growth_amount(f->growth) &&
           (f->holder_count == 0 || f->holders[0].kind == WIRE_HOLDER_NATIVE);
}

static void name_any_item(struct finding *f)
{
    for (size_t i = 0; i < f->holder_count; i++) {
        char *path = f->holders[i].path;
        size_t length = strlen(path);
        if (length + sizeof(ANY_ITEM) <= sizeof(f->holders[i].path))
            memcpy(path + length, ANY_ITEM, sizeof(ANY_ITEM));
    }
}

static bool is_of_a_library(const struct finding *f)
{
    return f->holder_count > 0 && f->holders[0].file[0] &&
           code_owner(f->holders[0].file) != CODE_USER;
}

/* One thing may have several names, and the watcher reads which of them the source adds to. */
static void find_other_names(py_object *o, struct finding *f)
{
    struct holder all[FINDING_HOLDERS];
    size_t count = holders_of(o, all, FINDING_HOLDERS);
    for (size_t i = 0; i < count && f->holder_count < FINDING_HOLDERS; i++) {
        const struct holder *first = &f->holders[0];
        if (strcmp(all[i].path, first->path) != 0 || strcmp(all[i].function, first->function) != 0)
            f->holders[f->holder_count++] = all[i];
    }
}

static void find_holders(struct survey *c, struct finding *f)
{
    py_object *members[SURVEY_SAMPLES];
    size_t count = members_of(c, f, members);
    f->holder_count = holders_find(members, count, f->holders, FINDING_HOLDERS);
    if (f->holder_count == 1 && (f->growth->form == FORM_GRAPH || f->growth->form == FORM_SIZE))
        find_other_names(members[0], f);
    if (is_of_a_library(f) && !c->is_pair)
        callers_find(members, count, &f->caller);
    if (f->growth->form == FORM_ITEMS && count == 1)
        name_any_item(f);
    if (f->holder_count > 0 && f->holders[0].kind == WIRE_HOLDER_LRU_CACHE &&
        f->growth->form == FORM_CONTAINER)
        f->most = heap_most_of_cache(members[0]);
    if (is_tally(f) && !c->is_pair)
        f->most = slots_holding(c, members, count, survey_tally_of(c, f->growth)->survivors);
    if (is_in_named_graph(c, f)) {
        f->holder_count = holders_find(&c->largest_named, 1, f->holders, FINDING_HOLDERS);
        f->item.carries_graph = true;
    }
}

/* Searches in order of importance until the time is up. */
static void find_all_holders(struct survey *c, struct finding *ret, size_t count)
{
    uint64_t give_up_at = wire_now() + SEARCH_MOST_NS; /* the clock that limits the child's life */
    for (size_t i = 0; i < count && wire_now() < give_up_at; i++)
        find_holders(c, &ret[i]);
}

/* How many findings of each form are reported. */
struct shares {
    size_t containers, new_containers, items, tensors, graphs, sizes, objects;
};

size_t findings_make(struct survey *c, bool holders, struct finding *ret, size_t most)
{
    static const struct shares steady = {6, 0, 2, 2, 1, 2, 2}, pair = {8, 6, 0, 4, 0, 0, 6};
    const struct shares *s = c->is_pair ? &pair : &steady;
    assert(most >= s->containers + s->new_containers + s->items + s->tensors + s->graphs +
                       s->sizes + s->objects);
    weigh_forget();
    size_t count = collect(c, FORM_CONTAINER, false, ret, s->containers);
    count += collect(c, FORM_CONTAINER, true, ret + count, s->new_containers);
    count += collect(c, FORM_ITEMS, false, ret + count, s->items);
    count += collect(c, FORM_TENSORS, false, ret + count, s->tensors);
    count += collect(c, FORM_GRAPH, false, ret + count, s->graphs);
    count += collect(c, FORM_SIZE, false, ret + count, s->sizes);
    count += collect(c, FORM_OBJECTS, false, ret + count, s->objects);
    weigh_forget();
    if (!holders)
        return count;
    find_all_holders(c, ret, count);
    return drop_explained(ret, count);
}
