/* probe/census/survey.c: a census: one walk over the heap. */
#include "probe/census/survey.h"

#include "probe/base/code.h"
#include "probe/base/frames.h"
#include "probe/census/points.h"
#include "probe/census/sizes.h"

#include <string.h>

#define LEAST_BITS ((size_t) 1 << 18)
#define MOST_BITS ((size_t) 1 << 27)
#define BITS_PER_OBJECT 16u
#define CONTAINERS_LEAST 4096u   /* minimum room */
#define OBJECTS_PER_CONTAINER 4u /* at least; a guess for the first census */
#define CONTAINERS_MANY 100000u  /* with more, only containers of ITEMS_LEAST items are followed */
#define CONTAINERS_MOST 1000000u
#define ITEMS_LEAST 8
#define STORAGES_LEAST 16384u
#define GRAPH_MOST 400000u /* nodes of one tensor's graph, and of all together */
#define CLOCK_EVERY 4096u  /* objects between two checks of the time limit */

/* ---- lifetime ---- */

static bool map_seen(struct survey *c, size_t bits)
{
    uint64_t *memory = places_map_shared(3 * bits / 8);
    if (!memory)
        return false;
    places_unmap_shared(c->seen_memory, 3 * c->seen_bits / 8);
    c->seen_memory = memory;
    for (unsigned i = 0; i < 3; i++)
        c->seen[i] = memory + i * (bits / 64);
    c->seen_bits = bits;
    c->seen_censuses = 0;
    return true;
}

static size_t bits_for(uint64_t objects)
{
    size_t bits = LEAST_BITS;
    while (bits < MOST_BITS && bits < objects * BITS_PER_OBJECT)
        bits *= 2;
    return bits;
}

struct survey *survey_new(uint64_t expected_objects)
{
    struct survey *c = heap_learn() ? places_map_shared(sizeof(*c)) : NULL;
    if (c && !map_seen(c, bits_for(expected_objects))) {
        places_unmap_shared(c, sizeof(*c));
        return NULL;
    }
    if (c)
        c->containers = expected_objects / OBJECTS_PER_CONTAINER;
    return c;
}

#define UNTRACKED_GUESS 3u /* objects per tracked object, at most */

struct heap_counts {
    uint64_t objects, containers;
};

static bool is_followed(enum heap_kind kind)
{
    return kind == HEAP_LIST || kind == HEAP_DICT || kind == HEAP_SET || kind == HEAP_DEQUE;
}

static bool count_roughly(py_object *o, void *context)
{
    struct heap_counts *n = context;
    n->objects++;
    n->containers += is_followed(heap_kind(o));
    return true;
}

struct survey *survey_new_pair(void)
{
    struct heap_counts n = {0};
    if (!heap_learn())
        return NULL;
    heap_visit(count_roughly, &n);
    struct survey *c = survey_new(UNTRACKED_GUESS * n.objects);
    if (!c)
        return NULL;
    c->is_pair = true;
    c->containers = 2 * n.containers; /* includes untracked containers */
    return c;
}

struct survey *survey_free(struct survey *c)
{
    if (!c)
        return NULL;
    /* The child of a fork does this too, and the memory belongs to the parent: write nothing. */
    struct places lengths = c->lengths, before = c->lengths_before;
    places_release(&lengths);
    places_release(&before);
    places_unmap_shared(c->seen_memory, 3 * c->seen_bits / 8);
    places_unmap_shared(c, sizeof(*c));
    return NULL;
}

static bool make_room_for_bits(struct survey *c)
{
    size_t bits = bits_for(c->objects);
    return c->is_pair || bits <= c->seen_bits || map_seen(c, bits); /* a pair forgets nothing */
}

/* A table that was too small has left out containers at random, so start with an empty one. */
static bool make_room_for_lengths(struct places *p, size_t containers)
{
    if (places_room(p) >= containers)
        return true;
    places_release(p);
    return places_init(p, containers + containers / 2, true);
}

bool survey_prepare(struct survey *c)
{
    if (c->containers > (c->is_pair ? CONTAINERS_MOST : CONTAINERS_MANY))
        c->items_least = ITEMS_LEAST;
    size_t containers = c->containers > CONTAINERS_LEAST ? c->containers : CONTAINERS_LEAST;
    if (containers > CONTAINERS_MOST)
        containers = CONTAINERS_MOST;
    /* This table is used next; the newer one is kept. */
    return make_room_for_lengths(&c->lengths_before, containers) && make_room_for_bits(c);
}

static void turn_lengths(struct survey *c)
{
    struct places oldest = c->lengths_before;
    c->lengths_before = c->lengths;
    c->lengths = oldest;
    places_clear(&c->lengths);
}

/* ---- Bloom filters of addresses ---- */

static bool has_bits(const struct survey *c, const uint64_t *seen, uint64_t hash)
{
    size_t a = hash & (c->seen_bits - 1), b = (hash >> 32) & (c->seen_bits - 1);
    return (seen[a / 64] >> (a % 64) & 1) && (seen[b / 64] >> (b % 64) & 1);
}

static void set_bits(struct survey *c, uint64_t hash)
{
    size_t a = hash & (c->seen_bits - 1), b = (hash >> 32) & (c->seen_bits - 1);
    c->seen[0][a / 64] |= UINT64_C(1) << (a % 64);
    c->seen[0][b / 64] |= UINT64_C(1) << (b % 64);
}

/* Freed memory is soon another object's, usually of another type. */
static uint64_t hash_of(const py_object *o)
{
    return places_hash((uintptr_t) o + places_hash((uintptr_t) heap_type(o)));
}

/* At the previous census, if there was one. */
static bool was_seen(const struct survey *c, const py_object *o)
{
    return has_bits(c, c->seen[1], hash_of(o));
}

static bool is_survivor(struct survey *c, const py_object *o)
{
    uint64_t hash = hash_of(o);
    set_bits(c, hash);
    if (c->is_pair)
        return c->seen_censuses >= 1 && !was_seen(c, o);
    return c->seen_censuses >= 2 && !has_bits(c, c->seen[2], hash) && has_bits(c, c->seen[1], hash);
}

/* A census that hit its time limit has not seen all objects: the next two have nothing to compare
 * with. */
static void turn_seen(struct survey *c)
{
    if (!c->follows_complete)
        c->seen_censuses = 0;
    uint64_t *oldest = c->seen[2];
    c->seen[2] = c->seen[1];
    c->seen[1] = c->seen[0];
    c->seen[0] = oldest;
    memset(oldest, 0, c->seen_bits / 8);
}

/* ---- tallies ---- */

#define TALLY_TRIES 64u /* then the table counts as full */

/* The slot of a key, or a slot for it: unused, or of a key not met for two censuses, since classes
 * come and go. NULL: none. */
static struct survey_tally *tally_place(const struct survey *c, struct survey_tally *table,
                                        size_t size, uintptr_t key)
{
    struct survey_tally *old = NULL;
    size_t at = places_hash(key) & (size - 1);
    for (unsigned tried = 0; tried < TALLY_TRIES; tried++, at = (at + 1) & (size - 1)) {
        struct survey_tally *t = &table[at];
        if (t->key == key)
            return t;
        if (!t->key)
            return old ? old : t;
        if (!old && t->census + 2 < c->number)
            old = t;
    }
    return old;
}

/* The tally of a key, cleared for this census; NULL: no room left. */
static struct survey_tally *tally_at(struct survey *c, struct survey_tally *table, size_t size,
                                     uintptr_t key)
{
    struct survey_tally *t = tally_place(c, table, size, key);
    if (!t || (t->key == key && t->census == c->number))
        return t;
    uint64_t before = t->key == key && t->census + 1 == c->number ? t->count : 0;
    *t = (struct survey_tally){.key = key, .census = c->number, .count_before = before};
    return t;
}

static void count_survivor(struct survey_tally *t, py_object *o)
{
    t->samples[t->survivors++ % SURVEY_SAMPLES] = o;
}

#define IS_GROUPED 0x100u /* its bytes are counted in a group */

struct walk {
    struct survey *c;
    struct places storages;  /* by address; the value is its enum survey_purpose | IS_GROUPED */
    struct places untracked; /* in a pair: untracked objects that were counted */
    unsigned depth;
    uint64_t give_up_at;
    const py_object *optimizer_type;
    enum survey_gradients gradients;
    struct peek *peek; /* for gradients that may be freed meanwhile; NULL: they cannot */
    bool gave_up;
};

static struct survey_tally *type_tally(struct walk *w, const py_object *type)
{
    struct survey_tally *t = tally_at(w->c, w->c->types, SURVEY_TYPES, (uintptr_t) type);
    if (t && t->count == 0) {
        t->kind = heap_kind_of_type(type);
        t->is_tensor = w->c->knows_tensors && tensors_is_type(type);
        t->is_optimizer = w->optimizer_type && heap_is_subtype(type, w->optimizer_type);
    }
    return t;
}

/* ---- containers ---- */

static void follow_length(struct survey *c, const py_object *o, enum heap_kind kind)
{
    ptrdiff_t length = heap_length_as(o, kind);
    bool is_new;
    if (length < c->items_least || kind == HEAP_TUPLE)
        return;
    c->containers++;
    struct place *now = places_add(&c->lengths, (uintptr_t) o, &is_new);
    if (!now)
        return;
    now->value = (uint64_t) length;
    const struct place *before = places_find(&c->lengths_before, (uintptr_t) o);
    if (before && before->value != now->value)
        growth_note(c, FORM_CONTAINER, (uintptr_t) o, c->time_before, before->value, now->value);
    else if (c->is_pair && !before && now->value >= ITEMS_LEAST && !was_seen(c, o))
        growth_note_new(c, (uintptr_t) o, now->value);
}

/* ---- tensors ---- */

static unsigned device_of(struct survey *c, const struct tensor_facts *f)
{
    unsigned i = 0;
    while (i < SURVEY_DEVICES - 1 && c->devices[i].is_used &&
           !(c->devices[i].type == f->device_type && c->devices[i].index == f->device_index))
        i++;
    c->devices[i].is_used = true;
    c->devices[i].type = f->device_type;
    c->devices[i].index = f->device_index;
    return i;
}

static uintptr_t key_of_group(const struct tensor_facts *f)
{
    uint64_t key = places_hash((uintptr_t) f->dtype) + (uint64_t) (f->device_type + 1) * 31 +
                   (uint64_t) (f->device_index + 2) * 97 + (f->node ? 7 : 0) +
                   (f->requires_grad ? 13 : 0) + (uint64_t) f->dims;
    for (int i = 0; i < f->dims && i < 8; i++)
        key = places_hash(key ^ (uint64_t) f->shape[i]);
    return key | 1;
}

static void note_large(struct survey *c, const struct tensor_facts *f)
{
    unsigned at = c->large_count;
    while (at > 0 && c->large[at - 1].storage_bytes < f->storage_bytes)
        at--;
    if (at == SURVEY_LARGE)
        return;
    unsigned last = c->large_count < SURVEY_LARGE ? c->large_count++ : SURVEY_LARGE - 1;
    for (unsigned i = last; i > at; i--)
        c->large[i] = c->large[i - 1];
    c->large[at] = *f;
}

static void count_purpose(struct walk *w, unsigned device, struct place *storage,
                          enum survey_purpose purpose, uint64_t bytes)
{
    uint64_t before = storage->value & ~(uint64_t) IS_GROUPED;
    if (before >= (uint64_t) purpose)
        return;
    if (before != PURPOSE_OTHER) {
        w->c->purposes[before][device].count--;
        w->c->purposes[before][device].bytes -= bytes;
    }
    storage->value = purpose | (storage->value & IS_GROUPED);
    w->c->purposes[purpose][device].count++;
    w->c->purposes[purpose][device].bytes += bytes;
}

static void note_spare(struct survey *c, const struct tensor_facts *f)
{
    if (f->device_type != 0 || f->storage_bytes < SPARE_LEAST || c->spare_count == SURVEY_SPARE)
        return;
    uintptr_t begin = (uintptr_t) f->data;
    c->spare[c->spare_count++] = (struct spare){begin, begin + f->storage_bytes};
}

/* The storage of a tensor; the first tensor that has it counts its bytes for its device. NULL:
 * none. */
static struct place *count_storage(struct walk *w, const struct tensor_facts *f, unsigned device)
{
    bool is_new = false;
    struct place *s = f->storage ? places_add(&w->storages, (uintptr_t) f->storage, &is_new) : NULL;
    if (s && is_new) {
        w->c->devices[device].bytes += f->storage_bytes;
        note_spare(w->c, f);
    }
    return s;
}

static void count_gradient(struct walk *w, const void *impl)
{
    struct tensor_facts f;
    if (!(w->peek ? tensors_peek_storage(w->peek, impl, &f) : tensors_read_impl(impl, &f)))
        return;
    unsigned device = device_of(w->c, &f);
    struct place *storage = count_storage(w, &f, device);
    if (storage)
        count_purpose(w, device, storage, PURPOSE_GRADIENTS, f.storage_bytes);
}

static void count_device(struct survey *c, unsigned device, const struct tensor_facts *f)
{
    c->tensors++;
    c->devices[device].count++;
    c->devices[device].requires_grad += f->requires_grad;
    c->devices[device].with_graph += f->node != NULL;
}

static void count_group(struct survey *c, py_object *o, const struct tensor_facts *f,
                        bool is_first_of_storage, bool survived)
{
    struct survey_tally *group = tally_at(c, c->groups, SURVEY_GROUPS, key_of_group(f));
    if (!group)
        return;
    group->facts = *f;
    group->count++;
    group->bytes += is_first_of_storage ? f->storage_bytes : 0;
    if (survived)
        count_survivor(group, o);
}

static void count_tensor(struct walk *w, py_object *o, bool survived)
{
    struct survey *c = w->c;
    struct tensor_facts f;
    if (!tensors_read(o, &f))
        return;
    unsigned device = device_of(c, &f);
    count_device(c, device, &f);
    struct place *storage = count_storage(w, &f, device);
    bool is_first = storage && !(storage->value & IS_GROUPED);
    if (is_first) {
        storage->value |= IS_GROUPED;
        note_large(c, &f);
    }
    count_group(c, o, &f, is_first, survived);
    if (storage && f.is_parameter)
        count_purpose(w, device, storage, PURPOSE_PARAMETERS, f.storage_bytes);
    if (f.grad && w->gradients != GRADIENTS_NONE)
        count_gradient(w, f.grad);
    if (f.node)
        c->graphs[c->graph_count++ % SURVEY_GRAPHS] = (struct survey_graph){.tensor = o};
}

/* ---- optimizer states ---- */

#define STATE_DEPTH 5

struct state_walk {
    struct walk *w;
    int depth;
    unsigned left; /* limit on visited objects */
};

/* Follows only what a state consists of: dicts, lists, and the optimizer itself. */
static int count_state(py_object *o, void *context)
{
    struct state_walk *s = context;
    if (s->left == 0)
        return 1;
    s->left--;
    const py_object *type = heap_type(o);
    struct tensor_facts f;
    if (tensors_is_type(type)) {
        if (tensors_read(o, &f)) {
            unsigned device = device_of(s->w->c, &f);
            struct place *storage = count_storage(s->w, &f, device);
            if (storage && !f.is_parameter)
                count_purpose(s->w, device, storage, PURPOSE_OPTIMIZER, f.storage_bytes);
        }
        return 0;
    }
    enum heap_kind kind = heap_kind_of_type(type);
    if (s->depth > 0 && (kind == HEAP_DICT || kind == HEAP_LIST)) {
        s->depth--;
        heap_edges(o, count_state, s);
        s->depth++;
    }
    return 0;
}

#define STATE_OBJECTS 200000u

static void count_optimizer(struct walk *w, py_object *o)
{
    struct state_walk s = {.w = w, .depth = STATE_DEPTH, .left = STATE_OBJECTS};
    heap_edges(o, count_state, &s);
}

/* ---- one object ---- */

static void count_one(struct walk *w, py_object *o)
{
    struct survey *c = w->c;
    struct survey_tally *t = type_tally(w, heap_type(o));
    if (!t)
        return;
    size_t bytes = heap_size_as(o, t->kind);
    t->count++;
    t->bytes += bytes;
    c->bytes += bytes;
    bool survived = is_survivor(c, o);
    if (survived)
        count_survivor(t, o);
    if (t->kind != HEAP_OTHER)
        follow_length(c, o, t->kind);
    else if (t->is_tensor)
        count_tensor(w, o, survived);
    else if (t->is_optimizer)
        count_optimizer(w, o);
}

/* ---- untracked objects ---- */

#define UNTRACKED_LEAST 65536u
#define DEPTH_MOST 200u /* of nested tuples and dicts */

/* Doubles the room. False: no memory. */
static bool make_room(struct places *p)
{
    struct places larger;
    bool is_new;
    if (!places_init(&larger, 2 * p->count + UNTRACKED_LEAST, false))
        return false;
    for (size_t i = 0; p->slots && i <= p->mask; i++)
        if (p->slots[i].key)
            places_add(&larger, p->slots[i].key, &is_new);
    places_release(p);
    *p = larger;
    return true;
}

static bool is_met_first(struct walk *w, const py_object *o)
{
    bool is_new = false;
    uintptr_t key = (uintptr_t) o;
    if (places_add(&w->untracked, key, &is_new))
        return is_new;
    return make_room(&w->untracked) && places_add(&w->untracked, key, &is_new);
}

static int count_untracked(py_object *o, void *context)
{
    struct walk *w = context;
    if (heap_is_tracked(o) || !is_met_first(w, o))
        return 0;
    w->c->objects++;
    count_one(w, o);
    if (w->depth < DEPTH_MOST) {
        w->depth++;
        heap_edges(o, count_untracked, w);
        w->depth--;
    }
    return 0;
}

/* No object refers to the variables of a running function. */
static void count_variables(struct walk *w)
{
    const size_t most = 8192;
    struct frame_root *roots = places_map(most * sizeof(*roots));
    size_t count = roots ? frames_roots(roots, most) : 0;
    for (size_t i = 0; i < count; i++)
        count_untracked(roots[i].value, w);
    places_unmap(roots, most * sizeof(*roots));
}

/* ---- the walk ---- */

static bool count_object(py_object *o, void *context)
{
    struct walk *w = context;
    struct survey *c = w->c;
    if (++c->objects % CLOCK_EVERY == 0 && places_thread_ns() > w->give_up_at) {
        w->gave_up = true;
        return false;
    }
    count_one(w, o);
    if (c->is_pair)
        heap_edges(o, count_untracked, w);
    return true;
}

static void begin(struct survey *c, uint64_t now)
{
    c->number++;
    c->time_before = c->time;
    c->time = now;
    c->objects = c->bytes = c->tensors = c->containers = 0;
    c->large_count = 0;
    c->graph_count = c->named_graph_count = c->size_count = 0;
    c->spare_count = 0;
    c->largest_graph = c->largest_named = NULL;
    c->follows_complete = c->is_complete;
    c->is_complete = false; /* until its end is reached */
    memset(c->devices, 0, sizeof(c->devices));
    memset(c->purposes, 0, sizeof(c->purposes));
    turn_seen(c);
    turn_lengths(c);
}

/* The remaining bytes of each device. */
static void settle_purposes(struct survey *c)
{
    for (unsigned i = 0; i < SURVEY_DEVICES; i++) {
        uint64_t known = 0;
        for (unsigned p = PURPOSE_OTHER + 1; p < SURVEY_PURPOSES; p++)
            known += c->purposes[p][i].bytes;
        c->purposes[PURPOSE_OTHER][i].bytes = c->devices[i].bytes - known;
    }
}

static void note_tallies(struct survey *c, struct survey_tally *table, size_t size,
                         enum survey_form form)
{
    for (size_t i = 0; i < size; i++) {
        struct survey_tally *t = &table[i];
        if (t->key && t->census == c->number && t->count != t->count_before && c->follows_complete)
            growth_note(c, form, t->key, c->time_before, t->count_before, t->count);
    }
}

/* ---- untracked objects ---- */

static bool meet_reached(py_object *o, const struct reach_place *place, void *context)
{
    struct sizes *s = context;
    if (heap_is_dict(o) && !heap_is_tracked(o))
        follow_length(s->survey, o, HEAP_DICT);
    return sizes_meet(s, o, place);
}

static void meet_named(struct survey *c)
{
    struct sizes s = {.survey = c};
    reach_visit(meet_reached, &s);
    sizes_end(&s);
}

const struct survey_sized *survey_sized_in(const struct survey *c, const struct survey_growth *g)
{
    for (unsigned i = 0; i < c->size_count; i++)
        if (c->sizes[i].key == g->key)
            return &c->sizes[i];
    return NULL;
}

static void settle(struct survey *c)
{
    c->seen_censuses++;
    settle_purposes(c);
    note_tallies(c, c->types, SURVEY_TYPES, FORM_OBJECTS);
    note_tallies(c, c->groups, SURVEY_GROUPS, FORM_TENSORS);
    growth_settle(c);
}

static bool has_other_threads(void)
{
    void *first = py.PyInterpreterState_ThreadHead(py.PyInterpreterState_Get());
    return first && py.PyThreadState_Next(first);
}

/* If another thread may free a gradient at any time, read it through the kernel. */
static void choose_way_to_gradients(struct walk *w, struct peek *p)
{
    if (w->gradients != GRADIENTS_IN_PROCESS || !has_other_threads())
        return;
    if (peek_init(p))
        w->peek = p;
    else
        w->gradients = GRADIENTS_NONE;
}

void survey_take(struct survey *c, uint64_t now, uint64_t give_up_at,
                 enum survey_gradients gradients)
{
    uint64_t tensors_before = c->tensors;
    struct peek peek;
    begin(c, now);
    c->knows_tensors = tensors_learn();
    struct walk w = {
        .c = c,
        .give_up_at = give_up_at,
        .gradients = gradients,
        .optimizer_type =
            c->knows_tensors ? code_class("torch.optim.optimizer", "Optimizer") : NULL,
    };
    size_t storages = 2 * tensors_before > STORAGES_LEAST ? 2 * tensors_before : STORAGES_LEAST;
    if (c->knows_tensors && !places_init(&w.storages, storages, false))
        c->knows_tensors = false;
    if (c->knows_tensors)
        choose_way_to_gradients(&w, &peek);
    heap_visit(count_object, &w);
    if (c->is_pair)
        count_variables(&w);
    places_release(&w.storages);
    if (w.peek)
        peek_release(w.peek);
    places_release(&w.untracked);
    if (w.gave_up)
        return;
    if (!c->is_pair) /* a pair has already visited these */
        meet_named(c);
    settle(c);
    c->is_complete = true;
    c->in_a_row = c->follows_complete ? c->in_a_row + 1 : 1;
}

/* Counts the nodes behind each tensor, within the limit *left. Returns the most behind a tensor
 * whose graph is not new. */
static uint64_t count_nodes(const struct survey *c, struct survey_graph *graphs, unsigned count,
                            uint64_t *left, uint64_t *newest)
{
    uint64_t most = 0;
    struct tensor_facts f;
    for (unsigned i = 0; i < count; i++) {
        struct survey_graph *g = &graphs[i];
        struct tensors_age age;
        if (*left == 0 || !tensors_read(g->tensor, &f) || !f.node)
            continue;
        uint64_t nodes = tensors_graph(f.node, *left, &age);
        g->is_new = c->graph_walks > 0 && age.oldest > c->newest_node;
        g->nodes = g->is_new ? 0 : nodes;
        *left -= nodes;
        *newest = age.newest > *newest ? age.newest : *newest;
        most = g->nodes > most ? g->nodes : most;
    }
    return most;
}

/*
 * Among the graphs with more nodes than `least`, the one with fewest: it is carried from step to
 * step. A loss computed from it has a few nodes more, and is new at each step. NULL: none.
 */
static py_object *carrier_of(const struct survey_graph *graphs, unsigned count, uint64_t least,
                             uint64_t *ret_nodes)
{
    py_object *carrier = NULL;
    for (unsigned i = 0; i < count; i++)
        if (graphs[i].nodes > least && (!carrier || graphs[i].nodes < *ret_nodes)) {
            carrier = graphs[i].tensor;
            *ret_nodes = graphs[i].nodes;
        }
    return carrier;
}

/* Nodes that a graph gains between two moments; 1: unknown, so the largest graph is taken. */
static uint64_t nodes_of_a_step(const struct survey *c, uint64_t before, uint64_t most)
{
    uint64_t moments = c->moments - c->graph_moments;
    uint64_t come = before && most > before && moments ? (most - before) / moments : 0;
    return come > 1 ? come : 1;
}

void survey_walk_graphs(struct survey *c)
{
    uint64_t before = c->graph_nodes, time_before = c->graph_time, left = GRAPH_MOST;
    uint64_t newest = c->newest_node, fewest = 0;
    unsigned count = c->graph_count < SURVEY_GRAPHS ? c->graph_count : SURVEY_GRAPHS;
    uint64_t most_named = count_nodes(c, c->named_graphs, c->named_graph_count, &left, &newest);
    uint64_t most = count_nodes(c, c->graphs, count, &left, &newest);
    most = most_named > most ? most_named : most;
    uint64_t step = nodes_of_a_step(c, before, most);
    uint64_t least = most > step ? most - step : 0;
    uint64_t least_named = most_named > step ? most_named - step : 0;
    c->named_nodes = 0;
    c->largest_named =
        carrier_of(c->named_graphs, c->named_graph_count, least_named, &c->named_nodes);
    c->largest_graph = carrier_of(c->graphs, count, least, &fewest);
    /* Others may be as large, but this one has a name in the program. */
    if (c->named_nodes > least && (!c->largest_graph || c->named_nodes <= fewest))
        c->largest_graph = c->largest_named;
    c->newest_node = newest;
    c->graph_nodes = most;
    c->graph_time = c->time;
    c->graph_moments = c->moments;
    c->graph_walks++;
    if (left == 0) /* more nodes than the limit: the size is unknown */
        growth_keep(c, FORM_GRAPH, 1);
    else if (before)
        growth_note(c, FORM_GRAPH, 1, time_before, before, most);
}

static bool is_new_among(const struct survey_graph *graphs, unsigned count, const py_object *tensor)
{
    for (unsigned i = 0; i < count; i++)
        if (graphs[i].tensor == tensor)
            return graphs[i].is_new;
    return false;
}

bool survey_graph_is_new(const struct survey *c, const py_object *tensor)
{
    unsigned count = c->graph_count < SURVEY_GRAPHS ? c->graph_count : SURVEY_GRAPHS;
    return is_new_among(c->named_graphs, c->named_graph_count, tensor) ||
           is_new_among(c->graphs, count, tensor);
}

struct survey_tally *survey_tally_of(struct survey *c, const struct survey_growth *g)
{
    bool is_group = g->form == FORM_TENSORS;
    struct survey_tally *t = is_group ? tally_place(c, c->groups, SURVEY_GROUPS, g->key)
                                      : tally_place(c, c->types, SURVEY_TYPES, g->key);
    return t && t->key == g->key && t->census == c->number ? t : NULL;
}
