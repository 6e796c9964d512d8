/* sites/build.c: makes sites of the looks: stacks that read the same become one site. */
#include "sites/looks.h"
#include "sites/naming.h"
#include "sites/texts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOR_ALLOCATED (SITES_MOST / 4) /* places for those that allocate most, kept or not */

/* Rows whose stacks read the same. */
struct group {
    uint64_t key;
    uint32_t row; /* the first of them */
    double bytes, allocated;
    struct site *site; /* NULL: not listed */
};

struct building {
    const struct site_looks *looks;
    struct naming *naming;
    struct sites *sites;
    struct group *groups;
    size_t group_count;
    struct group *group_of[LOOK_ROWS]; /* NULL: no row */
};

/* ---- keys ---- */

static uint64_t mixed(uint64_t key, uint64_t word)
{
    key = (key ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 29;
}

/* Equal texts have one address. Offsets tell frames apart only where names do not. */
static uint64_t key_of_frame(uint64_t key, const struct site_frame *f)
{
    key = mixed(key, (uintptr_t) f->function);
    if (f->line > 0)
        return mixed(mixed(key, (uintptr_t) f->file), (uint64_t) f->line);
    key = mixed(key, (uintptr_t) f->module);
    return f->function[0] ? key : mixed(key, f->offset);
}

/* The kinds of the trace file are the first ones of a site. */
static enum site_kind kind_of(const struct site_looks *l, uint32_t row)
{
    _Static_assert((int) SITE_MALLOC == (int) WIRE_TRACE_MALLOC &&
                       (int) SITE_PYTHON == (int) WIRE_TRACE_PYTHON &&
                       (int) SITE_MAPPED == (int) WIRE_TRACE_MAPPED &&
                       (int) SITE_DEVICE == (int) WIRE_TRACE_DEVICE &&
                       (int) SITE_PINNED == (int) WIRE_TRACE_PINNED,
                   "the same order");
    return (enum site_kind) look_kind(&l->tables, row);
}

static bool is_apart(const struct site_looks *l, uint32_t row)
{
    return look_kind_is_apart(look_kind(&l->tables, row));
}

/* Which of the memories; WIRE_TRACE_MEMORIES: none. */
static unsigned memory_of(const struct site_looks *l, uint32_t row)
{
    enum site_kind kind = kind_of(l, row);
    if (kind == SITE_PINNED)
        return WIRE_TRACE_DEVICES;
    uint32_t device = kind == SITE_DEVICE ? l->tables.stacks[row].device : WIRE_TRACE_MEMORIES;
    return device < WIRE_TRACE_DEVICES ? device : WIRE_TRACE_MEMORIES;
}

static const char *device_name(struct building *b, unsigned memory)
{
    char name[16];
    if (memory >= WIRE_TRACE_DEVICES)
        return "";
    int len = snprintf(name, sizeof(name), "cuda:%u", memory);
    return site_texts_keep(b->sites->texts, name, (size_t) len);
}

static bool is_truncated(const struct site_looks *l, uint32_t row)
{
    return row != LOOK_STACKLESS && l->tables.stacks[row].truncated;
}

static uint64_t key_of(const struct building *b, uint32_t row)
{
    struct site_frame frames[SITES_MOST_FRAMES];
    unsigned count = naming_frames(b->naming, row, frames);
    uint64_t key = mixed(mixed(1, kind_of(b->looks, row)), memory_of(b->looks, row));
    for (unsigned i = 0; i < count; i++)
        key = key_of_frame(key, &frames[i]);
    return key ? key : 1;
}

/* ---- groups ---- */

#define SLOTS (2 * WIRE_TRACE_STACKS) /* a power of two */

/* `slots`: indices of groups, from 1. */
static struct group *group_with(struct building *b, uint32_t *slots, uint64_t key)
{
    size_t i = key & (SLOTS - 1);
    while (slots[i] && b->groups[slots[i] - 1].key != key)
        i = (i + 1) & (SLOTS - 1);
    if (!slots[i]) {
        b->groups[b->group_count] = (struct group){.key = key, .row = UINT32_MAX};
        slots[i] = (uint32_t) ++b->group_count;
    }
    return &b->groups[slots[i] - 1];
}

static void group_rows(struct building *b)
{
    uint32_t *slots = calloc(SLOTS, sizeof(*slots));
    b->groups = calloc(LOOK_ROWS, sizeof(*b->groups));
    if (!slots || !b->groups)
        base_out_of_memory();
    unsigned last = b->looks->moment_count - 1;
    for (uint32_t i = 0; i < LOOK_ROWS; i++) {
        const struct look_row *r = b->looks->rows[i];
        if (!r)
            continue;
        struct group *g = b->group_of[i] = group_with(b, slots, key_of(b, i));
        g->row = g->row < i ? g->row : i;
        g->bytes += (double) r->bytes[last];
        g->allocated += (double) r->allocated[last];
    }
    free(slots);
}

/* ---- which are listed ---- */

static int by_address(const struct group *a, const struct group *b)
{
    return (a > b) - (a < b);
}

static int by_allocated(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *) a, *y = *(struct group *const *) b;
    int order = (x->allocated < y->allocated) - (x->allocated > y->allocated);
    return order ? order : by_address(x, y);
}

static int by_bytes(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *) a, *y = *(struct group *const *) b;
    int order = (x->bytes < y->bytes) - (x->bytes > y->bytes);
    return order ? order : by_allocated(a, b);
}

/* Sorts the groups that are listed to the front; returns their number. */
static size_t choose(struct group **order, size_t count)
{
    size_t for_bytes = SITES_MOST - FOR_ALLOCATED;
    qsort(order, count, sizeof(*order), by_bytes);
    if (count <= SITES_MOST)
        return count;
    qsort(order + for_bytes, count - for_bytes, sizeof(*order), by_allocated);
    qsort(order, SITES_MOST, sizeof(*order), by_bytes);
    return SITES_MOST;
}

static void list_site(struct building *b, struct group *g)
{
    struct site_frame frames[SITES_MOST_FRAMES];
    struct site *s = g->site = &b->sites->list[b->sites->count++];
    s->kind = kind_of(b->looks, g->row);
    s->device = device_name(b, memory_of(b->looks, g->row));
    s->is_truncated = is_truncated(b->looks, g->row);
    s->frame_count = naming_frames(b->naming, g->row, frames);
    s->frames = malloc((s->frame_count + 1) * sizeof(*s->frames));
    if (!s->frames)
        base_out_of_memory();
    memcpy(s->frames, frames, s->frame_count * sizeof(*frames));
}

static void list_sites(struct building *b)
{
    struct group **order = malloc((b->group_count + 1) * sizeof(struct group *));
    b->sites->list = calloc(SITES_MOST, sizeof(*b->sites->list));
    if (!order || !b->sites->list)
        base_out_of_memory();
    for (size_t i = 0; i < b->group_count; i++)
        order[i] = &b->groups[i];
    size_t listed = choose(order, b->group_count);
    for (size_t i = 0; i < listed; i++)
        list_site(b, order[i]);
    for (size_t i = listed; i < b->group_count; i++)
        b->sites->others += is_apart(b->looks, order[i]->row) ? 0 : order[i]->bytes;
    free(order);
}

/* ---- points ---- */

static void add_row(struct site_point *points, const struct look_row *r, unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        points[k].bytes += (double) r->bytes[k];
        points[k].variance += (double) r->variance[k];
        points[k].allocated += (double) r->allocated[k];
    }
}

static void add_rows(struct building *b)
{
    const struct site_looks *l = b->looks;
    struct sites *s = b->sites;
    for (unsigned k = 0; k < l->moment_count; k++) {
        s->points[k].seconds = l->moments[k].seconds;
        for (size_t i = 0; i < s->count; i++)
            s->list[i].points[k].seconds = l->moments[k].seconds;
    }
    s->point_count = l->moment_count;
    for (size_t i = 0; i < s->count; i++)
        s->list[i].point_count = l->moment_count;
    for (size_t i = 0; i < LOOK_ROWS; i++) {
        if (!l->rows[i])
            continue;
        if (!is_apart(l, (uint32_t) i))
            add_row(s->points, l->rows[i], l->moment_count);
        if (b->group_of[i]->site)
            add_row(b->group_of[i]->site->points, l->rows[i], l->moment_count);
    }
}

/* ---- what remains ---- */

/*
 * The variance that a sample, kept since that moment, has in common with the bytes of that moment.
 * If the interval was shorter then, the sample stands for what several stood for, whose weights
 * were smaller: docs/SAMPLING.md.
 */
static double common_variance(const struct look_sample *s, double interval)
{
    double weight = (double) s->weight;
    double former = fmin(weight, wire_trace_weight(s->size, interval));
    return weight * fmax(0, former - (double) s->size);
}

static void add_remains(struct site_point *points, const struct look_moment *moments,
                        unsigned count, const struct look_sample *s, bool is_block)
{
    double interval = NAN, common = 0;
    for (unsigned k = count; k-- > 0 && moments[k].seconds >= s->birth;) {
        if (k + 1 == count || is_block)
            common = look_variance(s->size, (double) s->weight);
        else if (moments[k].interval != interval)
            common = common_variance(s, moments[k].interval);
        interval = moments[k].interval;
        points[k].remains += (double) s->weight;
        points[k].remains_variance += common;
    }
}

/* Equal parts of the time in which its memory was sampled or listed. */
static unsigned cohort_of(const struct building *b, const struct look_sample *s)
{
    unsigned memory = memory_of(b->looks, s->row);
    bool is_block = memory < WIRE_TRACE_MEMORIES;
    double from = is_block ? b->looks->memories[memory].armed : b->sites->armed;
    double to = is_block ? b->looks->memories[memory].seconds : b->sites->seconds;
    double i = to > from ? SITE_COHORTS * (s->birth - from) / (to - from) : 0;
    return i >= SITE_COHORTS - 1 ? SITE_COHORTS - 1 : (unsigned) fmax(0, i);
}

static void add_sample(struct building *b, const struct look_sample *s, bool is_block)
{
    const struct site_looks *l = b->looks;
    struct site *site = b->group_of[s->row]->site;
    if (!is_block)
        add_remains(b->sites->points, l->moments, l->moment_count, s, false);
    if (!site)
        return;
    add_remains(site->points, l->moments, l->moment_count, s, is_block);
    site->cohorts[cohort_of(b, s)] += (double) s->weight;
    site->live++;
    site->objects += (double) s->weight / fmax(1, (double) s->size);
}

static void add_live(struct building *b)
{
    const struct site_looks *l = b->looks;
    for (size_t i = 0; i < l->live_count; i++)
        add_sample(b, &l->live[i], false);
    for (size_t i = 0; i < l->block_count; i++)
        add_sample(b, &l->blocks[i], true);
}

/* ---- the whole ---- */

static void fill_whole(struct sites *s, const struct site_looks *l)
{
    const struct look_moment *last = &l->moments[l->moment_count - 1];
    s->armed = l->armed;
    s->seconds = last->seconds;
    for (unsigned k = 0; k < l->moment_count; k++)
        s->interval = fmax(s->interval, l->moments[k].interval);
    s->not_seen = NAN;
    s->samples = l->counts.samples;
    s->dropped = l->counts.dropped;
    s->dropped_bytes = l->counts.dropped_bytes;
    s->stackless = l->counts.stackless;
    s->lost_frees = l->counts.lost_frees;
    s->spent_seconds = l->counts.spent_seconds;
    s->blocks_spent_seconds = l->counts.blocks_spent_seconds;
    s->has_native = l->counts.has_native;
    s->has_python = l->counts.has_python;
}

static void list_memories(struct building *b)
{
    struct sites *s = b->sites;
    for (unsigned i = 0; i < WIRE_TRACE_MEMORIES; i++) {
        const struct look_memory *m = &b->looks->memories[i];
        if (isnan(m->armed))
            continue;
        s->memories[s->memory_count++] = (struct site_memory){
            .kind = i == WIRE_TRACE_DEVICES ? SITE_PINNED : SITE_DEVICE,
            .device = device_name(b, i),
            .armed = m->armed,
            .seconds = m->seconds,
            .growth = m->growth,
            .interval = m->interval,
        };
    }
}

static void count_samples(struct building *b)
{
    for (uint32_t i = 0; i < WIRE_TRACE_STACKS; i++)
        if (b->group_of[i] && b->group_of[i]->site)
            b->group_of[i]->site->samples += (double) b->looks->tables.stacks[i].samples;
}

struct sites *site_looks_sites(const struct site_looks *l, site_namer *name, void *context)
{
    if (l->moment_count == 0)
        return NULL;
    struct building *b = calloc(1, sizeof(*b));
    struct sites *s = calloc(1, sizeof(*s));
    if (!b || !s)
        base_out_of_memory();
    s->texts = site_texts_new();
    fill_whole(s, l);
    *b = (struct building){.looks = l, .sites = s};
    b->naming = naming_new(l, s->texts, name, context);
    group_rows(b);
    list_memories(b);
    list_sites(b);
    add_rows(b);
    add_live(b);
    count_samples(b);
    s->kept = s->points[s->point_count - 1].bytes;
    s->kept_variance = s->points[s->point_count - 1].variance;
    sites_find_own(s);
    naming_free(b->naming);
    free(b->groups);
    free(b);
    return s;
}
