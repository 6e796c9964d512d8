/* page/curves.c: the recorded series, as far as there is room for them. */
#include "page/source.h"

#include "page/levels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FINEST 16384u    /* blocks of the deciding series */
#define BLOCK_BYTES 14u  /* what a block takes, with its part of the coarser levels */
#define HEAD_BYTES 260u  /* what a curve takes beside its blocks */
#define LEAST_BYTES 700u /* a curve gets as much, or is left out */

struct curve {
    size_t index; /* in the recording */
    double weight;
    uint64_t samples;
    struct buf json; /* of the curve; empty: it is left out */
};

struct curves {
    struct page_source *source;
    struct curve *list;
    size_t count;
};

/* ---- samples ---- */

static int add_sample(void *context, double step, const struct store_sample *x)
{
    (void) step;
    levels_add(context, x->seconds, x->floor, x->max);
    return 0;
}

static int read_levels(struct page_source *s, size_t index, size_t most, struct levels *ret)
{
    levels_init(ret, most);
    int r = recording_each_sample(s->recording, index, add_sample, ret);
    if (r < 0)
        levels_release(ret);
    return r;
}

/* ---- a curve ---- */

static void add_head(struct json *j, const struct series_info *info, size_t id,
                     const struct levels *l)
{
    json_integer(j, "id", (int64_t) id);
    page_json_text(j, "name", info->name);
    page_json_text(j, "kind", info->kind);
    page_json_text(j, "device", info->device);
    json_string(j, "unit", series_unit_name(info->unit));
    if (info->pid > 0)
        json_integer(j, "pid", info->pid);
    page_json_text(j, "role", info->role);
    json_integer(j, "samples", (int64_t) l->samples);
    if (l->count > 0) {
        page_json_rounded(j, "first", (double) l->blocks[0].at / 1000, 3);
        page_json_rounded(j, "last", (double) l->last / 1000, 3);
    }
}

static void write_curve(const struct page_source *s, size_t index, const struct levels *l,
                        struct buf *out)
{
    struct json j;
    buf_clear(out);
    json_init(&j, out, 0);
    json_object_begin(&j, NULL);
    add_head(&j, &recording_series(s->recording, index)->info, index, l);
    levels_json(&j, l);
    json_object_end(&j);
}

/* As detailed as `bytes` allow. */
static int fit_curve(struct page_source *s, struct curve *c, size_t bytes)
{
    struct levels l;
    size_t most = bytes > HEAD_BYTES ? (bytes - HEAD_BYTES) / BLOCK_BYTES : 0;
    int r = read_levels(s, c->index, most < FINEST ? most : FINEST, &l);
    if (r < 0)
        return r;
    c->samples = l.samples;
    write_curve(s, c->index, &l, &c->json);
    while (c->json.len > bytes && l.count > LEVELS_LEAST) {
        levels_reduce(&l, l.count / 4 * 3);
        write_curve(s, c->index, &l, &c->json);
    }
    if (c->json.len > bytes || l.samples == 0)
        buf_clear(&c->json);
    levels_release(&l);
    return 0;
}

/* ---- all of them ---- */

static bool is_charted(const struct page_draft *d, size_t index)
{
    for (size_t i = 0; i < page_view(d->source)->count; i++)
        if (d->shown[i] && d->ids[i] == index)
            return true;
    return false;
}

/* How much of the room a series deserves. */
static double weight_of(const struct page_draft *d, size_t index)
{
    const struct view *v = page_view(d->source);
    const struct recorded_series *x = recording_series(d->source->recording, index);
    if (v->answer.deciding < v->count && d->ids[v->answer.deciding] == index)
        return 64;
    if (x->info.pid == 0)
        return 8;
    return is_charted(d, index) ? 4 : x->judged ? 2 : 1;
}

static int by_weight(const void *a, const void *b)
{
    const struct curve *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_index(const void *a, const void *b)
{
    const struct curve *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void init(struct curves *c, const struct page_draft *d)
{
    *c = (struct curves){.source = d->source, .count = recording_count(d->source->recording)};
    c->list = calloc(c->count + 1, sizeof(*c->list));
    if (!c->list)
        base_out_of_memory();
    for (size_t i = 0; i < c->count; i++)
        c->list[i] = (struct curve){.index = i, .weight = weight_of(d, i)};
    qsort(c->list, c->count, sizeof(*c->list), by_weight);
    if (c->count > d->limits.curves)
        c->count = d->limits.curves;
}

static void release(struct curves *c)
{
    for (size_t i = 0; i < c->count; i++)
        buf_release(&c->list[i].json);
    free(c->list);
}

/*
 * Each gets its share of what is left, the lightest first: what a short series does not need goes
 * to the ones that matter more.
 */
static int fit(struct curves *c, size_t bytes)
{
    double weights = 0;
    int r = 0;
    for (size_t i = 0; i < c->count; i++)
        weights += c->list[i].weight;
    for (size_t i = c->count; i-- > 0 && r == 0;) {
        double share = (double) bytes * c->list[i].weight / weights;
        size_t wanted = share > LEAST_BYTES ? (size_t) share : LEAST_BYTES;
        r = fit_curve(c->source, &c->list[i], wanted < bytes ? wanted : bytes);
        weights -= c->list[i].weight;
        bytes -= c->list[i].json.len + 1 < bytes ? c->list[i].json.len + 1 : bytes;
    }
    return r;
}

int curves_json(struct buf *out, const struct page_draft *d, size_t bytes)
{
    struct curves c;
    init(&c, d);
    int r = fit(&c, bytes);
    qsort(c.list, c.count, sizeof(*c.list), by_index);
    buf_addc(out, '[');
    bool is_first = true;
    for (size_t i = 0; i < c.count; i++) {
        if (c.list[i].json.len == 0)
            continue;
        buf_adds(out, is_first ? "" : ",");
        buf_adds(out, buf_text(&c.list[i].json));
        is_first = false;
    }
    buf_addc(out, ']');
    release(&c);
    return r;
}

/* ---- a span ---- */

struct span {
    double from, to;
    struct levels levels;
};

static int add_within(void *context, double step, const struct store_sample *x)
{
    struct span *s = context;
    (void) step;
    if (x->seconds >= s->from && x->seconds <= s->to)
        levels_add(&s->levels, x->seconds, x->floor, x->max);
    return 0;
}

int page_span_json(struct buf *out, struct page_source *s, size_t series, double from, double to,
                   size_t points)
{
    struct span span = {.from = from, .to = to};
    struct json j;
    if (!(from < to))
        return -EINVAL;
    int r = page_read(s);
    if (r < 0)
        return r;
    if (series >= recording_count(s->recording))
        return -ENOENT;
    levels_init(&span.levels, points < PAGE_SPAN_MOST ? points : PAGE_SPAN_MOST);
    r = recording_each_sample(s->recording, series, add_within, &span);
    json_init(&j, out, 0);
    if (r == 0)
        levels_json_one(&j, NULL, &span.levels);
    levels_release(&span.levels);
    return r;
}

/* ---- of a log ---- */

static void log_curve_json(struct json *j, const struct report_series *s, size_t id)
{
    const struct history *h = s->history;
    bool timed = page_has_seconds(h);
    struct levels l;
    levels_init(&l, HISTORY_BLOCKS);
    for (unsigned i = 0; i < h->count; i++) {
        const struct history_block *b = &h->blocks[i];
        levels_add(&l, timed ? b->seconds : b->at, b->min, b->peak);
    }
    json_object_begin(j, NULL);
    add_head(j, s->info, id, &l);
    levels_json(j, &l);
    json_object_end(j);
    levels_release(&l);
}

void log_curves_json(struct json *j, const struct report_job *job)
{
    json_array_begin(j, "curves");
    for (size_t i = 0; i < job->count; i++)
        if (job->series[i].history->count > 0)
            log_curve_json(j, &job->series[i], i);
    json_array_end(j);
}
