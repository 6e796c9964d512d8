/* watch/phases.c: what programs say they do beside their steps, and what memory does meanwhile. */
#include "watch/session.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * In a phase the memory is looked at this often at first, ever more rarely the longer it lasts;
 * within a share of one core at that moment, and a smaller one over the whole run.
 */
#define LOOK_SECONDS 0.01
#define LOOK_STRETCH 20.0
#define LOOK_SHARE 0.02
#define RUN_SHARE 0.002
#define RUN_SECONDS 0.05 /* and so much in any case */

/* ---- names ---- */

void phases_init(struct phases *p)
{
    *p = (struct phases){.next = INFINITY, .ended_rank = INT_MAX};
}

void phases_release(struct phases *p)
{
    for (unsigned i = 0; i < p->count; i++)
        free(p->names[i]);
}

static unsigned find_name(const struct phases *p, const char *name)
{
    unsigned i = 0;
    while (i < p->count && strcmp(p->names[i], name) != 0)
        i++;
    return i;
}

/* As it can stand in a report, cut to whole characters; the caller's. */
static char *clean(const char *told)
{
    struct buf text = BUF_INIT;
    utf8_add_clean(&text, told, false);
    size_t len = text.len < WIRE_NAME_LENGTH ? text.len : WIRE_NAME_LENGTH - 1;
    while (len < text.len && ((unsigned char) buf_text(&text)[len] & 0xc0) == 0x80)
        len--;
    char *name = strndup(buf_text(&text), len);
    buf_release(&text);
    if (!name)
        base_out_of_memory();
    return name;
}

/* The last place is for "other". */
static unsigned place_of(struct phases *p, const char *told)
{
    char *name = clean(told);
    unsigned i = find_name(p, name);
    if (i == p->count && p->count >= WIRE_PHASES - 1) {
        free(name);
        name = clean(WIRE_OTHER);
        i = find_name(p, name);
    }
    if (i == p->count)
        p->names[p->count++] = name;
    else
        free(name);
    return i;
}

/* ---- who is in which ---- */

static bool enter(struct phase_scope *s, unsigned phase)
{
    if (s->inside[phase]++ > 0)
        return false;
    s->order[s->count++] = (unsigned char) phase;
    return true;
}

static bool leave(struct phase_scope *s, unsigned phase)
{
    if (s->inside[phase] == 0 || --s->inside[phase] > 0)
        return false;
    unsigned i = 0;
    while (s->order[i] != phase)
        i++;
    s->count--;
    memmove(&s->order[i], &s->order[i + 1], s->count - i);
    return true;
}

/* What was begun last, from 1; 0: nothing. */
static unsigned activity_of(const struct phase_scope *s)
{
    return s->count > 0 ? s->order[s->count - 1] + 1u : 0;
}

/* ---- series ---- */

struct change {
    unsigned phase, activity;
    bool begins, changes; /* the series has not been in it, or is no longer */
};

static bool has_stays(struct track *t)
{
    if (!t->stays && t->unit == SERIES_BYTES && !track_is_silent(t) &&
        (t->stays = calloc(1, sizeof(*t->stays))) == NULL)
        base_out_of_memory();
    return t->stays != NULL;
}

static void change_track(struct track *t, const struct change *c)
{
    if (!has_stays(t))
        return;
    t->activity = c->activity;
    if (!c->changes)
        return;
    if (c->begins)
        stays_begin(t->stays, c->phase, t->last);
    else
        stays_end(t->stays, c->phase);
}

static void change_member(struct member *m, unsigned phase, bool begins)
{
    bool changes = begins ? enter(&m->phases, phase) : leave(&m->phases, phase);
    struct change c = {phase, activity_of(&m->phases), begins, changes};
    if (m->has_tracks)
        change_track(&m->tracks[MEMBER_ANON], &c);
    for (size_t i = 0; i < m->gpu_count; i++)
        change_track(&m->gpu[i], &c);
    for (size_t i = 0; i < m->told_count; i++)
        change_track(&m->told[i], &c);
}

static void change_job(struct watch *w, unsigned phase, bool begins)
{
    struct phase_scope *s = &w->phases.job;
    bool changes = begins ? enter(s, phase) : leave(s, phase);
    struct change c = {phase, activity_of(s), begins, changes};
    change_track(&w->job[JOB_ANON], &c);
    for (size_t i = 0; i < w->device_count; i++)
        change_track(&w->devices[i], &c);
}

void phases_see(struct watch *w, struct track *t, double value)
{
    if (!isfinite(value) || !t->stays)
        return;
    stays_note(t->stays, value);
    if (t->activity > 0)
        track_note_peak(t, &w->terms, value);
}

void phases_see_aside(struct watch *w, struct track *t, double value)
{
    if (has_stays(t))
        phases_see(w, t, value);
}

/* ---- told ---- */

/* What the ring has counted, less what it had when watching began. */
static bool read_count(const struct ring *r, unsigned number, struct wire_phase_count *ret)
{
    if (!wire_reader_phase(r->reader, number, ret))
        return false;
    const struct wire_phase_count *before = &r->counted_before[number];
    bool sane = ret->begun >= before->begun && ret->ended >= before->ended &&
                ret->ended <= ret->begun && ret->seconds >= before->seconds;
    ret->begun -= before->begun;
    ret->ended -= before->ended;
    ret->seconds -= before->seconds;
    return sane;
}

void phases_attach(struct ring *r)
{
    for (unsigned i = 0; i < WIRE_PHASES; i++)
        if (!wire_reader_phase(r->reader, i, &r->counted_before[i]))
            r->counted_before[i] = (struct wire_phase_count){0};
}

/* "evaluate 3.2 s", of the process that leads. */
static void record(struct watch *w, const struct ring *r, unsigned phase, double begin, double end)
{
    if (!w->options.store || (w->steps.leader && w->steps.leader != r))
        return;
    struct buf text = BUF_INIT;
    buf_addf(&text, "%s ", w->phases.names[phase]);
    units_add_duration(&text, end - begin);
    store_add_event(w->options.store, end, "phase", buf_text(&text));
    w->unsaved = true;
    buf_release(&text);
}

static void change(struct watch *w, struct ring *r, unsigned number, double seconds, bool begins)
{
    struct ring_phase *p = &r->phases[number];
    unsigned phase = p->place - 1;
    if (p->is_in == begins)
        return;
    p->is_in = begins;
    if (!begins)
        steps_stand(w, r, seconds); /* what was seen in it is of this step */
    change_member(r->member, phase, begins);
    change_job(w, phase, begins);
    if (begins)
        p->since = w->phases.since = seconds;
    else
        record(w, r, phase, p->since, seconds);
    if (!w->inside)
        w->phases.next = 0;
    w->phases.changed = true;
}

void phases_take(struct watch *w, struct ring *r, double seconds, const struct wire_record *x)
{
    struct wire_phase_count count;
    if (!r->member || !wire_reader_phase(r->reader, x->name, &count))
        return;
    struct ring_phase *p = &r->phases[x->name];
    if (p->place == 0)
        p->place = place_of(&w->phases, count.name) + 1;
    if (x->value > 0)
        change(w, r, x->name, seconds, false); /* where its end was lost */
    change(w, r, x->name, seconds, x->value > 0);
}

/* ---- how often and how long ---- */

static void add_counts(const struct ring *r, struct phase_total *ret)
{
    for (unsigned i = 0; i < WIRE_PHASES; i++) {
        struct wire_phase_count count;
        unsigned place = r->phases[i].place;
        if (place == 0 || !read_count(r, i, &count))
            continue;
        ret[place - 1].times += count.begun;
        ret[place - 1].ended += count.ended;
        ret[place - 1].seconds += count.seconds;
    }
}

static bool has_phases(const struct ring *r)
{
    for (unsigned i = 0; i < WIRE_PHASES; i++)
        if (r->phases[i].place > 0)
            return true;
    return false;
}

static int rank_of(const struct ring *r)
{
    return r->member ? r->member->role.rank : -1;
}

void phases_lose(struct watch *w, struct ring *r, double seconds)
{
    struct phases *p = &w->phases;
    for (unsigned i = 0; i < WIRE_PHASES; i++)
        if (r->phases[i].is_in)
            change(w, r, i, seconds, false);
    if (!has_phases(r) || rank_of(r) > p->ended_rank)
        return;
    if (rank_of(r) < p->ended_rank)
        memset(p->ended, 0, sizeof(p->ended));
    p->ended_rank = rank_of(r);
    add_counts(r, p->ended);
}

void phases_count(const struct watch *w, struct phase_total ret[WIRE_PHASES])
{
    const struct phases *p = &w->phases;
    int lowest = p->ended_rank;
    for (size_t i = 0; i < w->rings.count; i++)
        if (has_phases(w->rings.list[i]) && rank_of(w->rings.list[i]) < lowest)
            lowest = rank_of(w->rings.list[i]);
    if (lowest == p->ended_rank)
        memcpy(ret, p->ended, sizeof(p->ended));
    else
        memset(ret, 0, sizeof(p->ended));
    for (size_t i = 0; i < w->rings.count; i++)
        if (has_phases(w->rings.list[i]) && rank_of(w->rings.list[i]) == lowest)
            add_counts(w->rings.list[i], ret);
}

/* ---- looking ---- */

bool phases_may_look(const struct watch *w, double seconds)
{
    return w->phases.spent <= RUN_SECONDS + RUN_SHARE * seconds;
}

void phases_look(struct watch *w, double seconds)
{
    struct phases *p = &w->phases;
    if (seconds < p->next)
        return;
    p->next = INFINITY;
    if (!phases_may_look(w, seconds))
        return;
    double before = watch_cpu_seconds();
    members_look(w);
    double cost = watch_cpu_seconds() - before;
    p->spent += cost;
    if (p->job.count > 0)
        p->next = seconds +
                  fmax(fmax(LOOK_SECONDS, (seconds - p->since) / LOOK_STRETCH), cost / LOOK_SHARE);
}

/* ---- the view ---- */

static struct watch_phase *add_phase(struct watch_view *v)
{
    v->phases = reallocarray(v->phases, v->phase_count + 1, sizeof(*v->phases));
    if (!v->phases)
        base_out_of_memory();
    v->phases[v->phase_count] = (struct watch_phase){0};
    return &v->phases[v->phase_count++];
}

static void add_series(struct watch_phase *p, size_t series, const struct stay *s)
{
    p->series = reallocarray(p->series, p->count + 1, sizeof(*p->series));
    if (!p->series)
        base_out_of_memory();
    p->series[p->count++] = (struct watch_phase_series){
        .series = series,
        .height = s->height,
        .kept = s->kept / (double) s->looked_at,
        .looked_at = s->looked_at,
        .given_back = s->given_back,
    };
}

void phases_view(const struct watch *w, struct track *const *tracks, struct watch_view *v)
{
    struct phase_total totals[WIRE_PHASES];
    phases_count(w, totals);
    for (unsigned i = 0; i < w->phases.count; i++) {
        struct stay found;
        if (totals[i].times == 0)
            continue;
        struct watch_phase *p = add_phase(v);
        p->name = strdup(w->phases.names[i]);
        if (!p->name)
            base_out_of_memory();
        p->times = totals[i].times;
        p->ended = totals[i].ended;
        p->seconds = totals[i].seconds;
        for (size_t k = 0; k < v->count; k++)
            if (tracks[k]->stays && stays_found(tracks[k]->stays, i, &found))
                add_series(p, k, &found);
    }
}
