/* watch/announce.c: decides which leaks to announce or withdraw, as news. Prints nothing. */
#include "watch/state.h"

#include <math.h>
#include <string.h>

/* A negligible leak may come to matter, and asking costs a whole answer. So it is judged again
 * after this share of the run, at most this many seconds. */
#define LOOK_AGAIN_SHARE 0.05
#define LOOK_AGAIN_MOST 60.0

/* A process that has ended will announce nothing more. */
static bool any_alive(const struct job *j, bool (*has)(const struct member *m))
{
    for (size_t i = 0; i < j->member_count; i++)
        if (member_is_alive(j->members[i]) && has(j->members[i]))
            return true;
    return false;
}

/* A track and its number among all tracks. */
struct numbered {
    const struct track *wanted;
    size_t passed, number;
};

static void number_track(struct job *j, struct track *t, void *c)
{
    (void) j;
    struct numbered *n = c;
    if (t == n->wanted)
        n->number = n->passed;
    n->passed++;
}

/* The member whose in-use bytes of malloc this track is; NULL: it is another counter. */
static struct member *member_of_heap(const struct job *j, const struct track *t)
{
    if (strcmp(t->kind, HEAP_USED) != 0)
        return NULL;
    for (size_t i = 0; i < j->member_count; i++)
        if (j->members[i]->has_tracks && member_reported(j->members[i], HEAP_USED) == t)
            return j->members[i];
    return NULL;
}

/* The member whose tensors this track counts; NULL: it is another counter. */
static const struct member *member_of_tensors(const struct job *j, const struct track *t)
{
    for (size_t i = 0; i < j->member_count && strcmp(t->kind, "py.tensors") == 0; i++)
        if (member_has_reported(j->members[i], t))
            return j->members[i];
    return NULL;
}

/* Whether the memory of its tensors will be announced, in the process or on a device. */
static bool memory_will_be_announced(const struct member *m)
{
    bool soon = track_will_be_announced(&m->tracks[MEMBER_ANON]);
    for (size_t i = 0; i < m->reported_count; i++)
        soon = soon || (strcmp(m->reported[i].kind, "torch.allocated") == 0 &&
                        track_will_be_announced(&m->reported[i]));
    return soon;
}

/* The job's sum waits for its processes, and a heap or a tensor count for the memory itself: what
 * may still be announced there is not announced here. Negligible leaks of processes do not count:
 * their sum may be more. */
static bool is_announced_by_another(const struct job *j, const struct track *t)
{
    const struct member *m = member_of_heap(j, t), *counts = member_of_tensors(j, t);
    if (m)
        return track_will_be_announced(&m->tracks[MEMBER_ANON]);
    if (counts)
        return memory_will_be_announced(counts);
    return t == &j->sums[JOB_ANON] && any_alive(j, member_will_be_announced);
}

/* Whether it was announced before, as a negligible leak. */
static bool is_announced_quietly(const struct job *j, const struct track *t)
{
    const struct member *m = member_of_heap(j, t);
    if (t->quiet || (m && m->tracks[MEMBER_ANON].quiet))
        return true;
    return t == &j->sums[JOB_ANON] && any_alive(j, member_is_announced_quietly);
}

static bool is_to_be_announced(const struct job *j, const struct track *t)
{
    return (!t->alarmed || t->quiet) && track_leaks(t) && !is_announced_by_another(j, t);
}

/* An alarm stays set for a while after growth has stopped; the current answer knows that. */
static struct answer answer_by_now(struct job *j, struct track *t)
{
    struct answer a;
    const struct history *history;
    track_answer(t, &j->terms, &a, &history);
    return a;
}

/* The process's memory is the partner of its heap, and the other way round: a leak of one is a leak
 * of the other. NULL: it has none. */
static struct track *partner_of(const struct job *j, const struct track *t)
{
    struct member *m = member_of_heap(j, t);
    if (m)
        return &m->tracks[MEMBER_ANON];
    for (size_t i = 0; i < j->member_count; i++)
        if (j->members[i]->has_tracks && t == &j->members[i]->tracks[MEMBER_ANON])
            return member_heap(j->members[i]);
    return NULL;
}

static void note_announced(struct job *j, struct track *t, bool quiet)
{
    struct track *partner = partner_of(j, t);
    t->alarmed = true;
    t->announced = j->now;
    t->quiet = quiet;
    if (partner) {
        partner->alarmed = true;
        partner->announced = j->now;
        partner->quiet = quiet;
    }
    j->leak_announced = j->leak_announced || !quiet;
}

/* ---- growth of several processes that is the same ---- */

static double horizon_seconds(const struct answer *a)
{
    double span = a->last_at - a->first_at;
    return span > 0 ? a->horizon * (a->last_seconds - a->first_seconds) / span : 0;
}

/* A leak that was announced within a horizon of this one, in a process that runs the same code. */
struct announced_alike {
    struct track *track;
    const struct member *member; /* its owner */
    struct answer answer;        /* the track's */
    bool found;
};

static void compare_announced(struct job *j, struct track *other, void *c)
{
    struct announced_alike *x = c;
    bool is_louder = other->quiet && x->answer.severity > SEVERITY_NEGLIGIBLE;
    if (!other->alarmed || is_louder || strcmp(other->kind, x->track->kind) != 0 ||
        j->now - other->announced > horizon_seconds(&x->answer) ||
        track_clock(other, &j->terms) != track_clock(x->track, &j->terms))
        return;
    struct answer a = answer_by_now(j, other);
    x->found = x->found || (x->answer.severity <= a.severity && track_grows_alike(&x->answer, &a));
}

/* Two workers of one loader leak by the same line: the first announcement speaks for both, unless
 * the second is worse. */
static bool was_announced_alike(struct job *j, struct track *t, const struct answer *a)
{
    struct announced_alike x = {.track = t, .answer = *a};
    for (size_t i = 0; i < j->member_count && !x.member; i++)
        x.member = member_owns(j->members[i], t) ? j->members[i] : NULL;
    for (size_t i = 0; i < j->member_count && x.member; i++)
        if (member_is_sibling(x.member, j->members[i]))
            member_each_track(j, j->members[i], compare_announced, &x);
    return x.found;
}

static void announce_leak(struct job *j, struct track *t, void *c)
{
    double seconds = *(const double *) c;
    if ((t->quiet && seconds < t->next_look) || !is_to_be_announced(j, t))
        return;
    t->next_look = seconds + fmin(fmax(1, LOOK_AGAIN_SHARE * seconds), LOOK_AGAIN_MOST);
    if (answer_by_now(j, t).severity == SEVERITY_NONE)
        return;
    settle_growth(j); /* with everything read since the last time */
    struct answer a = answer_by_now(j, t);
    if (!is_to_be_announced(j, t) || a.severity == SEVERITY_NONE)
        return;
    bool quiet = a.severity == SEVERITY_NEGLIGIBLE;
    bool is_news = !(quiet && is_announced_quietly(j, t)) && !was_announced_alike(j, t, &a);
    note_announced(j, t, quiet);
    if (!is_news)
        return;
    struct numbered n = {.wanted = t};
    job_each_track(j, number_track, &n);
    job_add_news(j, NEWS_LEAK, n.number, "%s", t->kind);
}

/* It is not a leak after all. A later leak of it will be announced again. */
static void withdraw(struct job *j, struct track *t, struct track *partner)
{
    t->alarmed = t->quiet = false;
    if (partner)
        partner->alarmed = partner->quiet = false;
    struct numbered n = {.wanted = t};
    job_each_track(j, number_track, &n);
    job_add_news(j, NEWS_WITHDRAWN, n.number, "%s", t->kind);
}

/* While the verdict is open, the announcement stands. A heap is not withdrawn: its leak may have
 * been announced as that of the memory. */
static void announce_withdrawal(struct job *j, struct track *t, void *c)
{
    double seconds = *(const double *) c;
    struct track *partner = partner_of(j, t);
    if (!t->alarmed || track_leaks(t) || seconds < t->next_look || member_of_heap(j, t) ||
        (partner && track_grows(partner)))
        return;
    t->next_look = seconds + fmin(fmax(1, LOOK_AGAIN_SHARE * seconds), LOOK_AGAIN_MOST);
    if (answer_by_now(j, t).verdict == VERDICT_NO_LEAK)
        withdraw(j, t, partner);
}

void announce(struct job *j, double seconds)
{
    job_each_moving_track(j, true, announce_leak, &seconds);
    job_each_moving_track(j, true, announce_withdrawal, &seconds);
}
