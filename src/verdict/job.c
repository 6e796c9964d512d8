/* verdict/job.c: one verdict for a job from those of its series. */
#include "verdict/verdict.h"

#include <math.h>

/* A series with fewer samples leaves the job undecided only if it grows. */
#define COUNTS 10

static bool counts(const struct answer *a)
{
    bool grows = a->phase_count > 0 && a->phases[a->phase_count - 1].name == PHASE_GROWING;
    return grows || a->samples >= COUNTS;
}

/* The weights of a series without a leak, and of one that is not known well enough. Only another
 * main part can stand in for a main part; a bystander or the sum cannot. */
static const int no_leak_weights[] = {
    [PART_MAIN] = 10,
    [PART_BYSTANDER] = 5,
    [PART_TOTAL] = 7,
};
static const int unknown_weights[] = {
    [PART_MAIN] = 8,
    [PART_BYSTANDER] = 0,
    [PART_TOTAL] = 6,
};

/* How much an answer counts when the deciding series is chosen. */
static int weight(const struct answer *a, enum job_part part)
{
    switch (a->verdict) {
    case VERDICT_LEAK:
        return 100 + 10 * (int) a->severity;
    case VERDICT_INCONCLUSIVE:
        if (!counts(a) || part == PART_BYSTANDER)
            return unknown_weights[part];
        return a->suspect ? 60 : 50;
    default:
        return no_leak_weights[part];
    }
}

struct candidate {
    const struct answer *answer;
    enum job_part part;
};

/* Negligible parts may add up to a leak that matters, which only the sum shows. */
static bool is_more_than_parts(struct candidate sum, struct candidate part)
{
    return part.answer->severity == SEVERITY_NEGLIGIBLE &&
           sum.answer->severity > SEVERITY_NEGLIGIBLE;
}

/* Between equals, a part decides before the sum, and the larger before the smaller: the user means
 * that one. */
static bool outweighs(struct candidate a, struct candidate b)
{
    int wa = weight(a.answer, a.part), wb = weight(b.answer, b.part);
    bool sum_a = a.part == PART_TOTAL, sum_b = b.part == PART_TOTAL;
    if (a.answer->verdict == b.answer->verdict && sum_a != sum_b && wa > 0 && wb > 0)
        return sum_b ? !is_more_than_parts(b, a) : is_more_than_parts(a, b);
    return wa != wb ? wa > wb : a.answer->max > b.answer->max;
}

/* Where the job is open, what grows is what there is to say, whoever it is. */
static bool is_more_suspect(const struct answer *a, const struct answer *than)
{
    return a->verdict == VERDICT_INCONCLUSIVE && a->suspect &&
           (!than->suspect || a->rate_per_second > than->rate_per_second);
}

static void name_suspect(const struct answer *const *answers, size_t count, struct job_answer *ret)
{
    if (ret->deciding == SIZE_MAX || answers[ret->deciding]->suspect)
        return;
    for (size_t i = 0; i < count; i++)
        if (is_more_suspect(answers[i], answers[ret->deciding]))
            ret->deciding = i;
}

void job_judge(const struct answer *const *answers, const enum job_part *parts, size_t count,
               struct job_answer *ret)
{
    *ret = (struct job_answer){.verdict = VERDICT_INCONCLUSIVE, .deciding = SIZE_MAX};
    struct candidate decides = {0};
    for (size_t i = 0; i < count; i++) {
        struct candidate c = {answers[i], parts ? parts[i] : PART_MAIN};
        ret->leaks += c.answer->verdict == VERDICT_LEAK;
        ret->inconclusives += c.answer->verdict == VERDICT_INCONCLUSIVE;
        ret->no_leaks += c.answer->verdict == VERDICT_NO_LEAK;
        if (c.answer->verdict == VERDICT_LEAK && c.answer->severity > ret->severity)
            ret->severity = c.answer->severity;
        if (!decides.answer || outweighs(c, decides)) {
            ret->deciding = i;
            decides = c;
        }
    }
    if (decides.answer)
        ret->verdict = decides.answer->verdict;
    if (ret->verdict == VERDICT_INCONCLUSIVE)
        name_suspect(answers, count, ret);
}

/* ---- a limit for several ---- */

/* A series that lasted into this last share of another's time grows beside it. */
#define AT_THE_END 0.1

static bool reaches_limit(const struct answer *a)
{
    return a->verdict == VERDICT_LEAK && a->rate > 0 && a->rate_per_second > 0 &&
           isfinite(a->forecast.limit_at) && a->limit > a->floor_last;
}

/* Whether `b` is still there where `a` ends. */
static bool overlaps(const struct answer *a, const struct answer *b)
{
    double end = a->last_seconds, length = end - a->first_seconds;
    return b->first_seconds <= end && b->last_seconds >= end - AT_THE_END * length;
}

/* The growth of all series beside one, per unit of its clock. */
struct growth_of_all {
    double rate, low, high;
    unsigned count;
};

static struct growth_of_all growth_beside(struct answer *const *answers, size_t count, size_t one)
{
    const struct answer *a = answers[one];
    struct growth_of_all all = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        const struct answer *b = answers[i];
        if (!reaches_limit(b) || (i != one && !overlaps(a, b)))
            continue;
        /* Two processes may have different clocks. */
        double unit = b->rate_per_second / b->rate * (a->rate / a->rate_per_second);
        all.rate += b->rate * unit;
        all.low += b->rate_low * unit;
        all.high += b->rate_high * unit;
        all.count++;
    }
    return all;
}

static double limit_reached(double from, double headroom, double rate)
{
    return rate > 0 ? from + headroom / rate : INFINITY;
}

void answers_share_limit(struct answer *const *answers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct answer *a = answers[i];
        if (!reaches_limit(a))
            continue;
        struct growth_of_all all = growth_beside(answers, count, i);
        double headroom = a->limit - a->floor_last;
        if (all.count < 2)
            continue;
        a->forecast.limit_low = limit_reached(a->last_at, headroom, all.high);
        a->forecast.limit_high = limit_reached(a->last_at, headroom, all.low);
        a->forecast.limit_at = limit_reached(a->last_at, headroom, all.rate);
        a->forecast.limit_seconds =
            (a->forecast.limit_at - a->last_at) * a->rate / a->rate_per_second;
        answer_add_reason(a, (struct reason){.kind = REASON_SHARED_LIMIT, .count = all.count});
    }
}
