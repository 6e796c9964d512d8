/* job/member.c: a process of the job: its identity and the answers of its series. */
#include "job/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *kind;
    enum series_unit unit;
    enum track_use use;
} member_kinds[MEMBER_KINDS] = {
    [MEMBER_ANON] = {"host.anon", SERIES_BYTES, TRACK_JUDGED},
    [MEMBER_SHMEM] = {"host.shmem", SERIES_BYTES, TRACK_JUDGED},
    [MEMBER_FDS] = {"fds", SERIES_COUNT, TRACK_JUDGED},
    [MEMBER_THREADS] = {"threads", SERIES_COUNT, TRACK_JUDGED},
    [MEMBER_FILE] = {"host.file", SERIES_BYTES, TRACK_JUDGED},
    [MEMBER_PRIVATE] = {"host.private", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_PSS] = {"host.pss", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_SWAP] = {"host.swap", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_RSS] = {"host.rss", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_VSIZE] = {"host.vsize", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_PEAK] = {"host.peak", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_COPIED] = {"host.copied", SERIES_BYTES, TRACK_SHOWN},
    [MEMBER_LEFT] = {"host.left", SERIES_BYTES, TRACK_SHOWN},
};

/* ---- life ---- */

struct member *member_new(struct proc_id id)
{
    struct member *m = calloc(1, sizeof(*m));
    if (!m)
        base_out_of_memory();
    m->id = m->origin = id;
    m->role.rank = -1;
    m->ended = m->inherited = NAN;
    m->shares.rollup.pss = m->shares.rollup.private_bytes = NAN;
    m->shares.pss_first = m->shares.seconds = m->shares.anon = NAN;
    m->now = (struct proc_status){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, -1};
    return m;
}

struct member *member_free(struct member *m)
{
    for (unsigned i = 0; m->has_tracks && i < MEMBER_KINDS; i++)
        track_release(&m->tracks[i]);
    for (size_t i = 0; i < m->gpu_count; i++)
        track_release(&m->gpu[i]);
    for (size_t i = 0; i < m->reported_count; i++)
        track_release(&m->reported[i]);
    free(m->gpu);
    free(m->reported);
    evidence_free(m->evidence);
    free(m->command);
    free(m);
    return NULL;
}

void member_init_tracks(struct member *m)
{
    for (unsigned i = 0; i < MEMBER_KINDS; i++)
        track_init(&m->tracks[i], member_kinds[i].kind, member_kinds[i].unit, member_kinds[i].use);
    track_excuse(&m->tracks[MEMBER_FILE], LEDGER_FILE_PAGES);
    m->has_tracks = true;
}

enum member_kind member_kind_of(const char *kind)
{
    unsigned i = 0;
    while (i < MEMBER_KINDS && strcmp(member_kinds[i].kind, kind) != 0)
        i++;
    return (enum member_kind) i;
}

/* ---- who it is ---- */

bool member_is_alive(const struct member *m)
{
    return isnan(m->ended);
}

bool member_was_there(const struct member *m, double seconds)
{
    /* One tick finds both who ended and who joined: the first ended before the other joined. */
    return m->joined <= seconds && (member_is_alive(m) || seconds < m->ended);
}

bool member_is_trainer(const struct member *m)
{
    return m->role.role == ROLE_TRAINER || m->role.role == ROLE_RANK;
}

void member_label(const struct member *m, char ret[MEMBER_LABEL])
{
    if (m->role.rank >= 0)
        snprintf(ret, MEMBER_LABEL, "rank %d (%d)", m->role.rank, (int) m->id.pid);
    else
        snprintf(ret, MEMBER_LABEL, "%s %d", proc_role_name(m->role.role), (int) m->id.pid);
}

/* ---- what it holds ---- */

double member_held(const struct member *m)
{
    return m->now.anon + (m->now.swap > 0 ? m->now.swap : 0);
}

/*
 * What it adds to the job's memory. A forked process starts with its parent's pages, which exist
 * only once, so only what came since counts. A page of them that becomes private is no growth
 * either.
 */
double member_own_anon(const struct member *m)
{
    return m->forked ? fmax(0, member_held(m) - m->inherited) : member_held(m);
}

double member_pss(const struct member *m)
{
    return isnan(m->shares.rollup.pss) ? NAN
                                       : m->shares.rollup.pss + (m->now.anon - m->shares.anon);
}

bool member_shares_are_due(const struct member *m, double now)
{
    return m->has_tracks && m->shares.error == 0 && now > m->shares.next + 1;
}

/* ---- what its series say ---- */

static bool any_track(const struct member *m, bool (*holds)(const struct track *t))
{
    for (unsigned i = 0; m->has_tracks && i < MEMBER_KINDS; i++)
        if (holds(&m->tracks[i]))
            return true;
    for (size_t i = 0; i < m->gpu_count; i++)
        if (holds(&m->gpu[i]))
            return true;
    for (size_t i = 0; i < m->reported_count; i++)
        if (holds(&m->reported[i]))
            return true;
    return false;
}

bool member_is_wary(const struct member *m)
{
    return any_track(m, track_is_wary);
}

bool member_climbs(const struct member *m)
{
    return climb_is_even(&m->climb, LEAST_RISE);
}

const struct track *member_reported(const struct member *m, const char *kind)
{
    for (size_t i = 0; i < m->reported_count; i++)
        if (strcmp(m->reported[i].kind, kind) == 0)
            return &m->reported[i];
    return NULL;
}

struct track *member_heap(struct member *m)
{
    for (size_t i = 0; i < m->reported_count; i++)
        if (strcmp(m->reported[i].kind, HEAP_USED) == 0)
            return &m->reported[i];
    return NULL;
}

bool member_is_announced_quietly(const struct member *m)
{
    const struct track *heap = member_reported(m, HEAP_USED);
    return (m->has_tracks && m->tracks[MEMBER_ANON].quiet) || (heap && heap->quiet);
}

bool member_will_be_announced(const struct member *m)
{
    const struct track *heap = member_reported(m, HEAP_USED);
    return (m->has_tracks && track_will_be_announced(&m->tracks[MEMBER_ANON])) ||
           (heap && track_will_be_announced(heap));
}

bool member_leaks(const struct member *m)
{
    return any_track(m, track_leaks);
}

bool member_has_reported(const struct member *m, const struct track *t)
{
    return m->reported_count > 0 && t >= m->reported && t < m->reported + m->reported_count;
}

bool member_owns(const struct member *m, const struct track *t)
{
    return member_has_reported(m, t) ||
           (m->has_tracks && t >= m->tracks && t < m->tracks + MEMBER_KINDS) ||
           (m->gpu_count > 0 && t >= m->gpu && t < m->gpu + m->gpu_count);
}

bool member_is_sibling(const struct member *a, const struct member *b)
{
    bool may_have = a->role.role == ROLE_DATA_WORKER || a->role.role == ROLE_RANK;
    return a != b && may_have && a->role.role == b->role.role && a->parent.pid > 0 &&
           proc_id_equal(a->parent, b->parent);
}

bool member_fills(const struct member *m)
{
    enum ledger_kind kind;
    bool any = track_is_excused(&m->tracks[MEMBER_ANON], &kind) && kind == LEDGER_HOLDER;
    for (size_t i = 0; i < m->reported_count; i++)
        any = any || (strcmp(m->reported[i].kind, "torch.allocated") == 0 &&
                      track_is_excused(&m->reported[i], &kind) && kind == LEDGER_HOLDER);
    return any;
}

bool member_is_in_sum(const struct member *m, const struct track *sum)
{
    /* A series reported from inside arrives with its steps, which may be far apart. */
    return m->has_tracks &&
           sum->last_seconds - fmax(m->seen_seconds, m->tracks[MEMBER_ANON].last_seconds) < 1;
}
