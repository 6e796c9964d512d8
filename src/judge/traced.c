/* judge/traced.c: the lines of a program whose allocations stay, by the samples of the tracer. */
#include "job/job.h"
#include "judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard errors: of an interval, and of a gain that is no chance beside many that are. */
#define INTERVAL_ERRORS 2.0
#define GAIN_ERRORS 4.0

static bool is_same_frame(const struct site_frame *a, const struct site_frame *b)
{
    if (!a || !b)
        return a == b;
    return a->line == b->line && strcmp(a->function, b->function) == 0 &&
           strcmp(a->file, b->file) == 0 && strcmp(a->module, b->module) == 0 &&
           (a->function[0] || a->offset == b->offset);
}

/* A line may take host memory from several allocators. */
static bool is_same_memory(const struct site *a, const struct site *b)
{
    return (site_kind_is_anon(a->kind) && site_kind_is_anon(b->kind)) ||
           (a->kind == b->kind && strcmp(a->device, b->device) == 0);
}

bool traced_is_of_line(const struct site *s, const struct traced_line *l)
{
    return is_same_memory(s, l->site) && is_same_frame(s->own, l->site->own);
}

/* ---- lines ---- */

/* A line while its sites are added up: in the whole time, and in both halves of it. */
struct sum {
    const struct site *site; /* that gained most; its stack stands for all */
    double most;
    struct site_gain whole, first, last;
    double mapped; /* of `whole` */
};

static void add_gain(struct site_gain *to, struct site_gain g)
{
    to->bytes += isnan(g.bytes) ? 0 : g.bytes;
    to->error = hypot(to->error, isnan(g.error) ? 0 : g.error);
}

static void add_site(const struct traced *t, const struct site *s, struct sum *to)
{
    double middle = (t->from + t->to) / 2;
    struct site_gain whole = site_gain(s, t->from, t->to);
    /* What is mapped may never be touched: it stands for the line only if nothing else does. */
    double weight = s->kind == SITE_MAPPED ? fmin(whole.bytes, 0) : whole.bytes;
    if (!to->site || weight > to->most) {
        to->site = s;
        to->most = weight;
    }
    add_gain(&to->whole, whole);
    to->mapped += s->kind == SITE_MAPPED ? whole.bytes : 0;
    add_gain(&to->first, site_gain(s, t->from, middle));
    add_gain(&to->last, site_gain(s, middle, t->to));
}

static bool is_there(const struct traced *t, const struct site *s)
{
    if (!t->memory)
        return site_kind_is_anon(s->kind);
    return s->kind == t->memory->kind && strcmp(s->device, t->memory->device) == 0;
}

/* The caller frees it; *ret_count is at most the number of sites. */
static struct sum *add_up(const struct sites *all, const struct traced *t, size_t *ret_count)
{
    struct sum *sums = calloc(all->count + 1, sizeof(*sums));
    size_t count = 0;
    if (!sums)
        base_out_of_memory();
    for (size_t i = 0; i < all->count; i++) {
        size_t k = 0;
        if (!is_there(t, &all->list[i]))
            continue;
        while (k < count &&
               !traced_is_of_line(&all->list[i], &(struct traced_line){.site = sums[k].site}))
            k++;
        count += k == count;
        add_site(t, &all->list[i], &sums[k]);
    }
    *ret_count = count;
    return sums;
}

/* ---- what a line gained ---- */

/* It gained while it was traced, and surely no more in the last half of that time. */
static bool has_stopped(const struct sum *s)
{
    return s->last.bytes + INTERVAL_ERRORS * s->last.error <
           LEDGER_PART * (s->first.bytes - INTERVAL_ERRORS * s->first.error);
}

/* What all sites gained beyond the growth. Memory from before the tracer was armed is freed unseen
 * while new memory replaces it; and of what is mapped, only what is touched is memory. Of which
 * site it is, is not known. */
static double excess(const struct traced *t)
{
    return fmax(t->gain.bytes - INTERVAL_ERRORS * t->gain.error - t->grown, 0);
}

static double mapped_of(const struct sum *sums, size_t count)
{
    double mapped = 0;
    for (size_t i = 0; i < count; i++)
        mapped += fmax(sums[i].mapped, 0);
    return mapped;
}

/* At least so much of what a line gained is growth. */
static double least(const struct traced *t, const struct sum *s, double mapped)
{
    double untouched = fmin(excess(t), fmax(s->mapped, 0)), replaced = fmax(excess(t) - mapped, 0);
    return fmax(s->whole.bytes - INTERVAL_ERRORS * s->whole.error - untouched - replaced, 0);
}

static int larger_first(const void *a, const void *b)
{
    const struct traced_line *x = a, *y = b;
    return (x->gain.bytes < y->gain.bytes) - (x->gain.bytes > y->gain.bytes);
}

/* Keeps the lines that gained most; the last of a full list makes room. */
static void keep(struct traced *t, const struct traced_line *l)
{
    if (t->count == TRACED_LINES && t->lines[t->count - 1].gain.bytes >= l->gain.bytes)
        return;
    t->lines[t->count < TRACED_LINES ? t->count++ : t->count - 1] = *l;
    qsort(t->lines, t->count, sizeof(t->lines[0]), larger_first);
}

/* What it maps beside other memory has no part in it either: one mapping may outweigh all else. */
static enum site_habit habit_of(const struct sites *all, const struct traced_line *l)
{
    bool is_mapped = l->site->kind == SITE_MAPPED;
    struct site *sum = calloc(1, sizeof(*sum));
    if (!sum)
        base_out_of_memory();
    for (size_t i = 0; i < all->count; i++)
        if (traced_is_of_line(&all->list[i], l) && (all->list[i].kind == SITE_MAPPED) == is_mapped)
            site_add(sum, &all->list[i]);
    enum site_habit habit = site_habit(sum);
    free(sum);
    return habit;
}

static void find_lines(const struct sites *all, struct traced *t)
{
    size_t count;
    struct sum *sums = add_up(all, t, &count);
    double mapped = mapped_of(sums, count);
    for (size_t i = 0; i < count; i++) {
        struct site_gain g = sums[i].whole;
        if (g.bytes > GAIN_ERRORS * g.error)
            keep(t, &(struct traced_line){
                        .site = sums[i].site,
                        .gain = g,
                        .gained = {least(t, &sums[i], mapped), g.bytes + INTERVAL_ERRORS * g.error},
                        .has_stopped = has_stopped(&sums[i]),
                    });
    }
    for (unsigned i = 0; i < t->count; i++)
        t->lines[i].habit = habit_of(all, &t->lines[i]);
    t->whole = fmax(t->grown, t->gain.bytes - fmin(excess(t), mapped));
    free(sums);
}

/* So much of the time has to be measured that the rest may be taken to be like it. */
#define MEASURED_LEAST 0.25

/*
 * The allocators' bytes in use, and what was mapped beside them: at most what the process grew by
 * more than these. The time before they were first measured is left out, as most programs load
 * then what they keep.
 */
static double measure(const struct member *m, double rate_per_second, struct traced *t)
{
    double from = t->from, to = t->to;
    double use = evidence_use_growth(m->evidence, m->evidence->sites, &from, &to);
    if (isnan(use) || to - from < MEASURED_LEAST * (t->to - from))
        return rate_per_second * (t->to - t->from);
    t->from = from;
    double mapped = sites_gain_mapped(m->evidence->sites, from, to).bytes;
    double beside = rate_per_second * (to - from) - use;
    double grown = use + fmin(fmax(mapped, 0), fmax(beside, 0));
    return grown * (t->to - from) / (to - from);
}

bool traced_of(const struct member *m, double since, double rate_per_second, struct traced *ret)
{
    const struct sites *all = m->evidence ? m->evidence->sites : NULL;
    *ret = (struct traced){.from = NAN, .to = NAN};
    if (!all || !(all->seconds > fmax(all->armed, since)))
        return false;
    ret->from = fmax(all->armed, since);
    ret->to = all->seconds;
    ret->grown = measure(m, rate_per_second, ret);
    ret->gain = sites_gain(all, ret->from, ret->to);
    find_lines(all, ret);
    return true;
}

void traced_heed_growth(const struct member *m, double rate_per_second, struct traced *t)
{
    double middle = (t->from + t->to) / 2;
    struct site_gain last = sites_gain(m->evidence->sites, middle, t->to);
    if (last.bytes + INTERVAL_ERRORS * last.error >=
        LEDGER_MOST * rate_per_second * (t->to - middle))
        return;
    for (unsigned i = 0; i < t->count; i++)
        t->lines[i].has_stopped = false;
}

/* The last list of blocks was a while before the look that read it. */
bool traced_of_memory(const struct member *m, enum site_kind kind, const char *device,
                      struct traced *ret)
{
    const struct sites *all = m->evidence ? m->evidence->sites : NULL;
    *ret = (struct traced){.from = NAN, .to = NAN};
    if (!all || !(ret->memory = sites_memory(all, kind, device)))
        return false;
    ret->from = ret->memory->armed;
    ret->to = all->seconds;
    ret->grown = ret->memory->growth;
    for (size_t i = 0; i < all->count; i++)
        if (is_there(ret, &all->list[i]))
            add_gain(&ret->gain, site_gain(&all->list[i], ret->from, ret->to));
    find_lines(all, ret);
    return ret->to > ret->from;
}

struct interval traced_share(const struct traced *t, const struct traced_line *l)
{
    if (!(t->whole > 0))
        return (struct interval){0, 0};
    return (struct interval){fmin(l->gained.low / t->whole, 1), fmin(l->gained.high / t->whole, 1)};
}

/* ---- a verdict of its own ---- */

static double bytes_at(const struct sites *all, const struct traced_line *l, unsigned point)
{
    double sum = 0;
    for (size_t i = 0; i < all->count; i++)
        if (traced_is_of_line(&all->list[i], l) && point < all->list[i].point_count)
            sum += all->list[i].points[point].bytes;
    return sum;
}

/* A sample more or less is no growth. */
#define SAMPLES_OF_GROWTH 10

void traced_judge(const struct job *j, const struct member *m, const struct traced_line *l,
                  struct answer *ret)
{
    const struct sites *all = m->evidence->sites;
    bool has_steps = clock_runs(&j->clock);
    const struct engine_options options = {
        .clock = has_steps ? CLOCK_STEP : CLOCK_SECONDS,
        .unit = SERIES_BYTES,
        .horizon = j->terms.horizon,
        .epoch_length = has_steps ? j->terms.epoch : 0,
        .resolution = SAMPLES_OF_GROWTH * all->interval,
        .job_series = (unsigned) fmax(1, (double) j->terms.series),
    };
    struct engine *e;
    answer_clear(ret);
    if (engine_new(&options, &e) < 0)
        return;
    for (unsigned i = 0; i < all->point_count; i++) {
        double seconds = all->points[i].seconds;
        double step = has_steps ? evidence_step_at(j, seconds) : (double) NAN;
        (void) engine_push(e, step, seconds, bytes_at(all, l, i));
    }
    engine_answer(e, ret);
    engine_free(e);
}
