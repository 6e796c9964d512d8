/* watch/account.c: the evidence of a process's memory, and the ledger that follows from it. */
#include "watch/rise.h"
#include "watch/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The window that everything is measured over. */
struct window {
    double from, to; /* seconds */
};

/* ---- holders ---- */

/* How many there were at that time: between two points by the line through them, after the last by
 * the pace of all. */
static double count_at(const struct watch *w, const struct wire_census_growing *g, double seconds)
{
    const struct wire_census_point *p = g->points;
    unsigned last = g->point_count - 1, i = 1;
    while (i < last && found_seconds(w, p[i].time) < seconds)
        i++;
    const struct wire_census_point *a = &p[i - 1], *b = &p[i];
    if (seconds > found_seconds(w, p[last].time))
        a = p, b = &p[last];
    double begin = found_seconds(w, a->time), end = found_seconds(w, b->time);
    double count = b->count + (b->count - a->count) * (seconds - end) / (end - begin);
    return seconds < found_seconds(w, p[0].time) ? p[0].count : count;
}

/* What an item takes, with the spread of the items that were sampled. What it leads to in C++, as a
 * graph does, Python cannot see. */
static struct interval weight_of(const struct wire_census_growing *g)
{
    bool is_open = g->form == WIRE_CENSUS_GRAPH || g->grad_fn || g->extension;
    struct interval x = {g->host_low, g->host_high};
    if (g->form == WIRE_CENSUS_SIZE)
        x = (struct interval){1, 1};
    else if (g->form == WIRE_CENSUS_GRAPH || isnan(g->host_per_item))
        x = (struct interval){0, INFINITY};
    else if (isnan(x.low) || isnan(x.high)) /* of a probe that gave none */
        x = (struct interval){g->host_per_item, g->host_per_item};
    return (struct interval){x.low, is_open ? INFINITY : x.high};
}

static bool is_on_host(const struct wire_census_growing *g)
{
    return g->form != WIRE_CENSUS_SIZE || !(g->device_per_item > 0);
}

static size_t gather_holders(const struct watch *w, const struct member *m, struct window window,
                             struct ledger_holder ret[WIRE_CENSUS_GROWING])
{
    const struct wire_census *c = m->found ? m->found->census : NULL;
    size_t count = 0;
    for (unsigned i = 0; c && i < c->growing_count; i++) {
        const struct wire_census_growing *g = &c->growing[i];
        if (g->point_count < 2 || !is_on_host(g) || rise_may_be_another_graph(g))
            continue;
        double gained = count_at(w, g, window.to) - count_at(w, g, window.from);
        if (gained > 0)
            ret[count++] = (struct ledger_holder){
                .source = i,
                .gained = gained,
                .each = weight_of(g),
                .missing = g->bound - g->points[g->point_count - 1].count,
            };
    }
    return count;
}

/* ---- the series ---- */

static enum engine_says says(const struct answer *a)
{
    if (a->verdict == VERDICT_LEAK)
        return ENGINE_LASTING;
    return a->verdict == VERDICT_NO_LEAK ? ENGINE_NO_GROWTH : ENGINE_OPEN;
}

static double horizons_of(const struct answer *a)
{
    double since = isnan(a->onset_at) ? a->first_at : a->onset_at;
    return a->horizon > 0 ? (a->last_at - since) / a->horizon : 0;
}

/* The process itself does not grow while what malloc gives out fills its free heap. */
static void hear_heap(struct watch *w, struct member *m, struct account *a)
{
    struct answer heap;
    for (size_t i = 0; i < m->told_count && a->engine.verdict != VERDICT_LEAK; i++) {
        if (strcmp(m->told[i].kind, HEAP_USED) != 0)
            continue;
        track_plain_answer(&m->told[i], &w->terms, &heap);
        if (heap.verdict == VERDICT_LEAK) {
            a->engine = heap;
            a->is_by_heap = true;
        }
    }
}

static bool is_censused(const struct watch *w, const struct member *m)
{
    const struct wire_census *c = m->found ? m->found->census : NULL;
    return c && c->complete && c->in_a_row >= RISE_LEAST_POINTS && !c->ended &&
           found_is_of_late(w, m);
}

/* Comparable looks where there are some; else what the engine saw since the growth began. What
 * lasts and has shrunk between two looks was not compared well: the program was giving back. */
static struct window measure(const struct member *m, const struct answer *own, struct account *a)
{
    struct ledger_evidence *e = &a->evidence;
    struct heap_growth g;
    double since = a->engine.onset_seconds;
    bool may_stop = a->engine.verdict != VERDICT_LEAK;
    e->heap_used = e->heap_free = e->asked = e->untouched = NAN;
    bool is_compared = m->found && looks_compare(m->found, since, may_stop, &g);
    if (!is_compared || (!may_stop && !a->is_by_heap && !(g.anon > 0))) {
        e->growth = track_rise(own);
        return (struct window){isnan(since) ? own->first_seconds : since, own->last_seconds};
    }
    e->growth = g.anon;
    e->heap_used = g.in_use;
    e->heap_free = g.free;
    e->asked = g.asked;
    const struct heap_point *last = &m->found->heap[m->found->heap_count - 1];
    e->untouched = fmin(last->asked - last->anon, last->in_use);
    return (struct window){g.from, g.to};
}

#define RESOLUTION 0x1p20

bool watch_account(struct watch *w, struct member *m, struct account *ret)
{
    struct answer own;
    struct track *t = &m->tracks[MEMBER_ANON];
    if (!m->has_tracks || t->samples == 0)
        return false;
    *ret = (struct account){.census = m->found ? m->found->census : NULL};
    track_plain_answer(t, &w->terms, &own);
    ret->engine = own;
    hear_heap(w, m, ret);
    struct window window = measure(m, &own, ret);
    ret->from = window.from;
    ret->to = window.to;
    struct ledger_evidence *e = &ret->evidence;
    e->engine = says(&ret->engine);
    /* The window is a part of the growth, and so is what matters of it. */
    double rise = track_rise(&own);
    e->resolution = RESOLUTION * (rise > e->growth && e->growth > 0 ? e->growth / rise : 1);
    e->horizons = horizons_of(&ret->engine);
    e->level = own.last;
    e->limit = t->limit;
    e->is_censused = is_censused(w, m);
    e->holders = ret->holders;
    e->holder_count = gather_holders(w, m, window, ret->holders);
    ledger_build(e, &ret->ledger);
    ledger_judge(&ret->ledger, e, &ret->judgement);
    return true;
}
