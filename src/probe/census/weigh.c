/* probe/census/weigh.c: the size of items, what they consist of, and the uncertainty. */
#include "probe/census/weigh.h"

#include "probe/census/retained.h"

#include <math.h>
#include <string.h>

#define ITEMS RETAINED_ITEMS
#define RUN 16u       /* items followed, to weigh the ITEMS in the middle */
#define SHORT_RUN 10u /* if there are fewer, or they cannot be visited whole */
#define RUN_MARGIN 4u /* at each end: that many neighbours may share frames of a state */
#define SHORT_RUN_MARGIN 1u
#define OPEN_PART 0.05
#define FEW 2u
#define MARGIN_FROM 6u          /* with fewer items, all are weighed */
#define SAMPLED_ALONE 3u        /* so few items do not show the variance of a sample */
#define SAMPLES 4u              /* of each of these few */
#define BLOCK_BYTES 16u         /* allocations of Python and malloc are multiples of it */
#define TENSOR_BYTES 512u       /* torch's own objects behind a tensor, without its values */
#define DEVICE_BLOCK_BYTES 512u /* smallest block of torch's CUDA allocator */
#define BEHIND_BYTES 4096u      /* what a tensor or an extension's object may have behind it */
#define TYPES_MOST 256u
#define STORAGES_MOST 16384u
#define SMALL_DICT 1024
#define VISITED_MOST 200000u /* items of a container without access from its end */

_Static_assert(WEIGH_MOST == ITEMS, "every object is an item");
_Static_assert(RUN - 2 * RUN_MARGIN == ITEMS && 2 * RUN == RETAINED_ROOTS, "with their keys");
_Static_assert(SHORT_RUN - 2 * SHORT_RUN_MARGIN == ITEMS, "as many");

static struct places met;
static struct retained *retained; /* reused by the next weighing */

bool weigh_has_met(const py_object *type)
{
    return places_find(&met, (uintptr_t) type) != NULL;
}

void weigh_forget(void)
{
    places_release(&met);
    retained = retained_free(retained);
}

static void meet(const py_object *type)
{
    bool is_new;
    if (!met.slots)
        places_init(&met, TYPES_MOST, false);
    places_add(&met, (uintptr_t) type, &is_new);
}

/* ---- one object ---- */

struct own {
    double host, device, hidden_by_view; /* bytes */
    bool is_tensor;
    struct tensor_facts facts;
};

/* The numbers of arrays and tensors are visible. The buffer of a file is not, although its type is
 * the interpreter's own. */
static bool is_foreign(const py_object *o)
{
    const py_object *type = heap_type(o);
    if (strncmp(heap_type_name(type), "_io.Buffered", strlen("_io.Buffered")) == 0)
        return true;
    return heap_is_foreign(type) && heap_kind_of_type(type) == HEAP_OTHER &&
           !tensors_is_type(type) && !heap_is_scalar(type);
}

static double with_what_is_behind(const py_object *o, double bytes)
{
    return bytes + (tensors_is(o) || is_foreign(o) ? BEHIND_BYTES : 0);
}

static double size_of(const py_object *o)
{
    size_t blocks = (heap_size(o) + BLOCK_BYTES - 1) / BLOCK_BYTES;
    return (double) (blocks * BLOCK_BYTES);
}

static void add_tensor(struct own *w, bool has_storage)
{
    const struct tensor_facts *f = &w->facts;
    w->host += TENSOR_BYTES;
    if (!has_storage)
        return;
    if (f->storage && f->storage_bytes > f->view_bytes)
        w->hidden_by_view = (double) (f->storage_bytes - f->view_bytes);
    size_t blocks = (f->storage_bytes + DEVICE_BLOCK_BYTES - 1) / DEVICE_BLOCK_BYTES;
    if (f->device_type == 0)
        w->host += (double) f->storage_bytes;
    else
        w->device = (double) (blocks * DEVICE_BLOCK_BYTES);
}

/* A storage counts with the first tensor met that has it. */
static struct own own_of(const py_object *o, struct places *storages)
{
    struct own w = {.host = size_of(o)};
    bool is_new = true;
    w.is_tensor = tensors_is(o) && tensors_read(o, &w.facts);
    if (!w.is_tensor)
        return w;
    if (w.facts.storage && !storages->slots)
        places_init(storages, STORAGES_MOST, false);
    if (w.facts.storage)
        places_add(storages, (uintptr_t) w.facts.storage, &is_new);
    add_tensor(&w, is_new);
    return w;
}

/* ---- everything the items retain ---- */

/* The bytes of every item; with few items, one entry for each item of each sample. */
struct scales {
    double host[ITEMS + SAMPLES], device[ITEMS + SAMPLES];
    unsigned first, items;         /* the items being weighed */
    double maybe_host;             /* total, like the following */
    double seen_host, seen_device; /* visited, not estimated */
    double tensors, hidden_by_view;
    bool is_sampled, carries_graph, has_graph_on_device, has_foreign;
    struct {
        const py_object *object;
        double bytes;  /* including what may be behind it */
    } heaviest[ITEMS]; /* apart from the item itself */
    struct places storages;
};

_Static_assert(SAMPLED_ALONE *SAMPLES <= ITEMS + SAMPLES, "all of them have room");

static void note_kind(struct scales *s, const py_object *o, const struct own *w)
{
    bool has_graph = w->is_tensor && w->facts.node;
    meet(heap_type(o));
    s->carries_graph = s->carries_graph || has_graph;
    s->has_graph_on_device = s->has_graph_on_device || (has_graph && w->facts.device_type != 0);
    s->has_foreign = s->has_foreign || is_foreign(o);
}

static void note_heaviest(struct scales *s, const py_object *o, const struct own *w,
                          const double *shares)
{
    double bytes = with_what_is_behind(o, w->host + w->device);
    for (unsigned i = 0; i < s->items; i++)
        if (shares[i] > 0 && bytes > s->heaviest[i].bytes) {
            s->heaviest[i].object = o;
            s->heaviest[i].bytes = bytes;
        }
}

static void add_shares(struct scales *s, const struct own *w, const double *shares, double sum)
{
    double once = sum < 1 ? sum : 1;
    for (unsigned i = 0; i < s->items; i++) {
        s->host[s->first + i] += w->host * shares[i];
        s->device[s->first + i] += w->device * shares[i];
    }
    s->seen_host += w->host * once;
    s->seen_device += w->device * once;
    s->tensors += w->is_tensor ? sum : 0;
    s->hidden_by_view += w->hidden_by_view * sum;
}

static void add_object(py_object *o, enum retained_state state, const double *shares, void *context)
{
    struct scales *s = context;
    double sum = 0;
    for (unsigned i = 0; i < s->items; i++)
        sum += shares[i];
    if (state == RETAINED_MAYBE) {
        s->maybe_host += size_of(o) * sum;
        return;
    }
    struct own w = own_of(o, &s->storages);
    if (!(sum > 0))
        return;
    note_kind(s, o, &w);
    add_shares(s, &w, shares, sum);
    if (state == RETAINED_INSIDE)
        note_heaviest(s, o, &w, shares);
}

/* ---- descriptions ---- */

static bool is_function(const py_object *o)
{
    const char *name = heap_type_name(heap_type(o));
    return strcmp(name, "function") == 0 || strcmp(name, "method") == 0 ||
           strcmp(name, "builtin_function_or_method") == 0 ||
           strcmp(name, "functools.partial") == 0;
}

/* The object of an item: for a dict the value, or the key if that is more than half of the bytes.
 */
static const py_object *object_of_item(const struct scales *s, const struct retained_root *roots,
                                       size_t count, unsigned item)
{
    const py_object *found = NULL;
    double half = (s->host[s->first + item] + s->device[s->first + item]) / 2;
    for (size_t i = 0; i < count; i++)
        if (roots[i].item == (int) item && (!found || size_of(roots[i].object) > half))
            found = roots[i].object;
    return found;
}

/* What a reader would call it: the heaviest object in it, unless that is the item itself. */
static const py_object *wrapped_in(const struct scales *s, const py_object *o, unsigned item)
{
    double own = with_what_is_behind(o, size_of(o));
    return !tensors_is(o) && s->heaviest[item].bytes > own ? s->heaviest[item].object : NULL;
}

static void describe_item(const py_object *o, const py_object *wrapped, struct weight *ret)
{
    things_describe(o, &ret->things[0]);
    if (wrapped)
        things_describe(wrapped, &ret->things[1]);
    ret->depth = wrapped ? 2 : 1;
}

/* Describes the heaviest item; the flags are set by any item. */
static void describe_items(const struct scales *s, const struct retained_root *roots, size_t count,
                           struct weight *ret)
{
    double most = -1;
    for (unsigned i = 0; i < s->items; i++) {
        const py_object *o = object_of_item(s, roots, count, i);
        double bytes = s->host[s->first + i] + s->device[s->first + i];
        const py_object *wrapped = wrapped_in(s, o, i);
        ret->is_exception = ret->is_exception || heap_kind(o) == HEAP_EXCEPTION;
        ret->is_function = ret->is_function || is_function(o);
        ret->is_foreign = ret->is_foreign || is_foreign(wrapped ? wrapped : o);
        if (bytes > most) {
            most = bytes;
            describe_item(o, wrapped, ret);
        }
    }
}

/* ---- uncertainty ---- */

struct estimate {
    double mean, low, high;
};

static double sum_of(const double *values, unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/* Student's t for a 95 % interval, by degrees of freedom. */
static double student(unsigned freedom)
{
    static const double t[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571,
                               2.447, 2.365,  2.306, 2.262, 2.228, 2.201};
    unsigned last = sizeof(t) / sizeof(t[0]) - 1;
    return t[freedom < last ? freedom : last];
}

/* `is_known`: these are all items, and they were visited whole. */
static struct estimate estimate_of(const double *values, unsigned count, bool is_known,
                                   double least)
{
    double mean = sum_of(values, count) / count, squares = 0;
    for (unsigned i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    bool is_point = is_known || count < 2;
    double error = is_point ? 0 : student(count - 1) * sqrt(squares / (count - 1) / count);
    return (struct estimate){mean, fmin(fmax(mean - error, least), mean), mean + error};
}

static void conclude(const struct scales *s, bool is_all, bool is_cut, struct weight *ret)
{
    unsigned count = s->first + s->items;
    bool is_known = is_all && !s->is_sampled;
    double seen = is_all ? 1.0 / count : 0; /* says nothing about other items */
    struct estimate host = estimate_of(s->host, count, is_known, seen * s->seen_host);
    struct estimate device = estimate_of(s->device, count, is_known, seen * s->seen_device);
    bool host_is_open = s->carries_graph || s->has_foreign || is_cut;
    bool device_is_open = s->has_graph_on_device || (s->carries_graph && device.mean > 0);
    ret->host = host.mean;
    ret->host_low = host.low;
    ret->host_high = host_is_open ? INFINITY : host.high + s->maybe_host / count;
    ret->device = device.mean;
    ret->device_low = device.low;
    ret->device_high = device_is_open ? INFINITY : device.high;
    ret->tensors = s->tensors / count;
    ret->hidden_by_view = s->hidden_by_view / count;
    ret->carries_graph = s->carries_graph;
}

/* ---- weighing ---- */

struct run {
    struct retained_root roots[RETAINED_ROOTS];
    size_t root_count;
    unsigned items;
    bool each, is_all;
};

static void weigh_samples(const struct run *run, bool together, struct scales *s)
{
    static uint64_t seed;
    unsigned samples = run->items <= SAMPLED_ALONE ? SAMPLES : 1;
    *s = (struct scales){.items = run->items, .is_sampled = true};
    for (unsigned i = 0; i < samples; i++) {
        s->first = i * run->items;
        places_release(&s->storages);
        seed += (uintptr_t) run->roots[0].object + 1;
        retained_sample(retained, run->roots, run->root_count, run->each, together, seed);
        retained_visit(retained, add_object, s);
    }
    places_release(&s->storages);
}

/* False: too much to visit whole. */
static bool weigh_whole(const struct run *run, struct weight *ret)
{
    struct scales s = {.items = run->items};
    if (!retained_whole(retained, run->roots, run->root_count, run->each))
        return false;
    retained_visit(retained, add_object, &s);
    describe_items(&s, run->roots, run->root_count, ret);
    conclude(&s, run->is_all, false, ret);
    places_release(&s.storages);
    return true;
}

/* Others may also hold many of these objects; only a run with neighbours can show it. */
static bool has_open_ends(const struct scales *s)
{
    unsigned count = s->first + s->items;
    return s->maybe_host > OPEN_PART * (sum_of(s->host, count) + sum_of(s->device, count));
}

/* Without the margin, all visits go to the items. */
static struct run without_margin(const struct run *run)
{
    struct run alone = *run;
    alone.root_count = 0;
    for (size_t i = 0; i < run->root_count; i++)
        if (run->roots[i].item != RETAINED_MARGIN)
            alone.roots[alone.root_count++] = run->roots[i];
    return alone;
}

static void weigh_by_sample(const struct run *run, struct weight *ret)
{
    struct scales s;
    struct run alone = without_margin(run);
    weigh_samples(&alone, false, &s);
    if (has_open_ends(&s))
        weigh_samples(run, true, &s);
    describe_items(&s, run->roots, run->root_count, ret);
    conclude(&s, run->is_all, retained_is_cut(retained), ret);
}

static bool is_ready(struct weight *ret)
{
    *ret =
        (struct weight){.host = NAN, .device = NAN, .host_high = INFINITY, .device_high = INFINITY};
    if (!retained)
        retained = retained_new();
    return retained != NULL;
}

void weigh_objects(py_object *const *objects, unsigned count, bool each, struct weight *ret)
{
    struct run run = {.root_count = count, .items = count, .each = each, .is_all = count == 1};
    if (!is_ready(ret) || count == 0)
        return;
    for (unsigned i = 0; i < count; i++)
        run.roots[i] = (struct retained_root){objects[i], (int) i};
    if (!weigh_whole(&run, ret))
        weigh_by_sample(&run, ret);
}

/* ---- the newest items ---- */

struct newest {
    py_object *items[RUN], *keys[RUN]; /* keys: NULL if there are none */
    size_t count;
};

static void keep(struct newest *n, py_object *item, py_object *key)
{
    n->items[n->count % RUN] = item;
    n->keys[n->count % RUN] = key;
    n->count++;
}

static int keep_newest(py_object *o, void *context)
{
    struct newest *n = context;
    keep(n, o, NULL);
    return n->count == VISITED_MOST;
}

static void newest_of_list(py_object *list, struct newest *n)
{
    ptrdiff_t length = heap_length(list);
    for (ptrdiff_t i = length > (ptrdiff_t) RUN ? length - (ptrdiff_t) RUN : 0; i < length; i++)
        keep(n, py.PyList_GetItem(list, i), NULL);
}

/* A position at or before the newest items of a dict: positions are places in its table, in
 * insertion order. Small dicts may have another order. */
static ptrdiff_t position_of_newest(py_object *dict)
{
    ptrdiff_t length = heap_length(dict);
    return length > SMALL_DICT ? length - (ptrdiff_t) RUN : 0;
}

/* Keys count too: a cache keeps them alive. */
static void newest_of_dict(py_object *dict, struct newest *n)
{
    ptrdiff_t position = position_of_newest(dict);
    py_object *key, *value;
    while (py.PyDict_Next(dict, &position, &key, &value))
        keep(n, value, key);
}

static void add_root(struct run *run, py_object *o, int item)
{
    if (o)
        run->roots[run->root_count++] = (struct retained_root){o, item};
}

/* The newest items, in order of age. */
static struct run run_of(const struct newest *n, unsigned length)
{
    unsigned margin = length == RUN ? RUN_MARGIN : length >= MARGIN_FROM ? SHORT_RUN_MARGIN : 0;
    struct run run = {.items = length - 2 * margin};
    for (unsigned i = 0; i < length; i++) {
        size_t at = (n->count - length + i) % RUN;
        bool is_margin = i < margin || i >= length - margin;
        int item = is_margin ? RETAINED_MARGIN : (int) (i - margin);
        add_root(&run, n->items[at], item);
        add_root(&run, n->keys[at], item);
    }
    run.is_all = run.items == n->count;
    return run;
}

/* How long a run can be visited whole, judged by one item in the middle; 0: not even a short run.
 */
static unsigned items_within_reach(const struct newest *n)
{
    struct run one = {.items = 1};
    size_t at = (n->count - (n->count < RUN ? n->count : RUN) / 2 - 1) % RUN;
    add_root(&one, n->items[at], 0);
    add_root(&one, n->keys[at], 0);
    size_t most = RETAINED_MOST / SHORT_RUN;
    size_t reach = retained_reach(retained, one.roots, one.root_count, false, most);
    return reach > most ? 0 : reach * RUN > RETAINED_MOST ? SHORT_RUN : RUN;
}

static unsigned at_most(unsigned length, unsigned most)
{
    return length < most ? length : most;
}

/* Two items alone leave more room for cycles. */
static void weigh_few(const struct newest *n, struct weight *ret)
{
    struct weight w = {0};
    struct run run = run_of(n, FEW);
    if (weigh_whole(&run, &w) && !retained_is_undecided(retained))
        *ret = w;
}

static void weigh_newest(const struct newest *n, struct weight *ret)
{
    unsigned within = items_within_reach(n);
    unsigned length = n->count >= RUN ? RUN : at_most((unsigned) n->count, SHORT_RUN);
    struct run run = run_of(n, within > 0 ? at_most(length, within) : length);
    if (within == 0 || !weigh_whole(&run, ret))
        weigh_by_sample(&run, ret);
    else if (retained_is_undecided(retained) && n->count > FEW)
        weigh_few(n, ret);
}

/* The last items visited are the newest, except in a set, which has no order. */
void weigh_container(py_object *container, struct weight *ret)
{
    struct newest n = {.count = 0};
    enum heap_kind kind = heap_kind(container);
    if (!is_ready(ret))
        return;
    if (kind == HEAP_DICT)
        newest_of_dict(container, &n);
    else if (kind == HEAP_LIST)
        newest_of_list(container, &n);
    else
        heap_edges(container, keep_newest, &n);
    if (n.count == 0)
        return;
    weigh_newest(&n, ret);
    size_t length = (size_t) heap_length(container);
    double own = (double) heap_size(container) / (double) (length > 0 ? length : 1);
    ret->host += own;
    ret->host_low += own;
    ret->host_high += own;
}

void weigh_multiply(struct weight *w, double times)
{
    double *const amounts[] = {&w->host,       &w->host_low,    &w->host_high,      &w->device,
                               &w->device_low, &w->device_high, &w->hidden_by_view, &w->tensors};
    for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
        *amounts[i] *= times;
}
