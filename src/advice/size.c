/* advice/size.c: how much memory a job takes, with the reasons. No sentences: words/size.c. */
#include "advice/advice.h"

#include <math.h>

#define MB (1024.0 * 1024)
#define GB (1024 * MB)

/* Smaller amounts are not reported as a reason. */
#define LEAST_BYTES MB

/* Single samples hardly ever exceed this multiple of the noise. */
#define NOISE_TIMES 3.0

static double present(double value)
{
    return isfinite(value) && value > 0 ? value : 0;
}

/* Expected growth of the floor from now to the end of the plan. */
static double growth_to_plan(const struct answer *a)
{
    return present(a->forecast.plan_value - a->floor_last);
}

/* What a negligible leak adds in SEVERITY_FUTURE runs where no plan is given; 0: no such leak. */
static double growth_without_plan(const struct answer *a)
{
    bool is_negligible = a->verdict == VERDICT_LEAK && a->severity == SEVERITY_NEGLIGIBLE;
    if (!is_negligible || isfinite(a->forecast.plan_value))
        return 0;
    return present(SEVERITY_FUTURE * a->rate * (a->last_at - a->first_at));
}

static void add_reason(struct size_reasons *r, enum size_reason_kind kind, double amount)
{
    if (r->count < SIZE_REASONS)
        r->list[r->count++] = (struct size_reason){kind, amount};
}

/* ---- the minimum ---- */

static void explain_peak(const struct size_facts *f, struct size *s)
{
    static const enum size_reason_kind kinds[] = {SIZE_COPIED, SIZE_SHARED, SIZE_UNSEEN};
    const double amounts[] = {f->copied, f->shared, f->unseen};
    if (isfinite(f->needed)) {
        add_reason(&s->minimum_why, SIZE_NEEDED, f->needed);
        return;
    }
    add_reason(&s->minimum_why, SIZE_PEAK, f->peak);
    for (unsigned i = 0; i < 3; i++)
        if (present(amounts[i]) >= LEAST_BYTES)
            add_reason(&s->minimum_why, kinds[i], amounts[i]);
}

static void add_plan(const struct size_facts *f, struct size *s)
{
    double growth = growth_to_plan(f->answer);
    if (growth < LEAST_BYTES)
        return;
    s->minimum += growth;
    add_reason(&s->minimum_why, SIZE_PLAN, growth);
}

/* No size is enough for a leak, but each lasts for a while. */
static void explain_leak(const struct size_facts *f, struct size *s)
{
    const struct answer *a = f->answer;
    s->minimum = s->recommended = NAN;
    add_reason(&s->minimum_why, SIZE_ENDLESS, NAN);
    if (isfinite(a->forecast.limit_at)) {
        s->grows_until = a->forecast.limit_at;
        add_reason(&s->minimum_why, SIZE_LASTS, s->grows_until);
    }
    if (present(a->rate) > 0)
        add_reason(&s->minimum_why, SIZE_EACH_GB, GB / a->rate);
    if (growth_to_plan(a) < LEAST_BYTES)
        return;
    s->for_plan = f->peak + growth_to_plan(a);
    add_reason(&s->minimum_why, SIZE_FOR_PLAN, s->for_plan);
}

/* The run supports no size. */
static void explain_nothing(struct size *s, enum size_reason_kind why)
{
    s->minimum = s->recommended = NAN;
    add_reason(&s->minimum_why, why, NAN);
}

/* ---- the margin ---- */

static void add_margin(struct size *s, enum size_reason_kind kind, double bytes)
{
    if (!(present(bytes) >= LEAST_BYTES))
        return;
    s->recommended += bytes;
    add_reason(&s->recommended_why, kind, bytes);
}

/* The highest spike exceeded the usual ones by this; the next may do so again. */
static double spike_margin(const struct size_facts *f)
{
    const struct answer *a = f->answer;
    if (a->spikes.count < 2)
        return 0;
    return present(a->max - a->floor_last - a->spikes.height);
}

static void add_margins(const struct size_facts *f, struct size *s)
{
    const struct answer *a = f->answer;
    double spikes = spike_margin(f), noise = NOISE_TIMES * present(a->noise);
    bool grows_to_plan = growth_to_plan(a) >= LEAST_BYTES;
    add_margin(s, spikes >= noise ? SIZE_SPIKE : SIZE_NOISE, fmax(spikes, noise));
    add_margin(s, grows_to_plan ? SIZE_PLAN_UNCERTAIN : SIZE_PLAN_UNNOTICED,
               a->forecast.plan_high - a->forecast.plan_value);
    add_margin(s, SIZE_NEGLIGIBLE, growth_without_plan(a));
    add_margin(s, SIZE_COPIES_TO_COME, f->copies_to_come);
    add_margin(s, SIZE_FILES, f->files);
    if (isfinite(f->needed))
        add_margin(s, SIZE_RETAINED, f->peak - f->needed);
}

/* The minimum, and the margin beyond it. */
static void size_it(const struct size_facts *f, struct size *s)
{
    add_plan(f, s);
    s->recommended = s->minimum;
    add_margins(f, s);
    if (f->capacity > 0 && s->minimum > f->capacity)
        add_reason(&s->minimum_why, SIZE_EXCEEDS, s->minimum - f->capacity);
    if (s->recommended_why.count == 0)
        add_reason(&s->recommended_why, SIZE_NO_MARGIN, NAN);
}

void size_judge(const struct size_facts *f, struct size *ret)
{
    const struct answer *a = f->answer;
    *ret = (struct size){.verdict = a->verdict, .grows_until = NAN, .for_plan = NAN};
    ret->leaks = a->verdict == VERDICT_LEAK && a->severity != SEVERITY_NEGLIGIBLE;
    ret->settled = a->verdict == VERDICT_NO_LEAK && growth_to_plan(a) < LEAST_BYTES &&
                   present(f->copies_to_come) < LEAST_BYTES;
    ret->minimum = isfinite(f->needed) ? f->needed : f->peak;
    if (isnan(f->needed) && present(f->unseen) >= LEAST_BYTES)
        ret->minimum += f->unseen;
    explain_peak(f, ret);
    if (ret->leaks)
        explain_leak(f, ret);
    else if (f->failed)
        explain_nothing(ret, SIZE_FAILED);
    else if (a->verdict == VERDICT_INCONCLUSIVE)
        explain_nothing(ret, SIZE_SHORT);
    else
        size_it(f, ret);
}
