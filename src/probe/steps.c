/* probe/steps.c: which calls are steps, and which loaders make an epoch. */
#include "probe/steps.h"

#include <math.h>
#include <string.h>

/* So many steps of another optimizer without one of the first: that one is done. */
#define HANDED_OVER 50u

/* The length of an epoch is told when so many steps have shown how many batches make a step. */
#define LENGTH_KNOWN_AFTER 8.0

bool steps_of_optimizer(struct step_counter *c, const void *optimizer, bool gone)
{
    if (optimizer != c->optimizer && c->optimizer && !gone && ++c->others < HANDED_OVER)
        return false;
    c->optimizer = optimizer;
    c->others = 0;
    c->steps++;
    return true;
}

void steps_are(struct step_counter *c, double steps)
{
    c->steps = steps;
}

static struct feeding *find(struct step_counter *c, const void *iterator)
{
    for (unsigned i = 0; i < sizeof(c->feeding) / sizeof(c->feeding[0]); i++)
        if (c->feeding[i].iterator == iterator)
            return &c->feeding[i];
    return NULL;
}

static struct feeding *begin(struct step_counter *c, const void *iterator)
{
    struct feeding *f = find(c, NULL);
    if (!f) {
        f = &c->feeding[c->next_feeding];
        c->next_feeding = (c->next_feeding + 1) % (sizeof(c->feeding) / sizeof(c->feeding[0]));
    }
    *f = (struct feeding){.iterator = iterator, .steps_before = c->steps};
    return f;
}

double steps_batch_taken(struct step_counter *c, const void *iterator, double length)
{
    struct feeding *f = find(c, iterator);
    if (!f)
        f = begin(c, iterator);
    f->batches++;
    double steps = c->steps - f->steps_before;
    if (steps < LENGTH_KNOWN_AFTER || f->told_length > 0 || !(length > 0))
        return NAN;
    /* One or two batches may be taken ahead of their step. */
    double batches_a_step = fmax(1, round((f->batches - 1) / steps));
    f->told_length = ceil(length / batches_a_step);
    return f->told_length;
}

bool steps_loader_exhausted(struct step_counter *c, const void *iterator)
{
    struct feeding *f = find(c, iterator);
    if (!f)
        return false;
    double steps = c->steps - f->steps_before, since = c->steps - c->steps_at_epoch;
    memset(f, 0, sizeof(*f));
    /* Two loaders side by side end together, and that is one epoch. */
    if (!(steps > 0) || since < steps / 2)
        return false;
    c->epochs++;
    c->steps_at_epoch = c->steps;
    return true;
}
