/* job/stays.c: one series in the phases of its program: how high it rose, what stayed. */
#include "job/stays.h"

#include <math.h>

/* What stays is given back all the same if it is less than this, or this share of the height. */
#define SMALL_BYTES (1024.0 * 1024)
#define SMALL_SHARE 0.02

/* What the first stay leaves, an allocator may keep for the next ones: it is a rise only where the
 * floor goes on rising. */
static void conclude(struct stay *s)
{
    bool known = s->over && isfinite(s->before) && isfinite(s->after);
    s->over = false;
    if (!known)
        return;
    bool first = s->looked_at++ == 0;
    double height = fmax(s->high - fmax(s->before, s->after), 0);
    double kept = s->after - (first ? s->before : fmax(s->before, s->floor));
    s->floor = first ? s->after : fmax(s->floor, s->after);
    s->height = fmax(s->height, height);
    if (kept <= fmax(SMALL_BYTES, SMALL_SHARE * height))
        return;
    s->rises += !first;
    s->kept += first ? 0 : kept;
    s->kept_first = first ? kept : s->kept_first;
}

void stays_begin(struct stays *s, unsigned phase, double last)
{
    for (unsigned i = 0; i < WIRE_PHASES; i++)
        conclude(&s->phases[i]);
    struct stay *x = &s->phases[phase];
    if (s->has_last)
        last = s->last;
    x->in = true;
    x->before = last;
    x->high = isnan(last) ? -INFINITY : last;
    x->after = INFINITY;
}

void stays_end(struct stays *s, unsigned phase)
{
    struct stay *x = &s->phases[phase];
    x->over = x->in && isfinite(x->high);
    x->in = false;
}

void stays_note(struct stays *s, double value)
{
    s->last = value;
    s->has_last = true;
    for (unsigned i = 0; i < WIRE_PHASES; i++) {
        struct stay *x = &s->phases[i];
        if (x->in)
            x->high = fmax(x->high, value);
        else if (x->over)
            x->after = fmin(x->after, value);
    }
}

bool stays_found(const struct stays *s, unsigned phase, struct stay *ret)
{
    struct stay x = s->phases[phase];
    conclude(&x);
    bool counts = x.kept_first > 0 && (x.rises > 0 || x.looked_at == 1);
    x.given_back = x.looked_at - x.rises - counts;
    x.kept += counts ? x.kept_first : 0;
    *ret = x;
    return x.looked_at > 0;
}
