/* judge/settle.c: gives every track the judgement of its growth's ledger. */
#include "job/job.h"
#include "judge/judge.h"

#include <string.h>

static void judge(struct job *j, struct member *m, struct track *t)
{
    struct account a;
    bool has_account = account_of(j, m, t, &a);
    track_judge(t, has_account ? &a.judgement : NULL);
}

/* One account for both: it judges whichever series the growth belongs to. */
static void judge_memory(struct job *j, struct member *m)
{
    struct track *anon = &m->tracks[MEMBER_ANON], *heap = member_heap(m);
    struct account a;
    if (heap)
        track_judge(heap, NULL);
    if (!account_of(j, m, anon, &a))
        return;
    track_judge(anon, a.by == anon ? &a.judgement : NULL);
    if (heap && a.by == heap)
        track_judge(heap, &a.judgement);
}

static bool is_reported_account(const struct track *t)
{
    return strcmp(t->kind, "torch.allocated") == 0 || strcmp(t->kind, "py.tensors") == 0;
}

/* A process that leaks by itself makes the sum needless. Where every growing process is excused, so
 * is the sum. */
static void judge_sum(struct job *j)
{
    struct track *sum = &j->sums[JOB_ANON];
    const struct track *excused = NULL;
    bool any_wary = false, any_leak = false;
    for (size_t i = 0; i < j->member_count; i++) {
        const struct member *m = j->members[i];
        const struct track *part = &m->tracks[MEMBER_ANON];
        enum ledger_kind kind;
        if (!member_is_in_sum(m, sum))
            continue;
        any_wary = any_wary || track_is_wary(part);
        any_leak = any_leak || track_leaks(part);
        if (track_is_excused(part, &kind))
            excused = part;
    }
    if (any_leak)
        track_judge(sum, NULL);
    else if (excused && !any_wary)
        track_judge(sum, &excused->judgement);
    else
        judge(j, NULL, sum);
}

static bool any_grows(struct member *m)
{
    const struct track *heap = member_heap(m);
    return track_grows(&m->tracks[MEMBER_ANON]) || (heap && track_grows(heap));
}

static void settle_member(struct job *j, struct member *m, bool all)
{
    if (all || any_grows(m))
        judge_memory(j, m);
    for (size_t i = 0; i < m->reported_count && m->evidence->census; i++)
        if (is_reported_account(&m->reported[i]) && (all || track_grows(&m->reported[i])))
            judge(j, m, &m->reported[i]);
}

static void settle(struct job *j, bool all)
{
    for (size_t i = 0; i < j->member_count; i++)
        if (j->members[i]->has_tracks && j->members[i]->evidence)
            settle_member(j, j->members[i], all);
    if (all || track_grows(&j->sums[JOB_ANON]))
        judge_sum(j);
}

void settle_job(struct job *j)
{
    settle(j, true);
}

void settle_growth(struct job *j)
{
    settle(j, false);
}
