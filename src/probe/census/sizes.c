/* probe/census/sizes.c: the bytes in each place, from one census to the next. */
#include "probe/census/sizes.h"

#include "probe/census/points.h"
#include "probe/holders/roots.h"

#define SIZE_LEAST                                                                                 \
    ((uint64_t) 256 << 10) /* a place or owner must have so much to be noted as a growth */
#define PLACE_LEAST ((uint64_t) 4 << 10) /* smaller objects are not followed by place */
#define GOOD_PART 4 /* a place counts alone if it has 1/GOOD_PART of its owner's growth */

static bool has_own_memory(enum heap_kind kind)
{
    return kind == HEAP_TEXT || kind == HEAP_BYTES || kind == HEAP_BYTEARRAY ||
           kind == HEAP_ARRAY || kind == HEAP_MEMORY_FILE || kind == HEAP_NUMBERS;
}

/* The bytes of an object that refers to no other; 0: it is not such an object. */
static uint64_t size_of(const struct sizes *s, py_object *o)
{
    struct survey *c = s->survey;
    struct tensor_facts f;
    if (s->kind == HEAP_ARRAY)
        return heap_size(heap_array_memory(o));
    if (has_own_memory(s->kind))
        return heap_size_as(o, s->kind);
    if (!s->is_tensor || !tensors_read_memory(o, &f))
        return 0;
    if (f.node && c->named_graph_count < SURVEY_NAMED)
        c->named_graphs[c->named_graph_count++] = (struct survey_graph){.tensor = o};
    return f.storage_bytes;
}

/* ---- one place ---- */

static int64_t gained(const struct sizes_place *p)
{
    return (int64_t) p->now - (int64_t) p->before;
}

static void keep_largest(struct sizes *s, const struct sizes_place *p)
{
    unsigned at = s->count;
    while (at > 0 && gained(&s->largest[at - 1]) < gained(p))
        at--;
    if (at == SIZES_LARGEST)
        return;
    s->count += s->count < SIZES_LARGEST;
    for (unsigned i = s->count - 1; i > at; i--)
        s->largest[i] = s->largest[i - 1];
    s->largest[at] = *p;
}

static void add_place(struct sizes *s, py_object *o, uintptr_t key, uint64_t bytes)
{
    bool is_new;
    struct place *now = places_add(&s->survey->lengths, key, &is_new);
    const struct place *before = places_find(&s->survey->lengths_before, key);
    if (!now)
        return;
    now->value = bytes;
    s->survey->containers++; /* the table of lengths must have room for it */
    s->bytes += bytes;
    if (!before)
        return;
    struct sizes_place p = {key, o, before->value, bytes};
    s->gained += gained(&p);
    s->places++;
    if (gained(&p) != 0 || (bytes >= SIZE_LEAST && growth_knows(s->survey, FORM_SIZE, key)))
        keep_largest(s, &p);
}

/* ---- an owner and all its places ---- */

/* The traversal of a dict visits only the values if its keys are texts, otherwise the keys as well.
 */
static unsigned references_of_an_item(py_object *owner)
{
    ptrdiff_t position = 0;
    py_object *key, *value;
    bool has_keys = heap_kind(owner) == HEAP_DICT &&
                    py.PyDict_Next(owner, &position, &key, &value) && heap_kind(key) != HEAP_TEXT;
    return has_keys ? 2 : 1;
}

/* Only the first items of a long container were visited; they stand for all of them. */
static double scale_of(const struct sizes *s)
{
    unsigned each = references_of_an_item(s->owner);
    double all = (double) heap_length(s->owner) * each;
    return all >= s->reference + each ? all / s->reference : 1;
}

static void note(struct sizes *s, const struct sizes_place *p)
{
    struct survey *c = s->survey;
    if (p->now < SIZE_LEAST || c->size_count == SURVEY_SIZES)
        return;
    if (p->now != p->before)
        growth_note(c, FORM_SIZE, p->key, c->time_before, p->before, p->now);
    if (growth_knows(c, FORM_SIZE, p->key))
        c->sizes[c->size_count++] = (struct survey_sized){.key = p->key, .object = p->object};
}

/* The growth is spread over so many places that none has a good part of it. A module is no useful
 * name for what its variables hold. */
static bool is_spread(const struct sizes *s)
{
    return s->owner && s->count == SIZES_LARGEST && s->gained > 0 &&
           GOOD_PART * gained(&s->largest[0]) < s->gained && heap_length(s->owner) >= 0 &&
           !roots_is_namespace(s->owner);
}

/* Carries a sum on from the previous census by adding `gains`, because places come and go. `now`:
 * the sum to start with. Returns the previous sum; 0: unknown. */
static uint64_t count_on(struct sizes *s, uintptr_t key, double now, double gains, uint64_t *ret)
{
    bool is_new;
    const struct place *before = places_find(&s->survey->lengths_before, key);
    struct place *place = places_add(&s->survey->lengths, key, &is_new);
    double sum = before ? (double) before->value + gains : now;
    *ret = sum > 0 ? (uint64_t) sum : 0;
    if (place)
        place->value = *ret;
    return place && before ? before->value : 0;
}

static void note_owner(struct sizes *s)
{
    uintptr_t key = reach_key_of(s->owner);
    struct sizes_place p = {.key = key, .object = s->owner};
    double scale = scale_of(s);
    p.before = count_on(s, key, scale * (double) s->bytes, scale * (double) s->gained, &p.now);
    if (p.before > 0 && (is_spread(s) || growth_knows(s->survey, FORM_SIZE, key)))
        note(s, &p);
}

/* ---- containers inside one ---- */

#define PARTS_LEAST 8u /* fewer growing containers are reported one by one */

/* From the key of all places of an owner, to keys that no place has. */
enum { OF_OWNER = 2, OF_GROUP = 4 };

static bool is_inner_spread(const struct sizes_inner *x, py_object *owner)
{
    return x->growing >= PARTS_LEAST && GOOD_PART * x->most < x->gained &&
           !roots_is_namespace(owner);
}

/* `offset`: from the key of all its places, to one that no place has. */
static void note_inner(struct sizes *s, py_object *owner, const struct sizes_inner *x, double scale,
                       unsigned offset)
{
    struct survey *c = s->survey;
    uintptr_t key = reach_key_of(owner) - offset;
    uint64_t now,
        before = count_on(s, key, scale * (double) x->items, scale * (double) x->gained, &now);
    if (before == 0 || c->size_count == SURVEY_SIZES)
        return;
    if (now != before && (is_inner_spread(x, owner) || growth_knows(c, FORM_ITEMS, key)))
        growth_note(c, FORM_ITEMS, key, c->time_before, before, now);
    if (!growth_knows(c, FORM_ITEMS, key))
        return;
    c->sizes[c->size_count++] = (struct survey_sized){
        .key = key,
        .object = owner,
        .part = x->part,
        .another = offset == OF_GROUP ? x->another : NULL,
    };
}

static void merge(struct sizes_inner *x, const struct sizes_inner *more)
{
    x->items += more->items;
    x->gained += more->gained;
    x->growing += more->growing;
    if (!x->part || more->most > x->most) {
        x->another = x->most > 0 ? x->part : NULL;
        x->part = more->part;
        x->most = more->most;
    } else if (!x->another && more->most > 0) {
        x->another = more->part;
    }
}

/* Its length was counted in the walk over all objects. */
static bool add_inner(struct sizes *s, py_object *o)
{
    if (!s->owner || heap_length(o) < 0)
        return false;
    const struct place *now = places_find(&s->survey->lengths, (uintptr_t) o);
    if (!now || heap_most(o) >= 0)
        return false;
    const struct place *before = places_find(&s->survey->lengths_before, (uintptr_t) o);
    int64_t gains = before ? (int64_t) now->value - (int64_t) before->value : 0;
    merge(
        &s->inner,
        &(struct sizes_inner){
            .items = now->value, .gained = gains, .growing = gains > 0, .part = o, .most = gains});
    return gains > 0 && heap_length(s->owner) >= 0;
}

/* ---- containers of objects in one ---- */

static struct sizes_group *group_of(struct sizes *s, py_object *around)
{
    for (unsigned i = 0; i < s->group_count; i++)
        if (s->groups[i].around == around)
            return &s->groups[i];
    if (s->group_count == SIZES_GROUPS)
        return NULL;
    s->groups[s->group_count] = (struct sizes_group){.around = around};
    return &s->groups[s->group_count++];
}

/* Only its first items were met: they stand for all. */
static void note_groups(struct sizes *s)
{
    for (unsigned i = 0; i < s->group_count; i++) {
        struct sizes_group *g = &s->groups[i];
        ptrdiff_t length = heap_length(g->around);
        double scale = length > REACH_EACH_MOST ? (double) length / REACH_EACH_MOST : 1;
        note_inner(s, g->around, &g->inner, scale, OF_GROUP);
    }
}

/* ---- all of it ---- */

static void end_owner(struct sizes *s)
{
    bool spread = is_spread(s);
    for (unsigned i = 0; i < s->count && !spread; i++)
        note(s, &s->largest[i]);
    if (s->owner && s->bytes >= SIZE_LEAST && s->places > SIZES_LARGEST)
        note_owner(s);
    bool is_container = s->owner && heap_length(s->owner) >= 0;
    if (s->inner.part && is_container)
        note_inner(s, s->owner, &s->inner, scale_of(s), OF_OWNER);
    bool is_told = is_container && is_inner_spread(&s->inner, s->owner);
    struct sizes_group *g = s->inner.part && s->around && !is_told ? group_of(s, s->around) : NULL;
    if (g)
        merge(&g->inner, &s->inner);
    s->owner = s->around = NULL;
    s->bytes = 0;
    s->gained = 0;
    s->count = s->places = s->reference = 0;
    s->inner = (struct sizes_inner){0};
}

void sizes_end(struct sizes *s)
{
    end_owner(s);
    note_groups(s);
}

/* Most items of a container are of one type. */
static void learn_type(struct sizes *s, const py_object *type)
{
    if (type == s->type)
        return;
    s->type = type;
    s->kind = heap_kind_of_type(type);
    s->is_tensor = s->survey->knows_tensors && tensors_is_type(type);
}

bool sizes_meet(struct sizes *s, py_object *o, const struct reach_place *place)
{
    if (place->owner != s->owner)
        end_owner(s);
    s->owner = place->owner;
    s->around = place->around;
    s->reference = place->reference;
    learn_type(s, heap_type(o));
    uint64_t bytes = size_of(s, o);
    if (bytes < PLACE_LEAST)
        return add_inner(s, o);
    add_place(s, o, place->key, bytes);
    return true;
}
