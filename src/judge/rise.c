/* judge/rise.c: how fast something grows, from its points at each census. */
#include "job/job.h"
#include "judge/judge.h"

#include <math.h>

/* Growth slower than this share of its later rate had not begun. */
#define BEGUN_SHARE 0.7

/* Temporary objects of a step vary in number: three small increases in a row prove nothing, so
 * small gains need this many points. */
#define LEAST_POINTS_OF_FEW 5u
#define FEW 8

/* A graph that is kept across steps is soon this many times as large as that of one step, or grows
 * evenly: its pace changes by at most this factor. */
#define KEPT_GRAPH 3
#define EVENLY 2

static bool grows_evenly(const struct wire_census_growing *g)
{
    double before = NAN;
    for (unsigned i = 1; i < g->point_count; i++) {
        const struct wire_census_point *x = &g->points[i - 1], *y = &g->points[i];
        double rate = (y->count - x->count) / (double) (y->time - x->time);
        if (rate > EVENLY * before || before > EVENLY * rate)
            return false;
        before = rate;
    }
    return true;
}

bool rise_may_be_another_graph(const struct wire_census_growing *g)
{
    return g->form == WIRE_CENSUS_GRAPH && g->point_count < LEAST_POINTS_OF_FEW &&
           (g->point_count == 0 ||
            g->points[g->point_count - 1].count < KEPT_GRAPH * g->points[0].count) &&
           !grows_evenly(g);
}

/* Points at one position on the clock count as one: the last. */
struct spot {
    double at, seconds, count;
};

static unsigned find_spots(const struct job *j, const struct member *m, unsigned growing,
                           enum series_clock clock, struct spot ret[WIRE_CENSUS_POINTS])
{
    const struct wire_census_growing *g = &m->evidence->census->growing[growing];
    census_steps steps;
    unsigned count = 0;
    evidence_steps_of(j, m, growing, steps);
    for (unsigned i = 0; i < g->point_count; i++) {
        double seconds = evidence_seconds(j, g->points[i].time);
        double at = clock == CLOCK_STEP ? steps[i] : seconds;
        if (isnan(at))
            continue;
        if (count > 0 && at <= ret[count - 1].at)
            count--;
        ret[count++] = (struct spot){at, seconds, g->points[i].count};
    }
    return count;
}

/* Whether it still grows at the end, at a share of its mean rate; else it only jumped. */
static bool is_steady(const struct spot *s, unsigned count, double rate)
{
    for (unsigned i = 1; i < count; i++)
        if (!(s[i].count > s[i - 1].count))
            return false;
    const struct spot *last = &s[count - 1], *before = &s[count - 2];
    return (last->count - before->count) / (last->at - before->at) >= LEDGER_PART * rate;
}

/* A clock that stands still gives no rate. */
static double rate_between(const struct spot *first, const struct spot *last, double span)
{
    return span > 0 ? (last->count - first->count) / span : (double) NAN;
}

static bool is_steady_on(const struct spot *s, unsigned count)
{
    return count >= RISE_LEAST_POINTS &&
           is_steady(s, count, rate_between(s, &s[count - 1], s[count - 1].at - s[0].at));
}

static bool may_be_chance(const struct wire_census_growing *g, const struct rise *r)
{
    bool is_tally = g->form == WIRE_CENSUS_OBJECTS || g->form == WIRE_CENSUS_TENSORS;
    return rise_may_be_another_graph(g) ||
           (is_tally && r->points < LEAST_POINTS_OF_FEW && r->last - r->first < FEW);
}

/* The growth may have begun after the first count. */
static unsigned beginning(const struct spot *s, unsigned count)
{
    unsigned from = 0;
    const struct spot *last = &s[count - 1];
    for (; count - from > RISE_LEAST_POINTS; from++) {
        const struct spot *first = &s[from], *next = &s[from + 1];
        if (rate_between(first, next, next->at - first->at) >=
            BEGUN_SHARE * rate_between(next, last, last->at - next->at))
            break;
    }
    return from;
}

struct rise rise_of(const struct job *j, const struct member *m, unsigned growing,
                    enum series_clock clock, double seconds_a_unit)
{
    struct spot spots[WIRE_CENSUS_POINTS], timed[WIRE_CENSUS_POINTS];
    unsigned count = find_spots(j, m, growing, clock, spots);
    unsigned timed_count = find_spots(j, m, growing, CLOCK_SECONDS, timed);
    struct rise r = {.points = timed_count, .rate = NAN, .per_second = NAN};
    if (timed_count < RISE_LEAST_POINTS)
        return r;
    const struct spot *first = &timed[beginning(timed, timed_count)];
    const struct spot *last = &timed[timed_count - 1];
    r.steady = is_steady_on(spots, count) || is_steady_on(timed, timed_count);
    r.per_second = rate_between(first, last, last->seconds - first->seconds);
    r.rate = r.per_second * seconds_a_unit;
    r.from = r.to = NAN;
    if (count >= 2) {
        first = &spots[beginning(spots, count)];
        last = &spots[count - 1];
        r.rate = rate_between(first, last, last->at - first->at);
        r.from = first->at;
        r.to = last->at;
    }
    r.first = first->count;
    r.last = last->count;
    r.steady = r.steady && !may_be_chance(&m->evidence->census->growing[growing], &r);
    return r;
}
