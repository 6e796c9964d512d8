/* plot/timeline.c: from the clock of a verdict to that of an axis. */
#include "plot/timeline.h"

#include <errno.h>
#include <math.h>

int timeline_init(struct timeline *c, const struct report_series *s, bool by_time)
{
    const struct history *h = s->history;
    *c = (struct timeline){.history = h, .shown = s->info->clock};
    if (!by_time || s->info->clock == CLOCK_SECONDS)
        return 0;
    for (unsigned i = 0; i < h->count; i++)
        if (!isfinite(h->blocks[i].seconds))
            return -ENOTSUP;
    const struct history_block *first = &h->blocks[0], *last = &h->blocks[h->count - 1];
    double steps = last->at - first->at;
    c->shown = CLOCK_SECONDS;
    c->is_mapped = true;
    c->pace = steps > 0 ? (last->seconds - first->seconds) / steps : 0;
    return 0;
}

double timeline_position(const struct timeline *c, double at)
{
    const struct history *h = c->history;
    if (!c->is_mapped)
        return at;
    unsigned i = 0;
    while (i < h->count && h->blocks[i].at < at)
        i++;
    if (i == 0)
        return h->blocks[0].seconds - (h->blocks[0].at - at) * c->pace;
    const struct history_block *a = &h->blocks[i - 1], *b = &h->blocks[i];
    if (i == h->count)
        return a->seconds + (at - a->at) * c->pace;
    return a->seconds + (b->seconds - a->seconds) * (at - a->at) / (b->at - a->at);
}
