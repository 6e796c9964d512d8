/* replay/recording.c: reads a run file into a job, and judges it again. */
#include "replay/recording.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct mark {
    double seconds, step, epoch;
};

/* A series of the file and the track it is played into. */
struct entry {
    int64_t id, process;
    char *kind, *device;
    enum series_unit unit;
    struct subject subject;
    char *rule;
    struct recorded_series shown;
    double min, max, last; /* of all its samples; last NAN: it has none */
    bool played;
};

/* Nothing ticks in this job: its members and tracks are those of the file. */
struct recording {
    struct store *store;
    struct job job;
    int64_t *process_ids; /* of job.members, in the same order */
    struct mark *marks;
    size_t mark_count;
    struct entry *entries;
    size_t count;
    bool has_foreign_censuses; /* of another version: unreadable */
    bool has_evidence;         /* censuses: growth and holders can be derived again */
};

/* Returns the array with room for one more; it doubles at powers of two. */
static void *grown(void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return array;
    void *larger = reallocarray(array, count ? 2 * count : 1, size);
    if (!larger)
        base_out_of_memory();
    return larger;
}

static char *copy(const char *text)
{
    char *result = text ? strdup(text) : NULL;
    if (text && !result)
        base_out_of_memory();
    return result;
}

/* ---- what is in the file ---- */

static enum proc_role role_named(const char *name)
{
    for (enum proc_role role = ROLE_UNKNOWN; name && role <= ROLE_HELPER; role++)
        if (strcmp(proc_role_name(role), name) == 0)
            return role;
    return ROLE_UNKNOWN;
}

static int add_process(void *context, int64_t id, const struct store_process *p)
{
    struct recording *r = context;
    struct job *j = &r->job;
    struct member *m = member_new((struct proc_id){.pid = (pid_t) p->pid, .start = p->start});
    m->parent.pid = (pid_t) p->parent_pid;
    m->role.role = role_named(p->role);
    m->role.rank = p->rank;
    m->command = copy(p->command);
    m->joined = p->first_seconds;
    m->ended = p->last_seconds;
    j->now = fmax(j->now, p->last_seconds);
    member_init_tracks(m);
    r->process_ids = grown(r->process_ids, j->member_count, sizeof(*r->process_ids));
    r->process_ids[j->member_count] = id;
    job_add_member(j, m);
    return 0;
}

static int add_entry(void *context, int64_t id, const struct store_series *x)
{
    struct recording *r = context;
    r->entries = grown(r->entries, r->count, sizeof(*r->entries));
    r->entries[r->count++] = (struct entry){
        .id = id,
        .process = x->process,
        .kind = copy(x->kind),
        .device = copy(x->device),
        .unit = x->unit,
        .rule = copy(x->rule),
        .shown = {.limit = x->limit},
        .min = INFINITY,
        .max = -INFINITY,
        .last = NAN,
    };
    return 0;
}

static int add_mark(void *context, double seconds, double step, double epoch)
{
    struct recording *r = context;
    if (!isfinite(seconds))
        return 0;
    r->marks = grown(r->marks, r->mark_count, sizeof(*r->marks));
    r->marks[r->mark_count++] = (struct mark){seconds, step, epoch};
    return 0;
}

static struct member *member_of(const struct recording *r, int64_t process)
{
    for (size_t i = 0; i < r->job.member_count; i++)
        if (r->process_ids[i] == process)
            return r->job.members[i];
    return NULL;
}

static struct track *job_track(struct job *j, const struct entry *e)
{
    for (unsigned i = 0; i < JOB_KINDS; i++) {
        const char *device = j->sums[i].device;
        bool same_device =
            device && e->device ? strcmp(device, e->device) == 0 : !device && !e->device;
        if (same_device && strcmp(j->sums[i].kind, e->kind) == 0)
            return &j->sums[i];
    }
    return NULL;
}

/* The track that every process or job has; NULL: it is an extra one. */
static struct track *known_track(struct recording *r, const struct entry *e)
{
    struct member *m = member_of(r, e->process);
    if (!m)
        return job_track(&r->job, e);
    enum member_kind kind = e->device ? MEMBER_KINDS : member_kind_of(e->kind);
    return kind < MEMBER_KINDS ? &m->tracks[kind] : NULL;
}

static struct track *other_tracks(size_t count)
{
    struct track *tracks = calloc(count + 1, sizeof(*tracks));
    if (!tracks)
        base_out_of_memory();
    return tracks;
}

/* GPUs, and counters reported from inside: as many as the file has. */
static struct track *other_track(struct recording *r, const struct entry *e)
{
    struct member *m = member_of(r, e->process);
    bool gpu = strcmp(e->kind, "gpu.used") == 0;
    struct track **tracks = !m ? &r->job.devices : gpu ? &m->gpu : &m->reported;
    size_t *count = !m ? &r->job.device_count : gpu ? &m->gpu_count : &m->reported_count;
    if (!*tracks)
        *tracks = other_tracks(r->count);
    struct track *t = &(*tracks)[(*count)++];
    track_init(t, e->kind, e->unit, TRACK_JUDGED);
    t->device = copy(e->device);
    return t;
}

static void place_entry(struct recording *r, struct entry *e)
{
    struct track *t = known_track(r, e);
    /* A damaged file may hold a series twice. */
    if (!t || t->stored > 0)
        t = other_track(r, e);
    t->stored = e->id;
    if (e->rule)
        track_restore(t, e->rule);
    e->subject = (struct subject){.track = t, .member = member_of(r, e->process)};
    view_fill_info(&r->job, &e->subject, &e->shown.info);
}

static int measure_sample(void *context, const struct store_sample *x)
{
    struct entry *e = context;
    e->min = fmin(e->min, x->floor);
    e->max = fmax(e->max, x->max);
    e->last = x->value;
    return 0;
}

static int measure(struct recording *r)
{
    int result = 0;
    for (size_t i = 0; i < r->count && result == 0; i++)
        result = store_each_sample(r->store, r->entries[i].id, measure_sample, &r->entries[i]);
    return result;
}

static const struct entry *entry_of(const struct recording *r, const struct track *t)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->entries[i].subject.track == t)
            return &r->entries[i];
    return NULL;
}

/* The sum of one process is that process. */
static void find_judged(struct recording *r)
{
    struct job *j = &r->job;
    const struct entry *processes = entry_of(r, &j->sums[JOB_PROCESSES]);
    j->most_processes = processes && processes->max > 1 ? (unsigned) fmin(processes->max, 1e9) : 1;
    j->sums[JOB_ANON].parts = j->most_processes;
    for (size_t i = 0; i < r->count; i++) {
        struct entry *e = &r->entries[i];
        const struct track *t = e->subject.track;
        j->gpu_has_pids =
            j->gpu_has_pids || (e->subject.member && strcmp(e->kind, "gpu.used") == 0);
        const struct member *m = e->subject.member;
        bool sums_one = t == &j->sums[JOB_ANON] && j->most_processes < 2;
        bool is_shown = t->use == TRACK_SHOWN && m && member_has_reported(m, t);
        e->shown.judged = (track_is_judged(t) && !sums_one) || is_shown;
    }
}

/* ---- evidence ---- */

static int add_look(void *context, int64_t process, const struct store_heap_point *x)
{
    struct member *m = member_of(context, process);
    const struct heap_point look = {x->seconds, x->heap_used,   x->heap_free,  x->anon,
                                    x->data,    x->arenas_used, x->arenas_free};
    if (m)
        evidence_restore_heap_point(m, &look);
    return 0;
}

static int add_census(void *context, int64_t process, const struct store_census *x)
{
    struct recording *r = context;
    struct member *m = member_of(r, process);
    int e = m ? evidence_restore_census(&r->job, m, x->origin, x->text) : -ENOENT;
    r->has_evidence = r->has_evidence || e == 0;
    r->has_foreign_censuses = r->has_foreign_censuses || e == -EPROTONOSUPPORT;
    return 0;
}

/* Sites that cannot be read cost their names only: the judgement rests on other evidence too. */
static int add_sites(void *context, int64_t process, const char *text)
{
    struct member *m = member_of(context, process);
    if (m)
        (void) evidence_restore_sites(m, text);
    return 0;
}

bool recording_has_foreign_censuses(const struct recording *r)
{
    return r->has_foreign_censuses;
}

bool recording_has_evidence(const struct recording *r)
{
    return r->has_evidence;
}

int recording_new(struct store *store, struct recording **ret)
{
    struct recording *r = calloc(1, sizeof(*r));
    if (!r)
        base_out_of_memory();
    struct job *j = &r->job;
    r->store = store;
    job_init(j);
    int e = store_each_process(store, add_process, r);
    if (e == 0)
        e = store_each_mark(store, add_mark, r);
    if (e == 0)
        e = store_each_series(store, add_entry, r);
    for (size_t i = 0; i < r->count; i++)
        place_entry(r, &r->entries[i]);
    for (size_t i = 0; i < r->job.member_count; i++) {
        struct member *m = r->job.members[i];
        enum ledger_kind kind;
        m->forked = track_is_excused(&m->tracks[MEMBER_PRIVATE], &kind) && kind == LEDGER_COPIED;
    }
    if (e == 0)
        e = measure(r);
    if (e == 0)
        e = store_each_heap_point(store, add_look, r);
    if (e == 0)
        e = store_each_census(store, add_census, r);
    if (e == 0)
        e = store_each_sites(store, add_sites, r);
    if (e < 0) {
        recording_free(r);
        return e;
    }
    find_judged(r);
    *ret = r;
    return 0;
}

struct recording *recording_free(struct recording *r)
{
    if (!r)
        return NULL;
    job_release(&r->job);
    for (size_t i = 0; i < r->count; i++) {
        view_release_info(&r->entries[i].shown.info);
        free(r->entries[i].kind);
        free(r->entries[i].device);
        free(r->entries[i].rule);
    }
    free(r->process_ids);
    free(r->entries);
    free(r->marks);
    free(r);
    return NULL;
}

size_t recording_count(const struct recording *r)
{
    return r->count;
}

struct job *recording_job(struct recording *r)
{
    return &r->job;
}

const struct store_run *recording_run(const struct recording *r)
{
    return store_run(r->store);
}

size_t recording_index_of(const struct recording *r, const struct track *t)
{
    size_t i = 0;
    while (i < r->count && r->entries[i].subject.track != t)
        i++;
    return i;
}

const struct recorded_series *recording_series(const struct recording *r, size_t index)
{
    return &r->entries[index].shown;
}

bool recording_has_steps(const struct recording *r)
{
    unsigned steps = 0;
    for (size_t i = 0; i < r->mark_count && steps < 2; i++)
        steps += isfinite(r->marks[i].step) ? 1 : 0;
    return steps >= 2;
}

/* Another source counts from here on, perhaps other steps; see begin_count(). */
static bool begins_count(const struct mark *m)
{
    return isnan(m->step) && isnan(m->epoch);
}

int recording_each_mark(const struct recording *r,
                        int (*visit)(void *c, double seconds, double step, bool begins), void *c)
{
    int result = 0;
    for (size_t i = 0; i < r->mark_count && result >= 0; i++) {
        const struct mark *m = &r->marks[i];
        result = visit(c, m->seconds, m->step, begins_count(m));
    }
    return result < 0 ? result : 0;
}

/* Counts of several sources follow each other: the last one is reported. */
struct span {
    struct mark first, last; /* NAN: no step is reported */
};

static struct span count_span(const struct recording *r)
{
    const struct mark none = {NAN, NAN, NAN};
    struct span s = {none, none};
    for (size_t i = 0; i < r->mark_count; i++) {
        const struct mark *m = &r->marks[i];
        if (begins_count(m))
            s.first = none;
        if (!isfinite(m->step))
            continue;
        if (!(m->step >= s.first.step))
            s.first = *m;
        s.last = *m;
    }
    return s;
}

double recording_steps(const struct recording *r)
{
    struct span s = count_span(r);
    return s.last.step - s.first.step;
}

double recording_step_by(const struct recording *r, double seconds)
{
    struct span s = count_span(r);
    double pace = (s.last.step - s.first.step) / (s.last.seconds - s.first.seconds);
    double step = s.last.step + pace * fmax(0, seconds - s.last.seconds);
    return isfinite(step) ? floor(step) : 0;
}

/* ---- samples with their steps ---- */

struct stepper {
    const struct recording *r;
    struct step_clock clock;
    size_t next; /* mark */
    int (*visit)(void *c, double step, const struct store_sample *x);
    void *context;
};

static int visit_stepped(void *context, const struct store_sample *x)
{
    struct stepper *s = context;
    for (; s->next < s->r->mark_count && !(s->clock.now.seconds >= x->seconds); s->next++) {
        const struct mark *m = &s->r->marks[s->next];
        if (isfinite(m->step))
            clock_mark(&s->clock, m->seconds, m->step);
        else if (begins_count(m))
            clock_begin_count(&s->clock);
    }
    return s->visit(s->context, clock_step_lately(&s->clock, x->seconds), x);
}

int recording_each_sample(struct recording *r, size_t index,
                          int (*visit)(void *c, double step, const struct store_sample *x), void *c)
{
    struct stepper s = {.r = r, .visit = visit, .context = c};
    clock_init(&s.clock);
    return store_each_sample(r->store, r->entries[index].id, visit_stepped, &s);
}

/* ---- judged again ---- */

/* Bytes in use at the end, of everything that counts against the limit. */
static double used_at_end(const struct recording *r, const char *source)
{
    const struct job *j = &r->job;
    bool cgroup = strcmp(source, "cgroup") == 0, ram = strcmp(source, "RAM") == 0;
    const struct entry *e = entry_of(r, &j->sums[cgroup ? JOB_CGROUP : ram ? JOB_SYSTEM : JOB_PSS]);
    if (!cgroup && !ram && (!e || isnan(e->last)))
        e = entry_of(r, &j->sums[JOB_ANON]);
    return e ? e->last : NAN;
}

/* A number that no engine accepts is not known: a stranger's file may contain anything. */
static double sane(double number)
{
    return number > 0 && number <= ENGINE_MAX_NUMBER ? number : 0;
}

/* Recorded limits hold, unless the user gives another. */
static void set_limits(struct recording *r, const struct recording_options *o)
{
    const struct store_run *run = store_run(r->store);
    bool told = o->limit_bytes > 0;
    double limit = told ? o->limit_bytes : run->limit_bytes;
    double used = used_at_end(r, told || !run->limit_source ? "--limit" : run->limit_source);
    r->job.limit = sane(limit);
    for (size_t i = 0; i < r->count; i++) {
        struct entry *e = &r->entries[i];
        struct track *t = e->subject.track;
        bool host = strncmp(e->kind, "host.", 5) == 0 && t != &r->job.sums[JOB_SHM];
        double left = e->last + limit - used;
        bool derived = host && (told || e->shown.limit == 0) && isfinite(left);
        t->limit = sane(derived ? left : e->shown.limit);
    }
}

static double first_known(double told, double recorded)
{
    return sane(told > 0 ? told : recorded);
}

static void set_terms(struct recording *r, const struct recording_options *o)
{
    const struct store_run *run = store_run(r->store);
    r->job.terms = (struct track_terms){
        .clock = &r->job.clock,
        .horizon = first_known(o->horizon, run->horizon),
        .epoch = first_known(o->epoch, run->epoch_length),
        .plan_steps = first_known(o->plan_steps, run->plan_steps),
        .plan_seconds = first_known(o->plan_seconds, run->plan_seconds),
    };
}

/* Chooses which series are played, and how many share the false-alarm budget. */
static void choose(struct recording *r, const struct recording_options *o)
{
    unsigned moving = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct entry *e = &r->entries[i];
        struct track *t = e->subject.track;
        e->played = !o->wanted || o->wanted(o->context, &e->shown);
        t->asked = e->played && o->wanted;
        if (t->asked && track_is_silent(t))
            t->use = TRACK_JUDGED;
        moving += e->played && track_is_judged(t) && track_would_move(t, e->min, e->max);
    }
    r->job.terms.series = moving > 0 ? moving : 1;
}

struct player {
    struct recording *r;
    struct track *track;
    const struct mark *next;
    size_t left;              /* marks from next on */
    struct store_sample last; /* count 0: none yet */
};

/* As steps_mark() does for all tracks at once. */
static void play_mark(struct recording *r, struct track *t, const struct mark *m)
{
    struct step_clock *clock = &r->job.clock;
    if (begins_count(m)) {
        clock_begin_count(clock);
        track_begin_count(t);
        return;
    }
    bool epoch_ended = m->epoch > clock->epoch;
    clock->epoch = m->epoch;
    if (m->step < clock->now.step)
        track_restart(t);
    if (isfinite(m->step))
        clock_mark(clock, m->seconds, m->step);
    else
        clock->now.seconds = m->seconds;
    if (epoch_ended)
        clock_end_epoch(clock);
    track_mark(t, &r->job.terms);
    if (epoch_ended)
        track_epoch(t, &r->job.terms);
}

static void play_marks(struct player *p, double until)
{
    for (; p->left > 0 && p->next->seconds <= until; p->next++, p->left--)
        play_mark(p->r, p->track, p->next);
}

/* An unchanged value was read many times and written twice. In a short run that is most of the
 * samples. If it lasted for a good part of the run, this many readings are put back. */
#define REPEATED 16
#define REPEATED_SHARE (1.0 / 64)

static void play_repeated(struct player *p, const struct store_sample *x)
{
    const struct store_sample *last = &p->last;
    double gap = x->seconds - last->seconds;
    if (last->count != 1 || x->count != 1 || x->value != last->value ||
        gap < REPEATED_SHARE * x->seconds)
        return;
    for (int i = 1; i < REPEATED; i++) {
        double seconds = last->seconds + gap * i / REPEATED;
        play_marks(p, seconds);
        track_push(p->track, &p->r->job.terms, seconds, x->value);
    }
}

/*
 * A block stands for its samples with its floor, mean and peak. With the floor alone the single
 * samples that follow would look like growth; with the mean alone a floor under spikes would be
 * lost.
 */
static int play_sample(void *context, const struct store_sample *x)
{
    struct player *p = context;
    play_repeated(p, x);
    p->last = *x;
    play_marks(p, x->seconds);
    track_push(p->track, &p->r->job.terms, x->seconds, x->floor);
    if (x->count > 1) {
        track_push(p->track, &p->r->job.terms, x->seconds, x->value);
        track_push(p->track, &p->r->job.terms, x->seconds, x->max);
    }
    return 0;
}

static int play(struct recording *r, const struct entry *e, bool by_time)
{
    struct player p = {.r = r, .track = e->subject.track, .next = r->marks};
    p.left = by_time ? 0 : r->mark_count;
    clock_init(&r->job.clock);
    int result = store_each_sample(r->store, e->id, play_sample, &p);
    play_marks(&p, INFINITY);
    track_finish(p.track);
    return result;
}

/* Replays all steps, for the points of the censuses. */
static void play_clock(struct recording *r, bool by_time)
{
    struct step_clock *clock = &r->job.clock;
    clock_init(clock);
    for (size_t i = 0; i < r->mark_count && !by_time; i++) {
        const struct mark *m = &r->marks[i];
        if (begins_count(m))
            clock_begin_count(clock);
        else if (isfinite(m->step))
            clock_mark(clock, m->seconds, m->step);
    }
}

static int count_process(void *context, int64_t id, const struct store_process *p)
{
    (void) id;
    (void) p;
    ++*(uint64_t *) context;
    return 0;
}

/* Fills what a report says about the run itself, as far as it was recorded. */
static void describe_run(struct recording *r, struct view *ret)
{
    const struct store_run *run = store_run(r->store);
    ret->command = copy(run->title);
    ret->arguments = copy(run->command);
    ret->started = run->started;
    ret->seconds = store_last_seconds(r->store);
    ret->limit = run->limit_bytes;
    ret->limit_source = copy(run->limit_source);
    ret->watcher_cpu_seconds = ret->watcher_bytes = NAN;
    ret->system_first = ret->system_last = NAN;
    struct span span = count_span(r);
    ret->step = span.last.step;
    ret->steps = span.last.step - span.first.step + 1;
    store_each_process(r->store, count_process, &ret->processes_seen);
}

int recording_judge(struct recording *r, const struct recording_options *options, struct view *ret)
{
    set_terms(r, options);
    set_limits(r, options);
    choose(r, options);
    for (size_t i = 0; i < r->count; i++) {
        struct entry *e = &r->entries[i];
        int result = e->played ? play(r, e, options->by_time) : 0;
        if (result < 0)
            return result;
    }
    *ret = (struct view){0};
    describe_run(r, ret);
    if (r->has_evidence) {
        play_clock(r, options->by_time);
        settle_job(&r->job);
    }
    view_judge(&r->job, ret);
    if (r->has_evidence) {
        view_findings(&r->job, ret);
        view_patterns(&r->job, ret);
    }
    return 0;
}

bool recording_account(struct recording *r, size_t index, struct account *ret)
{
    const struct entry *e = &r->entries[index];
    return account_of(&r->job, member_of(r, e->process), e->subject.track, ret);
}
