/* verdict/phases.c: warm-up, stable, growing: the run cut into its stretches. */
#include "verdict/conclude.h"

#include <math.h>

/* A stretch below this share of the previous one's rate makes that one the warm-up. */
#define SLOWER 0.34

/* Neighbours whose rates differ by less are one stretch. */
#define SAME_PACE 0.8

/* A rise or a fall counts if it exceeds the floor's own noise and is significant. */
static enum phase_name name_of(const struct segment *s, double tolerance)
{
    double rise = s->to - s->from, margin = Z95 * s->error;
    if (s->last - s->first < 2)
        return PHASE_START;
    if (rise > tolerance && s->slope > margin)
        return PHASE_GROWING;
    return rise < -tolerance && s->slope < -margin ? PHASE_SHRINKING : PHASE_STABLE;
}

/* Keeps a fitted level within the values of the floor in that stretch. */
static double within(const struct floor_line *f, const struct segment *s, double level)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = s->first; i <= s->last; i++) {
        low = fmin(low, f->floor[i]);
        high = fmax(high, f->floor[i]);
    }
    return fmin(fmax(level, low), high);
}

static struct phase phase_of(const struct floor_line *f, const struct segment *s)
{
    double rate = isfinite(s->error) ? s->slope : NAN, margin = Z95 * s->error;
    return (struct phase){
        .name = name_of(s, f->tolerance),
        .from = f->at[s->first],
        .to = f->at[s->last],
        .level_from = within(f, s, s->from),
        .level_to = within(f, s, s->to),
        .rate = rate,
        .rate_low = rate - margin,
        .rate_high = rate + margin,
    };
}

/* Neighbours of one kind and one pace without a jump between them are one stretch. */
static bool are_one(const struct phase *a, const struct phase *b, double tolerance)
{
    if (a->name != b->name || a->name == PHASE_START)
        return false;
    if (a->name == PHASE_STABLE)
        return fabs(b->level_from + b->level_to - a->level_from - a->level_to) / 2 <= tolerance;
    double expected = a->level_to + a->rate * (b->from - a->to);
    double pace = b->rate / a->rate;
    return pace > SAME_PACE && pace < 1 / SAME_PACE &&
           fabs(b->level_from - expected) <=
               fmax(tolerance, 0.1 * fabs(b->level_to - a->level_from));
}

/* A stretch without length has no rate. */
static void join(struct phase *a, const struct phase *b)
{
    double before = a->to - a->from, after = b->to - b->from, whole = before + after;
    if (before > 0 && after > 0) {
        a->rate = (a->rate * before + b->rate * after) / whole;
        a->rate_low = (a->rate_low * before + b->rate_low * after) / whole;
        a->rate_high = (a->rate_high * before + b->rate_high * after) / whole;
    } else if (after > 0) {
        a->rate = b->rate;
        a->rate_low = b->rate_low;
        a->rate_high = b->rate_high;
    }
    a->to = b->to;
    a->level_to = b->level_to;
}

/* Growth that stopped or slowed down markedly was warm-up; a stable stretch after a jump is a level
 * shift. */
static void rename_by_neighbours(struct phase *phases, unsigned count, double tolerance)
{
    bool settled = false; /* something but growth has been seen */
    for (unsigned i = 0; i < count; i++) {
        const struct phase *next = i + 1 < count ? &phases[i + 1] : NULL;
        if (phases[i].name == PHASE_GROWING && next && !settled &&
            next->rate < SLOWER * phases[i].rate)
            phases[i].name = PHASE_WARM_UP;
        else if (phases[i].name == PHASE_STABLE && i > 0 && phases[i - 1].name != PHASE_WARM_UP &&
                 phases[i].level_from - phases[i - 1].level_to > tolerance)
            phases[i].name = PHASE_LEVEL_SHIFT;
        settled = settled || phases[i].name == PHASE_STABLE;
    }
    /* All growth before the warm-up's end belongs to it. */
    for (unsigned i = count; i-- > 1;)
        if (phases[i].name == PHASE_WARM_UP && phases[i - 1].name == PHASE_GROWING)
            phases[i - 1].name = PHASE_WARM_UP;
}

/* The phase lies after the leak's onset, or is growth that mostly does: it is the leak. */
static bool is_leak(const struct phase *p, const struct alarm *leak)
{
    return p->from >= leak->onset ||
           (p->name == PHASE_GROWING && leak->onset - p->from < p->to - leak->onset);
}

/* A warm-up that slowed down in stages is one warm-up, at its mean pace. */
static unsigned join_warm_up(struct phase *phases, unsigned count)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++) {
        struct phase *before = kept > 0 ? &phases[kept - 1] : NULL;
        if (before && before->name == PHASE_WARM_UP && phases[i].name == PHASE_WARM_UP)
            join(before, &phases[i]);
        else
            phases[kept++] = phases[i];
    }
    return kept;
}

/* The test of growth looks at the last part of a run: where the floor has no bend at the onset, in
 * the middle of growth at the same pace, the leak began with that growth. */
static double begin_of_leak(const struct phase *p, const struct alarm *leak)
{
    const struct growth *g = &leak->growth;
    bool is_its_pace =
        p->rate_low <= g->slope + Z95 * g->error && p->rate_high >= g->slope - Z95 * g->error;
    return is_leak(p, leak) && p->from < leak->onset && is_its_pace ? p->from : leak->onset;
}

/* The leak is the last phase, from where it began; earlier phases are cut there. */
static unsigned end_with_leak(const struct engine *e, struct phase *phases, unsigned count,
                              const struct alarm *leak)
{
    const struct growth *g = &leak->growth;
    double from = leak->onset;
    while (count > 1 && is_leak(&phases[count - 1], leak))
        from = begin_of_leak(&phases[--count], leak);
    if (count == 1)
        from = fmin(from, begin_of_leak(&phases[0], leak));
    if (phases[0].from >= from)
        count = 0;
    if (count == ANSWER_PHASES)
        count--;
    if (count > 0 && phases[count - 1].to > from) {
        struct phase *before = &phases[count - 1];
        before->level_to =
            possible_level(e, before->level_from + before->rate * (from - before->from));
        before->to = from;
    }
    phases[count] = (struct phase){
        .name = PHASE_GROWING,
        .from = from,
        .to = e->last_at,
        .level_from = possible_level(e, g->intercept + g->slope * from),
        .level_to = possible_level(e, g->intercept + g->slope * e->last_at),
        .rate = g->slope,
        .rate_low = g->slope - Z95 * g->error,
        .rate_high = g->slope + Z95 * g->error,
    };
    return count + 1;
}

unsigned phases_find(const struct engine *e, const struct floor_line *f, const struct alarm *leak,
                     struct phase ret_phases[ANSWER_PHASES])
{
    if (f->n == 0)
        return 0;
    struct segment segments[SEGMENT_MAX];
    size_t found = segment_lines(f->at, f->floor, f->n, f->tolerance / 10, segments);
    unsigned count = 0;
    for (size_t i = 0; i < found; i++) {
        struct phase next = phase_of(f, &segments[i]);
        if (count > 0 && are_one(&ret_phases[count - 1], &next, f->tolerance))
            join(&ret_phases[count - 1], &next);
        else
            ret_phases[count++] = next;
    }
    /* A block stands at the mean of its samples; the run begins and ends with a sample. */
    ret_phases[0].from = e->first_at;
    ret_phases[count - 1].to = e->last_at;
    if (leak)
        count = end_with_leak(e, ret_phases, count, leak);
    rename_by_neighbours(ret_phases, count, f->tolerance);
    return join_warm_up(ret_phases, count);
}
