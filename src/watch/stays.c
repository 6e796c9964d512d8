/* watch/stays.c: one series in the phases of its program: how high it rose, what stayed. */
#include "watch/stays.h"

#include <math.h>

/* What stays is given back all the same if it is less than this, or this share of the height. */
#define SMALL_BYTES (1024.0 * 1024)
#define SMALL_SHARE 0.02

static void conclude(struct stay *s)
{
    bool known = s->over && isfinite(s->before) && isfinite(s->after);
    s->over = false;
    if (!known)
        return;
    double height = fmax(s->high - fmax(s->before, s->after), 0), kept = s->after - s->before;
    s->looked_at++;
    s->given_back += kept <= fmax(SMALL_BYTES, SMALL_SHARE * height);
    s->height = fmax(s->height, height);
    s->kept += kept;
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
    *ret = x;
    return x.looked_at > 0;
}
