/* watch/evidence_gpu.c: how much memory the job had on each device. */
#include "watch/evidence.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A device in the words of the driver ("gpu0"), of torch ("cuda:0"), or both. */
struct device {
    const char *driver, *torch;
};

/* ---- which devices there are ---- */

static void collect(const char **names, size_t *count, const char *name)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(names[i], name) == 0)
            return;
    if (*count < ADVICE_DEVICES)
        names[(*count)++] = name;
}

/* One of each is the same one; of several the order is not told in the file. */
static size_t find_devices(const struct watch *w, struct device *ret)
{
    const char *driver[ADVICE_DEVICES], *torch[ADVICE_DEVICES];
    size_t drivers = 0, torches = 0;
    for (size_t i = 0; i < w->device_count; i++)
        if (w->devices[i].samples > 0 && w->devices[i].device)
            collect(driver, &drivers, w->devices[i].device);
    for (size_t i = 0; i < w->member_count; i++) {
        const struct member *m = w->members[i];
        for (size_t k = 0; k < m->gpu_count; k++)
            if (m->gpu[k].samples > 0 && m->gpu[k].device)
                collect(driver, &drivers, m->gpu[k].device);
        for (size_t k = 0; k < m->told_count; k++)
            if (strcmp(m->told[k].kind, "torch.allocated") == 0 && m->told[k].device)
                collect(torch, &torches, m->told[k].device);
    }
    bool paired = drivers == 1 && torches == 1;
    size_t count = 0;
    for (size_t i = 0; i < drivers; i++)
        ret[count++] = (struct device){.driver = driver[i], .torch = paired ? torch[0] : NULL};
    for (size_t i = 0; !paired && i < torches && count < ADVICE_DEVICES; i++)
        ret[count++] = (struct device){.torch = torch[i]};
    return count;
}

/* ---- what was there ---- */

/* Of all processes; NAN: nobody tells. */
struct amounts {
    double last, max, limit;
};

static void add_track(struct amounts *a, const struct track *t, const char *kind,
                      const char *device)
{
    if (!device || strcmp(t->kind, kind) != 0 || !t->device || strcmp(t->device, device) != 0 ||
        t->samples == 0)
        return;
    a->last = (isnan(a->last) ? 0 : a->last) + t->last;
    a->max = (isnan(a->max) ? 0 : a->max) + t->max;
    a->limit = t->limit > 0 ? fmax(t->limit, a->limit) : a->limit;
}

static struct amounts amounts_of(const struct watch *w, const char *kind, const char *device)
{
    struct amounts a = {NAN, NAN, NAN};
    for (size_t i = 0; i < w->device_count; i++)
        add_track(&a, &w->devices[i], kind, device);
    for (size_t i = 0; i < w->member_count; i++) {
        const struct member *m = w->members[i];
        for (size_t k = 0; k < m->gpu_count; k++)
            add_track(&a, &m->gpu[k], kind, device);
        for (size_t k = 0; k < m->told_count; k++)
            add_track(&a, &m->told[k], kind, device);
    }
    return a;
}

/* Torch's own counter says it best. */
static const struct watch_series *series_of(const struct watch_view *v, const struct device *d)
{
    const struct watch_series *found = NULL;
    for (size_t i = 0; i < v->count; i++) {
        const struct watch_series *s = &v->series[i];
        const char *device = s->info.device;
        bool torch = d->torch && device && strcmp(device, d->torch) == 0 &&
                     strcmp(s->info.kind, "torch.allocated") == 0;
        bool driver = d->driver && device && strcmp(device, d->driver) == 0 &&
                      strcmp(s->info.kind, "gpu.used") == 0;
        if (torch || (driver && !found))
            found = s;
        if (torch)
            break;
    }
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

/* Of the first process that tells it. */
static int lowest_reserved(struct recording *r, const char *device, double *ret)
{
    const struct watch *w = recording_watch(r);
    struct lowest l = {.after = w->last_tick / 2, .value = NAN};
    int result = 0;
    for (size_t i = 0; i < w->member_count && isnan(l.value) && result == 0; i++) {
        const struct member *m = w->members[i];
        for (size_t k = 0; k < m->told_count; k++) {
            const struct track *t = &m->told[k];
            if (strcmp(t->kind, "torch.reserved") == 0 && t->device &&
                strcmp(t->device, device) == 0)
                result = recording_each_sample(r, recording_index_of(r, t), find_lowest, &l);
        }
    }
    *ret = l.value;
    return result;
}

/* ---- sizes ---- */

static void add_size(struct evidence *e, const struct watch_series *s, const struct device *d,
                     const struct watch *w)
{
    struct amounts used = amounts_of(w, "gpu.used", d->driver);
    struct amounts reserved = amounts_of(w, "torch.reserved", d->torch);
    struct amounts highest = amounts_of(w, "torch.peak", d->torch);
    double beside = d->driver ? used.max - reserved.max : 0;
    struct size_facts *f = &e->sizes[e->size_count++];
    *f = (struct size_facts){
        .name = d->driver ? d->driver : d->torch,
        .answer = &s->answer,
        .clock = s->info.clock,
        .settled = d->driver ? used.last : reserved.last,
        .warm_up_seconds = evidence_seconds_at(s, s->answer.warm_up_end),
        .peak = d->driver ? used.max : reserved.max,
        .files = NAN,
        .needed = fmin(highest.max + fmax(0, beside), d->driver ? used.max : reserved.max),
        .capacity = used.limit,
        .capacity_source = isfinite(used.limit) ? "of the device" : NULL,
    };
    if (isnan(highest.max) || isnan(beside))
        f->needed = NAN;
}

static int add_allocator(struct evidence *e, struct recording *r, const struct watch_series *s,
                         const struct device *d)
{
    const struct watch *w = recording_watch(r);
    struct amounts used = amounts_of(w, "gpu.used", d->driver);
    struct device_facts facts = {
        .name = d->torch,
        .allocated = s->answer.floor_last,
        .highest = amounts_of(w, "torch.peak", d->torch).max,
        .used = used.max,
        .capacity = used.limit,
    };
    int result = lowest_reserved(r, d->torch, &facts.reserved);
    if (result == 0)
        e->settings.devices[e->settings.device_count++] = facts;
    return result;
}

int evidence_devices(struct evidence *e, struct recording *r, const struct watch_view *v)
{
    const struct watch *w = recording_watch(r);
    struct device devices[ADVICE_DEVICES];
    size_t count = find_devices(w, devices);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct watch_series *s = series_of(v, &devices[i]);
        if (!s)
            continue;
        add_size(e, s, &devices[i], w);
        if (devices[i].torch)
            result = add_allocator(e, r, s, &devices[i]);
    }
    return result;
}
