/* probe/hook/step_counter.h: steps and epochs, counted from what the program does. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_HOOK_STEP_COUNTER_H
#define TIDEMARK_PROBE_HOOK_STEP_COUNTER_H

#include "wire/wire.h"

/*
 * Pure but for the ring: who the optimizers and loaders are is told by their addresses, which are
 * never followed. All calls hold the GIL.
 *
 * Steps are those of the first optimizer that was seen, so that two of them (a GAN, a wrapper and
 * what it wraps) are not counted twice. Another one takes over when the first is gone, or makes
 * no more steps while the other does. Where that was seen once, as in a program that makes an
 * optimizer for every task and keeps the old ones, one that never made a step before takes over at
 * once.
 *
 * An epoch is the end of a loader during whose life steps were made: in a validation's there are
 * none.
 */
struct step_counter {
    const void *optimizer; /* whose steps count */
    double steps;          /* made, with those before a resumed training */
    unsigned others;       /* steps of another one since its last */

    const void *seen[256]; /* optimizers */
    unsigned seen_count;
    bool was_handed_over; /* from one that still exists */

    struct feeding {
        const void *iterator;
        double steps_before;    /* when its first batch was taken */
        double length, batches; /* NAN: how many it will give is not known */
        double told_length;     /* 0: not yet */
        bool complete;          /* all its batches have been taken, */
        double steps_then;      /* at that step */
    } feeding[8];
    unsigned next_feeding;                      /* to be replaced next */
    double epochs, steps_at_epoch, epoch_steps; /* the last one ended there, and had so many */
};

/* True: this step counts, and `c->steps` has gone up. `gone`: the one that counted is no more. */
bool steps_of_optimizer(struct step_counter *c, const void *optimizer, bool gone);

/* The program itself, or a framework, says how many: what epochs are measured by. */
void steps_are(struct step_counter *c, double steps);

/* What a loader has shown. */
struct loader_news {
    bool epoch_ended;    /* `c->epochs` has gone up */
    double epoch_length; /* steps an epoch will have, where that has just become known; else NAN */
};

/* True: how many batches it has was told with its first one, and need not be asked again. */
bool steps_know_loader(struct step_counter *c, const void *iterator);

/* A batch was taken from a loader of `length` batches (NAN: not known), heeded with the first of
 * them. Whoever counts batches does not ask for one too many: that a loader has given all is seen
 * when the next batch comes, from wherever. */
struct loader_news steps_batch_taken(struct step_counter *c, const void *iterator, double length);

/* A loader was asked for one more than it has. True: that ended an epoch. */
bool steps_loader_exhausted(struct step_counter *c, const void *iterator);

#endif
