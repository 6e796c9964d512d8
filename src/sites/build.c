/* sites/build.c: makes sites of the looks: stacks that read the same become one site, and so do,
 * where there are more than can be listed, small ones with the same line of the user's. */
#include "sites/looks.h"
#include "sites/naming.h"
#include "sites/texts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOR_ALLOCATED (SITES_MOST / 4) /* places for those that allocate most, kept or not */
#define FOR_LINES (SITES_MOST / 4)     /* ... and for lines, each of many small ones */
#define FOR_STACKS (SITES_MOST - FOR_LINES)

/* Rows whose stacks read the same. */
struct group {
    uint64_t key;
    uint32_t row; /* the first of them */
    double bytes, allocated;
    struct site *site; /* NULL: not listed */
    uint64_t line;     /* equal: they have the same line of the user's, called from the same */
};

/* Groups of one line that are not listed themselves. */
struct line_groups {
    struct group **groups;
    size_t count;
    double bytes;
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

static uint64_t key_from(const struct building *b, uint32_t row, const struct site_frame *frames,
                         unsigned count)
{
    uint64_t key = mixed(mixed(1, kind_of(b->looks, row)), memory_of(b->looks, row));
    for (unsigned i = 0; i < count; i++)
        key = key_of_frame(key, &frames[i]);
    return key ? key : 1;
}

static uint64_t key_of(const struct building *b, uint32_t row)
{
    struct site_frame frames[SITES_MOST_FRAMES];
    return key_from(b, row, frames, naming_frames(b->naming, row, frames));
}

/* From the user's own frame on; returns their number. */
static unsigned outer_frames(const struct building *b, uint32_t row,
                             struct site_frame ret[SITES_MOST_FRAMES])
{
    struct site s = {.frames = ret, .frame_count = naming_frames(b->naming, row, ret)};
    int own = site_own_frame(&s);
    if (own <= 0)
        return s.frame_count;
    memmove(ret, ret + own, (s.frame_count - (unsigned) own) * sizeof(*ret));
    return s.frame_count - (unsigned) own;
}

static uint64_t line_of(const struct building *b, uint32_t row)
{
    struct site_frame frames[SITES_MOST_FRAMES];
    return key_from(b, row, frames, outer_frames(b, row, frames));
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

/* Sorts the groups that are listed each to the front; returns their number. */
static size_t choose(struct group **order, size_t count)
{
    size_t for_bytes = FOR_STACKS - FOR_ALLOCATED;
    qsort(order, count, sizeof(*order), by_bytes);
    if (count <= SITES_MOST)
        return count;
    qsort(order + for_bytes, count - for_bytes, sizeof(*order), by_allocated);
    qsort(order, FOR_STACKS, sizeof(*order), by_bytes);
    return FOR_STACKS;
}

static struct site *list_site(struct building *b, uint32_t row, const struct site_frame *frames,
                              unsigned count)
{
    struct site *s = &b->sites->list[b->sites->count++];
    s->kind = kind_of(b->looks, row);
    s->device = device_name(b, memory_of(b->looks, row));
    s->is_truncated = is_truncated(b->looks, row);
    s->frame_count = count;
    s->frames = malloc((count + 1) * sizeof(*s->frames));
    if (!s->frames)
        base_out_of_memory();
    memcpy(s->frames, frames, count * sizeof(*frames));
    return s;
}

static void list_stack(struct building *b, struct group *g)
{
    struct site_frame frames[SITES_MOST_FRAMES];
    g->site = list_site(b, g->row, frames, naming_frames(b->naming, g->row, frames));
}

/* ---- those that are too many ---- */

static int by_line(const void *a, const void *b)
{
    const struct group *x = *(struct group *const *) a, *y = *(struct group *const *) b;
    int order = (x->line > y->line) - (x->line < y->line);
    return order ? order : by_bytes(a, b);
}

static int larger_line(const void *a, const void *b)
{
    const struct line_groups *x = a, *y = b;
    int order = (x->bytes < y->bytes) - (x->bytes > y->bytes);
    return order ? order : (x->groups > y->groups) - (x->groups < y->groups);
}

static void list_line(struct building *b, const struct line_groups *l)
{
    struct site_frame frames[SITES_MOST_FRAMES];
    uint32_t row = l->groups[0]->row;
    if (l->count == 1) {
        list_stack(b, l->groups[0]);
        return;
    }
    struct site *s = list_site(b, row, frames, outer_frames(b, row, frames));
    for (size_t i = 0; i < l->count; i++)
        l->groups[i]->site = s;
}

/* `rest`: sorted by line. The caller frees it. */
static struct line_groups *lines_of(struct group **rest, size_t count, size_t *ret_count)
{
    struct line_groups *lines = malloc((count + 1) * sizeof(*lines));
    if (!lines)
        base_out_of_memory();
    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || rest[i]->line != rest[i - 1]->line)
            lines[(*ret_count)++] = (struct line_groups){.groups = rest + i};
        lines[*ret_count - 1].count++;
        lines[*ret_count - 1].bytes += rest[i]->bytes;
    }
    return lines;
}

static void list_lines(struct building *b, struct group **rest, size_t count)
{
    size_t line_count;
    for (size_t i = 0; i < count; i++)
        rest[i]->line = line_of(b, rest[i]->row);
    qsort(rest, count, sizeof(*rest), by_line);
    struct line_groups *lines = lines_of(rest, count, &line_count);
    qsort(lines, line_count, sizeof(*lines), larger_line);
    for (size_t i = 0; i < line_count; i++)
        if (i < FOR_LINES)
            list_line(b, &lines[i]);
        else
            b->sites->others += lines[i].bytes;
    free(lines);
}

/* ---- the list ---- */

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
        list_stack(b, order[i]);
    list_lines(b, order + listed, b->group_count - listed);
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
    double bytes = look_bytes(s), part = bytes / (double) s->weight;
    double former = fmin(bytes, part * wire_trace_weight(s->size, interval));
    return bytes * fmax(0, former - (double) s->taken);
}

static void add_remains(struct site_point *points, const struct look_moment *moments,
                        unsigned count, const struct look_sample *s, bool is_block)
{
    double interval = NAN, common = 0;
    for (unsigned k = count; k-- > 0 && moments[k].seconds >= s->birth;) {
        if (k + 1 == count || is_block)
            common = look_variance(s->taken, look_bytes(s));
        else if (moments[k].interval != interval)
            common = common_variance(s, moments[k].interval);
        interval = moments[k].interval;
        points[k].remains += look_bytes(s);
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
    site->cohorts[cohort_of(b, s)] += look_bytes(s);
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

static double kept_of(const struct site *s)
{
    return s->points[s->point_count - 1].bytes;
}

static int larger_site(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    return (kept_of(x) < kept_of(y)) - (kept_of(x) > kept_of(y));
}

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
    qsort(s->list, s->count, sizeof(*s->list), larger_site);
    sites_find_own(s);
    naming_free(b->naming);
    free(b->groups);
    free(b);
    return s;
}
