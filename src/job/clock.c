/* job/clock.c: the step clock: which step the program was at in a given second. */
#include "job/clock.h"

#include <math.h>
#include <stddef.h>

void clock_init(struct step_clock *c)
{
    *c = (struct step_clock){.epoch = NAN, .epoch_length = NAN, .total = NAN};
    c->then = c->now = c->epoch_begin = c->epoch_end = (struct clock_mark){NAN, NAN};
}

/* Drops marks that are too close. Keeps the first, from which steps are counted, and the last. */
static void thin(struct step_clock *c)
{
    const struct clock_mark last = c->marks[c->count - 1];
    unsigned kept = 1;
    c->spacing = 2 * (last.seconds - c->marks[0].seconds) / CLOCK_MARKS;
    for (unsigned i = 1; i < c->count - 1; i++)
        if (c->marks[i].seconds - c->marks[kept - 1].seconds > c->spacing)
            c->marks[kept++] = c->marks[i];
    c->marks[kept++] = last;
    c->count = kept;
}

void clock_mark(struct step_clock *c, double seconds, double step)
{
    bool anew = step < c->now.step;
    c->then = anew ? (struct clock_mark){NAN, NAN} : c->now;
    c->now = (struct clock_mark){seconds, step};
    if (anew) {
        c->count = 0;
        c->spacing = 0;
        c->epoch_begin = c->epoch_end = (struct clock_mark){NAN, NAN};
    }
    if (c->count == CLOCK_MARKS)
        thin(c);
    /* The last mark is overwritten while it is closer to the one before than marks are kept. */
    bool crowded = c->count > 1 &&
                   c->marks[c->count - 1].seconds - c->marks[c->count - 2].seconds < c->spacing;
    c->marks[crowded ? c->count - 1 : c->count++] = c->now;
}

void clock_end_epoch(struct step_clock *c)
{
    bool is_first = isnan(c->epoch_end.step);
    c->epoch_begin = is_first && c->count > 0 ? c->marks[0] : c->epoch_end;
    /* Unless watching began late or the run was resumed, the first epoch began before its first
     * mark. */
    if (is_first && c->epoch_begin.step <= c->now.step / 2)
        c->epoch_begin.step = 0;
    c->epoch_end = c->now;
}

void clock_begin_count(struct step_clock *c)
{
    c->count = 0;
    c->spacing = 0;
    c->then = c->now = c->epoch_begin = c->epoch_end = (struct clock_mark){NAN, NAN};
}

static double between(const struct clock_mark *a, const struct clock_mark *b, double seconds)
{
    if (!(b->seconds > a->seconds))
        return b->step;
    return a->step + (seconds - a->seconds) / (b->seconds - a->seconds) * (b->step - a->step);
}

double clock_step_lately(const struct step_clock *c, double seconds)
{
    if (!(seconds >= c->then.seconds && seconds <= c->now.seconds))
        return NAN;
    return between(&c->then, &c->now, seconds);
}

double clock_step_at(const struct step_clock *c, double seconds)
{
    if (c->count == 0 || !(seconds >= c->marks[0].seconds) ||
        seconds > c->marks[c->count - 1].seconds)
        return NAN;
    unsigned low = 0, high = c->count - 1;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (c->marks[middle].seconds <= seconds)
            low = middle;
        else
            high = middle;
    }
    return between(&c->marks[low], &c->marks[high], seconds);
}

bool clock_runs(const struct step_clock *c)
{
    return c->count >= 2;
}

const struct clock_mark *clock_first(const struct step_clock *c)
{
    return c->count > 0 ? &c->marks[0] : NULL;
}

const struct clock_mark *clock_last(const struct step_clock *c)
{
    return c->count > 0 ? &c->marks[c->count - 1] : NULL;
}
