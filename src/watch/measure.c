/* watch/measure.c: what a recorded run took: floor, peak and step time. */
#include "watch/watch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP_SHARE 0.2

/* So many steps were made by that second. */
struct made {
    double seconds, steps;
};

/* The course of the steps, counted through where the program begins to count anew. */
struct course {
    struct made *made;
    size_t count, room;
    double step; /* the last, as the program numbers them */
};

static int add_mark(void *context, double seconds, double step, bool begins)
{
    struct course *c = context;
    if (begins)
        c->count = 0;
    if (!isfinite(step))
        return 0;
    double before = c->count > 0 ? c->made[c->count - 1].steps : 0;
    double made = c->count > 0 ? fmax(0, step - c->step) : 0;
    c->step = step;
    if (c->count > 0 && seconds <= c->made[c->count - 1].seconds)
        return 0;
    if (c->count == c->room) {
        size_t room = c->room > 0 ? 2 * c->room : 256;
        struct made *larger = reallocarray(c->made, room, sizeof(*larger));
        if (!larger)
            return -ENOMEM;
        c->made = larger;
        c->room = room;
    }
    c->made[c->count++] = (struct made){seconds, before + made};
    return 0;
}

/* When so many steps had been made: between two marks they are taken to be even. */
static double second_of(const struct course *c, double steps)
{
    for (size_t i = 1; i < c->count; i++) {
        const struct made *a = &c->made[i - 1], *b = &c->made[i];
        if (b->steps >= steps && b->steps > a->steps)
            return a->seconds +
                   (b->seconds - a->seconds) * (steps - a->steps) / (b->steps - a->steps);
    }
    return c->made[c->count - 1].seconds;
}

/* The part of a run in which a measure is taken, and its extremes there. */
struct window {
    double from, to;
    double low, high; /* NAN: no samples */
    double before;    /* what it was before; it is still that where it was not written anew */
};

static int look(void *context, double step, const struct store_sample *x)
{
    struct window *w = context;
    (void) step;
    if (x->seconds < w->from)
        w->before = x->value;
    if (x->seconds < w->from || x->seconds > w->to)
        return 0;
    w->low = fmin(w->low, x->floor);
    w->high = fmax(w->high, x->max);
    return 0;
}

static const struct {
    const char *kind;
    bool of_job, lowest;
} wanted[TRADEOFF_STEP_SECONDS] = {
    [TRADEOFF_FLOOR] = {"host.anon", true, true},
    [TRADEOFF_PEAK] = {"host.anon", true, false},
    [TRADEOFF_GPU_FLOOR] = {"torch.allocated", false, true},
    [TRADEOFF_GPU_PEAK] = {"torch.peak", false, false},
    [TRADEOFF_RESERVED] = {"torch.reserved", false, false},
};

static int measure_series(struct recording *r, size_t index, enum tradeoff_measure m, double from,
                          double to, double *value)
{
    struct window w = {.from = from, .to = to, .low = NAN, .high = NAN, .before = NAN};
    int e = recording_each_sample(r, index, look, &w);
    double found = wanted[m].lowest ? w.low : w.high;
    *value = fmax(*value, isnan(found) ? w.before : found);
    return e;
}

static int measure_memory(struct recording *r, const struct course *c, double from, double to,
                          struct measured_run *ret)
{
    double late = second_of(c, (from + to) / 2), end = second_of(c, to);
    int e = 0;
    for (size_t i = 0; i < recording_count(r) && e == 0; i++) {
        const struct series_info *info = &recording_series(r, i)->info;
        for (enum tradeoff_measure m = 0; m < TRADEOFF_STEP_SECONDS && e == 0; m++)
            if (strcmp(info->kind, wanted[m].kind) == 0 && (info->pid == 0) == wanted[m].of_job)
                e = measure_series(r, i, m, wanted[m].lowest ? late : 0, end, &ret->values[m]);
    }
    return e;
}

int recording_measure(struct recording *r, double most_steps, struct measured_run *ret)
{
    struct course c = {0};
    struct measured_run run = {0};
    for (enum tradeoff_measure m = 0; m < TRADEOFF_MEASURES; m++)
        run.values[m] = NAN;
    int e = recording_each_mark(r, add_mark, &c);
    /* The first mark stands behind a step. */
    run.steps_made = c.count > 0 ? c.made[c.count - 1].steps + 1 : 0;
    if (e == 0 && run.steps_made >= MEASURE_LEAST_STEPS) {
        double to = run.steps_made - 1;
        if (most_steps > 0)
            to = fmin(to, most_steps - 1);
        double from = floor(WARM_UP_SHARE * to);
        run.steps = to - from;
        run.values[TRADEOFF_STEP_SECONDS] = (second_of(&c, to) - second_of(&c, from)) / run.steps;
        e = measure_memory(r, &c, from, to, &run);
    }
    free(c.made);
    if (e == 0)
        *ret = run;
    return e;
}
