/* replay/measure.c: what a recorded run took: floor, peak and step time. */
#include "replay/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP_SHARE 0.2

/* Steps made by that second. */
struct made {
    double seconds, steps;
};

/* The course of the steps, counted on when the program restarts its count. */
struct course {
    struct made *made;
    size_t count, room;
    double step; /* last step, by the program's numbering */
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

/* The second by which that many steps were made; steps between two marks are taken as even. */
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

/* The part of a run that is measured, and its extremes. */
struct window {
    double from, to;
    double low, high; /* NAN: no samples */
    double before;    /* last value before; it still holds if none was written since */
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
    bool host, lowest;
} wanted[TRADEOFF_STEP_SECONDS] = {
    [TRADEOFF_FLOOR] = {"host.anon", true, true},
    [TRADEOFF_PEAK] = {"host.anon", true, false},
    [TRADEOFF_GPU_FLOOR] = {"torch.allocated", false, true},
    [TRADEOFF_GPU_PEAK] = {"torch.peak", false, false},
    [TRADEOFF_RESERVED] = {"torch.reserved", false, false},
};

static bool has_one_process(const struct recording *r)
{
    unsigned processes = 0;
    for (size_t i = 0; i < recording_count(r); i++) {
        const struct series_info *info = &recording_series(r, i)->info;
        processes += strcmp(info->kind, "host.anon") == 0 && info->pid != 0;
    }
    return processes == 1;
}

/* The job's sum is sampled by the clock; a process that reports its memory is sampled at its
 * steps too. No process has more than the job; a single one has as much. */
static bool counts(const struct recording *r, size_t index, enum tradeoff_measure m)
{
    const struct series_info *info = &recording_series(r, index)->info;
    if (strcmp(info->kind, wanted[m].kind) != 0)
        return false;
    if (!wanted[m].host)
        return true;
    return info->pid == 0 || m == TRADEOFF_PEAK || has_one_process(r);
}

static double found_in(const struct window *w, enum tradeoff_measure m)
{
    double found = wanted[m].lowest ? w->low : w->high;
    return isnan(found) ? w->before : found;
}

/* Host memory is one quantity, however many series report it; each of torch's counters is its
 * own. */
static int measure_one(struct recording *r, enum tradeoff_measure m, double from, double to,
                       double *ret)
{
    const struct window fresh = {.from = from, .to = to, .low = NAN, .high = NAN, .before = NAN};
    struct window w = fresh;
    double value = NAN;
    for (size_t i = 0; i < recording_count(r); i++) {
        if (!counts(r, i, m))
            continue;
        w = wanted[m].host ? w : fresh;
        int e = recording_each_sample(r, i, look, &w);
        if (e < 0)
            return e;
        value = fmax(value, found_in(&w, m));
    }
    *ret = wanted[m].host ? found_in(&w, m) : value;
    return 0;
}

static int measure_memory(struct recording *r, const struct course *c, double from, double to,
                          struct measured_run *ret)
{
    double late = second_of(c, (from + to) / 2), end = second_of(c, to);
    int e = 0;
    for (enum tradeoff_measure m = 0; m < TRADEOFF_STEP_SECONDS && e == 0; m++)
        e = measure_one(r, m, wanted[m].lowest ? late : 0, end, &ret->values[m]);
    return e;
}

/* ---- what cleanup took ---- */

struct last_sample {
    double seconds, value;
};

static int keep_last(void *context, double step, const struct store_sample *x)
{
    (void) step;
    *(struct last_sample *) context = (struct last_sample){x->seconds, x->value};
    return 0;
}

/* "cleanup.gc.seconds": the time that an action took so far. */
static bool is_cleanup_time(const struct series_info *info)
{
    const char *ending = strrchr(info->kind, '.');
    return strncmp(info->kind, "cleanup.", 8) == 0 && strcmp(ending, ".seconds") == 0;
}

/* All actions of the process that spends most on them, relative to the rest of its time since
 * `began`. NAN: none is reported. */
static int measure_cleanup(struct recording *r, double began, double *ret)
{
    double most = NAN;
    for (size_t i = 0; i < recording_count(r); i++) {
        double share = NAN;
        for (size_t k = 0; k < recording_count(r); k++) {
            const struct series_info *info = &recording_series(r, k)->info;
            struct last_sample last = {NAN, NAN};
            if (!is_cleanup_time(info) || info->pid != recording_series(r, i)->info.pid)
                continue;
            int e = recording_each_sample(r, k, keep_last, &last);
            if (e < 0)
                return e;
            if (last.seconds > began)
                share = (isnan(share) ? 0 : share) + last.value / (last.seconds - began);
        }
        most = fmax(most, share < 1 ? share / (1 - share) : NAN);
    }
    *ret = most;
    return 0;
}

int recording_measure(struct recording *r, double most_steps, struct measured_run *ret)
{
    struct course c = {0};
    struct measured_run run = {0};
    for (enum tradeoff_measure m = 0; m < TRADEOFF_MEASURES; m++)
        run.values[m] = NAN;
    int e = recording_each_mark(r, add_mark, &c);
    /* The first mark comes after a step. */
    run.steps_reported = c.count > 0 ? c.made[c.count - 1].steps + 1 : 0;
    if (e == 0 && run.steps_reported >= MEASURE_LEAST_STEPS) {
        double to = run.steps_reported - 1;
        if (most_steps > 0)
            to = fmin(to, most_steps - 1);
        double from = floor(WARM_UP_SHARE * to);
        run.steps = to - from;
        run.values[TRADEOFF_STEP_SECONDS] = (second_of(&c, to) - second_of(&c, from)) / run.steps;
        e = measure_memory(r, &c, from, to, &run);
        if (e == 0)
            e = measure_cleanup(r, c.made[0].seconds, &run.values[TRADEOFF_CLEANUP_SHARE]);
    }
    free(c.made);
    if (e == 0)
        *ret = run;
    return e;
}
