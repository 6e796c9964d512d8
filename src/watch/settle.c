/* watch/settle.c: every track gets what the ledger of its growth says. */
#include "watch/session.h"

#include <string.h>

static void judge(struct watch *w, struct member *m, struct track *t)
{
    struct account a;
    bool has_account = watch_account(w, m, t, &a);
    track_judge(t, has_account ? &a.judgement : NULL);
}

/* One account for both: it is the one whose growth it is that is judged. */
static void judge_memory(struct watch *w, struct member *m)
{
    struct track *anon = &m->tracks[MEMBER_ANON], *heap = member_heap(m);
    struct account a;
    if (heap)
        track_judge(heap, NULL);
    if (!watch_account(w, m, anon, &a))
        return;
    track_judge(anon, a.by == anon ? &a.judgement : NULL);
    if (heap && a.by == heap)
        track_judge(heap, &a.judgement);
}

static void judge_told(struct watch *w, struct member *m)
{
    for (size_t i = 0; i < m->told_count; i++) {
        struct track *t = &m->told[i];
        if (strcmp(t->kind, "torch.allocated") == 0 || strcmp(t->kind, "py.tensors") == 0)
            judge(w, m, t);
    }
}

/* Who leaks by itself needs no sum to say so; where all that grow are explained, so is their sum.
 */
static void judge_sum(struct watch *w)
{
    struct track *sum = &w->job[JOB_ANON];
    const struct track *excused = NULL;
    bool any_wary = false, any_leak = false;
    for (size_t i = 0; i < w->member_count; i++) {
        const struct member *m = w->members[i];
        const struct track *part = &m->tracks[MEMBER_ANON];
        enum ledger_kind kind;
        if (!watch_is_in_sum(m, sum))
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
        judge(w, NULL, sum);
}

void watch_settle(struct watch *w)
{
    for (size_t i = 0; i < w->member_count; i++) {
        struct member *m = w->members[i];
        if (!m->has_tracks || !m->found)
            continue;
        judge_memory(w, m);
        if (m->found->census)
            judge_told(w, m);
    }
    judge_sum(w);
}

bool watch_fills(const struct member *m)
{
    enum ledger_kind kind;
    bool any = track_is_excused(&m->tracks[MEMBER_ANON], &kind) && kind == LEDGER_HOLDER;
    for (size_t i = 0; i < m->told_count; i++)
        any = any || (strcmp(m->told[i].kind, "torch.allocated") == 0 &&
                      track_is_excused(&m->told[i], &kind) && kind == LEDGER_HOLDER);
    return any;
}
