/* judge/account.c: gathers the evidence on a growth and has the ledger judge it. */
#include "advice/advice.h"
#include "job/job.h"
#include "judge/judge.h"
#include "judge/looks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Resolutions: of the memory of a process, which creeps on its own; and of exact counts. */
#define MEMORY_RESOLUTION 0x1p20
#define COUNT_RESOLUTION 0x1p18

/* Libraries keep records of their first few thousand calls, and later only of the last ones: a rank
 * of torch.distributed grows by less than this, then stops. */
#define LIBRARY_RECORDS 0x1p22

/* The usual size of a node of a graph, with what it saves. */
#define NODE_BYTES 512.0

/* ---- holders ---- */

/* The count at that time: interpolated between two points, extrapolated before the first and after
 * the last at the mean pace. */
static double count_at(const struct job *j, const struct wire_census_growing *g, double seconds)
{
    const struct wire_census_point *p = g->points;
    unsigned last = g->point_count - 1, i = 1;
    while (i < last && evidence_seconds(j, p[i].time) < seconds)
        i++;
    const struct wire_census_point *a = &p[i - 1], *b = &p[i];
    if (seconds > evidence_seconds(j, p[last].time) || seconds < evidence_seconds(j, p[0].time))
        a = p, b = &p[last];
    double begin = evidence_seconds(j, a->time), end = evidence_seconds(j, b->time);
    double count = b->count + (b->count - a->count) * (seconds - end) / (end - begin);
    return fmin(fmax(count, 0), isnan(g->bound) ? INFINITY : g->bound);
}

/* The probe's interval covers the part of an item that it could not see; without one, the cause
 * tells whether items hold more. What else the graph of growing tensors holds cannot be seen. */
static struct interval measured(const struct wire_census_growing *g, double mean, double low,
                                double high)
{
    bool is_in_graph = g->form == WIRE_CENSUS_TENSORS && g->holder_count > 0 &&
                       g->holders[0].kind == WIRE_HOLDER_NATIVE;
    bool is_known = !isnan(low) && !isnan(high);
    if (is_in_graph || (!is_known && causes_hold_more(g)))
        return (struct interval){is_known ? low : mean, INFINITY};
    return is_known ? (struct interval){low, high} : (struct interval){mean, mean};
}

static bool is_on_device(const struct wire_census_growing *g)
{
    return g->device_per_item > 0;
}

/* The bytes of an item in host memory, and in device memory. */
static struct interval host_weight(const struct wire_census_growing *g)
{
    if (g->form == WIRE_CENSUS_SIZE)
        return is_on_device(g) ? (struct interval){0, 0} : (struct interval){1, 1};
    if (g->form == WIRE_CENSUS_GRAPH || isnan(g->host_per_item))
        return (struct interval){0, INFINITY};
    return measured(g, g->host_per_item, g->host_low, g->host_high);
}

static struct interval device_weight(const struct wire_census_growing *g)
{
    if (g->form == WIRE_CENSUS_SIZE)
        return is_on_device(g) ? (struct interval){1, 1} : (struct interval){0, 0};
    if (g->form == WIRE_CENSUS_GRAPH)
        return (struct interval){0, INFINITY};
    double mean = fmax(g->device_per_item, 0); /* NAN: it has none there */
    return measured(g, mean, g->device_low, g->device_high);
}

/* Both together, for tensors and their owners. */
static struct interval tensor_weight(const struct wire_census_growing *g)
{
    if (!wire_census_item_has(g, WIRE_THING_TENSOR) || g->form == WIRE_CENSUS_SIZE)
        return (struct interval){0, 0};
    struct interval host = host_weight(g), device = device_weight(g);
    return (struct interval){host.low + device.low, host.high + device.high};
}

/* Objects referenced only by each other (a reference cycle) go with the next collection. A
 * container without a known holder may be one of those. */
static bool is_held(const struct wire_census_growing *g, bool is_tally)
{
    if (g->holder_count == 0)
        return g->form == WIRE_CENSUS_GRAPH || g->form == WIRE_CENSUS_SIZE;
    enum wire_holder_kind kind = g->holders[0].kind;
    return kind != WIRE_HOLDER_GARBAGE && !(is_tally && kind == WIRE_HOLDER_NATIVE);
}

/* Whether its tensors are known to be on another device; NULL: any. */
static bool is_elsewhere(const struct wire_census_growing *g, const char *device)
{
    for (unsigned i = 0; device && i < g->item_depth; i++)
        if (g->item[i].kind == WIRE_THING_TENSOR && g->item[i].device[0])
            return strcmp(g->item[i].device, device) != 0;
    return false;
}

typedef struct interval (*weigh)(const struct wire_census_growing *g);

/* The holders that gained items in the window, with the bytes of those. */
static void gather_holders(const struct job *j, const struct member *m, const char *device,
                           weigh weight, struct account *a)
{
    const struct wire_census *c = m->evidence ? m->evidence->census : NULL;
    size_t *count = &a->evidence.holder_count;
    for (unsigned i = 0; c && i < c->growing_count && *count < ACCOUNT_HOLDERS; i++) {
        const struct wire_census_growing *g = &c->growing[i];
        struct interval each = weight(g);
        if (g->point_count < 2 || !(each.high > 0) || rise_may_be_another_graph(g) ||
            is_elsewhere(g, device))
            continue;
        double gained = count_at(j, g, a->to) - count_at(j, g, a->from);
        bool is_tally = g->form == WIRE_CENSUS_OBJECTS || g->form == WIRE_CENSUS_TENSORS;
        if (!(gained > 0))
            continue;
        a->growing[*count] = g;
        a->holders[*count] = (struct ledger_holder){
            .source = *count,
            .gained = gained,
            .each = each,
            .missing = g->bound - g->points[g->point_count - 1].count,
            .is_held = is_held(g, is_tally),
            .is_tally = is_tally,
        };
        (*count)++;
    }
}

/* ---- what the engines say ---- */

static enum engine_says says(const struct answer *a)
{
    if (a->verdict == VERDICT_LEAK)
        return ENGINE_LASTING;
    return a->verdict == VERDICT_NO_LEAK ? ENGINE_NO_GROWTH : ENGINE_OPEN;
}

static void hear(struct job *j, struct track *t, struct account *a)
{
    track_engine_answer(t, &j->terms, &a->engine);
    a->by = t;
}

/* The process itself does not grow while malloc's in-use growth fills its free heap memory. */
static void ask_heap(struct job *j, struct member *m, struct account *a)
{
    for (size_t i = 0; i < m->reported_count && a->engine.verdict != VERDICT_LEAK; i++) {
        struct track *t = &m->reported[i];
        struct answer heap;
        if (strcmp(t->kind, HEAP_USED) != 0 || !track_grows(t))
            continue;
        track_engine_answer(t, &j->terms, &heap);
        if (heap.verdict == VERDICT_LEAK) {
            hear(j, t, a);
            a->is_by_heap = true;
        }
    }
}

bool account_knows_graphs(const struct member *m, const struct ledger_evidence *e)
{
    const struct wire_census *c = m->evidence->census;
    double with_graph = 0;
    for (unsigned i = 0; i < c->tensors_count; i++)
        with_graph += fmax(c->tensors[i].grad_fn, 0);
    return with_graph == 0 || c->graph_walks >= RISE_LEAST_POINTS ||
           (c->graph_walks > 0 && c->graph_nodes * NODE_BYTES < LEDGER_SMALL * e->growth);
}

static bool is_censused(const struct job *j, const struct member *m,
                        const struct ledger_evidence *e)
{
    const struct wire_census *c = m->evidence ? m->evidence->census : NULL;
    return c && c->complete && c->in_a_row >= RISE_LEAST_POINTS && !c->ended &&
           evidence_is_of_late(j, m) && account_knows_graphs(m, e);
}

/* The process now grows as fast as its heap has for longer: the free heap memory is used up. */
static bool is_followed(const struct answer *process, const struct answer *heap)
{
    return process->suspect &&
           fabs(process->rate_per_second - heap->rate_per_second) <=
               LEDGER_PART * fmax(process->rate_per_second, heap->rate_per_second);
}

static bool has_census(const struct member *m)
{
    return m->evidence && m->evidence->census;
}

/* ---- sites ---- */

/* The tracer was armed later than the growth began: its shares hold for the whole window. */
static void scale_sites(double growth, struct account *a)
{
    double scale = growth / a->traced.whole;
    for (unsigned i = 0; i < a->traced.count && scale > 0; i++) {
        const struct traced_line *l = &a->traced.lines[i];
        a->sites[a->evidence.site_count++] = (struct ledger_site){
            .source = i,
            .gained = {l->gained.low * scale, l->gained.high * scale},
            .has_stopped = l->has_stopped,
        };
    }
}

static void gather_sites(const struct member *m, struct account *a)
{
    const struct ledger_evidence *e = &a->evidence;
    if (!traced_of(m, a->engine.onset_seconds, a->engine.rate_per_second, &a->traced))
        return;
    if (a->engine.verdict == VERDICT_LEAK)
        traced_heed_growth(m, a->engine.rate_per_second, &a->traced);
    double in_use = e->heap_used + (e->arenas_used > 0 ? e->arenas_used : 0);
    scale_sites(in_use > 0 ? in_use : e->growth, a);
}

/* The same for torch's memory on a device. */
static void gather_device_sites(const struct member *m, const char *device, struct account *a)
{
    if (traced_of_memory(m, SITE_DEVICE, device ? device : "", &a->traced))
        scale_sites(a->evidence.growth, a);
}

/* ---- one window ---- */

/* The growth by the engine, since it began. */
static void measure_by_engine(const struct answer *own, struct account *a)
{
    struct ledger_evidence *e = &a->evidence;
    double since = a->engine.onset_seconds;
    e->growth = a->is_by_heap ? 0 : e->rise;
    e->heap_used = a->is_by_heap ? e->rise : (double) NAN;
    e->heap_free = -e->heap_used; /* the process has not grown: it was free heap memory */
    e->arenas_used = e->arenas_free = e->asked = e->untouched = NAN;
    a->from = isnan(since) ? own->first_seconds : since;
    a->to = own->last_seconds;
}

/* Compares two heap samples where possible. A lasting part that shrank between them was compared
 * badly: the program was releasing memory. */
static void measure(const struct job *j, const struct member *m, const struct answer *own,
                    struct account *a)
{
    struct ledger_evidence *e = &a->evidence;
    struct heap_growth g;
    bool is_lasting = a->engine.verdict == VERDICT_LEAK;
    measure_by_engine(own, a);
    if (!m->evidence || !looks_compare(j, m->evidence, a->engine.onset_seconds, !is_lasting, &g) ||
        (is_lasting && !a->is_by_heap && !(g.anon > 0)))
        return;
    const struct heap_point *last = &m->evidence->heap[m->evidence->heap_count - 1];
    e->growth = g.anon;
    e->heap_used = g.in_use;
    e->heap_free = g.free;
    e->arenas_used = g.arenas_used;
    e->arenas_free = g.arenas_free;
    e->asked = g.asked;
    e->untouched = fmin(last->asked - last->anon, last->in_use);
    a->from = g.from;
    a->to = g.to;
}

/* The window covers a part of the growth, and the resolution shrinks with it. */
static double scaled(double resolution, const struct ledger_evidence *e)
{
    return resolution * (e->rise > e->growth && e->growth > 0 ? e->growth / e->rise : 1);
}

/* ---- accounts ---- */

static void begin(struct job *j, struct track *t, struct account *a)
{
    a->evidence = (struct ledger_evidence){.holders = a->holders, .sites = a->sites};
    a->traced.count = 0;
    a->is_by_heap = false;
    hear(j, t, a);
    a->evidence.rise = track_rise(&a->engine);
    a->evidence.level = a->engine.last;
    a->evidence.limit = t->limit;
}

static void judge(struct account *a)
{
    ledger_build(&a->evidence, &a->ledger);
    ledger_judge(&a->ledger, &a->evidence, &a->judgement);
}

static void conclude(struct account *a)
{
    a->evidence.engine = says(&a->engine);
    a->evidence.horizons = track_horizons(a->by, &a->engine);
    judge(a);
}

static void account_memory(struct job *j, struct member *m, struct account *a)
{
    struct ledger_evidence *e = &a->evidence;
    begin(j, &m->tracks[MEMBER_ANON], a);
    struct answer own = a->engine;
    ask_heap(j, m, a);
    if (a->is_by_heap)
        e->rise = track_rise(&a->engine);
    measure(j, m, &own, a);
    e->resolution = scaled(MEMORY_RESOLUTION, e);
    e->has_census = has_census(m);
    /* A process that restarted its training is past its first calls, and growth that was announced
     * was not too small. malloc's in-use count corroborates; it never raises an alarm alone. */
    bool may_be_records = own.restarts == 0 && !m->tracks[MEMBER_ANON].alarmed;
    e->unnamed = e->has_census && may_be_records ? LIBRARY_RECORDS : 0;
    if (a->is_by_heap && !is_followed(&own, &a->engine))
        e->unnamed = INFINITY;
    e->is_censused = is_censused(j, m, e);
    gather_holders(j, m, NULL, host_weight, a);
    gather_sites(m, a);
    conclude(a);
}

/* torch's memory on a device. */
static void account_device(struct job *j, struct member *m, struct track *t, struct account *a)
{
    struct ledger_evidence *e = &a->evidence;
    begin(j, t, a);
    measure_by_engine(&a->engine, a);
    e->has_census = has_census(m);
    e->is_censused = is_censused(j, m, e);
    gather_holders(j, m, t->device, device_weight, a);
    gather_device_sites(m, t->device, a);
    conclude(a);
}

/* Tensors are counted rarely, malloc's in-use bytes often. Growth that the census shows and malloc
 * does not has stopped. */
static bool is_seen_in_memory(struct job *j, struct member *m)
{
    const struct track *heap = member_reported(m, HEAP_USED);
    struct account a;
    if (!heap)
        return true;
    hear(j, &m->tracks[MEMBER_ANON], &a);
    ask_heap(j, m, &a);
    return a.engine.verdict == VERDICT_LEAK;
}

/* The live tensors, by the bytes of the holders that gained some; those may be close to zero. */
static bool account_tensors(struct job *j, struct member *m, struct track *t, struct account *a)
{
    struct ledger_evidence *e = &a->evidence;
    begin(j, t, a);
    measure_by_engine(&a->engine, a);
    gather_holders(j, m, NULL, tensor_weight, a);
    e->growth = 0;
    for (size_t i = 0; i < e->holder_count; i++)
        e->growth +=
            a->holders[i].gained *
            (isinf(a->holders[i].each.high) ? a->holders[i].each.low : a->holders[i].each.high);
    e->rise = e->growth;
    e->level = m->tracks[MEMBER_ANON].last;
    e->limit = m->tracks[MEMBER_ANON].limit;
    e->resolution = COUNT_RESOLUTION;
    e->has_census = e->is_censused = true;
    conclude(a);
    if (e->engine == ENGINE_LASTING && e->growth > MEMORY_RESOLUTION && !is_seen_in_memory(j, m)) {
        e->engine = ENGINE_OPEN;
        judge(a);
    }
    double tensors = track_rise(&a->engine);
    a->judgement.weight = (struct ledger_weight){e->growth / tensors, e->level, e->limit};
    return e->growth > 0; /* else their bytes are not known */
}

/* The growth of the processes of a sum, each in its own window. */
struct parts {
    struct heap_growth all; /* of the processes examined */
    double rise, looked_at, counted,
        censused; /* of all, and of those examined, counted, censused */
};

static void add_part(struct job *j, struct member *m, struct account *a, struct parts *p)
{
    const double from = a->from, to = a->to;
    struct heap_growth g;
    double rise = fmax(m->tracks[MEMBER_ANON].last - m->tracks[MEMBER_ANON].first, 0);
    bool may_stop = a->engine.verdict != VERDICT_LEAK;
    p->rise += rise;
    if (!m->evidence)
        return;
    p->counted += has_census(m) ? rise : 0;
    p->censused += is_censused(j, m, &a->evidence) ? rise : 0;
    if (looks_compare(j, m->evidence, a->engine.onset_seconds, may_stop, &g)) {
        p->looked_at += rise;
        p->all.anon += g.anon;
        p->all.in_use += g.in_use;
        p->all.free += g.free;
        p->all.asked += g.asked;
        p->all.arenas_used += g.arenas_used;
        p->all.arenas_free += g.arenas_free;
        a->from = g.from;
        a->to = g.to;
    }
    gather_holders(j, m, NULL, host_weight, a);
    a->from = from;
    a->to = to;
}

/* Several processes may each grow too little to be suspect, but matter together. The sum counts as
 * examined as far as those that grew most were. */
static void account_sum(struct job *j, struct track *sum, struct account *a)
{
    struct ledger_evidence *e = &a->evidence;
    struct parts p = {.rise = 0};
    begin(j, sum, a);
    measure_by_engine(&a->engine, a);
    for (size_t i = 0; i < j->member_count; i++)
        if (member_is_in_sum(j->members[i], sum))
            add_part(j, j->members[i], a, &p);
    e->has_census = p.counted > LEDGER_MOST * p.rise;
    e->is_censused = p.censused > LEDGER_MOST * p.rise;
    if (p.looked_at > LEDGER_MOST * p.rise && p.all.anon > 0) {
        e->growth = p.all.anon;
        e->heap_used = p.all.in_use;
        e->heap_free = p.all.free;
        e->asked = p.all.asked;
        e->arenas_used = p.all.arenas_used;
        e->arenas_free = p.all.arenas_free;
    }
    e->resolution = scaled(sum->parts * MEMORY_RESOLUTION, e);
    e->unnamed = sum->parts > 1 && a->engine.restarts == 0 && !sum->alarmed
                     ? sum->parts * LIBRARY_RECORDS
                     : 0;
    conclude(a);
}

bool account_of(struct job *j, struct member *m, struct track *t, struct account *ret)
{
    if (t->samples == 0)
        return false;
    if (t == &j->sums[JOB_ANON])
        account_sum(j, t, ret);
    else if (m && t == &m->tracks[MEMBER_ANON])
        account_memory(j, m, ret);
    else if (!m || !has_census(m))
        return false;
    else if (strcmp(t->kind, "torch.allocated") == 0)
        account_device(j, m, t, ret);
    else if (strcmp(t->kind, "py.tensors") == 0)
        return account_tensors(j, m, t, ret);
    else
        return false;
    return true;
}

/* ---- for callers ---- */

double account_kept_free(const struct account *a)
{
    double low = 0;
    for (unsigned i = 0; i < a->ledger.count; i++)
        low += a->ledger.parts[i].fate == FATE_KEPT_FREE ? a->ledger.parts[i].bytes.low : 0;
    return low;
}

double account_whole(const struct account *a)
{
    return a->ledger.total - account_kept_free(a);
}

/* A site that goes on allocating names growth, but holds none. */
static bool is_unheld(const struct ledger_part *p)
{
    return p->kind == LEDGER_REST || (p->kind == LEDGER_SITE && p->fate != FATE_ENDS);
}

struct interval account_unheld(const struct account *a)
{
    struct interval rest = {a->ledger.total, a->ledger.total};
    for (unsigned i = 0; i < a->ledger.count; i++) {
        const struct ledger_part *p = &a->ledger.parts[i];
        rest.low -= is_unheld(p) ? 0 : p->bytes.high;
        rest.high -= is_unheld(p) ? 0 : p->bytes.low;
    }
    return (struct interval){fmax(rest.low, 0), fmax(rest.high, 0)};
}

struct interval account_bytes_of(const struct account *a, const struct wire_census_growing *g)
{
    for (unsigned i = 0; i < a->ledger.count; i++) {
        const struct ledger_part *p = &a->ledger.parts[i];
        if (p->kind == LEDGER_HOLDER && a->growing[p->source] == g)
            return p->bytes;
    }
    return (struct interval){0, 0};
}
