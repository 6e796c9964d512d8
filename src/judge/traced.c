/* judge/traced.c: the lines of a program whose allocations stay, by the samples of the tracer. */
#include "job/job.h"
#include "judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Standard errors: of an interval, and of a gain that is no chance beside many that are. */
#define INTERVAL_ERRORS 2.0
#define GAIN_ERRORS 4.0

static const struct site_frame *own_frame(const struct site *s)
{
    int at = site_own_frame(s);
    return at < 0 ? NULL : &s->frames[at];
}

static bool is_same_frame(const struct site_frame *a, const struct site_frame *b)
{
    if (!a || !b)
        return a == b;
    bool is_known = a->function[0] || b->function[0];
    return strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0 &&
           a->line == b->line && strcmp(a->module, b->module) == 0 &&
           (is_known || a->offset == b->offset);
}

bool traced_is_of_line(const struct site *s, const struct traced_line *l)
{
    return s->kind == l->site->kind && is_same_frame(own_frame(s), own_frame(l->site));
}

/* ---- gains ---- */

static void add_gain(struct site_gain *to, struct site_gain g)
{
    to->bytes += isnan(g.bytes) ? 0 : g.bytes;
    to->error = hypot(to->error, isnan(g.error) ? 0 : g.error);
}

static struct site_gain gain_of(const struct sites *all, const struct traced_line *l, double from,
                                double to)
{
    struct site_gain sum = {0, 0};
    for (size_t i = 0; i < all->count; i++)
        if (traced_is_of_line(&all->list[i], l))
            add_gain(&sum, site_gain(&all->list[i], from, to));
    return sum;
}

/* It gained while it was traced, and surely no more in the last half of that time. */
static bool has_stopped(const struct sites *all, const struct traced *t,
                        const struct traced_line *l)
{
    double middle = (t->from + t->to) / 2;
    struct site_gain first = gain_of(all, l, t->from, middle),
                     last = gain_of(all, l, middle, t->to);
    return last.bytes + INTERVAL_ERRORS * last.error <
           LEDGER_PART * (first.bytes - INTERVAL_ERRORS * first.error);
}

/* Memory from before the tracer was armed is freed unseen while new memory replaces it. So much of
 * what all sites gained is no growth; of which site is not known. */
static double replaced(const struct traced *t)
{
    double excess = t->gain.bytes - INTERVAL_ERRORS * t->gain.error - t->grown;
    return excess > 0 ? excess : 0;
}

static void measure(const struct sites *all, const struct traced *t, struct traced_line *l)
{
    struct site_gain g = gain_of(all, l, t->from, t->to);
    double width = INTERVAL_ERRORS * g.error;
    l->gain = g;
    l->gained = (struct interval){fmax(g.bytes - width - replaced(t), 0), g.bytes + width};
    l->has_stopped = has_stopped(all, t, l);
}

/* ---- lines ---- */

static bool is_listed(const struct traced *t, const struct site *s)
{
    for (unsigned i = 0; i < t->count; i++)
        if (traced_is_of_line(s, &t->lines[i]))
            return true;
    return false;
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

/* The site of the line that gained most: its stack stands for all. */
static const struct site *largest_of(const struct sites *all, const struct traced *t,
                                     const struct traced_line *l)
{
    const struct site *best = l->site;
    double most = -INFINITY;
    for (size_t i = 0; i < all->count; i++) {
        double bytes = site_gain(&all->list[i], t->from, t->to).bytes;
        if (traced_is_of_line(&all->list[i], l) && bytes > most) {
            best = &all->list[i];
            most = bytes;
        }
    }
    return best;
}

static void find_lines(const struct sites *all, struct traced *t)
{
    for (size_t i = 0; i < all->count; i++) {
        struct traced_line line = {.site = &all->list[i]};
        if (is_listed(t, line.site))
            continue;
        measure(all, t, &line);
        if (line.gain.bytes > GAIN_ERRORS * line.gain.error)
            keep(t, &line);
    }
    for (unsigned i = 0; i < t->count; i++)
        t->lines[i].site = largest_of(all, t, &t->lines[i]);
}

bool traced_of(const struct member *m, double rate_per_second, struct traced *ret)
{
    const struct sites *all = m->evidence ? m->evidence->sites : NULL;
    *ret = (struct traced){.from = NAN, .to = NAN};
    if (!all || !(all->seconds > all->armed))
        return false;
    ret->from = all->armed;
    ret->to = all->seconds;
    ret->gain = sites_gain(all, ret->from, ret->to);
    ret->grown = evidence_use_growth(m->evidence, ret->from, ret->to);
    if (isnan(ret->grown))
        ret->grown = rate_per_second * (ret->to - ret->from);
    find_lines(all, ret);
    return true;
}

struct interval traced_share(const struct traced *t, const struct traced_line *l)
{
    double whole = fmax(t->grown, t->gain.bytes);
    if (!(whole > 0))
        return (struct interval){0, 0};
    return (struct interval){fmin(l->gained.low / whole, 1), fmin(l->gained.high / whole, 1)};
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
        double step = has_steps ? clock_step_at(&j->clock, seconds) : (double) NAN;
        (void) engine_push(e, step, seconds, bytes_at(all, l, i));
    }
    engine_answer(e, ret);
    engine_free(e);
}
