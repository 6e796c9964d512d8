/* advice/causes.c: why a process's memory grows: causes, ranked by their evidence. */
#include "advice/causes.h"
#include "advice/advice.h"
#include "advice/grown.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A counter has no bytes to rank it by, so the container that holds the counted things gets this
 * weight. */
#define COUNTED_WEIGHT 0.9

/* A container that grows at this share of the rate of its kind of items holds them. */
#define COVERED_SHARE 0.8

/* ---- how much speaks for it ---- */

static double part(double of, double whole)
{
    return of >= 0 && whole > 0 ? fmin(of / whole, 1) : (double) NAN;
}

static double middle(struct interval x)
{
    return (x.low + x.high) / 2;
}

static double positive(double rate)
{
    return rate > 0 ? rate : 0;
}

/* The share of all growing memory, host and devices. */
static double weigh(double host, double device, const struct cause_facts *facts)
{
    double host_rate = positive(facts->host_rate), device_rate = positive(facts->allocated_rate);
    double whole = host_rate + device_rate;
    return whole > 0 ? (host * host_rate + device * device_rate) / whole : 0;
}

static bool is_of_a_container(enum wire_thing_kind kind)
{
    return kind == WIRE_THING_LIST || kind == WIRE_THING_TUPLE || kind == WIRE_THING_DICT ||
           kind == WIRE_THING_SET;
}

/* Whether an item holds no more than it seems: the census counts what these kinds reach. */
static bool is_plain(const struct wire_census_growing *g)
{
    if (g->item_depth == 0)
        return false;
    switch (g->item[g->item_depth - 1].kind) {
    case WIRE_THING_NONE:
    case WIRE_THING_NUMBER:
    case WIRE_THING_TEXT:
    case WIRE_THING_BYTES:
    case WIRE_THING_TENSOR:
        return true;
    default:
        return is_of_a_container(g->item[g->item_depth - 1].kind);
    }
}

static bool is_called_one(const struct wire_census_growing *g, const char *const *words)
{
    for (; *words; words++)
        for (unsigned i = 0; i < g->item_depth; i++)
            if (g->item[i].kind != WIRE_THING_TENSOR && strstr(g->item[i].type, *words))
                return true;
    return false;
}

/* Objects of extensions, and some of Python's own, keep memory outside Python; single values do
 * not. */
static bool is_native_backed(const struct wire_census_growing *g)
{
    static const char *const words[] = {
        "PIL.",   "Image",  "numpy.", "cv2",  "pyarrow", "pandas",   "DataFrame",  "h5py",
        "ctypes", "c_char", "mmap",   "_io.", "Storage", "Traced",   "memoryview", "Script",
        "_cffi",  "lmdb",   "zlib.",  "bz2.", "lzma.",   "torch._C", NULL};
    return !wire_census_item_has(g, WIRE_THING_SCALAR) &&
           (g->extension || wire_census_item_has(g, WIRE_THING_ARRAY) || is_called_one(g, words));
}

static bool holds_more(const struct wire_census_growing *g)
{
    return grown_keeps_a_graph(g) || g->exception || is_native_backed(g);
}

bool causes_hold_more(const struct wire_census_growing *g)
{
    return holds_more(g);
}

/* Weighed by the number of tensors where only that grows. */
static double weight_of(const struct growth_facts *f, const struct cause_facts *facts)
{
    double weight = weigh(middle(f->host_share), middle(f->device_share), facts);
    bool has_memory = facts->host_rate > 0 || facts->allocated_rate > 0;
    double count = part(f->count_rate, facts->tensors_rate);
    return !has_memory && grown_has_tensors(f->growing) && count > 0 ? count : weight;
}

/* ---- words ---- */

static void say(char texts[CAUSE_EVIDENCE][CAUSE_TEXT_LENGTH], unsigned *count, const char *format,
                ...) __attribute__((format(printf, 3, 4)));

static void say(char texts[CAUSE_EVIDENCE][CAUSE_TEXT_LENGTH], unsigned *count, const char *format,
                ...)
{
    va_list args;
    if (*count == CAUSE_EVIDENCE)
        return;
    va_start(args, format);
    vsnprintf(texts[(*count)++], CAUSE_TEXT_LENGTH, format, args);
    va_end(args);
}

static void say_part(struct cause_found *found, struct interval share, const char *of,
                     const char *besides)
{
    if (share.high < LEDGER_SMALL)
        return;
    if (share.high - share.low < LEDGER_SMALL)
        say(found->evidence, &found->evidence_count, "it explains %.0f %% of the growth of %s",
            100 * middle(share), of);
    else if (share.low < LEDGER_SMALL)
        say(found->evidence, &found->evidence_count,
            "it explains up to %.0f %% of the growth of %s%s", 100 * share.high, of, besides);
    else
        say(found->evidence, &found->evidence_count,
            "it explains %.0f to %.0f %% of the growth of %s%s", 100 * share.low, 100 * share.high,
            of, besides);
}

static void say_share(struct cause_found *found, const struct growth_facts *f)
{
    const char *besides = grown_keeps_a_graph(f->growing) ? ", with its graph"
                          : holds_more(f->growing) ? ", with what its items keep outside Python"
                                                   : "";
    say_part(found, f->device_share, "torch's memory on the device", besides);
    say_part(found, f->host_share, "the process's host memory", besides);
}

/* ---- ranking ---- */

static struct cause_found *add(struct causes *c, enum cause cause, double weight)
{
    if (c->count == CAUSES_MOST)
        return NULL;
    struct cause_found *found = &c->list[c->count++];
    *found = (struct cause_found){.cause = cause, .weight = weight, .share = NAN};
    return found;
}

/* Tensors that only native code holds, while something in Python keeps graphs: they belong to those
 * graphs. */
static bool is_in_a_graph(const struct growth_facts *f, const struct cause_facts *facts)
{
    if (!grown_is_held_as(f->growing, WIRE_HOLDER_NATIVE) || !grown_has_tensors(f->growing))
        return false;
    for (size_t i = 0; i < facts->growth_count; i++)
        if (grown_keeps_a_graph(facts->growths[i].growing) &&
            !grown_is_held_as(facts->growths[i].growing, WIRE_HOLDER_NATIVE))
            return true;
    return false;
}

/* Tensors that nothing in Python holds, while arrays grow as fast: such an array may be a view of a
 * tensor without saying so. */
static bool is_in_an_array(const struct growth_facts *f, const struct cause_facts *facts)
{
    if (!grown_is_held_as(f->growing, WIRE_HOLDER_NATIVE) || !grown_has_tensors(f->growing))
        return false;
    for (size_t i = 0; i < facts->growth_count; i++) {
        const struct growth_facts *other = &facts->growths[i];
        if (other->growing->form == WIRE_CENSUS_CONTAINER &&
            wire_census_item_has(other->growing, WIRE_THING_ARRAY) &&
            other->count_rate >= COVERED_SHARE * f->count_rate)
            return true;
    }
    return false;
}

static bool are_alike(const struct wire_census_thing *a, const struct wire_census_thing *b)
{
    if (a->kind == WIRE_THING_TENSOR && b->kind == WIRE_THING_TENSOR)
        return strcmp(a->dtype, b->dtype) == 0 && strcmp(a->shape, b->shape) == 0 &&
               strcmp(a->device, b->device) == 0;
    return a->kind == b->kind && strcmp(a->type, b->type) == 0;
}

static bool item_has(const struct wire_census_growing *g, const struct wire_census_thing *one)
{
    for (unsigned i = 0; i < g->item_depth; i++)
        if (are_alike(&g->item[i], one))
            return true;
    return false;
}

/* The items of a container that grows as fast: reporting both would report one growth twice. */
static bool is_covered(const struct growth_facts *f, const struct cause_facts *facts)
{
    const struct wire_census_growing *g = f->growing;
    bool are_tensors = g->form == WIRE_CENSUS_TENSORS && g->item_depth > 0;
    const struct wire_census_thing *one = are_tensors ? &g->item[0] : &g->what;
    if (!are_tensors && g->form != WIRE_CENSUS_OBJECTS)
        return false;
    for (size_t i = 0; i < facts->growth_count; i++) {
        const struct growth_facts *other = &facts->growths[i];
        if (other->growing->form == WIRE_CENSUS_CONTAINER && item_has(other->growing, one) &&
            other->count_rate >= COVERED_SHARE * f->count_rate)
            return true;
    }
    return false;
}

static double larger(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

/* The tracer saw one line allocate enough of the growth to name it. */
static bool is_traced(const struct cause_facts *facts)
{
    return facts->traced.low >= LEDGER_PART;
}

static void add_growth(struct causes *c, const struct growth_facts *f,
                       const struct cause_facts *facts)
{
    double weight = weight_of(f, facts);
    double most = larger(f->host_share.high, f->device_share.high);
    if (most < LEDGER_SMALL && weight < LEDGER_SMALL)
        return;
    struct cause_found *found = add(c, grown_cause(f->growing, facts), weight);
    if (!found)
        return;
    found->growth = f;
    found->share = larger(f->host_share.low, f->device_share.low);
    found->holds_more = holds_more(f->growing);
    found->is_traced = is_traced(facts) && grown_is_held_as(f->growing, WIRE_HOLDER_NATIVE);
    say_share(found, f);
}

static bool any_tensors(const struct cause_facts *facts)
{
    for (size_t i = 0; i < facts->growth_count; i++)
        if (grown_has_tensors(facts->growths[i].growing))
            return true;
    return false;
}

/* A thread takes its stack, a malloc arena, and what its function works with. */
#define THREAD_BYTES (1024.0 * 1024)

/* Said where the named causes explain the smaller part: the reader must know that first. */
static void say_not_found(struct causes *c, const struct cause_facts *facts)
{
    if (c->count > 0)
        say(c->undecided, &c->undecided_count,
            "the objects that grow explain at most %.0f %% of the growth of host memory; what "
            "holds the rest was not found",
            100 * (1 - facts->unexplained.low));
    else
        say(c->undecided, &c->undecided_count,
            "what holds at least %.0f %% of the growth of host memory was not found",
            100 * facts->unexplained.low);
}

/* Free memory is not a leak. Where something else grows, that growth makes the holes. */
static void add_retention(struct causes *c, const struct cause_facts *facts)
{
    struct cause_found *found =
        c->count > 0 ? NULL : add(c, CAUSE_RETENTION, weigh(facts->heap_free, 0, facts));
    if (found)
        say(found->evidence, &found->evidence_count,
            "malloc's in-use bytes stand still, and free heap memory is %.0f %% of the growth",
            100 * facts->heap_free);
}

static void add_line(struct causes *c, struct interval share, double weight, const char *memory,
                     bool is_of_device)
{
    struct cause_found *found = add(c, CAUSE_ALLOCATION, weight);
    if (!found)
        return;
    found->is_traced = true;
    found->is_of_device = is_of_device;
    found->share = share.low;
    char low[16] = "";
    if (round(100 * share.low) != round(100 * share.high))
        snprintf(low, sizeof(low), "%.0f to ", 100 * share.low);
    say(found->evidence, &found->evidence_count,
        "one line allocates %s%.0f %% of the growth of %s, and what holds it was not found", low,
        100 * share.high, memory);
}

static void add_allocation(struct causes *c, const struct cause_facts *facts)
{
    add_line(c, facts->traced, weigh(middle(facts->traced), 0, facts), "host memory", false);
}

static void add_native(struct causes *c, const struct cause_facts *facts)
{
    struct cause_found *found = add(c, facts->profiler ? CAUSE_PROFILER : CAUSE_NATIVE,
                                    weigh(middle(facts->unexplained), 0, facts));
    if (!found)
        return;
    found->is_traced = is_traced(facts) && !facts->profiler;
    const char *beside = facts->profiler ? "; torch's profiler is on" : "";
    found->share = facts->unexplained.low;
    if (facts->unexplained.low > 1 - LEDGER_SMALL)
        say(found->evidence, &found->evidence_count,
            "host memory grows, and no Python object holds it%s", beside);
    else
        say(found->evidence, &found->evidence_count,
            "host memory grows, and no Python object holds at least %.0f %% of that%s",
            100 * facts->unexplained.low, beside);
    if (facts->heap_used >= LEDGER_MOST)
        say(found->evidence, &found->evidence_count,
            "malloc's in-use bytes grow with it: it is not free heap memory");
    else if (isnan(facts->heap_used))
        say(c->undecided, &c->undecided_count,
            "whether it is in use or free heap memory is not known here: "
            "TIDEMARK_CLEANUP=every=10,trim=1 would give back what is free");
}

/* Graphs do not count: they are known to hold more. */
static bool any_might_hold_more(const struct causes *c)
{
    for (unsigned i = 0; i < c->count; i++)
        if (c->list[i].holds_more && !grown_keeps_a_graph(c->list[i].growth->growing))
            return true;
    return false;
}

/* Tensors whose graph nothing in Python holds: the graph keeps more than these. */
static bool any_lost_graph(const struct causes *c)
{
    for (unsigned i = 0; i < c->count; i++)
        if (c->list[i].cause == CAUSE_AUTOGRAD_CYCLE)
            return true;
    return false;
}

/* Host memory that no Python object explains: free heap memory, or native code. */
static void add_unheld(struct causes *c, const struct cause_facts *facts)
{
    double threads = positive(facts->threads_rate) * THREAD_BYTES / facts->host_rate;
    if (!(facts->host_rate > 0))
        return;
    if (!facts->censused) {
        if (c->count == 0 && is_traced(facts))
            add_allocation(c, facts);
        return;
    }
    if (any_might_hold_more(c) && facts->unexplained.high > LEDGER_MOST)
        say(c->undecided, &c->undecided_count,
            "whether these items or native code beside them hold the memory cannot be told: leave "
            "them out for some hundred steps");
    if (facts->heap_free >= LEDGER_MOST)
        add_retention(c, facts);
    else if (facts->unexplained.low <= LEDGER_MOST || threads >= facts->unexplained.low ||
             any_lost_graph(c))
        return;
    else if ((facts->tensors_rate > 0 && !any_tensors(facts)) ||
             (c->count > 0 && !(facts->heap_used >= LEDGER_MOST))) {
        if (is_traced(facts))
            add_allocation(c, facts);
        else
            say_not_found(c, facts);
    } else
        add_native(c, facts);
}

/* A graph that keeps itself alive has gradients in it, which a thread of autograd's allocates: one
 * line of Python cannot have allocated all of its memory. */
static bool may_be_a_graph(const struct cause_facts *facts)
{
    return !(facts->device_traced.low > 1 - LEDGER_SMALL);
}

static void add_device(struct causes *c, const struct cause_facts *facts)
{
    struct cause_found *found;
    bool allocated = facts->allocated_rate > 0;
    bool is_line = facts->device_traced.low >= LEDGER_PART;
    bool is_unheld = facts->censused && facts->device_unexplained.low > LEDGER_MOST;
    if (allocated && is_unheld && may_be_a_graph(facts) &&
        (found =
             add(c, CAUSE_AUTOGRAD_CYCLE, weigh(0, middle(facts->device_unexplained), facts)))) {
        found->is_traced = found->is_of_device = is_line;
        say(found->evidence, &found->evidence_count,
            "torch's memory on the device grows, and no tensor that Python holds does");
    } else if (allocated && is_line && (is_unheld || c->count == 0)) {
        add_line(c, facts->device_traced, weigh(0, middle(facts->device_traced), facts),
                 "torch's memory on the device", true);
    }
    if (!(facts->gpu_rate > 0) || allocated || !facts->allocated_known)
        return;
    double reserved = part(positive(facts->reserved_growth), facts->gpu_rate);
    if (isnan(facts->reserved_growth))
        return;
    enum cause cause = reserved >= LEDGER_MOST ? CAUSE_FRAGMENTATION : CAUSE_OUTSIDE_TORCH;
    if ((found = add(c, cause, LEDGER_MOST)))
        say(found->evidence, &found->evidence_count,
            cause == CAUSE_FRAGMENTATION
                ? "torch reserves more and more, and its tensors take no more"
                : "the device's memory grows, and neither torch's tensors nor its reserve do");
}

/* ---- what is no memory of the process's own ---- */

/* An item of a container of files or threads holds one or a few of them. It is more than a number,
 * a text or a tensor. An object of a class may hold many, as a loader does with its workers. */
#define EACH_LEAST 0.4
#define EACH_MOST 4.5
#define EACH_OF_OBJECT 64

static bool is_value(const struct wire_census_growing *g)
{
    return is_plain(g) && !is_of_a_container(g->item[0].kind);
}

/* A counter that is not the process's own memory, and what may hold what it counts. */
struct counted {
    enum cause cause;
    bool is_bytes;         /* shared memory: items with tensors of that size hold it too */
    double plain_most;     /* the most that an item of plain values may hold */
    const char *called[5]; /* one of these names; empty: any item that is not a value */
    const char *evidence;
};

#define SHARED_NAMES                                                                               \
    {                                                                                              \
        "SharedMemory", "shared_memory", "mmap", "RawArray"                                        \
    }

/* A process pool or a loader's iterator holds several processes. */
static const struct counted processes = {
    CAUSE_PROCESSES, false, EACH_OF_OBJECT, {NULL}, "the number of processes grows"};
static const struct counted files = {
    CAUSE_FILES, false, EACH_MOST, {NULL}, "the number of open descriptors grows"};
static const struct counted threads = {
    CAUSE_THREADS, false, EACH_OF_OBJECT, {"hread"}, "the number of threads grows"};
static const struct counted pinned = {CAUSE_PINNED, true, NAN, SHARED_NAMES,
                                      "the memory that torch has pinned grows"};
static const struct counted shared = {CAUSE_SHARED_MEMORY, true, NAN, SHARED_NAMES,
                                      "its shared memory grows"};

static bool holds_counted(const struct counted *c, double rate, const struct growth_facts *f)
{
    const struct wire_census_growing *g = f->growing;
    double each = rate / f->count_rate, most = is_plain(g) ? c->plain_most : EACH_OF_OBJECT;
    bool is_called = grown_speaks_of_any(g, c->called);
    if (g->form != WIRE_CENSUS_CONTAINER)
        return false;
    if (c->is_bytes)
        return is_called || (grown_has_tensors(g) && f->host_rate >= LEDGER_MOST * rate);
    return (c->called[0] ? is_called : g->item_depth > 0 && !is_value(g)) && each >= EACH_LEAST &&
           each <= most;
}

/* 0: the program's own files, 1: packages, 2: the standard library. */
static int distance_of(const struct growth_facts *f)
{
    const struct wire_census_holder *h = f ? grown_holder(f->growing) : NULL;
    const char *file = h ? h->file : "";
    if (strstr(file, "/site-packages/") || strstr(file, "/dist-packages/"))
        return 1;
    return strstr(file, "/lib/python3") ? 2 : 0;
}

/* The container that holds them; the program's own come before a library's registry. */
static const struct growth_facts *holder_of_counted(const struct cause_facts *facts,
                                                    const struct counted *what, double rate)
{
    const struct growth_facts *best = NULL;
    for (size_t i = 0; i < facts->growth_count; i++) {
        const struct growth_facts *f = &facts->growths[i];
        if (holds_counted(what, rate, f) && (!best || distance_of(f) < distance_of(best)))
            best = f;
    }
    return best;
}

static struct cause_found *cause_of_growth(struct causes *c, const struct growth_facts *f)
{
    for (unsigned i = 0; i < c->count; i++)
        if (f && c->list[i].growth == f)
            return &c->list[i];
    return NULL;
}

static void add_held(struct causes *c, const struct cause_facts *facts, const struct counted *what,
                     double rate)
{
    if (!(rate > 0))
        return;
    const struct growth_facts *f = holder_of_counted(facts, what, rate);
    struct cause_found *found = cause_of_growth(c, f);
    if (!found && !(found = add(c, what->cause, LEDGER_MOST)))
        return;
    found->growth = f;
    if (f)
        found->weight = fmax(found->weight, COUNTED_WEIGHT);
    found->cause = what->cause;
    say(found->evidence, &found->evidence_count, "%s", what->evidence);
}

/* Pipes and threads that serve processes are no cause of their own. */
static void add_counters(struct causes *c, const struct cause_facts *facts)
{
    bool by_processes = facts->processes_rate > 0;
    add_held(c, facts, &processes, facts->processes_rate);
    add_held(c, facts, &files, by_processes ? 0 : facts->fds_rate);
    add_held(c, facts, &threads, by_processes ? 0 : facts->threads_rate);
    add_held(c, facts, facts->shared_is_pinned ? &pinned : &shared, facts->shared_rate);
}

static bool is_tally_of_objects(const struct cause_found *c)
{
    return c->growth && c->growth->growing->form == WIRE_CENSUS_OBJECTS;
}

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

/* At equal weight, a container says more than a growing count of a type, and the user's own code
 * comes first. */
static int by_weight(const void *a, const void *b)
{
    const struct cause_found *x = a, *y = b;
    int order = compare(round(y->weight / LEDGER_SMALL), round(x->weight / LEDGER_SMALL));
    order = order ? order : is_tally_of_objects(x) - is_tally_of_objects(y);
    order = order ? order : distance_of(x->growth) - distance_of(y->growth);
    order = order ? order : compare(y->weight, x->weight);
    if (order)
        return order;
    double p = x->growth ? x->growth->count_rate : 0, q = y->growth ? y->growth->count_rate : 0;
    order = compare(q, p);
    return order ? order : (x->growth > y->growth) - (x->growth < y->growth);
}

/* ---- each cause is reported once ---- */

static size_t root_length(const char *path)
{
    const char *any = strstr(path, "[...]");
    return any ? (size_t) (any - path) : strlen(path);
}

static size_t last_dot(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '.')
        length--;
    return length;
}

/* A framework's objects refer to each other, so many paths lead to one attribute of one class. */
static bool is_same_attribute(const struct wire_census_holder *x,
                              const struct wire_census_holder *y)
{
    size_t end_x = root_length(x->path), end_y = root_length(y->path);
    size_t begin_x = last_dot(x->path, end_x), begin_y = last_dot(y->path, end_y);
    return x->kind == WIRE_HOLDER_ATTRIBUTE && begin_x > 0 && end_x - begin_x == end_y - begin_y &&
           strncmp(x->path + begin_x, y->path + begin_y, end_x - begin_x) == 0;
}

/* Both are reached through the same variable and the same items of it. */
static bool is_held_by_the_same(const struct cause_found *a, const struct cause_found *b)
{
    const struct wire_census_holder *x = a->growth ? grown_holder(a->growth->growing) : NULL;
    const struct wire_census_holder *y = b->growth ? grown_holder(b->growth->growing) : NULL;
    if (!x || !y || !x->path[0] || x->kind != y->kind || strcmp(x->function, y->function) != 0 ||
        strcmp(x->file, y->file) != 0)
        return false;
    size_t length = root_length(x->path);
    return (length == root_length(y->path) && strncmp(x->path, y->path, length) == 0) ||
           is_same_attribute(x, y);
}

/* Causes are sorted by weight, so the first stands for all with the same holder. */
static void join_same_holders(struct causes *c)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < c->count; i++) {
        unsigned same = 0;
        while (same < kept && !is_held_by_the_same(&c->list[same], &c->list[i]))
            same++;
        if (same == kept)
            c->list[kept++] = c->list[i];
    }
    c->count = kept;
}

/* Several causes keep graphs: which graph holds more is not known. */
static void say_rivals(struct causes *c)
{
    unsigned rivals = 0;
    for (unsigned i = 0; i < c->count; i++) {
        const struct cause_found *x = &c->list[i];
        rivals += x->growth && grown_keeps_a_graph(x->growth->growing) &&
                  fabs(x->weight - c->list[0].weight) < LEDGER_SMALL;
    }
    if (rivals > 1)
        say(c->undecided, &c->undecided_count,
            "%u of these keep graphs, and what each graph takes cannot be seen: fix one and re-run",
            rivals);
}

void causes_rank(const struct cause_facts *facts, struct causes *ret)
{
    *ret = (struct causes){.count = 0};
    for (size_t i = 0; i < facts->growth_count; i++)
        if (!is_covered(&facts->growths[i], facts) && !is_in_a_graph(&facts->growths[i], facts) &&
            !is_in_an_array(&facts->growths[i], facts))
            add_growth(ret, &facts->growths[i], facts);
    add_unheld(ret, facts);
    add_device(ret, facts);
    add_counters(ret, facts);
    if (ret->count > 0)
        qsort(ret->list, ret->count, sizeof(ret->list[0]), by_weight);
    join_same_holders(ret);
    say_rivals(ret);
}
