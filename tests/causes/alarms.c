/*
 * tests/causes/alarms.c: what was announced on the way, derived anew from run files.
 *
 * alarms RUN.tide...    a line for each file: its path, then "+KIND@STEP" for an alarm and
 *                       "-KIND@STEP" for one that was withdrawn, separated by blanks
 *
 * A recording is played in the order of time, and at every moment it is judged by what was known
 * then. A run file keeps the last censuses alone, each with the counts of those before it: what
 * grew and who held it is known here from the second of those on, what was let go of meanwhile
 * never.
 */
#include "judge/judge.h"
#include "replay/recording.h"
#include "store/store.h"
#include "watch/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The run is judged so many times. */
#define MOMENTS 400

/* A value that stood still was written twice, and read at least so many times. */
#define REPEATED 16

/* A mark, or a sample of `track`. */
struct happening {
    double seconds;
    size_t order;
    struct track *track;
    struct member *member;
    double value;       /* of a sample */
    double step, epoch; /* of a mark */
};

/* What a census had to tell in the end. */
struct known {
    unsigned heap_count;
    struct wire_census *census;
    uint64_t time;
    double in_a_row;
    bool ended;
    unsigned points[WIRE_CENSUS_GROWING];
};

struct replay {
    struct job *job;
    struct happening *list;
    size_t count, room;
    struct track *track; /* whose samples are being read */
    struct member *member;
    struct store_sample last;
    struct known *evidence; /* of each member */
    double *ended;
};

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void add(struct replay *r, struct happening x)
{
    if (r->count == r->room) {
        r->room = r->room > 0 ? 2 * r->room : 1024;
        r->list = must(reallocarray(r->list, r->room, sizeof(*r->list)));
    }
    x.order = r->count;
    r->list[r->count++] = x;
}

static int add_mark(void *context, double seconds, double step, double epoch)
{
    if (isfinite(seconds))
        add(context, (struct happening){.seconds = seconds, .step = step, .epoch = epoch});
    return 0;
}

static void add_value(struct replay *r, double seconds, double value)
{
    add(r, (struct happening){
               .seconds = seconds, .track = r->track, .member = r->member, .value = value});
}

static int add_sample(void *context, double step, const struct store_sample *x)
{
    struct replay *r = context;
    const struct store_sample *last = &r->last;
    (void) step;
    bool stood = last->count == 1 && x->count == 1 && x->value == last->value;
    for (int i = 1; stood && i < REPEATED; i++)
        add_value(r, last->seconds + (x->seconds - last->seconds) * i / REPEATED, x->value);
    add_value(r, x->seconds, x->floor);
    if (x->count > 1) {
        add_value(r, x->seconds, x->value);
        add_value(r, x->seconds, x->max);
    }
    r->last = *x;
    return 0;
}

/* Marks come first: what is read at a step is read behind it. */
static int by_time(const void *a, const void *b)
{
    const struct happening *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    if (!x->track != !y->track)
        return x->track ? 1 : -1;
    return x->order < y->order ? -1 : 1;
}

/* ---- what was known then ---- */

static void keep_evidence(const struct member *m, struct known *e)
{
    if (!m->evidence)
        return;
    e->heap_count = m->evidence->heap_count;
    e->census = m->evidence->census;
    if (!e->census)
        return;
    e->time = e->census->time;
    e->in_a_row = e->census->in_a_row;
    e->ended = e->census->ended;
    for (unsigned i = 0; i < e->census->growing_count; i++)
        e->points[i] = e->census->growing[i].point_count;
}

static unsigned points_until(const struct job *j, const struct wire_census_growing *g,
                             unsigned count, double seconds)
{
    while (count > 0 && evidence_seconds(j, g->points[count - 1].time) > seconds)
        count--;
    return count;
}

/* The census as it is in the file. */
static void restore_census(const struct known *e)
{
    struct wire_census *c = e->census;
    c->time = e->time;
    c->in_a_row = e->in_a_row;
    c->ended = e->ended;
    for (unsigned i = 0; i < c->growing_count; i++)
        c->growing[i].point_count = e->points[i];
}

/* The last census of those until then whose counts are known; NULL: there was none. */
static struct wire_census *census_of(const struct job *j, const struct known *e, double seconds)
{
    struct wire_census *c = e->census;
    if (!c)
        return NULL;
    restore_census(e);
    if (evidence_seconds(j, e->time) <= seconds)
        return c;
    unsigned later = 0;
    c->time = 0;
    for (unsigned i = 0; i < c->growing_count; i++) {
        struct wire_census_growing *g = &c->growing[i];
        g->point_count = points_until(j, g, e->points[i], seconds);
        later = e->points[i] - g->point_count > later ? e->points[i] - g->point_count : later;
        if (g->point_count > 0 && g->points[g->point_count - 1].time > c->time)
            c->time = g->points[g->point_count - 1].time;
    }
    c->in_a_row = fmax(0, e->in_a_row - later);
    c->ended = false;
    return c->time > 0 ? c : NULL;
}

static void know_objects(const struct job *j, const struct known *e, struct evidence *f,
                         double seconds)
{
    f->heap_count = e->heap_count;
    while (f->heap_count > 0 && f->heap[f->heap_count - 1].seconds > seconds)
        f->heap_count--;
    f->census = census_of(j, e, seconds);
}

/* False: all processes have ended, and nobody looks any more. */
static bool know(struct replay *r, double seconds)
{
    struct job *j = r->job;
    bool any_alive = false;
    j->now = seconds;
    for (size_t i = 0; i < j->member_count; i++) {
        struct member *m = j->members[i];
        bool ended = r->ended[i] <= seconds;
        m->ended = ended ? r->ended[i] : (double) NAN;
        m->seen_seconds = fmin(seconds, r->ended[i]);
        any_alive = any_alive || !ended;
        if (m->evidence)
            know_objects(j, &r->evidence[i], m->evidence, seconds);
    }
    return any_alive;
}

/* ---- as it happened ---- */

static void make_step(struct job *j, const struct happening *x)
{
    if (isnan(x->step) && isnan(x->epoch)) {
        job_begin_count(j);
        return;
    }
    job_mark(j,
             &(struct step_mark){
                 .seconds = x->seconds,
                 .step = x->step,
                 .epoch = x->epoch,
                 .restarted = x->step<j->clock.now.step, .epoch_ended = x->epoch> j->clock.epoch});
}

static void happen(struct job *j, const struct happening *x)
{
    if (!x->track) {
        make_step(j, x);
        return;
    }
    track_push(x->track, &j->terms, x->seconds, x->value);
    if (x->member)
        x->member->moves = x->member->moves || x->track->moves;
}

static void count_judged(struct job *j, struct track *t, void *c)
{
    (void) c;
    j->terms.series += track_is_judged(t);
}

static void renew(struct job *j, struct track *t, void *c)
{
    (void) c;
    track_renew_terms(t, &j->terms);
}

static void judge(struct replay *r, double seconds)
{
    struct job *j = r->job;
    if (!know(r, seconds))
        return;
    j->terms.series = 0;
    job_each_moving_track(j, true, count_judged, NULL);
    job_each_moving_track(j, true, renew, NULL);
    settle_growth(j);
    announce(j, seconds);
    for (struct news n; (n = job_next_news(j)).kind != NEWS_END;)
        if (n.kind == NEWS_LEAK || n.kind == NEWS_WITHDRAWN)
            printf(" %c%s@%.0f", n.kind == NEWS_LEAK ? '+' : '-', n.text, j->clock.now.step);
}

static void play(struct replay *r)
{
    double begin = r->count > 0 ? r->list[0].seconds : 0;
    double end = r->count > 0 ? r->list[r->count - 1].seconds : 0;
    size_t next = 0;
    for (unsigned i = 1; i <= MOMENTS; i++) {
        double seconds = begin + (end - begin) * i / MOMENTS;
        for (; next < r->count && r->list[next].seconds <= seconds; next++)
            happen(r->job, &r->list[next]);
        judge(r, seconds);
    }
}

/* ---- a file ---- */

static bool none(void *context, const struct recorded_series *s)
{
    (void) context, (void) s;
    return false;
}

/* What only an account judges begins without one, and unannounced: its recorded reading is that of
 * the end. */
static void forget_judgement(struct job *j, struct track *t, void *c)
{
    const char *const accounted[] = {"host.anon", "torch.allocated", "py.tensors", HEAP_USED};
    (void) j, (void) c;
    t->alarmed = false;
    for (size_t i = 0; i < sizeof(accounted) / sizeof(accounted[0]); i++)
        if (strcmp(t->kind, accounted[i]) == 0)
            track_judge(t, NULL);
}

static void read_samples(struct replay *r, struct recording *recording, struct track *t,
                         struct member *m)
{
    size_t index = recording_index_of(recording, t);
    r->track = t;
    r->member = m;
    r->last = (struct store_sample){.count = 0};
    if (index < recording_count(recording) &&
        recording_each_sample(recording, index, add_sample, r) < 0)
        abort();
}

static void read_all(struct replay *r, struct recording *recording, struct store *store)
{
    struct job *j = r->job;
    store_each_mark(store, add_mark, r);
    for (unsigned i = 0; i < JOB_KINDS; i++)
        read_samples(r, recording, &j->sums[i], NULL);
    for (size_t i = 0; i < j->device_count; i++)
        read_samples(r, recording, &j->devices[i], NULL);
    for (size_t i = 0; i < j->member_count; i++) {
        struct member *m = j->members[i];
        for (unsigned k = 0; k < MEMBER_KINDS; k++)
            read_samples(r, recording, &m->tracks[k], m);
        for (size_t k = 0; k < m->gpu_count; k++)
            read_samples(r, recording, &m->gpu[k], m);
        for (size_t k = 0; k < m->reported_count; k++)
            read_samples(r, recording, &m->reported[k], m);
        keep_evidence(m, &r->evidence[i]);
        r->ended[i] = m->ended;
    }
    if (r->count > 0)
        qsort(r->list, r->count, sizeof(r->list[0]), by_time);
}

/* Sets terms and limits, and plays nothing. */
static void begin(struct recording *recording)
{
    struct recording_options options = {.wanted = none};
    struct view view;
    if (recording_judge(recording, &options, &view) < 0)
        abort();
    view_release(&view);
}

static void replay(struct recording *recording, struct store *store)
{
    struct replay r = {.job = recording_job(recording)};
    size_t members = r.job->member_count;
    begin(recording);
    r.evidence = must(calloc(members + 1, sizeof(*r.evidence)));
    r.ended = must(calloc(members + 1, sizeof(*r.ended)));
    clock_init(&r.job->clock);
    job_each_track(r.job, forget_judgement, NULL);
    read_all(&r, recording, store);
    play(&r);
    know(&r, INFINITY); /* each census is where it is freed */
    free(r.list);
    free(r.evidence);
    free(r.ended);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct store *store;
        struct store_error error;
        struct recording *recording;
        if (store_open(argv[i], &store, &error) < 0 || recording_new(store, &recording) < 0) {
            fprintf(stderr, "alarms: %s cannot be read\n", argv[i]);
            return 1;
        }
        printf("%s", argv[i]);
        replay(recording, store);
        putchar('\n');
        recording_free(recording);
        store_free(store);
    }
    return 0;
}
