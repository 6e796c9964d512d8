/* replay/facts.c: facts for advice: which processes ran, what was freed, and when. */
#include "replay/facts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A role's share that changes by no more than this is stable. */
#define STABLE_SHARE 0.05
#define STABLE_BYTES (1024.0 * 1024)

/* Host memory must fall by this much at a collection to count. */
#define FALL_BYTES (16.0 * 1024 * 1024)

/* Seconds after a counted collection in which memory may fall: counters are read rarely. */
#define FALL_SECONDS 1.0

double facts_seconds_at(const struct view_series *s, double at)
{
    const struct history *h = &s->history;
    for (unsigned i = 0; i < h->count; i++)
        if (h->blocks[i].at >= at)
            return s->info.clock == CLOCK_SECONDS ? h->blocks[i].at : h->blocks[i].seconds;
    return NAN;
}

/* ---- processes by role ---- */

static unsigned count_at(const struct job *j, enum proc_role role, double seconds)
{
    unsigned count = 0;
    for (size_t i = 0; i < j->member_count; i++)
        count += j->members[i]->role.role == role && member_was_there(j->members[i], seconds);
    return count;
}

/* The moment when most of them ran, the last of several such moments. NAN: there are none. */
static double fullest_moment(const struct job *j, enum proc_role role)
{
    double moment = NAN;
    unsigned most = 1;
    for (size_t i = 0; i < j->member_count; i++) {
        double seconds = j->members[i]->joined;
        unsigned count = count_at(j, role, seconds);
        if (count < most || (count == most && seconds < moment))
            continue;
        moment = seconds;
        most = count;
    }
    return moment;
}

static double last_of(const struct member *m, enum member_kind kind)
{
    return m->tracks[kind].samples > 0 ? m->tracks[kind].last : 0;
}

static void add_part(struct advice_facts *e, const struct job *j, enum proc_role role)
{
    struct part_facts part = {.role = proc_role_name(role), .stable = true};
    double moment = fullest_moment(j, role), change = 0;
    for (size_t i = 0; i < j->member_count; i++) {
        const struct member *m = j->members[i];
        if (m->role.role != role || !member_was_there(m, moment))
            continue;
        part.processes++;
        part.rss += last_of(m, MEMBER_RSS);
        part.pss += last_of(m, MEMBER_PSS);
        part.private_bytes += last_of(m, MEMBER_PRIVATE);
        if (m->tracks[MEMBER_PSS].samples > 0)
            change += m->tracks[MEMBER_PSS].last - m->tracks[MEMBER_PSS].first;
        part.stable = part.stable && !member_is_wary(m);
    }
    if (part.processes == 0)
        return;
    if (part.pss == 0)
        part.pss = part.private_bytes = NAN;
    part.stable = part.stable && fabs(change) <= fmax(STABLE_BYTES, STABLE_SHARE * part.pss);
    e->parts[e->part_count++] = part;
}

static void add_parts(struct advice_facts *e, const struct job *j)
{
    static const enum proc_role roles[] = {ROLE_COMPILE_WORKER, ROLE_DATA_WORKER, ROLE_HELPER,
                                           ROLE_WRAPPER};
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
        add_part(e, j, roles[i]);
    e->settings.parts = e->parts;
    e->settings.part_count = e->part_count;
}

/* ---- counters reported from inside ---- */

static double add_known(double sum, double value)
{
    return (isnan(sum) ? 0 : sum) + value;
}

/* The sum can only rise when a process joins, so those moments suffice. */
double facts_most_at_a_time(const struct job *j, double (*value)(const struct member *m))
{
    double most = NAN;
    for (size_t i = 0; i < j->member_count; i++) {
        double sum = NAN;
        for (size_t k = 0; k < j->member_count; k++) {
            double one = value(j->members[k]);
            if (!isnan(one) && member_was_there(j->members[k], j->members[i]->joined))
                sum = add_known(sum, one);
        }
        most = fmax(most, sum);
    }
    return most;
}

static double pinned_by(const struct member *m)
{
    const struct track *t = member_reported(m, "torch.pinned");
    return t && t->samples > 0 ? t->max : NAN;
}

/*
 * Host memory freed at the first cleanup: counters without a device. They are totals, and their
 * first value comes after the first cleanup: what had been kept until then. Later ones may count
 * the same memory again.
 */
static double freed_at_first(const struct job *j, const char *kind)
{
    double sum = NAN;
    for (size_t i = 0; i < j->member_count; i++)
        for (size_t k = 0; k < j->members[i]->reported_count; k++) {
            const struct track *t = &j->members[i]->reported[k];
            if (strcmp(t->kind, kind) == 0 && !t->device && t->samples > 0)
                sum = add_known(sum, t->first);
        }
    return sum;
}

/* ---- falls at collections ---- */

struct point {
    double seconds, value;
};

struct points {
    struct point *list;
    size_t count;
};

static int add_point(void *context, double step, const struct store_sample *x)
{
    struct points *p = context;
    (void) step;
    if (x->count > 1)
        return 0; /* a block: older than what is kept sample by sample */
    if ((p->count & (p->count - 1)) == 0) {
        struct point *larger = reallocarray(p->list, p->count ? 2 * p->count : 1, sizeof(*larger));
        if (!larger)
            return -ENOMEM;
        p->list = larger;
    }
    p->list[p->count++] = (struct point){x->seconds, x->value};
    return 0;
}

static int read_points(struct recording *r, const struct track *t, struct points *ret)
{
    size_t index = recording_index_of(r, t);
    *ret = (struct points){0};
    return index < recording_count(r) ? recording_each_sample(r, index, add_point, ret) : 0;
}

/* The fall from the last value before `from` to the lowest until `to`. */
static double fall_between(const struct points *p, double from, double to)
{
    double before = NAN, lowest = INFINITY;
    for (size_t i = 0; i < p->count && p->list[i].seconds <= to; i++) {
        if (p->list[i].seconds <= from)
            before = p->list[i].value;
        else
            lowest = fmin(lowest, p->list[i].value);
    }
    return before - lowest;
}

static void count_falls(struct advice_facts *e, const struct points *collections,
                        const struct points *anon)
{
    struct setting_facts *s = &e->settings;
    double sum = 0;
    for (size_t i = 1; i < collections->count; i++) {
        const struct point *before = &collections->list[i - 1], *now = &collections->list[i];
        if (!(now->value > before->value))
            continue;
        double fall = fall_between(anon, before->seconds, now->seconds + FALL_SECONDS);
        s->collections++;
        if (!(fall >= FALL_BYTES))
            continue;
        s->falls++;
        sum += fall;
    }
    s->fall = s->falls > 0 ? sum / s->falls : (double) NAN;
}

static int find_falls(struct advice_facts *e, struct recording *r)
{
    const struct job *j = recording_job(r);
    int result = 0;
    for (size_t i = 0; i < j->member_count && result == 0; i++) {
        const struct member *m = j->members[i];
        const struct track *counter = member_reported(m, "py.collections");
        struct points collections = {0}, anon = {0};
        if (!counter || !member_is_trainer(m) || e->settings.collections > 0)
            continue;
        result = read_points(r, counter, &collections);
        if (result == 0)
            result = read_points(r, &m->tracks[MEMBER_ANON], &anon);
        if (result == 0)
            count_falls(e, &collections, &anon);
        free(collections.list);
        free(anon.list);
    }
    return result;
}

/* ---- all of it ---- */

static void find_copies(struct advice_facts *e, struct job *j)
{
    e->copies = calloc(1, sizeof(*e->copies));
    if (!e->copies)
        base_out_of_memory();
    if (workers_find_most(j, e->copies) == 0) {
        free(e->copies);
        e->copies = NULL;
        return;
    }
    e->settings.copies = &e->copies->facts;
}

static void find_plan(struct advice_facts *e, const struct job *j)
{
    const struct track_terms *terms = &j->terms;
    bool steps = terms->plan_steps > 0;
    e->clock = steps ? CLOCK_STEP : CLOCK_SECONDS;
    e->plan = steps ? terms->plan_steps : terms->plan_seconds > 0 ? terms->plan_seconds : NAN;
}

int advice_facts_init(struct advice_facts *e, struct recording *r, const struct view *v,
                      double limit_bytes, bool failed)
{
    struct job *j = recording_job(r);
    *e = (struct advice_facts){0};
    find_plan(e, j);
    find_copies(e, j);
    add_parts(e, j);
    e->settings.pinned = facts_most_at_a_time(j, pinned_by);
    e->settings.freed_by_trim = freed_at_first(j, "cleanup.trim.freed");
    e->settings.freed_by_gc = freed_at_first(j, "cleanup.gc.freed");
    int result = facts_host(e, r, v, limit_bytes);
    if (result == 0)
        result = facts_devices(e, r, v);
    for (size_t i = 0; i < e->size_count; i++)
        e->sizes[i].failed = failed;
    if (result == 0)
        result = find_falls(e, r);
    if (result < 0)
        advice_facts_release(e);
    return result;
}

void advice_facts_release(struct advice_facts *e)
{
    free(e->copies);
    e->copies = NULL;
}
