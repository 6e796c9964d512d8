/* verdict/explain.c: the evidence as a few plain sentences. */
#include "verdict/conclude.h"

#include <math.h>
#include <stdio.h>

/* A short text by value, so that several can stand in one sentence. */
struct words {
    char text[64];
};

static struct words words_of(struct buf *b)
{
    struct words w;
    snprintf(w.text, sizeof w.text, "%s", buf_text(b));
    buf_release(b);
    return w;
}

static struct words value(const struct engine *e, double v)
{
    struct buf b = BUF_INIT;
    series_add_value(&b, v, e->options.unit);
    return words_of(&b);
}

static struct words rate(const struct engine *e, double v)
{
    struct buf b = BUF_INIT;
    series_add_rate(&b, v, e->options.unit, e->options.clock);
    return words_of(&b);
}

static struct words length(const struct engine *e, double v)
{
    struct buf b = BUF_INIT;
    series_add_length(&b, v, false, e->options.clock);
    return words_of(&b);
}

static struct words about(const struct engine *e, double v)
{
    struct buf b = BUF_INIT;
    series_add_length(&b, v, true, e->options.clock);
    return words_of(&b);
}

static struct words position(const struct engine *e, double at)
{
    struct buf b = BUF_INIT;
    series_add_position(&b, at, e->first_at, e->options.clock);
    return words_of(&b);
}

__attribute__((format(printf, 2, 3))) static void say(struct answer *a, const char *format, ...)
{
    if (a->why_count == ANSWER_WHY)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(a->why[a->why_count++], ANSWER_WHY_LENGTH, format, args);
    va_end(args);
}

/* ---- leak ---- */

static bool explain_stairs_taken(const struct engine *e, struct answer *a)
{
    struct stairs all, s;
    if (!engine_stairs(e, &all) || !stairs_since(&all, a->onset_at, &s))
        return false;
    say(a,
        "It rose %zu times by about %s, about every %s, the last time at %s, and never fell back.",
        s.count, value(e, s.usual_height).text, length(e, s.usual_interval).text,
        position(e, s.at[s.count]).text);
    return true;
}

/* Why nobody is alarmed. */
static void explain_negligible(const struct engine *e, struct answer *a)
{
    struct outlook o = outlook_of(a);
    bool is_known = !isnan(a->limit);
    say(a, "It is negligible: it adds %s %s%s, %.2g %% of %s%s%s.", value(e, o.added).text,
        o.by_plan ? "by the plan's end at " : "in a run 10 times as long",
        o.by_plan ? position(e, a->plan).text : "", 100 * o.added / o.headroom,
        is_known ? "the " : "", value(e, o.headroom).text,
        is_known ? " that are free" : " (no limit is known)");
}

static void explain_leak(const struct engine *e, struct answer *a)
{
    double age = a->last_at - a->onset_at;
    const struct phase *last = &a->phases[a->phase_count - 1];
    double mean = answer_mean_rate(a);
    if (isnan(mean))
        say(a, "The floor has grown by %s since %s: %s over %s.", rate(e, a->rate).text,
            position(e, a->onset_at).text, value(e, last->level_to - last->level_from).text,
            length(e, age).text);
    else
        say(a, "The floor has grown by %s over %s since %s: %s on average, and %s at the end.",
            value(e, last->level_to - last->level_from).text, length(e, age).text,
            position(e, a->onset_at).text, rate(e, mean).text, rate(e, a->rate).text);
    if (e->epoch_known)
        say(a, "That is %.1f epochs; a cache is full after one pass over the data.",
            age / e->epoch_length);
    else
        say(a, "That is %.1f times the longest harmless ramp (%s).", age / e->horizon,
            length(e, e->horizon).text);
    if (!(e->alarm.by_stairs && explain_stairs_taken(e, a)))
        say(a,
            "The slope is %.0f standard errors from zero; a line fits better than steps or a "
            "fading curve.",
            fmin(9999, e->alarm.growth.z));
    if (a->pattern == PATTERN_ACCELERATING)
        say(a, "The growth is getting faster; the rate is the one it has now.");
    if (a->pattern == PATTERN_STAIRCASE)
        say(a, "It climbs in steps: something is kept now and then, not at every step.");
    if (a->severity == SEVERITY_NEGLIGIBLE)
        explain_negligible(e, a);
}

static void explain_previous(const struct engine *e, struct answer *a)
{
    say(a, "The run before the restart leaked %s; this one has lasted %s and cannot clear it yet.",
        rate(e, a->rate).text, length(e, e->samples ? a->last_at - a->first_at : 0).text);
}

/* ---- no leak ---- */

static void explain_bound(const struct engine *e, struct answer *a)
{
    if (!(a->rate_upper > 0)) {
        say(a, "Nothing grows at all, to the last unit of the counter.");
        return;
    }
    double gigabyte = e->options.unit == SERIES_BYTES ? 1073741824.0 : 1e6;
    say(a, "It grows by at most %s: %s would take %s.", rate(e, a->rate_upper).text,
        e->options.unit == SERIES_BYTES ? "1 GB" : "a million",
        about(e, gigabyte / a->rate_upper).text);
}

static void explain_fall(const struct engine *e, struct answer *a)
{
    say(a, "It falls by %s.", rate(e, -a->rate).text);
}

static void explain_no_rise(const struct engine *e, struct answer *a)
{
    const struct phase *last = &a->phases[a->phase_count - 1];
    if (!isnan(a->warm_up_end))
        say(a, "The warm-up ended at %s%s.", position(e, a->warm_up_end).text,
            fabs(a->warm_up_epochs - 1) <= 0.25
                ? ", about one pass over the data: a cache was filling"
                : "");
    say(a, "For the last %s the floor has not risen by more than it wanders by itself.",
        length(e, fmax(a->last_at - last->from, e->horizon)).text);
    if (last->name == PHASE_SHRINKING)
        explain_fall(e, a);
    else
        explain_bound(e, a);
}

static void explain_covered(const struct engine *e, struct answer *a)
{
    double left = fmax(0, a->plan - a->last_at);
    say(a, "Until the plan's end at %s at most %s can be added, of %s that are free.",
        position(e, a->plan).text, value(e, fmax(0, a->rate_upper * left)).text,
        value(e, a->limit - a->last).text);
    if (a->rate > 0)
        say(a, "This holds for that plan; the growth of the last phase (%s) is not proven to stop.",
            rate(e, a->rate).text);
}

/* ---- inconclusive ---- */

__attribute__((format(printf, 2, 3))) static void miss(struct answer *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(a->needs.why, sizeof a->needs.why, format, args);
    va_end(args);
    say(a, "%s", a->needs.why);
}

static void explain_too_short(const struct engine *e, struct answer *a)
{
    if (e->samples < 2) {
        miss(a, "There %s.", e->samples ? "is only one sample" : "is no sample yet");
        return;
    }
    double seen = a->last_at - a->first_at;
    const struct phase *last = &a->phases[a->phase_count - 1];
    if (a->needs.at_least > 1.01 * e->horizon - seen && last->name != PHASE_GROWING)
        miss(a, "%.0f samples are too few to tell growth from chance.", (double) e->samples);
    else if (last->name == PHASE_GROWING)
        miss(a, "It grew by %s for %s and was still growing; a cache may fill for %s.",
             rate(e, a->rate).text, length(e, a->last_at - last->from).text,
             length(e, e->horizon).text);
    else
        miss(a, "It was seen for %s; it takes %s to tell a leak from a warm-up.",
             length(e, seen).text, length(e, e->horizon).text);
}

static void explain_rose(const struct engine *e, struct answer *a)
{
    const struct phase *last = &a->phases[a->phase_count - 1];
    if (last->name == PHASE_GROWING)
        miss(a, "It has grown by %s since %s; that may yet be a cache filling.",
             rate(e, a->rate).text, position(e, last->from).text);
    else
        miss(a, "The floor rose within the last %s; whether it stays there is not known yet.",
             length(e, e->horizon).text);
}

static void explain_weak(const struct engine *e, const struct conclusion *c, struct answer *a)
{
    double asked = engine_threshold(e);
    if (c->weak.z < asked)
        miss(a, "It seems to grow by %s, but that is %.1f standard errors where %.1f are asked.",
             rate(e, c->weak.slope).text, c->weak.z, asked);
    else
        miss(a, "It seems to grow by %s, but not steadily enough to be called a leak.",
             rate(e, c->weak.slope).text);
}

static void explain_stairs(const struct engine *e, const struct stairs *s, struct answer *a)
{
    miss(a,
         "It rose %zu times, usually by %s, the last time at %s, and stayed there; whether it goes "
         "on would not show yet at that pace.",
         s->count, value(e, s->usual_height).text, position(e, s->at[s->count]).text);
}

static void explain_plan(const struct engine *e, struct answer *a)
{
    if (a->last >= a->limit)
        miss(a, "It is at %s already, and the limit is %s.", value(e, a->last).text,
             value(e, a->limit).text);
    else
        miss(a, "Up to %s cannot be excluded; until %s that could add %s.",
             rate(e, a->rate_high).text, position(e, a->plan).text,
             value(e, a->rate_high * (a->plan - a->last_at)).text);
}

static void explain_missing(const struct engine *e, const struct conclusion *c, struct answer *a)
{
    switch (c->reason) {
    case REASON_TOO_SHORT:
        explain_too_short(e, a);
        break;
    case REASON_ROUNDED:
        miss(a, "It rose by %s, and the values are rounded to %s: finer values would tell.",
             value(e, e->max - e->min).text, value(e, e->quantum).text);
        break;
    case REASON_ROSE_LATELY:
        explain_rose(e, a);
        break;
    case REASON_JUST_STOPPED:
        miss(a,
             "It grew as a leak does, and stopped at about %s; whether for good is not known yet.",
             position(e, c->stopped_at).text);
        break;
    case REASON_NEW_MAXIMUM:
        miss(a, "The last samples are the highest of all: a step, or a spike that will pass.");
        break;
    case REASON_WEAK_GROWTH:
        explain_weak(e, c, a);
        break;
    case REASON_STAIRS:
        explain_stairs(e, &c->stairs, a);
        break;
    default:
        explain_plan(e, a);
        break;
    }
}

/* ": 10 of 12 during evaluate, 2 during save"; of more than two activities the first two. */
static void add_activities(struct buf *out, const struct answer *a)
{
    for (unsigned i = 0; i < a->spikes.during_count && i < 2; i++) {
        buf_addf(out, i == 0 ? ": %u" : ", %u", a->spikes.during[i].count);
        if (i == 0)
            buf_addf(out, " of %u", a->spikes.count);
        buf_addf(out, " during %s", a->spikes.during[i].name);
    }
}

/* That there are some is no reason for an open question; what the program did meanwhile is news. */
static void explain_spikes(const struct engine *e, struct answer *a)
{
    struct buf during = BUF_INIT;
    bool is_open = a->verdict == VERDICT_INCONCLUSIVE;
    if (a->spikes.count == 0 || (is_open && a->spikes.during_count == 0))
        return;
    add_activities(&during, a);
    say(a, "Above the floor there are spikes of about %s%s%s.", value(e, a->spikes.height).text,
        a->spikes.recovered ? ", all given back" : "", buf_text(&during));
    buf_release(&during);
}

void explain(const struct engine *e, const struct conclusion *c, struct answer *a)
{
    if (c->reason == REASON_GROWS)
        explain_leak(e, a);
    else if (c->reason == REASON_PREVIOUS_RUN)
        explain_previous(e, a);
    else if (c->reason == REASON_NO_RISE)
        explain_no_rise(e, a);
    else if (c->reason == REASON_PLAN_COVERED)
        explain_covered(e, a);
    else
        explain_missing(e, c, a);
    explain_spikes(e, a);
    if (c->reason == REASON_PREVIOUS_RUN)
        return;
    if (e->restarts == 1)
        say(a, "The process was restarted once; only the last run is judged.");
    else if (e->restarts > 1)
        say(a, "The process was restarted %.0f times; only the last run is judged.",
            (double) e->restarts);
}
