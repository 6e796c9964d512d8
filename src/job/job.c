/* job/job.c: the job as a whole: its processes, its sums, its news. */
#include "job/job.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

static void init_sums(struct job *j)
{
    static const struct {
        const char *kind;
        enum series_unit unit;
        enum track_use use;
    } kinds[JOB_KINDS] = {
        [JOB_ANON] = {"host.anon", SERIES_BYTES, TRACK_JUDGED},
        [JOB_PSS] = {"host.pss", SERIES_BYTES, TRACK_SHOWN},
        [JOB_PROCESSES] = {"processes", SERIES_COUNT, TRACK_JUDGED},
        [JOB_SHM] = {"host.shmem", SERIES_BYTES, TRACK_JUDGED},
        [JOB_CGROUP] = {"cgroup.used", SERIES_BYTES, TRACK_SHOWN},
        [JOB_SYSTEM] = {"system.used", SERIES_BYTES, TRACK_SHOWN},
    };
    for (unsigned i = 0; i < JOB_KINDS; i++) {
        struct track *t = &j->sums[i];
        track_init(t, kinds[i].kind, kinds[i].unit, kinds[i].use);
        if (i == JOB_SHM)
            t->device = strdup("/dev/shm");
    }
}

void job_init(struct job *j)
{
    *j = (struct job){.ended = NAN};
    clock_init(&j->clock);
    j->terms =
        (struct track_terms){.clock = &j->clock, .series = 1, .activities = j->activities.names};
    init_sums(j);
}

void job_release(struct job *j)
{
    for (size_t i = 0; i < j->member_count; i++)
        member_free(j->members[i]);
    free(j->members);
    for (unsigned i = 0; i < JOB_KINDS; i++)
        track_release(&j->sums[i]);
    for (size_t i = 0; i < j->device_count; i++)
        track_release(&j->devices[i]);
    free(j->devices);
    activities_release(&j->activities);
    for (unsigned i = 0; i < JOB_NEWS; i++)
        buf_release(&j->news_texts[i]);
}

/* ---- its processes ---- */

void job_add_member(struct job *j, struct member *m)
{
    size_t count = j->member_count;
    if ((count & (count - 1)) == 0) {
        j->members = reallocarray(j->members, count ? 2 * count : 1, sizeof(*j->members));
        if (!j->members)
            base_out_of_memory();
    }
    j->members[j->member_count++] = m;
}

void job_remove_member(struct job *j, size_t index)
{
    j->member_count--;
    memmove(&j->members[index], &j->members[index + 1],
            (j->member_count - index) * sizeof(*j->members));
}

struct member *job_find(const struct job *j, struct proc_id id)
{
    for (size_t i = j->member_count; i-- > 0;)
        if (proc_id_equal(j->members[i]->id, id))
            return j->members[i];
    return NULL;
}

struct member *job_find_last(const struct job *j, pid_t pid)
{
    for (size_t i = j->member_count; i-- > 0;)
        if (j->members[i]->id.pid == pid)
            return j->members[i];
    return NULL;
}

struct member *job_find_alive(const struct job *j, pid_t pid)
{
    struct member *m = job_find_last(j, pid);
    return m && member_is_alive(m) ? m : NULL;
}

bool job_any_attached_climbs(const struct job *j)
{
    for (size_t i = 0; i < j->member_count; i++)
        if (j->members[i]->is_attached && member_climbs(j->members[i]))
            return true;
    return false;
}

static const struct member *root_of(const struct job *j)
{
    for (size_t i = 0; i < j->member_count; i++)
        if (j->members[i]->is_root)
            return j->members[i];
    return NULL;
}

void job_name_process(const struct job *j, pid_t pid, struct buf *out)
{
    const struct member *m = job_find_last(j, pid), *root = root_of(j);
    char label[MEMBER_LABEL];
    if (!m) {
        buf_addf(out, "process %d", (int) pid);
        return;
    }
    member_label(m, label);
    buf_adds(out, label);
    if (m->is_root || !root)
        return;
    member_label(root, label);
    buf_addf(out, " (%s), which %s has started", m->command ? m->command : "?", label);
}

/* ---- its series ---- */

bool job_shares_limit(const struct job *j, const struct track *t)
{
    return (strncmp(t->kind, "host.", 5) == 0 && t != &j->sums[JOB_SHM]) ||
           strcmp(t->kind, "torch.pinned") == 0 || strcmp(t->kind, HEAP_USED) == 0;
}

void job_each_track(struct job *j, job_visit visit, void *c)
{
    for (unsigned i = 0; i < JOB_KINDS; i++)
        visit(j, &j->sums[i], c);
    for (size_t i = 0; i < j->device_count; i++)
        visit(j, &j->devices[i], c);
    for (size_t i = 0; i < j->member_count; i++)
        member_each_track(j, j->members[i], visit, c);
}

static void visit_moving(struct job *j, struct track *tracks, size_t count, job_visit visit,
                         void *c)
{
    for (size_t i = 0; i < count; i++)
        if (tracks[i].moves)
            visit(j, &tracks[i], c);
}

void job_each_moving_track(struct job *j, bool of_ended, job_visit visit, void *c)
{
    visit_moving(j, j->sums, JOB_KINDS, visit, c);
    visit_moving(j, j->devices, j->device_count, visit, c);
    for (size_t i = 0; i < j->member_count; i++) {
        struct member *m = j->members[i];
        if (!m->moves || (!of_ended && !member_is_alive(m)))
            continue;
        visit_moving(j, m->tracks, m->has_tracks ? MEMBER_KINDS : 0, visit, c);
        visit_moving(j, m->gpu, m->gpu_count, visit, c);
        visit_moving(j, m->reported, m->reported_count, visit, c);
    }
}

void member_each_track(struct job *j, struct member *m, job_visit visit, void *c)
{
    for (unsigned k = 0; m->has_tracks && k < MEMBER_KINDS; k++)
        visit(j, &m->tracks[k], c);
    for (size_t k = 0; k < m->gpu_count; k++)
        visit(j, &m->gpu[k], c);
    for (size_t k = 0; k < m->reported_count; k++)
        visit(j, &m->reported[k], c);
}

double job_held(const struct job *j)
{
    const struct track *shm = &j->sums[JOB_SHM];
    double held = j->sums[JOB_ANON].last;
    for (size_t i = 0; i < j->member_count; i++) {
        const struct member *m = j->members[i];
        if (!member_is_alive(m) || !m->has_tracks)
            continue;
        for (unsigned k = MEMBER_COPIED; k <= MEMBER_LEFT; k++)
            held += m->tracks[k].samples > 0 ? m->tracks[k].last : 0;
    }
    if (shm->samples > 0)
        held += shm->last;
    return held;
}

/* ---- its steps ---- */

static void restart_track(struct job *j, struct track *t, void *c)
{
    (void) j, (void) c;
    track_restart(t);
}

static void begin_track(struct job *j, struct track *t, void *c)
{
    (void) j, (void) c;
    track_begin_count(t);
}

static void mark_track(struct job *j, struct track *t, void *c)
{
    const struct step_mark *mark = c;
    track_mark(t, &j->terms);
    if (mark->epoch_ended)
        track_epoch(t, &j->terms);
}

static void settle_track(struct job *j, struct track *t, void *c)
{
    (void) c;
    track_settle(t, &j->terms);
}

/* Settles what has ended: the clock is about to forget its steps. */
static void settle_ended(struct job *j)
{
    for (size_t i = 0; i < j->member_count; i++)
        if (!member_is_alive(j->members[i]))
            member_each_track(j, j->members[i], settle_track, NULL);
}

void job_mark(struct job *j, const struct step_mark *mark)
{
    j->clock.epoch = mark->epoch;
    if (mark->restarted) {
        settle_ended(j);
        job_each_moving_track(j, false, restart_track, NULL);
    }
    if (isfinite(mark->step))
        clock_mark(&j->clock, mark->seconds, mark->step);
    else
        j->clock.now.seconds = mark->seconds;
    if (mark->epoch_ended)
        clock_end_epoch(&j->clock);
    /* Ended processes are judged by the steps of their own time. */
    job_each_moving_track(j, false, mark_track, (void *) mark);
}

void job_begin_count(struct job *j)
{
    settle_ended(j);
    clock_begin_count(&j->clock);
    job_each_moving_track(j, false, begin_track, NULL);
}

/* ---- news ---- */

void job_add_news(struct job *j, enum news_kind kind, size_t series, const char *format, ...)
{
    if (j->news_count == JOB_NEWS)
        return;
    struct buf *text = &j->news_texts[j->news_count];
    va_list args;
    buf_clear(text);
    va_start(args, format);
    buf_vaddf(text, format, args);
    va_end(args);
    j->news[j->news_count++] = (struct news){kind, series, buf_text(text)};
}

struct news job_next_news(struct job *j)
{
    if (j->news_count == 0)
        return (struct news){.kind = NEWS_END};
    struct news first = j->news[0];
    struct buf text = j->news_texts[0];
    j->news_count--;
    memmove(&j->news[0], &j->news[1], j->news_count * sizeof(j->news[0]));
    memmove(&j->news_texts[0], &j->news_texts[1], j->news_count * sizeof(j->news_texts[0]));
    j->news_texts[j->news_count] = text;
    return first;
}
