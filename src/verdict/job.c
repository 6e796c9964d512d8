/* verdict/job.c: one verdict for a job from those of its series. */
#include "verdict/verdict.h"

/* A series with fewer samples, unless they grow, is no reason to leave the job undecided. */
#define COUNTS 10

static bool counts(const struct answer *a)
{
    bool grows = a->phase_count > 0 && a->phases[a->phase_count - 1].name == PHASE_GROWING;
    return grows || a->samples >= COUNTS;
}

/* How much a series' answer weighs in choosing the one that decides. */
static int weight(const struct answer *a)
{
    switch (a->verdict) {
    case VERDICT_LEAK:
        return 10 + (int) a->severity;
    case VERDICT_INCONCLUSIVE:
        return !counts(a) ? 0 : a->suspect ? 6 : 5;
    default:
        return 1;
    }
}

/* Between equals the larger decides: it is the one the user means. */
static bool outweighs(const struct answer *a, const struct answer *b)
{
    int wa = weight(a), wb = weight(b);
    return wa != wb ? wa > wb : a->max > b->max;
}

void job_judge(const struct answer *const *answers, size_t count, struct job_answer *ret)
{
    *ret = (struct job_answer){.verdict = VERDICT_INCONCLUSIVE, .deciding = SIZE_MAX};
    for (size_t i = 0; i < count; i++) {
        const struct answer *a = answers[i];
        ret->leaks += a->verdict == VERDICT_LEAK;
        ret->inconclusives += a->verdict == VERDICT_INCONCLUSIVE;
        ret->no_leaks += a->verdict == VERDICT_NO_LEAK;
        if (ret->deciding == SIZE_MAX || outweighs(a, answers[ret->deciding]))
            ret->deciding = i;
    }
    if (ret->deciding == SIZE_MAX)
        return;
    ret->verdict = answers[ret->deciding]->verdict;
    ret->severity = answers[ret->deciding]->severity;
}
