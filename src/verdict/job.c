/* verdict/job.c: one verdict for a job from those of its series. */
#include "verdict/verdict.h"

/* A series with fewer samples, unless they grow, is no reason to leave the job undecided. */
#define COUNTS 10

static bool counts(const struct answer *a)
{
    bool grows = a->phase_count > 0 && a->phases[a->phase_count - 1].name == PHASE_GROWING;
    return grows || a->samples >= COUNTS;
}

/* Of a series that has no leak, and of one that is not known enough: only what is seen of another
 * main part can stand for a main part, never a bystander, and not the sum. */
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

/* How much a series' answer weighs in choosing the one that decides. */
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

/* Negligible parts may add up to a leak that matters: only the sum shows its rate then. */
static bool is_more_than_parts(struct candidate sum, struct candidate part)
{
    return part.answer->severity == SEVERITY_NEGLIGIBLE &&
           sum.answer->severity > SEVERITY_NEGLIGIBLE;
}

/* Between equals the part decides before the sum, and the larger: it is the one the user means. */
static bool outweighs(struct candidate a, struct candidate b)
{
    int wa = weight(a.answer, a.part), wb = weight(b.answer, b.part);
    bool sum_a = a.part == PART_TOTAL, sum_b = b.part == PART_TOTAL;
    if (a.answer->verdict == b.answer->verdict && sum_a != sum_b && wa > 0 && wb > 0)
        return sum_b ? !is_more_than_parts(b, a) : is_more_than_parts(a, b);
    return wa != wb ? wa > wb : a.answer->max > b.answer->max;
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
}
