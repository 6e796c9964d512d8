/* sites/gain.c: what a site gained between two moments. The mathematics: docs/SAMPLING.md. */
#include "sites/sites.h"

#include <math.h>

/* Where a moment lies: at that share of the way from point `k` to the next. */
struct place {
    unsigned k;
    double share;
};

static struct place place_of(const struct site_point *points, unsigned count, double seconds)
{
    unsigned k = 0;
    while (k + 2 < count && points[k + 1].seconds <= seconds)
        k++;
    if (count < 2)
        return (struct place){0, 0};
    double share = (seconds - points[k].seconds) / (points[k + 1].seconds - points[k].seconds);
    return (struct place){k, fmin(fmax(share, 0), 1)};
}

static double between(double a, double b, double share)
{
    return share <= 0 ? a : share >= 1 ? b : a + share * (b - a);
}

static struct site_point point_at(const struct site_point *points, struct place p)
{
    const struct site_point *a = &points[p.k], *b = p.share > 0 ? a + 1 : a;
    return (struct site_point){
        .seconds = between(a->seconds, b->seconds, p.share),
        .bytes = between(a->bytes, b->bytes, p.share),
        .variance = between(a->variance, b->variance, p.share),
        .allocated = between(a->allocated, b->allocated, p.share),
        .remains = between(a->remains, b->remains, p.share),
        .remains_variance = between(a->remains_variance, b->remains_variance, p.share),
    };
}

/* What remains of the former until the end is in the latter too. */
static double error_between(const struct site_point *from, const struct site_point *to)
{
    return sqrt(fmax(0, from->variance + to->variance - 2 * from->remains_variance));
}

static struct site_gain gain_of(const struct site_point *points, unsigned count, double from,
                                double to)
{
    if (count == 0)
        return (struct site_gain){NAN, NAN};
    struct place p = place_of(points, count, from), q = place_of(points, count, to);
    struct site_point a = point_at(points, p), b = point_at(points, q);
    double error = error_between(&a, &b);
    /* Between two points, both ends are made of the same two sums. */
    if (p.k == q.k && count > 1)
        error = (q.share - p.share) * error_between(&points[p.k], &points[p.k + 1]);
    return (struct site_gain){b.bytes - a.bytes, error};
}

struct site_gain site_gain(const struct site *s, double from, double to)
{
    return gain_of(s->points, s->point_count, from, to);
}

struct site_gain sites_gain(const struct sites *s, double from, double to)
{
    return gain_of(s->points, s->point_count, from, to);
}

/* CPython passes larger requests on to malloc(). */
#define ARENA_REQUEST_MOST 512

static bool is_mapped(const struct site *s)
{
    return s->kind == SITE_MAPPED;
}

/* By the mean size of its objects. */
static bool is_in_arenas(const struct site *s)
{
    double kept = s->point_count > 0 ? s->points[s->point_count - 1].bytes : 0;
    return s->kind == SITE_PYTHON && kept <= ARENA_REQUEST_MOST * s->objects;
}

static struct site_gain gain_where(const struct sites *s, bool (*wanted)(const struct site *),
                                   double from, double to)
{
    struct site_gain sum = {0, 0};
    for (size_t i = 0; i < s->count; i++) {
        struct site_gain g = site_gain(&s->list[i], from, to);
        if (!wanted(&s->list[i]) || isnan(g.bytes))
            continue;
        sum.bytes += g.bytes;
        sum.error = hypot(sum.error, g.error);
    }
    return sum;
}

struct site_gain sites_gain_mapped(const struct sites *s, double from, double to)
{
    return gain_where(s, is_mapped, from, to);
}

struct site_gain sites_gain_in_arenas(const struct sites *s, double from, double to)
{
    return gain_where(s, is_in_arenas, from, to);
}

struct site_point site_at(const struct site *s, double seconds)
{
    return point_at(s->points, place_of(s->points, s->point_count, seconds));
}

void site_add(struct site *to, const struct site *s)
{
    for (unsigned k = 0; k < s->point_count; k++) {
        struct site_point *p = &to->points[k];
        p->seconds = s->points[k].seconds;
        p->bytes += s->points[k].bytes;
        p->variance += s->points[k].variance;
        p->allocated += s->points[k].allocated;
        p->remains += s->points[k].remains;
        p->remains_variance += s->points[k].remains_variance;
    }
    to->point_count = s->point_count;
    for (unsigned k = 0; k < SITE_COHORTS; k++)
        to->cohorts[k] += s->cohorts[k];
    to->samples += s->samples;
    to->live += s->live;
    to->objects += s->objects;
}
