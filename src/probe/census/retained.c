/* probe/census/retained.c: follows items downwards, one generation of objects at a time. */
#include "probe/census/retained.h"

#include "probe/census/picks.h"

#include <string.h>

#define ENTRIES 8192u
#define FEW_ENTRIES 1000u
#define SAMPLE_MOST 3072u         /* objects in a sample */
#define DOUBTED_MOST 2048u        /* objects that perhaps only a cycle holds, and what they reach */
#define DOUBTED_REFERENCES 65536u /* references of these objects */
#define LEVEL_MOST 512u           /* places of a generation visited in a sample */
#define LEVEL_LEAST 64u           /* if little room is left */
#define LEVEL_PART 6u             /* of the room left: many generations may follow */
#define FAN_MOST 512u             /* places of one object */
#define FAN_LEAST 8u              /* rather than fewer, visit fewer objects */
#define TURNS 2u                  /* passes through the doubted objects */
#define FEW_ROOTS 4u              /* so few may use all the room */
#define IMMORTAL 0x3fffffff
#define REACH RETAINED_ITEMS /* the share for estimating references, margin included */
#define SHARES (RETAINED_ITEMS + 1u)
#define GOLDEN 0.6180339887498949 /* the circle turns by this from generation to generation */

enum state {
    STATE_ROOT,
    STATE_MET,     /* some of its references were not met yet */
    STATE_OWN,     /* all of its references were met */
    STATE_DOUBTED, /* visited all the same: perhaps a cycle holds it */
    STATE_SHARED,  /* somebody else holds it too */
};

struct entry {
    py_object *object;
    struct place *slot;   /* in the index; its value is the entry's number plus 1 */
    const py_object *kin; /* the type of `root` */
    uint32_t met;         /* references met so far */
    uint8_t state, root;  /* root: the first that reached it */
    bool is_entered;      /* its references were visited */
    bool is_in_doubt;     /* first met on the way from a doubted object */
    bool is_another;      /* an item too, unless the run has all its references */
    float part;           /* the part of it per reference; 0: not settled */
    float sums[SHARES];   /* over the references met */
};

struct retained {
    struct places few, many; /* entries by address; `many` from FEW_ENTRIES on */
    struct places *index;
    struct entry entries[ENTRIES];
    uint32_t count, limit; /* limit: no entries beyond it */
    bool each, few_roots, is_sampled, is_full;
    bool is_cut, is_undecided;
    size_t block;  /* length in places, in a sample */
    bool in_doubt; /* objects met now are doubted */
    uint32_t references_visited;
    uint32_t level[ENTRIES], next[ENTRIES]; /* entries to visit */
    size_t level_count, next_count, level_places;
    double turns[RETAINED_ROOTS], level_turn; /* of the circle; turns: by root */
    /* whose references are being visited */
    const struct entry *from;
    double shares[SHARES];
    struct edges edges;
};

struct retained *retained_new(void)
{
    struct retained *r = places_map(sizeof(*r));
    if (!r || !places_init(&r->few, FEW_ENTRIES, false))
        return retained_free(r);
    r->index = &r->few;
    return r;
}

struct retained *retained_free(struct retained *r)
{
    if (r) {
        places_release(&r->few);
        places_release(&r->many);
    }
    places_unmap(r, sizeof(*r));
    return NULL;
}

/* ---- meeting ---- */

/* Objects that nobody owns. */
static bool is_common(const py_object *o)
{
    const py_object *type = heap_type(o);
    return o == py.none || type == py.PyModule_Type || type == py.PyCode_Type ||
           heap_kind_of_type(type) == HEAP_TYPE;
}

/* Does the run stop at this object because it is an item of its own? A list in a list is followed,
 * and so is the array behind another. But one node of a chain or tree may reach all others, so each
 * of those counts as an item, unless only the run holds it. */
static bool is_another_item(const struct retained *r, const py_object *o)
{
    const py_object *type = heap_type(o);
    if (type != r->from->kin || r->each)
        return type == r->from->kin;
    return heap_length(o) < 0 && heap_kind_of_type(type) != HEAP_ARRAY;
}

static struct entry *entry_of(const struct retained *r, const py_object *o)
{
    const struct place *p = places_find(r->index, (uintptr_t) o);
    return p ? (struct entry *) &r->entries[p->value - 1] : NULL;
}

/* Most runs are small, and every page of a table costs time. False: no memory. */
static bool index_many(struct retained *r)
{
    bool is_new;
    if (!r->many.slots && !places_init_at_once(&r->many, ENTRIES))
        return false;
    for (uint32_t i = 0; i < r->count; i++) {
        struct entry *e = &r->entries[i];
        struct place *slot = places_add(&r->many, e->slot->key, &is_new);
        slot->value = e->slot->value;
        *e->slot = (struct place){0};
        e->slot = slot;
    }
    r->few.count = 0;
    r->index = &r->many;
    return true;
}

/* NULL: no room left. */
static struct entry *add_entry(struct retained *r, py_object *o)
{
    bool is_new;
    bool has_room = r->count < r->limit;
    if (has_room && r->count == FEW_ENTRIES && r->index == &r->few)
        has_room = index_many(r);
    struct place *slot = has_room ? places_add(r->index, (uintptr_t) o, &is_new) : NULL;
    if (!slot) {
        r->is_full = true;
        return NULL;
    }
    struct entry *e = &r->entries[r->count++];
    *e = (struct entry){.object = o, .slot = slot, .state = STATE_MET, .is_in_doubt = r->in_doubt};
    slot->value = r->count;
    return e;
}

static void enter_next(struct retained *r, const struct entry *e)
{
    if (edges_any(e->object))
        r->next[r->next_count++] = (uint32_t) (e - r->entries);
}

/* All its references were met: its shares are final, and its own references come next. */
static void settle(struct retained *r, struct entry *e, double references)
{
    e->part = (float) (1 / references);
    enter_next(r, e);
}

static void meet(struct retained *r, py_object *o, double scale, double reach)
{
    if (is_common(o))
        return;
    struct entry *e = entry_of(r, o);
    bool is_another = !e && is_another_item(r, o);
    if (is_another && r->each)
        return;
    if (!e) {
        e = add_entry(r, o);
        if (!e)
            return;
        e->is_another = is_another;
        e->kin = r->from->kin;
        e->root = r->from->root;
    }
    e->met++;
    if (e->state != STATE_MET)
        return;
    for (unsigned i = 0; i < RETAINED_ITEMS; i++)
        e->sums[i] += (float) (r->shares[i] * scale);
    e->sums[REACH] += (float) (r->shares[REACH] * reach);
    ptrdiff_t references = heap_references(o);
    if ((ptrdiff_t) e->met >= references) {
        e->state = STATE_OWN;
        settle(r, e, (double) references);
    }
}

/* ---- visiting ---- */

static int meet_each(py_object *o, void *context)
{
    struct retained *r = context;
    meet(r, o, 1, 1);
    r->references_visited++;
    return r->is_full;
}

static void set_from(struct retained *r, struct entry *e, double scale, double reach)
{
    e->is_entered = true;
    r->from = e;
    for (unsigned i = 0; i < RETAINED_ITEMS; i++)
        r->shares[i] = (double) e->sums[i] * (double) e->part * scale;
    r->shares[REACH] = (double) e->sums[REACH] * (double) e->part * reach;
}

static void enter_all(struct retained *r, struct entry *e, double scale, double reach)
{
    set_from(r, e, scale, reach);
    edges_all(e->object, meet_each, r);
}

/* Objects of one item with the same number of references are visited at the same places: what two
 * lists of the item have in common is then met in both. */
static void enter_some(struct retained *r, struct entry *e, size_t fan, double scale, double reach)
{
    double turn = r->turns[e->root] + r->level_turn;
    set_from(r, e, scale, reach);
    edges_some(e->object, fan, r->block, turn - (double) (size_t) turn, &r->edges);
    for (size_t i = 0; i < r->edges.count && !r->is_full; i++) {
        const struct edge *edge = &r->edges.at[i];
        meet(r, edge->object, edge->is_margin ? 0 : r->edges.scale, r->edges.reach);
    }
}

/* ---- a generation ---- */

static void turn_level(struct retained *r)
{
    memcpy(r->level, r->next, r->next_count * sizeof(*r->next));
    r->level_count = r->next_count;
    r->next_count = 0;
    r->level_turn += GOLDEN;
    r->level_turn -= (double) (size_t) r->level_turn;
}

/* Places in the generation, with at most `fan` per object. */
static size_t places_within(struct retained *r, size_t fan)
{
    size_t sum = 0;
    for (size_t i = 0; i < r->level_count; i++) {
        size_t count = edges_count(r->entries[r->level[i]].object);
        sum += count < fan ? count : fan;
    }
    return sum;
}

/* False: it does not fit. Objects whose count needs a traversal are assumed to have few references.
 */
static bool fits(const struct retained *r)
{
    size_t room = r->limit - r->count, sum = 0;
    for (size_t i = 0; i < r->level_count; i++) {
        ptrdiff_t length = heap_length(r->entries[r->level[i]].object);
        sum += length > 0 ? (size_t) length : 0;
    }
    return sum <= room + r->limit; /* some are met more than once, others are skipped */
}

static void follow_whole(struct retained *r)
{
    if (!fits(r))
        r->is_full = true;
    for (size_t i = 0; i < r->level_count && !r->is_full; i++)
        enter_all(r, &r->entries[r->level[i]], 1, 1);
}

static size_t places_allowed(const struct retained *r)
{
    size_t part = (r->limit - r->count) / LEVEL_PART;
    return part > LEVEL_MOST ? LEVEL_MOST : part < LEVEL_LEAST ? LEVEL_LEAST : part;
}

/* Visits a sample of the generation, and for each object a sample of its references. */
static void follow_sample(struct retained *r)
{
    size_t fan = FAN_MOST, places = places_within(r, fan), allowed = places_allowed(r);
    while (fan > FAN_LEAST && places > allowed)
        places = places_within(r, fan /= 2);
    size_t most = places > allowed ? r->level_count * allowed / places : r->level_count;
    struct picks p = picks_choose(r->level_count, most > 0 ? most : 1, r->block, r->level_turn);
    double scale = (double) p.count / (double) picks_sampled(&p);
    double reach = (double) p.count / (double) picks_visited(&p);
    for (size_t b = 0; b < p.blocks; b++)
        for (size_t k = 0; k < p.length && !r->is_full; k++) {
            struct entry *e = &r->entries[r->level[(picks_block(&p, b) + k) % p.count]];
            double own = picks_is_margin(&p, k) ? 0 : scale;
            if (edges_count(e->object) <= fan)
                enter_all(r, e, own, reach);
            else
                enter_some(r, e, fan, own, reach);
        }
}

/* ---- cycles ---- */

static bool may_be_of_cycle(const struct entry *e)
{
    return e->state == STATE_MET && heap_references(e->object) < IMMORTAL && edges_any(e->object);
}

/* Visits the objects that were met but not explained. */
static uint32_t doubt(struct retained *r, uint32_t from, bool others)
{
    uint32_t count = r->count;
    for (uint32_t i = from; i < count; i++) {
        struct entry *e = &r->entries[i];
        if (e->is_another != others || !may_be_of_cycle(e))
            continue;
        e->state = STATE_DOUBTED;
        e->is_in_doubt = true;
        settle(r, e, e->met);
    }
    return count;
}

static bool has_room_for(const struct retained *r, const py_object *o)
{
    return heap_length(o) <= (ptrdiff_t) (r->limit - r->count);
}

static bool may_go_on(const struct retained *r)
{
    return !r->is_full && r->references_visited < DOUBTED_REFERENCES;
}

static void follow_doubted(struct retained *r)
{
    uint32_t most = r->few_roots ? ENTRIES : r->count + DOUBTED_MOST, doubted = 0, others = 0;
    r->limit = most < ENTRIES ? most : ENTRIES;
    r->is_full = false;
    r->in_doubt = true;
    r->references_visited = 0;
    do {
        if (r->next_count == 0)
            doubted = doubt(r, doubted, false);
        if (r->next_count == 0) /* a node of a chain, or of a tree in the item */
            others = doubt(r, others, true);
        turn_level(r);
        for (size_t i = 0; i < r->level_count && may_go_on(r); i++) {
            if (has_room_for(r, r->entries[r->level[i]].object))
                enter_all(r, &r->entries[r->level[i]], 1, 1);
            else
                r->is_undecided = true;
        }
    } while (r->level_count > 0 && may_go_on(r));
    r->is_undecided = r->is_undecided || !may_go_on(r);
}

static int share(py_object *o, void *context)
{
    struct entry *e = entry_of(context, o);
    if (e && e->is_in_doubt)
        e->state = STATE_SHARED;
    return 0;
}

/* What others hold, and everything reachable from there, is not the run's own. The second pass is
 * for objects found to be shared after the first had passed them. */
static void find_shared(struct retained *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        struct entry *e = &r->entries[i];
        if (e->is_in_doubt && e->state == STATE_DOUBTED &&
            heap_references(e->object) > (ptrdiff_t) e->met)
            e->state = STATE_SHARED;
    }
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (uint32_t i = 0; i < r->count; i++) {
            struct entry *e = &r->entries[i];
            if (e->state == STATE_SHARED && e->is_entered)
                edges_all(e->object, share, r);
        }
}

/* ---- the whole ---- */

static void add_root(struct retained *r, const struct retained_root *root, unsigned number)
{
    struct entry *e = entry_of(r, root->object);
    if (!e) {
        e = add_entry(r, root->object);
        e->state = STATE_ROOT;
        e->kin = heap_type(root->object);
        e->root = (uint8_t) number;
    }
    e->met++;
    e->part = 1 / (float) e->met;
    e->sums[REACH]++;
    if (root->item >= 0)
        e->sums[root->item]++;
}

/* An item that occurs repeatedly and is held elsewhere is not what grows. */
static bool is_repeated(const struct entry *e)
{
    return e->met > 1 && heap_references(e->object) > (ptrdiff_t) e->met;
}

static void begin(struct retained *r, const struct retained_root *roots, size_t count, bool each)
{
    for (uint32_t i = 0; i < r->count; i++)
        *r->entries[i].slot = (struct place){0};
    r->index->count = r->count = 0;
    r->index = &r->few;
    r->limit = RETAINED_MOST;
    r->each = each;
    r->few_roots = count <= FEW_ROOTS;
    r->is_full = r->in_doubt = r->is_sampled = r->is_cut = r->is_undecided = false;
    r->level_turn = 0;
    r->next_count = 0;
    for (size_t i = 0; i < count && i < RETAINED_ROOTS; i++)
        add_root(r, &roots[i], (unsigned) i);
    for (uint32_t i = 0; i < r->count; i++) {
        if (is_repeated(&r->entries[i]))
            r->entries[i].part = 0;
        else
            enter_next(r, &r->entries[i]);
    }
}

static void follow(struct retained *r)
{
    while (r->next_count > 0 && !r->is_full) {
        turn_level(r);
        (r->is_sampled ? follow_sample : follow_whole)(r);
    }
    r->next_count = 0;
}

static void finish(struct retained *r)
{
    follow_doubted(r);
    find_shared(r);
}

size_t retained_reach(struct retained *r, const struct retained_root *roots, size_t count,
                      bool each, size_t most)
{
    begin(r, roots, count, each);
    r->limit = (uint32_t) most + 1;
    follow(r);
    return r->is_full ? most + 1 : r->count;
}

bool retained_whole(struct retained *r, const struct retained_root *roots, size_t count, bool each)
{
    begin(r, roots, count, each);
    follow(r);
    bool is_whole = !r->is_full;
    if (is_whole)
        finish(r);
    return is_whole;
}

/* splitmix64, as 0 <= x < 1. Does not touch the program's own random numbers. */
static double random_turn(uint64_t seed)
{
    uint64_t x = seed + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double) ((x ^ x >> 31) >> 11) * 0x1p-53;
}

void retained_sample(struct retained *r, const struct retained_root *roots, size_t count, bool each,
                     bool together, uint64_t seed)
{
    begin(r, roots, count, each);
    r->is_sampled = true;
    r->limit = SAMPLE_MOST;
    r->block = together ? PICKS_TOGETHER : PICKS_APART;
    r->level_turn = random_turn(seed);
    for (size_t i = 0; i < RETAINED_ROOTS; i++)
        r->turns[i] = random_turn(seed + (i < count ? (uint64_t) roots[i].item + 2 : 1));
    follow(r);
    r->is_cut = r->is_full;
    finish(r);
}

bool retained_is_cut(const struct retained *r)
{
    return r->is_cut;
}

bool retained_is_undecided(const struct retained *r)
{
    return r->is_undecided;
}

/* By the estimate, most of its references may come from objects left out of the sample. */
static bool is_open(const struct retained *r, const struct entry *e)
{
    double references = (double) heap_references(e->object);
    return r->is_sampled && e->state == STATE_MET && !e->is_in_doubt && !e->is_another &&
           2 * (double) e->sums[REACH] >= references;
}

void retained_visit(const struct retained *r, retained_visitor *visit, void *context)
{
    for (uint32_t i = 0; i < r->count; i++) {
        const struct entry *e = &r->entries[i];
        double shares[RETAINED_ITEMS], part = (double) e->part;
        bool is_maybe = is_open(r, e);
        if (is_maybe)
            part = 1 / (double) heap_references(e->object);
        if (!is_maybe && (e->state == STATE_MET || e->state == STATE_SHARED))
            continue;
        for (unsigned k = 0; k < RETAINED_ITEMS; k++)
            shares[k] = (double) e->sums[k] * part;
        visit(e->object,
              is_maybe                 ? RETAINED_MAYBE
              : e->state == STATE_ROOT ? RETAINED_ITEM
                                       : RETAINED_INSIDE,
              shares, context);
    }
}
