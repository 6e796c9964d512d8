/* job/activities.c: what programs do besides their steps, and what memory does meanwhile. */
#include "job/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

void activities_release(struct activities *a)
{
    for (unsigned i = 0; i < a->count; i++)
        free(a->names[i]);
}

static unsigned find_name(const struct activities *p, const char *name)
{
    unsigned i = 0;
    while (i < p->count && strcmp(p->names[i], name) != 0)
        i++;
    return i;
}

/* Returns the name as a report can show it, cut to whole characters; the caller frees it. */
static char *clean(const char *reported)
{
    struct buf text = BUF_INIT;
    utf8_add_clean(&text, reported, false);
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
unsigned activities_place(struct activities *p, const char *reported)
{
    char *name = clean(reported);
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

static bool enter(struct activity_scope *s, unsigned phase)
{
    if (s->inside[phase]++ > 0)
        return false;
    s->order[s->count++] = (unsigned char) phase;
    return true;
}

static bool leave(struct activity_scope *s, unsigned phase)
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

/* The activity that began last, from 1; 0: none. */
static unsigned activity_of(const struct activity_scope *s)
{
    return s->count > 0 ? s->order[s->count - 1] + 1u : 0;
}

/* ---- series ---- */

struct change {
    unsigned phase, activity;
    bool begins, changes; /* `changes`: the series enters or leaves it now */
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
    bool changes = begins ? enter(&m->activities, phase) : leave(&m->activities, phase);
    struct change c = {phase, activity_of(&m->activities), begins, changes};
    if (m->has_tracks)
        change_track(&m->tracks[MEMBER_ANON], &c);
    for (size_t i = 0; i < m->gpu_count; i++)
        change_track(&m->gpu[i], &c);
    for (size_t i = 0; i < m->reported_count; i++)
        change_track(&m->reported[i], &c);
}

static void change_job(struct job *j, unsigned phase, bool begins)
{
    struct activity_scope *s = &j->activities.scope;
    bool changes = begins ? enter(s, phase) : leave(s, phase);
    struct change c = {phase, activity_of(s), begins, changes};
    change_track(&j->sums[JOB_ANON], &c);
    for (size_t i = 0; i < j->device_count; i++)
        change_track(&j->devices[i], &c);
}

void job_change_activity(struct job *j, struct member *m, unsigned activity, bool begins)
{
    change_member(m, activity, begins);
    change_job(j, activity, begins);
}

void job_see(struct job *j, struct track *t, double value)
{
    if (!isfinite(value) || !t->stays)
        return;
    stays_note(t->stays, value);
    if (t->activity > 0)
        track_note_peak(t, &j->terms, value);
}

void job_see_aside(struct job *j, struct track *t, double value)
{
    if (has_stays(t))
        job_see(j, t, value);
}
