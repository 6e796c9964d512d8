/* job/stays.c: one series in the program's phases: how high it rose and what remained. */
#include "job/stays.h"

#include <math.h>

/* Less than this, or than this share of the height, still counts as given back. */
#define SMALL_BYTES (1024.0 * 1024)
#define SMALL_SHARE 0.02

/* The allocator may keep what the first stay leaves for later ones. It is a rise only if the
 * floor keeps rising. */
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
