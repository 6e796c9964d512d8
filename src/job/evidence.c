/* job/evidence.c: what was measured inside a process: its heap, censuses, traced allocations. */
#include "job/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A rise by this many tensors is not chance. */
#define LEAST_TENSORS 8

/* Share of a process's lifetime after which a census counts as late. */
#define LATE_SHARE 0.1

struct evidence *evidence_free(struct evidence *e)
{
    if (!e)
        return NULL;
    wire_census_free(e->census);
    wire_census_free(e->searched);
    free(e->steps);
    sites_free(e->sites);
    free(e);
    return NULL;
}

struct evidence *evidence_of(struct member *m)
{
    if (m->evidence)
        return m->evidence;
    m->evidence = calloc(1, sizeof(*m->evidence));
    if (!m->evidence)
        base_out_of_memory();
    for (unsigned i = 0; i < EVIDENCE_TENSORS; i++)
        m->evidence->tensors[i] = NAN;
    return m->evidence;
}

double evidence_seconds(const struct job *j, uint64_t time)
{
    double since = time >= j->began ? (double) (time - j->began) : -(double) (j->began - time);
    return 1e-9 * since;
}

/* ---- what the last search found ---- */

static bool is_searched(const struct wire_census *c)
{
    for (unsigned i = 0; i < c->growing_count; i++)
        if (c->growing[i].holder_count > 0)
            return true;
    return false;
}

/* Least number of points that both must share, from the same censuses. */
#define SHARED_POINTS 2u

/* Both have the same counts at every time they share. */
static bool is_same_growth(const struct wire_census_growing *a, const struct wire_census_growing *b)
{
    unsigned shared = 0;
    if (a->form != b->form)
        return false;
    for (unsigned i = 0, k = 0; i < a->point_count && k < b->point_count;) {
        const struct wire_census_point *x = &a->points[i], *y = &b->points[k];
        if (x->time == y->time && x->count != y->count)
            return false;
        shared += x->time == y->time;
        i += x->time <= y->time;
        k += y->time <= x->time;
    }
    return shared >= SHARED_POINTS;
}

/* NULL: there is none, or more than one. */
static struct wire_census_growing *find_growth(struct wire_census *c,
                                               const struct wire_census_growing *g)
{
    struct wire_census_growing *found = NULL;
    for (unsigned i = 0; i < c->growing_count; i++) {
        if (!is_same_growth(&c->growing[i], g))
            continue;
        if (found)
            return NULL;
        found = &c->growing[i];
    }
    return found;
}

/* Copies what only a search finds out. */
static void take_over(struct wire_census_growing *g, const struct wire_census_growing *known)
{
    memcpy(g->holders, known->holders, sizeof(g->holders));
    g->holder_count = known->holder_count;
    memcpy(g->item, known->item, sizeof(g->item));
    g->item_depth = known->item_depth;
    g->host_per_item = known->host_per_item;
    g->device_per_item = known->device_per_item;
    g->host_low = known->host_low;
    g->host_high = known->host_high;
    g->device_low = known->device_low;
    g->device_high = known->device_high;
    g->view = known->view;
    g->tensors = known->tensors;
    g->grad_fn = known->grad_fn;
    g->addition = known->addition;
    if (isnan(g->bound))
        g->bound = known->bound;
}

static void borrow_from(struct wire_census *c, struct wire_census *known)
{
    for (unsigned i = 0; i < known->growing_count; i++) {
        struct wire_census_growing *k = &known->growing[i], *g = find_growth(c, k);
        if (k->holder_count > 0 && g && g->holder_count == 0 && find_growth(known, g) == k)
            take_over(g, k);
    }
}

/*
 * A census without a search borrows the holders found before it. It takes them from the last
 * census, which has most points in common, or else from the one that was searched. That one owns
 * the texts, so it is kept.
 */
static void borrow_holders(struct evidence *e, struct wire_census *c)
{
    if (!e->searched && e->census && is_searched(e->census))
        e->searched = e->census;
    if (!e->searched)
        return;
    borrow_from(c, e->census);
    borrow_from(c, e->searched);
}

static void note_tensors(struct evidence *e, const struct wire_census *c)
{
    double count = 0;
    for (unsigned i = 0; i < c->tensors_count; i++)
        count += c->tensors[i].count;
    memmove(&e->tensors[1], &e->tensors[0], (EVIDENCE_TENSORS - 1) * sizeof(e->tensors[0]));
    e->tensors[0] = count;
}

bool evidence_tensors_grow(const struct evidence *e)
{
    for (unsigned i = 0; i + 1 < EVIDENCE_TENSORS; i++)
        if (!(e->tensors[i] > e->tensors[i + 1]))
            return false;
    return e->tensors[0] - e->tensors[EVIDENCE_TENSORS - 1] >= LEAST_TENSORS;
}

bool evidence_is_of_late(const struct job *j, const struct member *m)
{
    const struct clock_mark *first = clock_first(&j->clock);
    double begin = first ? first->seconds : m->joined;
    double now = isnan(m->ended) ? j->now : m->ended;
    return evidence_seconds(j, m->evidence->census->time) - begin >= LATE_SHARE * (now - begin);
}

static bool has_arenas(const struct heap_point *p)
{
    return !isnan(p->arenas_free);
}

/* When the array is full, drops every second point and spaces later ones as widely, so that the
 * points cover the whole time. Few points include arenas: those are kept first. */
static void thin_heap(struct evidence *e)
{
    e->heap_spacing = (e->heap[HEAP_POINTS - 1].seconds - e->heap[0].seconds) / (HEAP_POINTS / 2.0);
    for (unsigned i = 0; i < HEAP_POINTS / 2; i++) {
        const struct heap_point *pair = &e->heap[(size_t) 2 * i];
        e->heap[i] = !has_arenas(&pair[0]) && has_arenas(&pair[1]) ? pair[1] : pair[0];
    }
    e->heap_count = HEAP_POINTS / 2;
}

/* The newest point is always kept. The next one overwrites it if it is too close to the last
 * earlier point with as much data. */
static bool is_too_near(const struct evidence *e)
{
    const struct heap_point *newest = &e->heap[e->heap_count ? e->heap_count - 1 : 0];
    for (const struct heap_point *p = newest; p-- > e->heap;)
        if (has_arenas(p) || !has_arenas(newest))
            return newest->seconds - p->seconds < e->heap_spacing;
    return false;
}

void evidence_add_heap_point(struct member *m, double seconds, double in_use, double free,
                             double asked)
{
    struct evidence *e = evidence_of(m);
    unsigned at = e->heap_count;
    double anon = m->has_tracks ? m->tracks[MEMBER_ANON].last : (double) NAN;
    if (isnan(in_use) || isnan(free) || isnan(anon))
        return;
    while (at > 0 && e->heap[at - 1].seconds >= seconds - HEAP_SAME_SECONDS)
        at--;
    if (at < e->heap_count && e->heap[at].seconds <= seconds + HEAP_SAME_SECONDS)
        return;
    if (e->heap_count == HEAP_POINTS && at < e->heap_count)
        return; /* an old point that arrives late */
    if (at == e->heap_count && is_too_near(e))
        at = --e->heap_count;
    else if (e->heap_count == HEAP_POINTS) {
        thin_heap(e);
        at = e->heap_count;
    }
    memmove(&e->heap[at + 1], &e->heap[at], (e->heap_count - at) * sizeof(e->heap[0]));
    e->heap[at] = (struct heap_point){seconds, in_use, free, anon, asked, NAN, NAN};
    e->heap_count++;
    e->has_new_heap_points = true;
}

/* Only the census measures arenas: adds them to the heap sample of the same moment. */
static void note_arenas(struct evidence *e, double seconds, const struct wire_census *c)
{
    for (unsigned i = 0; i < e->heap_count; i++)
        if (fabs(e->heap[i].seconds - seconds) <= HEAP_SAME_SECONDS) {
            e->heap[i].arenas_used = c->arenas_in_use;
            e->heap[i].arenas_free = c->arenas_free;
            e->has_new_heap_points = true;
        }
}

static bool same_holder(const struct wire_census_holder *a, const struct wire_census_growing *g)
{
    const struct wire_census_holder *b = &g->holders[0];
    return strcmp(a->path, b->path) == 0 && strcmp(a->function, b->function) == 0 &&
           (strcmp(a->file, b->file) == 0 || (g->caller && strcmp(a->file, g->caller) == 0));
}

/* Copies the line that adds to the holder from the previous census. */
static void take_known_line(const struct wire_census *before, struct wire_census_growing *g)
{
    for (unsigned i = 0; before && i < before->growing_count; i++) {
        const struct wire_census_growing *known = &before->growing[i];
        if (known->addition <= 0 || known->holder_count == 0 || !same_holder(&known->holders[0], g))
            continue;
        g->addition = known->addition;
        if (g->caller && strcmp(known->holders[0].file, g->caller) == 0)
            g->holders[0].file = g->caller;
        return;
    }
}

static void carry_lines_over(const struct wire_census *before, struct wire_census *c)
{
    for (unsigned i = 0; i < c->growing_count; i++)
        if (c->growing[i].holder_count > 0)
            take_known_line(before, &c->growing[i]);
}

/* Takes over the census. Keeps the last searched one, which owns the texts of the holders. True:
 * the new one was searched itself. */
static bool take(struct evidence *e, struct wire_census *c)
{
    bool has_own = is_searched(c);
    if (!has_own)
        borrow_holders(e, c);
    carry_lines_over(e->census, c);
    note_tensors(e, c);
    if (e->census != e->searched)
        wire_census_free(e->census);
    if (has_own)
        e->searched = wire_census_free(e->searched);
    e->census = c;
    return has_own;
}

bool evidence_take(struct job *j, struct member *m, struct wire_census *c)
{
    struct evidence *e = evidence_of(m);
    bool has_own = take(e, c);
    j->holders_known = j->holders_known || has_own;
    if (!c->ended) { /* a process frees its memory as it ends */
        double seconds = evidence_seconds(j, c->time);
        evidence_add_heap_point(m, seconds, c->heap_in_use, c->heap_free, c->asked);
        note_arenas(e, seconds, c);
    }
    return has_own;
}

void evidence_restore_heap_point(struct member *m, const struct heap_point *look)
{
    struct evidence *e = evidence_of(m);
    if (e->heap_count < HEAP_POINTS)
        e->heap[e->heap_count++] = *look;
}

/* The file may come from another machine: no source is read. */
int evidence_restore_census(struct job *j, struct member *m, uint64_t origin, const char *text)
{
    struct wire_census *c;
    int r = wire_census_parse(text, strlen(text), &c);
    if (r < 0)
        return r;
    j->began = origin;
    take(evidence_of(m), c);
    return 0;
}

/* ---- allocation sites ---- */

/* Only points with Python's arenas have all bytes in use. */
static unsigned next_of_use(const struct evidence *e, unsigned from, bool arenas)
{
    while (from < e->heap_count && arenas && !has_arenas(&e->heap[from]))
        from++;
    return from;
}

static double in_use(const struct heap_point *p, bool arenas)
{
    return p->in_use + (arenas ? p->arenas_used : 0);
}

/* Interpolated; NAN outside of what was measured. */
static double in_use_at(const struct evidence *e, double seconds, bool arenas)
{
    unsigned before = next_of_use(e, 0, arenas), i = before;
    while ((i = next_of_use(e, i + 1, arenas)) < e->heap_count) {
        const struct heap_point *a = &e->heap[before], *b = &e->heap[i];
        if (a->seconds <= seconds && seconds <= b->seconds)
            return in_use(a, arenas) + (in_use(b, arenas) - in_use(a, arenas)) *
                                           (seconds - a->seconds) / (b->seconds - a->seconds);
        before = i;
    }
    return NAN;
}

static double last_of_use(const struct evidence *e, bool arenas)
{
    unsigned i = e->heap_count;
    while (i > 0 && arenas && !has_arenas(&e->heap[i - 1]))
        i--;
    return i > 0 ? e->heap[i - 1].seconds : (double) NAN;
}

/* NAN: not measured between these seconds, which become those of the measurements. */
static double use_growth(const struct evidence *e, bool arenas, double *from, double *to)
{
    unsigned i = next_of_use(e, 0, arenas);
    if (i >= e->heap_count)
        return NAN;
    double first = fmax(*from, e->heap[i].seconds), last = fmin(*to, last_of_use(e, arenas));
    double growth =
        first < last ? in_use_at(e, last, arenas) - in_use_at(e, first, arenas) : (double) NAN;
    if (!isnan(growth)) {
        *from = first;
        *to = last;
    }
    return growth;
}

double evidence_use_growth(const struct evidence *e, const struct sites *s, double *from,
                           double *to)
{
    double growth = use_growth(e, s->has_python, from, to);
    if (!isnan(growth) || !s->has_python)
        return growth;
    growth = use_growth(e, false, from, to);
    return growth + (isnan(growth) ? 0 : sites_gain_in_arenas(s, *from, *to).bytes);
}

void evidence_take_sites(struct member *m, struct sites *s)
{
    struct evidence *e = evidence_of(m);
    double from = s->armed, to = s->seconds;
    double grown = evidence_use_growth(e, s, &from, &to);
    s->not_seen = grown - (sites_gain(s, from, to).bytes - sites_gain_mapped(s, from, to).bytes);
    sites_free(e->sites);
    e->sites = s;
    e->has_new_sites = true;
}

int evidence_restore_sites(struct member *m, const char *text)
{
    struct sites *s;
    int r = sites_parse(text, strlen(text), &s);
    if (r < 0)
        return r;
    sites_free(evidence_of(m)->sites);
    m->evidence->sites = s;
    return 0;
}

/* ---- steps ---- */

/* After the last mark no step was reported: it is still the last one. */
static double step_at(const struct step_clock *c, double seconds)
{
    const struct clock_mark *last = clock_last(c);
    return clock_step_at(c, last ? fmin(seconds, last->seconds) : seconds);
}

double evidence_step_at(const struct job *j, double seconds)
{
    return step_at(&j->clock, seconds);
}

void evidence_steps_of(const struct job *j, const struct member *m, unsigned growing,
                       census_steps ret)
{
    const struct wire_census_growing *g = &m->evidence->census->growing[growing];
    for (unsigned i = 0; i < g->point_count; i++)
        ret[i] = m->evidence->steps ? m->evidence->steps[growing][i]
                                    : step_at(&j->clock, evidence_seconds(j, g->points[i].time));
}

void evidence_end(struct job *j, struct member *m)
{
    if (!m->evidence || !m->evidence->census || m->evidence->steps)
        return;
    census_steps *steps = calloc(WIRE_CENSUS_GROWING, sizeof(*steps));
    if (!steps)
        base_out_of_memory();
    for (unsigned i = 0; i < m->evidence->census->growing_count; i++)
        evidence_steps_of(j, m, i, steps[i]);
    m->evidence->steps = steps;
}
