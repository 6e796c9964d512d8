/* replay/facts_host.c: how much host memory the job had over time. */
#include "replay/facts.h"

#include <math.h>
#include <string.h>

/* The run is divided into this many moments; each has the highest values of its time. */
#define MOMENTS 512u

struct timeline {
    double length;
    double anon[MOMENTS], copied[MOMENTS], shared[MOMENTS]; /* NAN: no sample there */
};

static unsigned moment_of(const struct timeline *t, double seconds)
{
    double moment = t->length > 0 ? seconds / t->length * MOMENTS : 0;
    return moment < MOMENTS - 1 ? (unsigned) fmax(moment, 0) : MOMENTS - 1;
}

/* ---- samples ---- */

struct filling {
    const struct timeline *timeline;
    double *values;
    double previous, previous_seconds; /* NAN: none */
};

static int fill_highest(void *context, double step, const struct store_sample *x)
{
    struct filling *f = context;
    double *value = &f->values[moment_of(f->timeline, x->seconds)];
    (void) step;
    *value = fmax(*value, x->max);
    return 0;
}

/* Between two samples it had the value of the first. */
static void add_stretch(const struct filling *f, double to)
{
    if (isnan(f->previous))
        return;
    unsigned last = moment_of(f->timeline, to);
    for (unsigned i = moment_of(f->timeline, f->previous_seconds); i <= last; i++)
        f->values[i] = (isnan(f->values[i]) ? 0 : f->values[i]) + f->previous;
}

static int fill_sum(void *context, double step, const struct store_sample *x)
{
    struct filling *f = context;
    (void) step;
    /* The moment of the sample itself belongs to the next stretch. */
    if (moment_of(f->timeline, x->seconds) > moment_of(f->timeline, f->previous_seconds)) {
        add_stretch(f, x->seconds - f->timeline->length / MOMENTS);
        f->previous = NAN;
    }
    f->previous = isnan(f->previous) ? x->max : fmax(f->previous, x->max);
    f->previous_seconds = x->seconds;
    return 0;
}

static int read_highest(struct timeline *t, struct recording *r, const struct track *track,
                        double *values)
{
    struct filling f = {.timeline = t, .values = values};
    size_t index = recording_index_of(r, track);
    return index < recording_count(r) ? recording_each_sample(r, index, fill_highest, &f) : 0;
}

/* Pages of what it shared that a fork has for itself: copied, or left to it. */
static int read_taken(struct timeline *t, struct recording *r, const struct member *m,
                      enum member_kind kind)
{
    struct filling f = {.timeline = t, .values = t->copied, .previous = NAN};
    size_t index = recording_index_of(r, &m->tracks[kind]);
    if (index == recording_count(r))
        return 0;
    int result = recording_each_sample(r, index, fill_sum, &f);
    add_stretch(&f, m->ended);
    return result;
}

static void carry_on(double *values)
{
    for (unsigned i = 1; i < MOMENTS; i++)
        if (isnan(values[i]))
            values[i] = values[i - 1];
}

static int timeline_fill(struct timeline *t, struct recording *r)
{
    const struct job *j = recording_job(r);
    const struct track *shm = &j->sums[JOB_SHM];
    t->length = j->now;
    for (unsigned i = 0; i < MOMENTS; i++)
        t->anon[i] = t->copied[i] = t->shared[i] = NAN;
    int result = read_highest(t, r, &j->sums[JOB_ANON], t->anon);
    if (result == 0 && !track_is_foreign(shm))
        result = read_highest(t, r, shm, t->shared);
    for (size_t i = 0; i < j->member_count && result == 0; i++) {
        result = read_taken(t, r, j->members[i], MEMBER_COPIED);
        if (result == 0)
            result = read_taken(t, r, j->members[i], MEMBER_LEFT);
    }
    carry_on(t->anon);
    carry_on(t->shared);
    for (unsigned i = 0; i < MOMENTS; i++) {
        t->copied[i] = isnan(t->copied[i]) ? 0 : t->copied[i];
        /* What was in /dev/shm before is not the job's. */
        t->shared[i] = isnan(t->shared[i]) ? 0 : fmax(0, t->shared[i] - shm->first);
    }
    return result;
}

static double total_at(const struct timeline *t, unsigned i)
{
    return t->anon[i] + t->copied[i] + t->shared[i];
}

/* ---- the size ---- */

static bool is_host_memory(const struct view_series *s)
{
    return strncmp(s->info.kind, "host.", 5) == 0;
}

/* malloc's in-use bytes leak into the process as soon as its heap is full. */
static bool can_leak(const struct view_series *s)
{
    return is_host_memory(s) || strcmp(s->info.kind, HEAP_USED) == 0;
}

/* The series that represents the host: a leaking one, the sum, or the only trainer. */
static const struct view_series *deciding(const struct view *v, bool leaking)
{
    const struct view_series *found = NULL;
    for (size_t i = 0; i < v->count; i++) {
        const struct view_series *s = &v->series[i];
        bool counts = leaking ? can_leak(s) && s->answer.verdict == VERDICT_LEAK
                              : strcmp(s->info.kind, "host.anon") == 0 && s->part != PART_BYSTANDER;
        if (counts && (!found || s->part == PART_TOTAL))
            found = s;
    }
    return found;
}

/* The kernel keeps each process's highest RSS, file pages included. */
static double unseen_of(const struct member *m)
{
    const struct track *peak = &m->tracks[MEMBER_PEAK], *rss = &m->tracks[MEMBER_RSS];
    bool known = member_is_trainer(m) && peak->samples > 0 && rss->samples > 0;
    return known ? fmax(0, peak->max - rss->max) : NAN;
}

/* Mapped files of the process that maps most: the others of a job map the same libraries and
 * files. PSS would not do: it is smaller the more programs of the machine map the same files. */
static double mapped_files(const struct job *j)
{
    double most = NAN;
    for (size_t i = 0; i < j->member_count; i++) {
        const struct track *file = &j->members[i]->tracks[MEMBER_FILE];
        if (file->samples > 0)
            most = fmax(most, file->last);
    }
    return most;
}

/* Copies without a named cause are bounded only by all that was shared. */
static double copies_to_come(const struct advice_facts *e)
{
    if (!e->copies || !e->copies->judged.named || !isfinite(e->copies->judged.ends_at))
        return 0;
    return (e->copies->judged.ends_at - e->copies->facts.each) * e->copies->facts.workers;
}

/* The job's memory falls when it ends: takes its level before, not after. */
static double settled(const struct timeline *t, const struct answer *level)
{
    unsigned last = moment_of(t, level->last_seconds);
    return level->floor_last + t->copied[last] + t->shared[last];
}

static void fill_size(struct size_facts *f, const struct timeline *t, const struct job *j,
                      const struct view_series *level)
{
    unsigned highest = 0;
    for (unsigned i = 0; i < MOMENTS; i++)
        if (total_at(t, i) > total_at(t, highest) || isnan(total_at(t, highest)))
            highest = i;
    f->settled = settled(t, &level->answer);
    f->peak = total_at(t, highest);
    f->copied = t->copied[highest];
    f->shared = t->shared[highest];
    f->files = mapped_files(j);
    f->unseen = facts_most_at_a_time(j, unseen_of);
}

int facts_host(struct advice_facts *e, struct recording *r, const struct view *v,
               double limit_bytes)
{
    struct timeline t;
    const struct job *j = recording_job(r);
    const struct store_run *run = recording_run(r);
    const struct view_series *level = deciding(v, false), *leak = deciding(v, true);
    const struct view_series *s = leak ? leak : level;
    int result = timeline_fill(&t, r);
    if (result < 0 || !level)
        return result;
    struct size_facts *f = &e->sizes[e->size_count++];
    *f = (struct size_facts){
        .name = "host",
        .answer = &s->answer,
        .clock = s->info.clock,
        .warm_up_seconds = facts_seconds_at(level, level->answer.warm_up_end),
        .needed = NAN,
        .copies_to_come = copies_to_come(e),
        .capacity = limit_bytes > 0 ? limit_bytes : run->limit_bytes,
        .capacity_source = limit_bytes > 0 ? "--limit" : run->limit_source,
    };
    fill_size(f, &t, j, level);
    e->settings.host_peak = f->peak;
    return 0;
}
