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

static bool is_told_account(const struct track *t)
{
    return strcmp(t->kind, "torch.allocated") == 0 || strcmp(t->kind, "py.tensors") == 0;
}

/* Who leaks by itself needs no sum to say so. Where all that grow are explained, so is their sum.
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

static bool any_grows(struct member *m)
{
    const struct track *heap = member_heap(m);
    return track_grows(&m->tracks[MEMBER_ANON]) || (heap && track_grows(heap));
}

static void settle_member(struct watch *w, struct member *m, bool all)
{
    if (all || any_grows(m))
        judge_memory(w, m);
    for (size_t i = 0; i < m->told_count && m->found->census; i++)
        if (is_told_account(&m->told[i]) && (all || track_grows(&m->told[i])))
            judge(w, m, &m->told[i]);
}

static void settle(struct watch *w, bool all)
{
    for (size_t i = 0; i < w->member_count; i++)
        if (w->members[i]->has_tracks && w->members[i]->found)
            settle_member(w, w->members[i], all);
    if (all || track_grows(&w->job[JOB_ANON]))
        judge_sum(w);
}

void watch_settle(struct watch *w)
{
    settle(w, true);
}

void watch_settle_growth(struct watch *w)
{
    settle(w, false);
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
