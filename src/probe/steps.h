/* probe/steps.h: steps and epochs, counted from what the program does. Private to probe/. */
#ifndef TIDEMARK_PROBE_STEPS_H
#define TIDEMARK_PROBE_STEPS_H

#include "wire/wire.h"

/*
 * Pure but for the ring: who the optimizers and loaders are is told by their addresses, which are
 * never followed. All calls hold the GIL.
 *
 * Steps are those of the first optimizer that was seen, so that two of them (a GAN, a wrapper and
 * what it wraps) are not counted twice. Another one takes over when the first is gone, or makes
 * no more steps while the other does.
 *
 * An epoch is the end of a loader during whose life steps were made: a validation's has none.
 */
struct step_counter {
    const void *optimizer; /* whose steps count */
    double steps;          /* made, with those before a resumed training */
    unsigned others;       /* steps of another one since its last */

    struct feeding {
        const void *iterator;
        double steps_before; /* when its first batch was taken */
        double batches;
        double told_length; /* 0: not yet */
    } feeding[8];
    unsigned next_feeding; /* to be replaced next */
    double epochs, steps_at_epoch;
};

/* True: this step counts, and `c->steps` has gone up. `gone`: the one that counted is no more. */
bool steps_of_optimizer(struct step_counter *c, const void *optimizer, bool gone);

/* The program itself, or a framework, says how many: what epochs are measured by. */
void steps_are(struct step_counter *c, double steps);

/* A batch was taken. The number of steps this loader's epoch will have, if that has just become
 * known from `length`, its number of batches; otherwise NAN. */
double steps_batch_taken(struct step_counter *c, const void *iterator, double length);

/* A loader is exhausted. True: that was an epoch, and `c->epochs` has gone up. */
bool steps_loader_exhausted(struct step_counter *c, const void *iterator);

#endif
