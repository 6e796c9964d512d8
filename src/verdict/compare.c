/* verdict/compare.c: two runs side by side: the same pattern or not, and what differs. */
#include "verdict/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Two numbers of one sign are alike if neither is this many times the other. */
#define ALIKE 1.5

/* Warm-ups that differ by at most this many epochs end at the same share of the data. */
#define EPOCHS_APART 0.25

static bool alike(double a, double b)
{
    return a == b || (a * b > 0 && a / b < ALIKE && b / a < ALIKE);
}

__attribute__((format(printf, 2, 3))) static void differ(struct comparison *c, const char *format,
                                                         ...)
{
    if (c->difference_count == ANSWER_WHY)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(c->differences[c->difference_count++], ANSWER_WHY_LENGTH, format, args);
    va_end(args);
}

static const char *said(const struct answer *a)
{
    if (a->verdict == VERDICT_LEAK)
        return a->severity == SEVERITY_NEGLIGIBLE ? "has a negligible leak" : "leaks";
    return a->verdict == VERDICT_NO_LEAK ? "does not leak" : "is inconclusive";
}

/* The shape of a run, whatever its size: whether it settles or grows at the end. */
enum course { COURSE_SETTLES, COURSE_GROWS, COURSE_OPEN };

static enum course course_of(const struct answer *a)
{
    if (a->verdict == VERDICT_LEAK)
        return COURSE_GROWS;
    if (a->verdict == VERDICT_NO_LEAK)
        return COURSE_SETTLES;
    /* Inconclusive after a warm-up: settled, as far as the run shows. */
    return isnan(a->warm_up_end) ? COURSE_OPEN : COURSE_SETTLES;
}

static void compare_warm_up(const struct answer *a, const struct answer *b, struct comparison *c)
{
    bool warm_a = !isnan(a->warm_up_end), warm_b = !isnan(b->warm_up_end);
    if (warm_a != warm_b) {
        differ(c, "%s has a warm-up, %s does not.", warm_a ? "A" : "B", warm_a ? "B" : "A");
        return;
    }
    if (!warm_a)
        return;
    double ea = a->warm_up_epochs, eb = b->warm_up_epochs;
    c->same_warm_up_epochs = fabs(ea - eb) <= EPOCHS_APART;
    if (c->same_warm_up_epochs)
        return;
    if (!isnan(ea) && !isnan(eb))
        differ(c, "The warm-up takes %.1f epochs in A and %.1f in B.", ea, eb);
    else if (!alike(a->warm_up_end, b->warm_up_end))
        differ(c, "The warm-up ends at %.0f in A and at %.0f in B.", a->warm_up_end,
               b->warm_up_end);
}

static void compare_level(const struct answer *a, const struct answer *b, enum series_unit unit,
                          struct comparison *c)
{
    if (isnan(a->floor_last) || isnan(b->floor_last))
        return;
    c->level_ratio = a->floor_last != 0 ? b->floor_last / a->floor_last : NAN;
    if (alike(a->floor_last, b->floor_last))
        return;
    struct buf text = BUF_INIT;
    buf_adds(&text, "A ends at ");
    series_add_value(&text, a->floor_last, unit);
    buf_adds(&text, ", B at ");
    series_add_value(&text, b->floor_last, unit);
    differ(c, "%s.", buf_text(&text));
    buf_release(&text);
}

/* A rate matters if over another run of this length it would add 1 % of the level. */
static bool rate_matters(const struct answer *a)
{
    return fabs(a->rate * (a->last_at - a->first_at)) > 0.01 * fabs(a->floor_last);
}

static void compare_rate(const struct answer *a, const struct answer *b, struct comparison *c)
{
    if (isnan(a->rate) || isnan(b->rate))
        return;
    if ((!rate_matters(a) && !rate_matters(b)) || alike(a->rate, b->rate))
        return;
    const char *faster = a->rate > b->rate ? "A" : "B", *other = a->rate > b->rate ? "B" : "A";
    if (fmin(a->rate, b->rate) > 0)
        differ(c, "At the end %s grows faster.", faster);
    else if (fmax(a->rate, b->rate) > 0)
        differ(c, "At the end %s still grows, %s does not.", faster, other);
    else
        differ(c, "At the end %s falls faster.", a->rate < b->rate ? "A" : "B");
}

static void compare_spikes(const struct answer *a, const struct answer *b, struct comparison *c)
{
    if ((a->spikes.count > 0) != (b->spikes.count > 0))
        differ(c, "Only %s has spikes.", a->spikes.count > 0 ? "A" : "B");
    else if (a->spikes.count > 0 && !alike(a->spikes.height, b->spikes.height))
        differ(c, "The spikes of %s are higher.", a->spikes.height > b->spikes.height ? "A" : "B");
}

static void summarise_open(const struct answer *open, const char *name, struct comparison *c)
{
    bool grew = open->phase_count > 0 && open->phases[open->phase_count - 1].name == PHASE_GROWING;
    snprintf(c->summary, sizeof c->summary, "%s %s to say whether both behave alike.", name,
             grew ? "was cut off while it grew: too early" : "is too short");
}

static void summarise(const struct answer *a, const struct answer *b, struct comparison *c)
{
    if (course_of(a) == COURSE_OPEN)
        summarise_open(a, "A", c);
    else if (course_of(b) == COURSE_OPEN)
        summarise_open(b, "B", c);
    else if (!c->same_pattern)
        snprintf(c->summary, sizeof c->summary, "Not the same pattern.");
    else if (c->same_warm_up_epochs && course_of(a) == COURSE_SETTLES)
        snprintf(c->summary, sizeof c->summary,
                 "The same pattern: A warms up for %.1f and B for %.1f passes over the data, then "
                 "both settle.",
                 a->warm_up_epochs, b->warm_up_epochs);
    else
        snprintf(c->summary, sizeof c->summary, "The same pattern.");
}

void answers_compare(const struct answer *a, const struct answer *b, enum series_unit unit,
                     struct comparison *ret)
{
    *ret = (struct comparison){.level_ratio = NAN};
    enum course ca = course_of(a), cb = course_of(b);
    if (ca != cb)
        differ(ret, "A %s, B %s.", said(a), said(b));
    compare_warm_up(a, b, ret);
    bool both_warm = isnan(a->warm_up_end) == isnan(b->warm_up_end);
    ret->same_pattern = ca == cb && ca != COURSE_OPEN && both_warm;
    compare_level(a, b, unit, ret);
    compare_rate(a, b, ret);
    compare_spikes(a, b, ret);
    summarise(a, b, ret);
}
