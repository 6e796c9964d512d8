/* sample/activity_rings.c: activities besides the steps, as processes report them. */
#include "sample/sampler.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/*
 * During an activity memory is sampled this often at first, and ever more rarely the longer it
 * lasts. It costs at most this share of one core at that moment, and a smaller share of the whole
 * run.
 */
#define LOOK_SECONDS 0.01
#define LOOK_STRETCH 20.0
#define LOOK_SHARE 0.02
#define RUN_SHARE 0.002
#define RUN_SECONDS 0.05 /* allowed in any case */

void activities_open(struct sampler *sam)
{
    sam->looks = (struct activity_sampling){.next = INFINITY, .ended_rank = INT_MAX};
}

/* ---- reports ---- */

/* What the ring counted, less its counts when watching began. */
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

void activities_attach(struct ring *r)
{
    for (unsigned i = 0; i < WIRE_PHASES; i++)
        if (!wire_reader_phase(r->reader, i, &r->counted_before[i]))
            r->counted_before[i] = (struct wire_phase_count){0};
}

/* Records "evaluate 3.2 s", of the leading process. */
static void record(struct sampler *sam, const struct ring *r, unsigned phase, double begin,
                   double end)
{
    if (!sam->options.store || (sam->steps.leader && sam->steps.leader != r))
        return;
    struct buf text = BUF_INIT;
    buf_addf(&text, "%s ", sam->job->activities.names[phase]);
    units_add_duration(&text, end - begin);
    recorder_add_activity(sam, end, buf_text(&text));
    buf_release(&text);
}

static void change(struct sampler *sam, struct ring *r, unsigned number, double seconds,
                   bool begins)
{
    struct ring_activity *p = &r->activities[number];
    unsigned phase = p->place - 1;
    if (p->is_in == begins)
        return;
    p->is_in = begins;
    if (!begins)
        steps_stand(sam, r, seconds); /* values measured in it belong to this step */
    job_change_activity(sam->job, r->member, phase, begins);
    if (begins)
        p->since = sam->looks.since = seconds;
    else
        record(sam, r, phase, p->since, seconds);
    if (!sam->job->is_inside)
        sam->looks.next = 0;
    sam->looks.changed = true;
}

void activities_take(struct sampler *sam, struct ring *r, double seconds,
                     const struct wire_record *x)
{
    struct wire_phase_count count;
    if (!r->member || !wire_reader_phase(r->reader, x->name, &count))
        return;
    struct ring_activity *p = &r->activities[x->name];
    if (p->place == 0)
        p->place = activities_place(&sam->job->activities, count.name) + 1;
    if (x->value > 0)
        change(sam, r, x->name, seconds, false); /* its end record was lost */
    change(sam, r, x->name, seconds, x->value > 0);
}

/* ---- how often and how long ---- */

static void add_counts(const struct ring *r, struct activity_total *ret)
{
    for (unsigned i = 0; i < WIRE_PHASES; i++) {
        struct wire_phase_count count;
        unsigned place = r->activities[i].place;
        if (place == 0 || !read_count(r, i, &count))
            continue;
        ret[place - 1].times += count.begun;
        ret[place - 1].ended += count.ended;
        ret[place - 1].seconds += count.seconds;
    }
}

static bool has_activities(const struct ring *r)
{
    for (unsigned i = 0; i < WIRE_PHASES; i++)
        if (r->activities[i].place > 0)
            return true;
    return false;
}

static int rank_of(const struct ring *r)
{
    return r->member ? r->member->role.rank : -1;
}

void activities_lose(struct sampler *sam, struct ring *r, double seconds)
{
    struct activity_sampling *p = &sam->looks;
    for (unsigned i = 0; i < WIRE_PHASES; i++)
        if (r->activities[i].is_in)
            change(sam, r, i, seconds, false);
    if (!has_activities(r) || rank_of(r) > p->ended_rank)
        return;
    if (rank_of(r) < p->ended_rank)
        memset(p->ended, 0, sizeof(p->ended));
    p->ended_rank = rank_of(r);
    add_counts(r, p->ended);
}

void sampler_count_activities(struct sampler *sam)
{
    struct activity_total *totals = sam->job->activities.totals;
    const struct activity_sampling *p = &sam->looks;
    int lowest = p->ended_rank;
    for (size_t i = 0; i < sam->rings.count; i++)
        if (has_activities(sam->rings.list[i]) && rank_of(sam->rings.list[i]) < lowest)
            lowest = rank_of(sam->rings.list[i]);
    if (lowest == p->ended_rank)
        memcpy(totals, p->ended, sizeof(p->ended));
    else
        memset(totals, 0, sizeof(p->ended));
    for (size_t i = 0; i < sam->rings.count; i++)
        if (has_activities(sam->rings.list[i]) && rank_of(sam->rings.list[i]) == lowest)
            add_counts(sam->rings.list[i], totals);
}

/* ---- sampling ---- */

bool activities_may_sample(const struct sampler *sam, double seconds)
{
    return sam->looks.spent <= RUN_SECONDS + RUN_SHARE * seconds;
}

void activities_sample(struct sampler *sam, double seconds)
{
    struct activity_sampling *p = &sam->looks;
    if (seconds < p->next)
        return;
    p->next = INFINITY;
    if (!activities_may_sample(sam, seconds))
        return;
    double before = sampler_cpu_seconds();
    members_sample_memory(sam);
    double cost = sampler_cpu_seconds() - before;
    p->spent += cost;
    if (sam->job->activities.scope.count > 0)
        p->next = seconds +
                  fmax(fmax(LOOK_SECONDS, (seconds - p->since) / LOOK_STRETCH), cost / LOOK_SHARE);
}
