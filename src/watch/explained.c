/* watch/explained.c: growth that censuses and heaps explain, and that is no leak. */
#include "watch/rise.h"
#include "watch/session.h"

#include <math.h>
#include <string.h>

/* A part of the growth that is taken to be the reason for it, and one that is taken to be none. */
#define REASON_SHARE 0.5
#define NO_REASON_SHARE 0.25

/* Bytes a step, or a second where there are none. */
#define LEAST_WITNESSED 1024.0

/* Tensors: so many more a setting alone may make, as jobs that are begun one after the other. */
#define FEW_TENSORS 16

/* Points of what grows, and of what fills, from which on they are believed. */
#define LEAST_LOOKS 3u
#define LEAST_LOOKS_OF_BOUNDED 2u

/* How fast its memory grows, on both clocks; 0: it does not, or not so that it matters. NAN: a
 * clock does not run. */
struct pace {
    double per_step, per_second;
    double since;  /* seconds; NAN: from the beginning */
    double rise;   /* in all, since then */
    bool may_stop; /* it has grown, and whether it still does is not known */
    bool is_later; /* another training of the same process grew before */
};

/* There was time enough to see whether it grows. */
static bool is_open(const struct answer *a)
{
    return a->verdict == VERDICT_INCONCLUSIVE && a->last_at - a->first_at >= a->horizon;
}

static struct pace growth_of(struct watch *w, struct track *t)
{
    struct answer a;
    track_plain_answer(t, &w->terms, &a);
    bool by_step = track_clock(t, &w->terms) == CLOCK_STEP;
    if (a.verdict == VERDICT_LEAK || (a.verdict == VERDICT_INCONCLUSIVE && a.suspect))
        return (struct pace){by_step ? a.rate : a.rate_per_step,
                             by_step ? a.rate_per_second : a.rate,
                             a.onset_seconds,
                             track_rise(&a),
                             false,
                             a.restarts > 0};
    double rise = a.floor_last - a.floor_first;
    if (is_open(&a) && rise > LEAST_RISE)
        return (struct pace){by_step ? rise / (a.last_at - a.first_at) : (double) NAN,
                             rise / (a.last_seconds - a.first_seconds),
                             NAN,
                             rise,
                             true,
                             a.restarts > 0};
    return (struct pace){.since = NAN};
}

static bool heap_growth(const struct found *f, const struct pace *growth, struct heap_growth *ret)
{
    return looks_compare(f, growth->since, growth->may_stop, ret);
}

/* What was in use and was given back lies free too, and the process has not grown by that. */
static bool is_free(const struct heap_growth *g)
{
    return g->anon > 0 && g->free + fmin(g->in_use, 0) >= REASON_SHARE * g->anon &&
           g->in_use < NO_REASON_SHARE * g->anon;
}

/* And next to nothing of it is elsewhere: in arenas of Python's, or mapped. */
static bool is_all_in_heap(const struct heap_growth *g)
{
    return g->anon - g->in_use - g->free < NO_REASON_SHARE * g->anon;
}

/* Memory that grows, of a process or of torch on a device, and what of an item lies there. */
struct grown_memory {
    const struct track *track;
    struct pace growth;
    bool on_device;
};

static double bytes_per_item(const struct wire_census_growing *g, const struct grown_memory *memory)
{
    return memory->on_device ? g->device_per_item : g->host_per_item;
}

/* The part of the growth that it explains, on the clock that knows its points. */
static double share_of(const struct watch *w, const struct member *m, unsigned growing,
                       const struct grown_memory *memory)
{
    const struct wire_census_growing *g = &m->found->census->growing[growing];
    const struct pace *growth = &memory->growth;
    found_steps steps;
    unsigned least = isfinite(g->bound) ? LEAST_LOOKS_OF_BOUNDED : LEAST_LOOKS;
    if (g->point_count < least || !(bytes_per_item(g, memory) > 0))
        return 0;
    unsigned last = g->point_count - 1;
    double bytes = (g->points[last].count - g->points[0].count) * bytes_per_item(g, memory);
    double seconds = found_seconds(w, g->points[last].time) - found_seconds(w, g->points[0].time);
    found_steps_of(w, m, growing, steps);
    double by_step = bytes / (steps[last] - steps[0]) / growth->per_step;
    return by_step > 0 && isfinite(by_step) ? by_step : bytes / seconds / growth->per_second;
}

static bool keeps_graphs(const struct wire_census_growing *g)
{
    return g->form == WIRE_CENSUS_GRAPH ? !rise_may_be_another_graph(g) : g->grad_fn;
}

/* The most that anything without a bound explains of it. Of a graph it is not known how much it
 * takes: where one is kept, it may be all. */
static double endless_share(const struct watch *w, const struct member *m,
                            const struct grown_memory *memory)
{
    const struct wire_census *c = m->found->census;
    double most = 0;
    for (unsigned i = 0; i < c->growing_count; i++) {
        const struct wire_census_growing *g = &c->growing[i];
        if (isfinite(g->bound) || (g->form != WIRE_CENSUS_CONTAINER && !keeps_graphs(g)))
            continue;
        most = keeps_graphs(g) ? 1 : fmax(most, share_of(w, m, i, memory));
    }
    return most;
}

/* What has a bound and is not there yet is most of the growth, with what lies free around it in the
 * heap; it fits into memory once it is, and nothing without a bound is much of it. */
static bool fills(const struct watch *w, const struct member *m, const struct grown_memory *memory)
{
    const struct wire_census *c = m->found->census;
    const struct track *t = memory->track;
    double bounded = 0, to_come = 0;
    struct heap_growth heap = {0};
    for (unsigned i = 0; i < c->growing_count; i++) {
        const struct wire_census_growing *g = &c->growing[i];
        double share = share_of(w, m, i, memory);
        if (isfinite(g->bound) && share > 0) {
            double missing = fmax(g->bound - g->points[g->point_count - 1].count, 0);
            bounded += share;
            to_come += missing * bytes_per_item(g, memory);
        }
    }
    bool has_free = !memory->on_device && heap_growth(m->found, &memory->growth, &heap) &&
                    heap.free > 0 && heap.anon > 0;
    return bounded >= NO_REASON_SHARE &&
           bounded + (has_free ? heap.free / heap.anon : 0) >= REASON_SHARE &&
           endless_share(w, m, memory) < NO_REASON_SHARE &&
           (!(t->limit > 0) || t->last + to_come < t->limit);
}

/* Whatever grows among its objects is no reason; and before they were counted often enough, nothing
 * but the heap can be. */
static bool lies_free(const struct watch *w, const struct member *m,
                      const struct grown_memory *memory)
{
    const struct wire_census *c = m->found->census;
    struct heap_growth g;
    if (!heap_growth(m->found, &memory->growth, &g) || !is_free(&g))
        return false;
    return c && c->in_a_row >= LEAST_LOOKS ? endless_share(w, m, memory) < NO_REASON_SHARE
                                           : is_all_in_heap(&g);
}

/* Something that becomes more among its objects may be the reason. There is a census. */
static bool any_reason(const struct watch *w, const struct member *m,
                       const struct grown_memory *memory)
{
    const struct wire_census *c = m->found->census;
    for (unsigned i = 0; i < c->growing_count; i++)
        if (causes_may_hold_more(&c->growing[i]) || share_of(w, m, i, memory) >= NO_REASON_SHARE)
            return true;
    return false;
}

/* Neither malloc nor the kernel has given out more, nor has either got back much, which would hide
 * what it gave: what grows is pages that are used for the first time. It fits into memory once all
 * are. */
static bool is_touched(const struct watch *w, const struct member *m,
                       const struct grown_memory *memory)
{
    const struct track *t = memory->track;
    struct heap_growth g;
    if (!heap_growth(m->found, &memory->growth, &g) || isnan(g.asked) || !(g.anon > 0) ||
        !(fmax(fabs(g.asked), fabs(g.in_use)) < NO_REASON_SHARE * g.anon))
        return false;
    /* What is not yet used is no more than was asked for, nor than malloc has given out. */
    const struct heap_point *last = &m->found->heap[m->found->heap_count - 1];
    while (isnan(last->asked)) /* one is known, or nothing would be of its growth */
        last--;
    double to_come = fmin(last->asked - last->anon, last->in_use);
    bool is_held = m->found->census && any_reason(w, m, memory);
    return !is_held && (!(t->limit > 0) || t->last + to_come < t->limit);
}

/* So little of it may end soon. What was told stays so, and what comes with every training of a
 * process that makes several does not end. */
static bool may_end_soon(const struct track *t, const struct pace *growth)
{
    return !t->alarmed && !growth->is_later && growth->rise > 0 &&
           growth->rise < t->parts * TRACK_LITTLE_BYTES;
}

/* Its objects were counted often enough, and nothing that becomes more among them is a reason. */
static bool is_little(const struct watch *w, const struct member *m,
                      const struct grown_memory *memory)
{
    const struct wire_census *c = m->found->census;
    bool was_little = memory->track->rule == TRACK_LITTLE; /* a census may be cut off since */
    if (!c || (c->in_a_row < LEAST_LOOKS && !was_little) ||
        !may_end_soon(memory->track, &memory->growth))
        return false;
    return !any_reason(w, m, memory);
}

static bool is_explained(const struct track *t)
{
    return t->rule == TRACK_HEAP_FREE || t->rule == TRACK_FILLING || t->rule == TRACK_TOUCHED ||
           t->rule == TRACK_LITTLE;
}

/* It was explained while it grew, and by now it may have stopped: that is still the reason. */
static bool was_explained(const struct watch *w, const struct member *m,
                          const struct grown_memory *memory)
{
    return memory->growth.may_stop && is_explained(memory->track) &&
           memory->track->rule != TRACK_LITTLE &&
           !(m->found->census && endless_share(w, m, memory) >= NO_REASON_SHARE);
}

static enum track_rule rule_for(struct watch *w, struct member *m, struct track *t, bool on_device)
{
    struct grown_memory memory = {t, growth_of(w, t), on_device};
    if (!(memory.growth.per_second > 0))
        return t->rule; /* until it grows otherwise */
    if (!on_device && lies_free(w, m, &memory))
        return TRACK_HEAP_FREE;
    if (m->found->census && fills(w, m, &memory))
        return TRACK_FILLING;
    if (!on_device && is_touched(w, m, &memory))
        return TRACK_TOUCHED;
    if (was_explained(w, m, &memory))
        return t->rule;
    return !on_device && is_little(w, m, &memory) ? TRACK_LITTLE : TRACK_JUDGED;
}

/* Tensors become more in something that has a bound, and in nothing that has none. */
static bool tensors_fill(const struct wire_census *c)
{
    bool bounded = false, endless = false;
    for (unsigned i = 0; i < c->growing_count; i++) {
        const struct wire_census_growing *g = &c->growing[i];
        bool grows = g->point_count >= LEAST_LOOKS && strstr(g->item, "tensor ");
        bounded = bounded || (grows && isfinite(g->bound));
        endless = endless || (grows && !isfinite(g->bound) && g->form == WIRE_CENSUS_CONTAINER);
    }
    return bounded && !endless;
}

/* NAN: not known. */
static double bytes_a_step(const struct watch *w, const struct member *m, unsigned growing)
{
    const struct wire_census_growing *g = &m->found->census->growing[growing];
    found_steps steps;
    if (keeps_graphs(g) || g->form == WIRE_CENSUS_SIZE || g->point_count < LEAST_LOOKS)
        return NAN;
    unsigned last = g->point_count - 1;
    double items = g->points[last].count - g->points[0].count;
    double bytes = isnan(g->host_per_item) ? g->device_per_item
                                           : g->host_per_item + fmax(g->device_per_item, 0);
    found_steps_of(w, m, growing, steps);
    return items * bytes / (steps[last] - steps[0]);
}

static bool holds_tensors(const struct wire_census_growing *g)
{
    return strstr(g->item, "tensor ") != NULL;
}

static bool any_tensors_grow(const struct wire_census *c)
{
    for (unsigned i = 0; i < c->growing_count; i++)
        if (holds_tensors(&c->growing[i]))
            return true;
    return false;
}

/* Those in containers, and those of a kind wherever they are: the same ones, seen twice. */
static bool tensors_are_small(const struct watch *w, const struct member *m)
{
    const struct wire_census *c = m->found->census;
    double in_containers = 0, of_a_kind = 0;
    for (unsigned i = 0; i < c->growing_count; i++) {
        const struct wire_census_growing *g = &c->growing[i];
        if (!holds_tensors(g))
            continue;
        if (g->form == WIRE_CENSUS_CONTAINER)
            in_containers += bytes_a_step(w, m, i);
        else
            of_a_kind += bytes_a_step(w, m, i);
    }
    return any_tensors_grow(c) && in_containers < LEAST_WITNESSED && of_a_kind < LEAST_WITNESSED;
}

bool found_tensors_are_harmless(const struct watch *w, const struct member *m)
{
    return tensors_fill(m->found->census) || tensors_are_small(w, m);
}

/* If they are large, the memory tells it. */
static bool tensors_are_few(struct watch *w, struct track *t)
{
    return !t->alarmed && growth_of(w, t).rise < FEW_TENSORS;
}

static void explain_tensors(struct watch *w, struct member *m)
{
    for (size_t i = 0; i < m->told_count; i++) {
        struct track *t = &m->told[i];
        if (strcmp(t->kind, "py.tensors") == 0 && any_tensors_grow(m->found->census) &&
            (track_is_wary(t) || is_explained(t)))
            t->rule = tensors_fill(m->found->census)                     ? TRACK_FILLING
                      : tensors_are_small(w, m) || tensors_are_few(w, t) ? TRACK_WITNESS
                                                                         : TRACK_JUDGED;
    }
}

/* What torch has on a device. */
static void explain_devices(struct watch *w, struct member *m)
{
    for (size_t i = 0; i < m->told_count; i++) {
        struct track *t = &m->told[i];
        if (strcmp(t->kind, "torch.allocated") == 0 && (track_is_wary(t) || is_explained(t)))
            t->rule = rule_for(w, m, t, true);
    }
}

/* Rows of numbers that any training keeps are no leak that somebody has to hear of before the
 * process itself tells it. */
static bool grows_by_much(const struct pace *growth)
{
    double rate = isfinite(growth->per_step) ? growth->per_step : growth->per_second;
    return rate >= LEAST_WITNESSED && !growth->may_stop;
}

/* Objects that only hold each other, or of which that is not yet known: the collector takes them
 * when it comes. */
static bool may_be_collected(const struct wire_census_growing *g)
{
    bool is_found = g->form != WIRE_CENSUS_TENSORS && g->form != WIRE_CENSUS_OBJECTS;
    return g->holder_count > 0 ? strcmp(g->holders[0].kind, "garbage") == 0 : !is_found;
}

/* The most of it that one thing without a bound takes that has a name. */
static double named_share(const struct watch *w, const struct member *m,
                          const struct grown_memory *memory)
{
    const struct wire_census *c = m->found->census;
    double in_containers = 0, of_a_kind = 0;
    bool any_bound = false;
    for (unsigned i = 0; i < c->growing_count; i++) {
        const struct wire_census_growing *g = &c->growing[i];
        bool is_objects = g->form == WIRE_CENSUS_TENSORS || g->form == WIRE_CENSUS_OBJECTS;
        any_bound = any_bound || isfinite(g->bound);
        if (isfinite(g->bound) || may_be_collected(g))
            continue;
        double share = keeps_graphs(g) ? 1 : share_of(w, m, i, memory);
        if (is_objects)
            of_a_kind = fmax(of_a_kind, share);
        else
            in_containers = fmax(in_containers, share);
    }
    /* Objects that become more may be in what has a bound. */
    return any_bound ? in_containers : fmax(in_containers, of_a_kind);
}

static bool is_about(double a, double b)
{
    return fabs(a - b) <= NO_REASON_SHARE * fmax(a, b);
}

/* What lay free is full: the process now grows as fast as the heap has from the beginning. */
static bool is_followed(struct watch *w, struct member *m, const struct pace *heap)
{
    struct track *anon = &m->tracks[MEMBER_ANON];
    struct pace process = growth_of(w, anon);
    return anon->rule == TRACK_JUDGED && !process.may_stop && heap->rise >= TRACK_LITTLE_BYTES &&
           (isfinite(heap->per_step) ? is_about(process.per_step, heap->per_step)
                                     : is_about(process.per_second, heap->per_second));
}

/*
 * What malloc has given out may grow for long before the process does: it fills what lies free in
 * the heap. That counts where the censuses show what it is, or the process follows, and as long as
 * the process itself does not say the same.
 */
static void explain_heap(struct watch *w, struct member *m)
{
    for (size_t i = 0; i < m->told_count; i++) {
        struct track *t = &m->told[i];
        if (strcmp(t->kind, HEAP_USED) != 0 || t->asked)
            continue;
        struct grown_memory memory = {t, growth_of(w, t), false};
        bool counts =
            grows_by_much(&memory.growth) &&
            (named_share(w, m, &memory) >= REASON_SHARE || is_followed(w, m, &memory.growth));
        t->rule = counts && !track_leaks(&m->tracks[MEMBER_ANON]) ? TRACK_JUDGED : TRACK_WITNESS;
    }
}

bool found_fills(const struct member *m)
{
    bool any = m->tracks[MEMBER_ANON].rule == TRACK_FILLING;
    for (size_t i = 0; i < m->told_count; i++)
        any = any ||
              (strcmp(m->told[i].kind, "torch.allocated") == 0 && m->told[i].rule == TRACK_FILLING);
    return any;
}

bool found_is_in_sum(const struct member *m, const struct track *sum)
{
    /* What is told from inside comes with its steps, and these may be far apart. */
    return m->has_tracks &&
           sum->last_seconds - fmax(m->seen_seconds, m->tracks[MEMBER_ANON].last_seconds) < 1;
}

/* Several processes grow by so little that not each of them is told by itself, as data workers do
 * in their first hundreds of batches: it is in their heaps together. */
static bool parts_lie_free(struct watch *w, struct track *sum)
{
    struct pace growth = growth_of(w, sum);
    struct heap_growth all = {0}, part;
    for (size_t i = 0; i < w->member_count && growth.per_second > 0; i++) {
        const struct member *m = w->members[i];
        if (found_is_in_sum(m, sum) && m->found && heap_growth(m->found, &growth, &part)) {
            all.anon += part.anon;
            all.in_use += part.in_use;
            all.free += part.free;
        }
    }
    return all.anon >= REASON_SHARE * growth.rise && is_free(&all) && is_all_in_heap(&all);
}

/* Its parts grow by what is explained, and no other part grows; or by so little, each, that it is
 * theirs to tell. */
static enum track_rule rule_of_parts(struct watch *w, struct track *sum)
{
    enum track_rule explained = TRACK_JUDGED;
    bool any_wary = false, any_little = false;
    for (size_t i = 0; i < w->member_count; i++) {
        const struct member *m = w->members[i];
        const struct track *part = &m->tracks[MEMBER_ANON];
        if (!found_is_in_sum(m, sum))
            continue;
        any_wary = any_wary || track_is_wary(part);
        any_little = any_little || part->rule == TRACK_LITTLE;
        if (is_explained(part) && part->rule != TRACK_LITTLE)
            explained = part->rule;
    }
    if (any_wary)
        explained = TRACK_JUDGED;
    struct pace growth = growth_of(w, sum);
    bool is_unclear = any_little || (explained == TRACK_JUDGED && sum->parts > 1);
    return is_unclear && may_end_soon(sum, &growth) ? TRACK_LITTLE : explained;
}

/* A part that leaks is told by itself. */
static void explain_sum(struct watch *w)
{
    struct track *sum = &w->job[JOB_ANON];
    sum->rule = parts_lie_free(w, sum) ? TRACK_HEAP_FREE : rule_of_parts(w, sum);
}

void found_explain(struct watch *w)
{
    const struct track *sum = &w->job[JOB_ANON];
    bool any = track_is_wary(sum) || is_explained(sum);
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        struct track *t = m->has_tracks ? &m->tracks[MEMBER_ANON] : NULL;
        if (!t || !m->found)
            continue;
        if (t->rule == TRACK_JUDGED || is_explained(t))
            t->rule = rule_for(w, m, t, false);
        any = any || is_explained(t);
        if (m->found->census) {
            explain_tensors(w, m);
            explain_devices(w, m);
            explain_heap(w, m);
        }
    }
    if (any)
        explain_sum(w);
}
