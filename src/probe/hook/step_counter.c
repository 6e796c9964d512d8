/* probe/hook/step_counter.c: which optimizer calls are steps, and which loaders make an epoch. */
#include "probe/hook/step_counter.h"

#include <math.h>
#include <string.h>

/* After this many steps of another optimizer without one of the first, the first is done. */
#define HANDED_OVER 50u

/* The length of an epoch is reported once this many steps have shown how many batches a step takes.
 */
#define LENGTH_KNOWN_AFTER 8.0

#define SEEN (sizeof(((struct step_counter *) 0)->seen) / sizeof(void *))
#define FEEDING (sizeof(((struct step_counter *) 0)->feeding) / sizeof(struct feeding))

/* True: it has made no step before. */
static bool see(struct step_counter *c, const void *optimizer)
{
    for (unsigned i = 0; i < c->seen_count; i++)
        if (c->seen[i] == optimizer)
            return false;
    if (c->seen_count == SEEN)
        return false;
    c->seen[c->seen_count++] = optimizer;
    return true;
}

bool steps_of_optimizer(struct step_counter *c, const void *optimizer, bool gone)
{
    if (optimizer != c->optimizer) {
        bool succeeds = see(c, optimizer) && c->was_handed_over;
        if (c->optimizer && !gone && !succeeds && ++c->others < HANDED_OVER)
            return false;
        c->was_handed_over = c->was_handed_over || c->others == HANDED_OVER;
    }
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
    for (unsigned i = 0; i < FEEDING; i++)
        if (c->feeding[i].iterator == iterator)
            return &c->feeding[i];
    return NULL;
}

static struct feeding *begin(struct step_counter *c, const void *iterator, double length)
{
    struct feeding *f = find(c, NULL);
    if (!f) {
        f = &c->feeding[c->next_feeding];
        c->next_feeding = (c->next_feeding + 1) % (FEEDING);
    }
    *f = (struct feeding){.iterator = iterator, .steps_before = c->steps, .length = length};
    return f;
}

/* One or two batches may be taken before their step. */
static double length_in_steps(const struct feeding *f, double steps)
{
    return ceil(f->length / fmax(1, round((f->batches - 1) / steps)));
}

static bool end(struct step_counter *c, struct feeding *f)
{
    double steps = c->steps - f->steps_before, since = c->steps - c->steps_at_epoch;
    memset(f, 0, sizeof(*f));
    /* Two parallel loaders end together, or nearly so, and that is one epoch. */
    if (!(steps > 0) || since < fmax(steps, c->epoch_steps) / 2)
        return false;
    c->epochs++;
    c->epoch_steps = since;
    c->steps_at_epoch = c->steps;
    return true;
}

/* The last batch has had its step, or the loader begins again without one. */
static bool end_complete(struct step_counter *c, const void *iterator)
{
    bool ended = false;
    for (unsigned i = 0; i < FEEDING; i++) {
        struct feeding *f = &c->feeding[i];
        if (f->complete && (c->steps > f->steps_then || f->iterator == iterator))
            ended = end(c, f) || ended;
    }
    return ended;
}

bool steps_know_loader(struct step_counter *c, const void *iterator)
{
    const struct feeding *f = find(c, iterator);
    return f && !f->complete;
}

struct loader_news steps_batch_taken(struct step_counter *c, const void *iterator, double length)
{
    struct loader_news news = {.epoch_ended = end_complete(c, iterator), .epoch_length = NAN};
    struct feeding *f = find(c, iterator);
    if (!f)
        f = begin(c, iterator, length);
    f->batches++;
    f->complete = f->batches >= f->length;
    f->steps_then = c->steps;
    double steps = c->steps - f->steps_before;
    if (steps >= LENGTH_KNOWN_AFTER && f->reported_length == 0 && f->length > 0)
        news.epoch_length = f->reported_length = length_in_steps(f, steps);
    return news;
}

bool steps_loader_exhausted(struct step_counter *c, const void *iterator)
{
    struct feeding *f = find(c, iterator);
    return f && end(c, f);
}
