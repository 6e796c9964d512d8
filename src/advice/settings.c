/* advice/settings.c: which settings the run gives a reason to change. No sentences:
 * words/settings.c. */
#include "advice/advice.h"

#include <string.h>

#define MB (1024.0 * 1024)

/* A change must save at least this much, and this share of the peak. */
#define WORTH_BYTES (64 * MB)
#define WORTH_SHARE 0.05

/* Data workers do useful work, so their memory must be a larger share than that of other
 * processes. */
#define WORKERS_SHARE 0.2

/* From this share of its capacity a device is almost full; from this share of the peak a step's own
 * memory counts. */
#define NEARLY_FULL 0.9
#define STEP_SHARE 0.3

/* What the allocator reserved beyond the peak use. */
#define UNUSED_SHARE 0.2
#define UNUSED_BYTES (256 * MB)

/* How many collections must free cycles, and what share of all collections. */
#define FALLS_LEAST 3u
#define FALLS_SHARE 0.5

static void advise(struct settings *s, enum setting_kind kind, size_t at)
{
    if (s->count < ADVICE_SETTINGS)
        s->list[s->count++] = (struct setting){kind, (unsigned) at};
}

static bool is_worth(const struct setting_facts *f, double bytes, double share)
{
    return bytes >= WORTH_BYTES && !(bytes < share * f->host_peak);
}

static void advise_part(const struct setting_facts *f, size_t i, struct settings *s)
{
    const struct part_facts *p = &f->parts[i];
    if (strcmp(p->role, "data worker") == 0 && !f->copies &&
        is_worth(f, p->private_bytes, WORKERS_SHARE))
        advise(s, SETTING_WORKERS, i);
    if (strcmp(p->role, "compile worker") == 0 && is_worth(f, p->private_bytes, WORTH_SHARE))
        advise(s, SETTING_COMPILE_WORKERS, i);
}

static void advise_host(const struct setting_facts *f, struct settings *s)
{
    if (is_worth(f, f->pinned, WORTH_SHARE))
        advise(s, SETTING_PINNED, 0);
    if (is_worth(f, f->freed_by_trim, WORTH_SHARE))
        advise(s, SETTING_ARENAS, 0);
    if (is_worth(f, f->freed_by_gc, WORTH_SHARE))
        advise(s, SETTING_COLLECT_CLEANUP, 0);
    else if (f->falls >= FALLS_LEAST && f->falls >= FALLS_SHARE * f->collections &&
             is_worth(f, f->fall, WORTH_SHARE))
        advise(s, SETTING_COLLECT, 0);
}

static void advise_device(const struct setting_facts *f, unsigned i, struct settings *s)
{
    const struct device_facts *d = &f->devices[i];
    double step = d->highest - d->allocated, unused = d->reserved - d->highest;
    if (d->used >= NEARLY_FULL * d->capacity && step >= STEP_SHARE * d->highest)
        advise(s, SETTING_ACCUMULATION, i);
    if (unused >= UNUSED_BYTES && unused >= UNUSED_SHARE * d->reserved)
        advise(s, SETTING_EXPANDABLE, i);
}

void settings_judge(const struct setting_facts *f, struct settings *ret)
{
    ret->count = 0;
    if (f->copies)
        advise(ret, SETTING_DATASET, 0);
    for (size_t i = 0; i < f->part_count; i++)
        advise_part(f, i, ret);
    advise_host(f, ret);
    for (unsigned i = 0; i < f->device_count; i++)
        advise_device(f, i, ret);
}
