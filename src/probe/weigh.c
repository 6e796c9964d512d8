/* probe/weigh.c: an item, what it reaches, and what of that nobody else holds. */
#include "probe/weigh.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ITEMS 8u
#define REACHED_MOST 512u       /* objects, from one item */
#define TENSOR_BYTES 512u       /* torch's own objects behind one, beside its values */
#define DEVICE_BLOCK_BYTES 512u /* the least that torch's CUDA allocator gives */
#define BEHIND_BYTES 4096u      /* what a tensor or an extension's object may well have behind it */
#define TYPES_MOST 256u
#define SMALL_DICT 1024
#define VISITED_MOST 200000u /* items of a container that cannot be entered from its end */

static struct places met;

bool weigh_has_met(const py_object *type)
{
    return places_find(&met, (uintptr_t) type) != NULL;
}

void weigh_forget(void)
{
    places_release(&met);
}

static void meet(const py_object *type)
{
    bool is_new;
    if (!met.slots)
        places_init(&met, TYPES_MOST, false);
    places_add(&met, (uintptr_t) type, &is_new);
}

/* ---- what an item reaches ---- */

struct reached {
    bool each;        /* others of the item's type are none of its own */
    bool is_function; /* whose edges are looked at */
    py_object *objects[REACHED_MOST];
    ptrdiff_t
        inside[REACHED_MOST];     /* references to it from those reached, and from the container */
    bool is_shared[REACHED_MOST]; /* somebody else holds it */
    unsigned count;
    struct places index; /* by address: its number and 1 */
};

/* These are never an item's own. */
static bool is_common(const py_object *o)
{
    const py_object *type = heap_type(o);
    return o == py.none || type == py.PyModule_Type || type == py.PyCode_Type ||
           heap_kind_of_type(type) == HEAP_TYPE;
}

/* Of a function what it closes over and its defaults are its own, its module is not. */
static int reach(py_object *o, void *context)
{
    struct reached *r = context;
    bool is_new;
    if (r->is_function && heap_kind(o) != HEAP_TUPLE)
        return 0;
    struct place *p = r->count < REACHED_MOST ? places_add(&r->index, (uintptr_t) o, &is_new)
                                              : places_find(&r->index, (uintptr_t) o);
    if (!p)
        return 0;
    if (p->value == 0) {
        p->value = r->count + 1;
        r->objects[r->count] = o;
        r->inside[r->count] = 0;
        r->is_shared[r->count] = false;
        r->count++;
    }
    r->inside[p->value - 1]++;
    return 0;
}

static int share(py_object *o, void *context)
{
    struct reached *r = context;
    const struct place *p = places_find(&r->index, (uintptr_t) o);
    if (p)
        r->is_shared[p->value - 1] = true;
    return 0;
}

/* What somebody else holds, and all that can be reached from there, is not the item's own. It is
 * told by more references than were met. Once more for what was shared after its turn. */
static void find_shared(struct reached *r)
{
    for (unsigned i = 0; i < r->count; i++)
        if (is_common(r->objects[i]) || heap_references(r->objects[i]) > r->inside[i])
            r->is_shared[i] = true;
    for (unsigned turn = 0; turn < 2; turn++)
        for (unsigned i = 1; i < r->count; i++)
            if (r->is_shared[i] && !is_common(r->objects[i]))
                heap_edges(r->objects[i], share, r);
    r->is_shared[0] = false;
}

/* A list of lists is gone into. But from one node of a chain or a tree, all others are reached:
 * they are items themselves. */
static bool is_another_item(const struct reached *r, const py_object *o, const py_object *item)
{
    return o != item && heap_type(o) == heap_type(item) && (r->each || heap_length(o) < 0);
}

static void reach_all(struct reached *r, py_object *item)
{
    places_clear(&r->index);
    r->count = 0;
    r->is_function = false;
    reach(item, r);
    for (unsigned i = 0; i < r->count; i++) {
        r->is_function = heap_type(r->objects[i]) == py.PyFunction_Type;
        bool is_entered = i == 0 || !is_common(r->objects[i]); /* a class, where it is an item */
        if (is_entered && !is_another_item(r, r->objects[i], item))
            heap_edges(r->objects[i], reach, r);
    }
    find_shared(r);
    for (unsigned i = 1; i < r->count; i++)
        if (is_another_item(r, r->objects[i], item))
            r->is_shared[i] = true;
}

/* ---- its weight ---- */

static void add_tensor(const struct tensor_facts *f, struct weight *w)
{
    w->host += TENSOR_BYTES;
    w->tensors++;
    w->carries_graph = w->carries_graph || f->node;
    if (f->storage && f->storage_bytes > f->view_bytes)
        w->hidden_by_view += (double) (f->storage_bytes - f->view_bytes);
    size_t blocks = (f->storage_bytes + DEVICE_BLOCK_BYTES - 1) / DEVICE_BLOCK_BYTES;
    if (f->device_type == 0)
        w->host += (double) f->storage_bytes;
    else
        w->device += (double) (blocks * DEVICE_BLOCK_BYTES);
}

/* What a person would call it; of two the one with more bytes, by what it may have behind it. */
struct heaviest {
    double bytes;
    bool is_foreign;
    char what[112];
};

static void describe(const py_object *o, const struct tensor_facts *f, char *ret, size_t size)
{
    if (f)
        survey_tensor_name(f, ret, size);
    else
        survey_type_name(heap_type(o), ret, size);
}

/* The numbers of an array are seen, and those of a tensor. */
static bool is_foreign(const py_object *o)
{
    return heap_is_foreign(heap_type(o)) && heap_kind(o) == HEAP_OTHER && !tensors_is(o);
}

static double with_what_is_behind(const py_object *o, double bytes)
{
    return bytes + (tensors_is(o) || is_foreign(o) ? BEHIND_BYTES : 0);
}

static void add_object(py_object *o, struct places *storages, struct weight *w, struct heaviest *h)
{
    struct tensor_facts f;
    double before = w->host + w->device;
    bool is_new = true, is_tensor = tensors_is(o) && tensors_read(o, &f);
    meet(heap_type(o));
    w->host += (double) heap_size(o);
    if (is_tensor) {
        if (f.storage)
            places_add(storages, (uintptr_t) f.storage, &is_new);
        if (!is_new)
            f.storage_bytes = f.view_bytes = 0;
        add_tensor(&f, w);
    }
    double own = with_what_is_behind(o, w->host + w->device - before);
    if (h && own > h->bytes) {
        h->bytes = own;
        h->is_foreign = is_foreign(o);
        describe(o, is_tensor ? &f : NULL, h->what, sizeof(h->what));
    }
}

static bool is_function(const py_object *o)
{
    const char *name = heap_type_name(heap_type(o));
    return strcmp(name, "function") == 0 || strcmp(name, "method") == 0 ||
           strcmp(name, "builtin_function_or_method") == 0 ||
           strcmp(name, "functools.partial") == 0;
}

/* One item and what it alone holds. */
static void add_item(py_object *item, struct reached *r, struct places *storages, struct weight *w)
{
    struct heaviest h = {0};
    struct tensor_facts f;
    bool is_tensor = tensors_read(item, &f);
    char own[64];
    reach_all(r, item);
    add_object(item, storages, w, NULL);
    for (unsigned i = 1; i < r->count; i++)
        if (!r->is_shared[i])
            add_object(r->objects[i], storages, w, &h);
    w->is_exception = w->is_exception || heap_kind(item) == HEAP_EXCEPTION;
    w->is_function = w->is_function || is_function(item);
    describe(item, is_tensor ? &f : NULL, own, sizeof(own));
    double own_bytes = with_what_is_behind(item, (double) heap_size(item));
    bool is_wrapped = !is_tensor && h.bytes > own_bytes;
    w->is_foreign = w->is_foreign || (is_wrapped ? h.is_foreign : is_foreign(item));
    int room = (int) (sizeof(w->what) - sizeof(own) - sizeof(" of "));
    snprintf(w->what, sizeof(w->what), "%s%s%.*s", own, is_wrapped ? " of " : "",
             is_wrapped ? room : 0, h.what);
}

/* Adds up; what they are is said of the heaviest. */
static void add_weight(struct weight *sum, const struct weight *w, double *most)
{
    double bytes = w->host + w->device;
    sum->host += w->host;
    sum->device += w->device;
    sum->hidden_by_view += w->hidden_by_view;
    sum->tensors += w->tensors;
    sum->carries_graph = sum->carries_graph || w->carries_graph;
    sum->is_exception = sum->is_exception || w->is_exception;
    sum->is_function = sum->is_function || w->is_function;
    sum->is_foreign = sum->is_foreign || w->is_foreign;
    if (bytes > *most) {
        *most = bytes;
        memcpy(sum->what, w->what, sizeof(sum->what));
    }
}

void weigh_objects(py_object *const *objects, unsigned count, bool each, struct weight *ret)
{
    struct places storages = {0};
    struct reached *r = places_map(sizeof(*r));
    *ret = (struct weight){.host = NAN, .device = NAN};
    if (r && count > 0 && places_init(&r->index, REACHED_MOST, false) &&
        places_init(&storages, ITEMS * REACHED_MOST, false)) {
        double most = 0;
        r->each = each;
        ret->host = ret->device = 0;
        for (unsigned i = 0; i < count; i++) {
            struct weight one = {0};
            add_item(objects[i], r, &storages, &one);
            add_weight(ret, &one, &most);
        }
        ret->host /= count;
        ret->device /= count;
        ret->hidden_by_view /= count;
        ret->tensors /= count;
    }
    places_release(&storages);
    if (r)
        places_release(&r->index);
    places_unmap(r, sizeof(*r));
}

/* ---- the newest items ---- */

struct newest {
    py_object *items[ITEMS];
    size_t count;
};

static int keep_newest(py_object *o, void *context)
{
    struct newest *n = context;
    n->items[n->count++ % ITEMS] = o;
    return n->count == VISITED_MOST;
}

static void newest_of_list(py_object *list, struct newest *n)
{
    ptrdiff_t length = heap_length(list);
    for (ptrdiff_t i = length > (ptrdiff_t) ITEMS ? length - (ptrdiff_t) ITEMS : 0; i < length; i++)
        keep_newest(py.PyList_GetItem(list, i), n);
}

static void weigh_newest(const struct newest *n, struct weight *ret)
{
    weigh_objects(n->items, (unsigned) (n->count < ITEMS ? n->count : ITEMS), false, ret);
}

/* Where the newest items of a dict begin, or somewhat before them: a position is a place in its
 * table, in the order in which they came. Small ones may have another order. */
static ptrdiff_t position_of_newest(py_object *dict)
{
    ptrdiff_t length = heap_length(dict);
    return length > SMALL_DICT ? length - (ptrdiff_t) ITEMS : 0;
}

/* Keys count too: they are what a cache keeps alive that nobody thinks of. */
static void weigh_dict(py_object *dict, struct weight *ret)
{
    struct newest keys = {.count = 0}, values = {.count = 0};
    struct weight by_keys;
    ptrdiff_t position = position_of_newest(dict);
    py_object *key, *value;
    while (py.PyDict_Next(dict, &position, &key, &value)) {
        keep_newest(key, &keys);
        keep_newest(value, &values);
    }
    weigh_newest(&keys, &by_keys);
    weigh_newest(&values, ret);
    struct weight sum = {0};
    double most = -1;
    add_weight(&sum, &by_keys, &most);
    add_weight(&sum, ret, &most);
    *ret = sum;
}

/* What is looked at last is the newest: of a set there is no order. */
void weigh_container(py_object *container, struct weight *ret)
{
    struct newest n = {.count = 0};
    enum heap_kind kind = heap_kind(container);
    if (kind == HEAP_DICT) {
        weigh_dict(container, ret);
    } else {
        if (kind == HEAP_LIST)
            newest_of_list(container, &n);
        else
            heap_edges(container, keep_newest, &n);
        weigh_newest(&n, ret);
    }
    size_t length = (size_t) heap_length(container);
    if (length > 0)
        ret->host += (double) heap_size(container) / (double) length;
}
