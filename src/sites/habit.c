/* sites/habit.c: what becomes of the memory that a site allocates. docs/SAMPLING.md has the rule.
 */
#include "sites/sites.h"

#include <math.h>

/* The standard errors that a count has to be off: wrong once in 44. The one threshold here. */
#define ERRORS_REQUIRED 2

/* Of each third of the traced time: samples taken in it, and those still kept. */
struct thirds {
    double taken[3], kept[3];
};

/*
 * Of `total` samples, `count` are of one kind: more than that share of all such samples (1), less
 * (-1), or too few to say (0). The binomial distribution, by the normal one with its correction for
 * whole numbers.
 */
static int compare_to_share(double count, double total, double share)
{
    double off = count - share * total;
    double error = sqrt(total * share * (1 - share));
    bool is_off = fabs(off) - 0.5 >= ERRORS_REQUIRED * error;
    return !is_off || error == 0 ? 0 : off > 0 ? 1 : -1;
}

/* Whether `a` came at more than half the rate of `b` (1), or less (-1): the middle between going on
 * and having stopped. */
static int compare_to_half(double a, double b)
{
    return compare_to_share(a, a + b, 1.0 / 3);
}

/* Whether most samples of a third are still kept (1), or few (-1). */
static int most_kept(const struct thirds *t, unsigned i)
{
    return compare_to_share(fmin(t->kept[i], t->taken[i]), t->taken[i], 0.5);
}

/* So many that their absence elsewhere would tell something. */
static bool is_something(double count)
{
    return compare_to_half(0, count) < 0;
}

/* ---- habits ---- */

static bool stopped(const struct thirds *t)
{
    return compare_to_half(t->kept[2], fmax(t->kept[0], t->kept[1])) < 0;
}

/* What is left of the first third is no smaller a share of it than of the second third: nothing
 * dies late. And the second and last third added as much. */
static bool keeps(const struct thirds *t)
{
    double share = t->taken[0] / (t->taken[0] + 2 * t->taken[1]);
    return compare_to_share(t->kept[0], t->kept[0] + t->kept[1], share) > 0 &&
           compare_to_half(t->kept[1], t->kept[0]) > 0 &&
           compare_to_half(t->kept[2], t->kept[0]) > 0;
}

static bool rotates(const struct thirds *t)
{
    return most_kept(t, 0) < 0 && most_kept(t, 2) > 0 &&
           compare_to_half(t->kept[0], t->kept[2]) < 0;
}

static bool churns(const struct thirds *t)
{
    return most_kept(t, 2) < 0 && !is_something(t->kept[0] + t->kept[1]);
}

/* ---- counts ---- */

/* The bytes that one sample stands for: of those that are left, which may have been thinned, or of
 * all, whichever is more. */
static double bytes_of_sample(const struct site *s, const struct site_point *last)
{
    double taken = s->samples > 0 ? last->allocated / s->samples : 0;
    double left = s->live > 0 ? last->remains / s->live : 0;
    return fmax(taken, left);
}

static struct thirds thirds_of(const struct site *s)
{
    struct thirds t;
    const struct site_point *last = &s->points[s->point_count - 1];
    double begin = s->points[0].seconds, span = last->seconds - begin;
    double each = bytes_of_sample(s, last);
    struct site_point former = {0};
    for (unsigned i = 0; i < 3; i++) {
        struct site_point p = i == 2 ? *last : site_at(s, begin + (i + 1) * span / 3);
        t.taken[i] = fmax(0, p.allocated - former.allocated) / each;
        t.kept[i] = fmax(0, p.remains - former.remains) / each;
        former = p;
    }
    return t;
}

enum site_habit site_habit(const struct site *s)
{
    if (s->point_count < 4 || !(bytes_of_sample(s, &s->points[s->point_count - 1]) > 0))
        return SITE_HABIT_UNKNOWN;
    struct thirds t = thirds_of(s);
    return keeps(&t)     ? SITE_KEEPS
           : stopped(&t) ? SITE_KEPT_EARLY
           : rotates(&t) ? SITE_ROTATES
           : churns(&t)  ? SITE_CHURNS
                         : SITE_HABIT_UNKNOWN;
}

const char *site_habit_name(enum site_habit habit)
{
    static const char *const names[SITE_HABITS] = {
        [SITE_HABIT_UNKNOWN] = "unknown", [SITE_KEEPS] = "keeps",
        [SITE_KEPT_EARLY] = "kept early", [SITE_ROTATES] = "rotates",
        [SITE_CHURNS] = "churns",
    };
    return names[habit];
}
