/* replay/facts_gpu.c: how much memory the job had on each device. */
#include "replay/facts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A device as named by the driver ("gpu0"), by torch ("cuda:0"), or both. torch's cuda:0 is a
 * different device in each process that has its own CUDA_VISIBLE_DEVICES. If the driver does not
 * say which, it counts as the device of that one process.
 */
struct place {
    const char *driver, *torch;
    const struct member *owner; /* NULL: all that use it */
};

/* ---- which device of the driver it is that torch names ---- */

static bool is_of(const struct track *t, const char *kind, const char *device)
{
    return device && t->device && t->samples > 0 && strcmp(t->kind, kind) == 0 &&
           strcmp(t->device, device) == 0;
}

static const struct track *reported_there(const struct member *m, const char *kind,
                                          const char *device)
{
    for (size_t i = 0; i < m->reported_count; i++)
        if (is_of(&m->reported[i], kind, device))
            return &m->reported[i];
    return NULL;
}

static const struct track *used_there(const struct member *m, const char *driver)
{
    for (size_t i = 0; i < m->gpu_count; i++)
        if (is_of(&m->gpu[i], "gpu.used", driver))
            return &m->gpu[i];
    return NULL;
}

static size_t torch_devices(const struct member *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->reported_count; i++)
        count += is_of(&m->reported[i], "torch.allocated", m->reported[i].device);
    return count;
}

/* How many of the process's devices torch numbers lower. */
static size_t torch_order(const struct member *m, const char *torch)
{
    size_t count = 0;
    for (size_t i = 0; i < m->reported_count; i++)
        count += is_of(&m->reported[i], "torch.allocated", m->reported[i].device) &&
                 strverscmp(m->reported[i].device, torch) < 0;
    return count;
}

static const struct track *largest_of_driver(const struct member *m)
{
    const struct track *largest = NULL;
    for (size_t i = 0; i < m->gpu_count; i++)
        if (m->gpu[i].samples > 0 && (!largest || m->gpu[i].max > largest->max))
            largest = &m->gpu[i];
    return largest;
}

static const struct track *driver_in_order(const struct member *m, size_t order)
{
    for (size_t i = 0; i < m->gpu_count; i++)
        if (m->gpu[i].samples > 0 && order-- == 0)
            return &m->gpu[i];
    return NULL;
}

static size_t driver_devices(const struct member *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->gpu_count; i++)
        count += m->gpu[i].samples > 0;
    return count;
}

/* The only device that is watched as a whole; NULL: none, or several. */
static const struct track *whole_device(const struct job *j)
{
    const struct track *found = NULL;
    for (size_t i = 0; i < j->device_count; i++) {
        if (j->devices[i].samples == 0 || !j->devices[i].device)
            continue;
        if (found)
            return NULL;
        found = &j->devices[i];
    }
    return found;
}

/*
 * A process with tensors on one device has most of its memory there, and at most a context on
 * others. If both name the same number of devices, their order is the same. What torch holds must
 * fit there.
 */
static const char *driver_of(const struct job *j, const struct member *m, const char *torch)
{
    size_t drivers = driver_devices(m), torches = torch_devices(m);
    const struct track *found = drivers == 0         ? torches == 1 ? whole_device(j) : NULL
                                : torches == 1       ? largest_of_driver(m)
                                : drivers == torches ? driver_in_order(m, torch_order(m, torch))
                                                     : NULL;
    const struct track *reserved = reported_there(m, "torch.reserved", torch);
    return found && (!reserved || found->max >= reserved->max) ? found->device : NULL;
}

/* ---- which devices there are ---- */

static bool is_at(const struct job *j, const struct place *p, const struct member *m,
                  const char *torch)
{
    if (p->owner && p->owner != m)
        return false;
    const char *driver = driver_of(j, m, torch);
    return p->driver ? driver && strcmp(driver, p->driver) == 0
                     : !driver && p->torch && strcmp(p->torch, torch) == 0;
}

/* Whether another process has a device of that name at the same time: it may be a different one. */
static bool is_ambiguous(const struct job *j, const struct member *m, const char *torch)
{
    for (size_t i = 0; i < j->member_count; i++) {
        const struct member *other = j->members[i];
        if (other != m && reported_there(other, "torch.allocated", torch) &&
            !driver_of(j, other, torch) &&
            (member_was_there(other, m->joined) || member_was_there(m, other->joined)))
            return true;
    }
    return false;
}

static struct place *find_place(struct place *places, size_t count, const struct place *wanted)
{
    for (size_t i = 0; i < count; i++) {
        struct place *p = &places[i];
        bool same = wanted->driver ? p->driver && strcmp(p->driver, wanted->driver) == 0
                                   : !p->driver && strcmp(p->torch, wanted->torch) == 0;
        if (same && p->owner == wanted->owner)
            return p;
    }
    return NULL;
}

static void add_place(struct place *places, size_t *count, const struct place *wanted)
{
    struct place *p = find_place(places, *count, wanted);
    if (p && !p->torch)
        p->torch = wanted->torch;
    if (!p && *count < ADVICE_DEVICES)
        places[(*count)++] = *wanted;
}

static void add_places_of(const struct job *j, const struct member *m, struct place *places,
                          size_t *count)
{
    for (size_t i = 0; i < m->gpu_count; i++)
        if (m->gpu[i].samples > 0 && m->gpu[i].device)
            add_place(places, count, &(struct place){.driver = m->gpu[i].device});
    for (size_t i = 0; i < m->reported_count; i++) {
        const char *torch = m->reported[i].device;
        if (!is_of(&m->reported[i], "torch.allocated", torch))
            continue;
        struct place p = {.driver = driver_of(j, m, torch), .torch = torch};
        if (!p.driver && is_ambiguous(j, m, torch))
            p.owner = m;
        add_place(places, count, &p);
    }
}

static size_t find_places(const struct job *j, struct place *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < j->device_count; i++)
        if (j->devices[i].samples > 0 && j->devices[i].device)
            add_place(ret, &count, &(struct place){.driver = j->devices[i].device});
    for (size_t i = 0; i < j->member_count; i++)
        add_places_of(j, j->members[i], ret, &count);
    return count;
}

/* ---- what was there ---- */

/* The track of one process for a kind of memory at a place; NULL: none. */
static const struct track *track_at(const struct job *j, const struct place *p,
                                    const struct member *m, const char *kind)
{
    if (strcmp(kind, "gpu.used") == 0)
        return p->driver ? used_there(m, p->driver) : NULL;
    for (size_t i = 0; i < m->reported_count; i++) {
        const struct track *t = &m->reported[i];
        if (is_of(t, kind, t->device) && is_at(j, p, m, t->device))
            return t;
    }
    return NULL;
}

/* NAN: nobody reports it. */
struct amounts {
    double last, max; /* of processes there at one time: the last, and the most */
    double headroom;  /* the least that any of the last processes saw */
};

static struct amounts amounts_at(const struct job *j, const struct place *p, const char *kind,
                                 double moment)
{
    struct amounts a = {NAN, NAN, NAN};
    for (size_t i = 0; i < j->member_count; i++) {
        const struct track *t = track_at(j, p, j->members[i], kind);
        if (!t || !member_was_there(j->members[i], moment))
            continue;
        a.last = (isnan(a.last) ? 0 : a.last) + t->last;
        a.max = (isnan(a.max) ? 0 : a.max) + t->max;
        if (t->limit > 0)
            a.headroom = fmin(a.headroom, fmax(0, t->limit - t->last));
    }
    return a;
}

/* Processes that run one after another use the device in turn. */
static struct amounts amounts_of(const struct job *j, const struct place *p, const char *kind)
{
    struct amounts most = {NAN, NAN, NAN};
    double last_joined = -INFINITY;
    for (size_t i = 0; i < j->member_count; i++) {
        double joined = j->members[i]->joined;
        if (!track_at(j, p, j->members[i], kind))
            continue;
        struct amounts now = amounts_at(j, p, kind, joined);
        most.max = fmax(most.max, now.max);
        if (joined < last_joined)
            continue;
        last_joined = joined;
        most.last = now.last;
        most.headroom = now.headroom;
    }
    return most;
}

static const struct track *whole_at(const struct job *j, const struct place *p)
{
    for (size_t i = 0; i < j->device_count; i++)
        if (is_of(&j->devices[i], "gpu.used", p->driver))
            return &j->devices[i];
    return NULL;
}

/* The driver's count: the job's processes and what is free. Until the first of them is there,
 * and if the driver names none, whole devices are watched. */
static struct amounts used_at(const struct job *j, const struct place *p, double *ret_capacity)
{
    struct amounts used = amounts_of(j, p, "gpu.used");
    const struct track *whole = whole_at(j, p);
    *ret_capacity = used.last + used.headroom;
    if (isnan(used.last) && whole) {
        *ret_capacity = whole->limit > 0 ? whole->limit : NAN;
        used = (struct amounts){whole->last, whole->max, NAN};
    }
    return used;
}

/* ---- its series ---- */

static bool is_series_of(const struct job *j, const struct place *p, const struct view_series *s)
{
    bool torch = strcmp(s->info.kind, "torch.allocated") == 0;
    if (!s->info.device || (!torch && strcmp(s->info.kind, "gpu.used") != 0))
        return false;
    bool whole = s->info.pid == 0 && isfinite(amounts_of(j, p, "gpu.used").last);
    if (!torch)
        return p->driver && !whole && strcmp(s->info.device, p->driver) == 0;
    for (size_t i = 0; i < j->member_count; i++)
        if (j->members[i]->id.pid == s->info.pid &&
            reported_there(j->members[i], "torch.allocated", s->info.device) &&
            is_at(j, p, j->members[i], s->info.device))
            return true;
    return false;
}

/* A leaking series decides, else torch's own counter, which is most exact; of several the
 * longest. */
static double weight_of(const struct view_series *s)
{
    bool torch = strcmp(s->info.kind, "torch.allocated") == 0;
    double length = s->answer.last_seconds - s->answer.first_seconds;
    return (s->answer.verdict == VERDICT_LEAK ? 2e12 : 0) + (torch ? 1e12 : 0) +
           (isfinite(length) ? length : 0);
}

static const struct view_series *series_of(const struct job *j, const struct view *v,
                                           const struct place *p)
{
    const struct view_series *found = NULL;
    for (size_t i = 0; i < v->count; i++)
        if (is_series_of(j, p, &v->series[i]) &&
            (!found || weight_of(&v->series[i]) > weight_of(found)))
            found = &v->series[i];
    return found;
}

/* ---- what the allocator kept ---- */

struct lowest {
    double after, value;
};

static int find_lowest(void *context, double step, const struct store_sample *x)
{
    struct lowest *l = context;
    (void) step;
    if (x->seconds >= l->after)
        l->value = isnan(l->value) ? x->floor : fmin(l->value, x->floor);
    return 0;
}

/* Of several processes, the one for which torch reserves most. */
static const struct member *keeper_at(const struct job *j, const struct place *p)
{
    const struct member *keeper = NULL;
    double most = -INFINITY;
    for (size_t i = 0; i < j->member_count; i++) {
        const struct track *t = track_at(j, p, j->members[i], "torch.reserved");
        if (!t || t->max <= most)
            continue;
        most = t->max;
        keeper = j->members[i];
    }
    return keeper;
}

static int add_allocator(struct advice_facts *e, struct recording *r, const struct view_series *s,
                         const struct place *p, const char *name)
{
    const struct job *j = recording_job(r);
    const struct member *m = keeper_at(j, p);
    if (!m)
        return 0;
    const struct track *reserved = track_at(j, p, m, "torch.reserved");
    const struct track *highest = track_at(j, p, m, "torch.peak");
    struct device_facts facts = {
        .name = name,
        .allocated = s->answer.floor_last,
        .highest = highest ? highest->max : NAN,
    };
    facts.used = used_at(j, p, &facts.capacity).max;
    struct lowest l = {.after = (reserved->first_seconds + reserved->last_seconds) / 2,
                       .value = NAN};
    int result = recording_each_sample(r, recording_index_of(r, reserved), find_lowest, &l);
    facts.reserved = l.value;
    if (result == 0)
        e->settings.devices[e->settings.device_count++] = facts;
    return result;
}

/* ---- sizes ---- */

/* "gpu0", "cuda:0", "cuda:0 of rank 1". */
static const char *name_place(struct advice_facts *e, const struct place *p)
{
    if (p->driver || !p->owner)
        return p->driver ? p->driver : p->torch;
    char *name = e->device_names[e->size_count];
    size_t size = sizeof(e->device_names[0]);
    if (p->owner->role.rank >= 0)
        snprintf(name, size, "%s of rank %d", p->torch, p->owner->role.rank);
    else
        snprintf(name, size, "%s of pid %d", p->torch, (int) p->owner->id.pid);
    return name;
}

static const char *add_size(struct advice_facts *e, const struct view_series *s,
                            const struct place *p, const struct job *j)
{
    double capacity;
    struct amounts used = used_at(j, p, &capacity);
    struct amounts reserved = amounts_of(j, p, "torch.reserved");
    struct amounts highest = amounts_of(j, p, "torch.peak");
    double beside = p->driver ? used.max - reserved.max : 0;
    const char *name = name_place(e, p);
    struct size_facts *f = &e->sizes[e->size_count++];
    *f = (struct size_facts){
        .name = name,
        .answer = &s->answer,
        .clock = s->info.clock,
        .settled = p->driver ? used.last : reserved.last,
        .warm_up_seconds = facts_seconds_at(s, s->answer.warm_up_end),
        .peak = p->driver ? used.max : reserved.max,
        .files = NAN,
        .needed = fmin(highest.max + fmax(0, beside), p->driver ? used.max : reserved.max),
        .capacity = capacity,
        .capacity_source = isfinite(capacity) ? "of the device" : NULL,
    };
    if (isnan(highest.max) || isnan(beside))
        f->needed = NAN;
    return name;
}

int facts_devices(struct advice_facts *e, struct recording *r, const struct view *v)
{
    const struct job *j = recording_job(r);
    struct place places[ADVICE_DEVICES];
    size_t count = find_places(j, places);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct view_series *s = series_of(j, v, &places[i]);
        if (!s)
            continue;
        const char *name = add_size(e, s, &places[i], j);
        if (places[i].torch)
            result = add_allocator(e, r, s, &places[i], name);
    }
    return result;
}
