/* verdict/explain.c: which reasons an answer has. words/reasons.c writes their sentences. */
#include "verdict/conclude.h"

#include <math.h>

static void add(struct answer *a, enum reason_kind kind)
{
    answer_add_reason(a, (struct reason){.kind = kind});
}

static const struct phase *last_phase(const struct answer *a)
{
    return &a->phases[a->phase_count - 1];
}

/* ---- leak ---- */

static bool add_stairs(const struct engine *e, struct answer *a)
{
    struct stairs all, s;
    if (!engine_stairs(e, &all) || !stairs_since(&all, a->onset_at, &s))
        return false;
    answer_add_reason(a, (struct reason){.kind = REASON_ROSE_OFTEN,
                                         .count = (unsigned) s.count,
                                         .value = s.usual_height,
                                         .length = s.usual_interval,
                                         .at = s.at[s.count]});
    return true;
}

static void explain_leak(const struct engine *e, struct answer *a)
{
    double age = a->last_at - a->onset_at;
    const struct phase *last = last_phase(a);
    answer_add_reason(a, (struct reason){.kind = REASON_GREW,
                                         .value = last->level_to - last->level_from,
                                         .length = age});
    answer_add_reason(
        a, (struct reason){.kind = e->epoch_known ? REASON_EPOCHS : REASON_HORIZONS,
                           .times = age / (e->epoch_known ? e->epoch_length : e->horizon)});
    if (!(e->alarm.by_stairs && add_stairs(e, a)))
        answer_add_reason(
            a, (struct reason){.kind = REASON_LINE_FITS, .times = fmin(9999, e->alarm.growth.z)});
    if (a->pattern == PATTERN_ACCELERATING)
        add(a, REASON_ACCELERATES);
    if (a->pattern == PATTERN_STAIRCASE)
        add(a, REASON_JUMPS);
    if (a->severity == SEVERITY_NEGLIGIBLE)
        add(a, REASON_NEGLIGIBLE);
}

static void explain_previous(const struct engine *e, struct answer *a)
{
    double length = e->samples ? a->last_at - a->first_at : 0;
    answer_add_reason(a, (struct reason){.kind = REASON_LEAKED_BEFORE, .length = length});
}

/* ---- no leak ---- */

static void explain_no_rise(const struct engine *e, struct answer *a)
{
    const struct phase *last = last_phase(a);
    double length = fmax(a->last_at - last->from, e->horizon);
    if (!isnan(a->warm_up_end))
        add(a, REASON_WARMED_UP);
    answer_add_reason(a, (struct reason){.kind = REASON_FLAT, .length = length});
    if (last->name == PHASE_SHRINKING)
        add(a, REASON_FALLS);
    else
        add(a, a->rate_upper > 0 ? REASON_GROWTH_BOUND : REASON_NO_GROWTH);
}

static void explain_plan_covered(struct answer *a)
{
    add(a, REASON_PLAN_FITS);
    if (a->rate > 0)
        add(a, REASON_PLAN_ONLY);
}

/* ---- inconclusive: the first reason says what is missing ---- */

static struct reason too_short(const struct engine *e, const struct answer *a)
{
    if (e->samples < 2)
        return (struct reason){.kind = e->samples ? REASON_ONE_SAMPLE : REASON_NO_SAMPLE};
    double seen = a->last_at - a->first_at;
    const struct phase *last = last_phase(a);
    if (a->needs.at_least > 1.01 * e->horizon - seen && last->name != PHASE_GROWING)
        return (struct reason){.kind = REASON_FEW_SAMPLES, .count = (unsigned) e->samples};
    if (last->name == PHASE_GROWING)
        return (struct reason){.kind = REASON_STILL_GROWS, .length = a->last_at - last->from};
    return (struct reason){.kind = REASON_SHORT, .length = seen};
}

static struct reason rose_lately(const struct answer *a)
{
    const struct phase *last = last_phase(a);
    if (last->name == PHASE_GROWING)
        return (struct reason){.kind = REASON_MAY_FILL, .at = last->from};
    return (struct reason){.kind = REASON_FLOOR_ROSE};
}

static struct reason weak_growth(const struct engine *e, const struct growth *weak)
{
    double required = engine_threshold(e);
    return (struct reason){.kind = weak->z < required ? REASON_WEAK : REASON_UNSTEADY,
                           .rate = weak->slope,
                           .times = weak->z,
                           .bound = required};
}

static struct reason resting_stairs(const struct stairs *s)
{
    return (struct reason){.kind = REASON_STAIRS_REST,
                           .count = (unsigned) s->count,
                           .value = s->usual_height,
                           .at = s->at[s->count]};
}

static struct reason what_is_missing(const struct engine *e, const struct conclusion *c,
                                     const struct answer *a)
{
    switch (c->basis) {
    case BASIS_TOO_SHORT:
        return too_short(e, a);
    case BASIS_ROUNDED:
        return (struct reason){
            .kind = REASON_ROUNDED, .value = e->max - e->min, .bound = e->quantum};
    case BASIS_ROSE_LATELY:
        return rose_lately(a);
    case BASIS_JUST_STOPPED:
        return (struct reason){.kind = REASON_STOPPED, .at = c->stopped_at};
    case BASIS_NEW_MAXIMUM:
        return (struct reason){.kind = REASON_NEW_MAXIMUM};
    case BASIS_WEAK_GROWTH:
        return weak_growth(e, &c->weak);
    case BASIS_STAIRS:
        return resting_stairs(&c->stairs);
    default:
        return (struct reason){.kind = a->last >= a->limit ? REASON_LIMIT_PASSED
                                                           : REASON_PLAN_TOO_LONG};
    }
}

/* Where the answer is open, spikes are worth a sentence only if the program named what it did. */
static bool has_spikes_to_name(const struct answer *a)
{
    bool is_open = a->verdict == VERDICT_INCONCLUSIVE;
    return a->spikes.count > 0 && (!is_open || a->spikes.during_count > 0);
}

void explain(const struct engine *e, const struct conclusion *c, struct answer *a)
{
    if (c->basis == BASIS_GROWS)
        explain_leak(e, a);
    else if (c->basis == BASIS_PREVIOUS_RUN)
        explain_previous(e, a);
    else if (c->basis == BASIS_NO_RISE)
        explain_no_rise(e, a);
    else if (c->basis == BASIS_PLAN_COVERED)
        explain_plan_covered(a);
    else {
        answer_add_reason(a, what_is_missing(e, c, a));
        a->needs.is_first_reason = true;
    }
    if (has_spikes_to_name(a))
        add(a, REASON_SPIKES);
    if (a->restarts > 0 && c->basis != BASIS_PREVIOUS_RUN)
        add(a, REASON_RESTARTS);
}
