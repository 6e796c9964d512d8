/* probe/hook/step_counter.h: counts steps and epochs by what the program does. Private to probe/.
 */
#ifndef TIDEMARK_PROBE_HOOK_STEP_COUNTER_H
#define TIDEMARK_PROBE_HOOK_STEP_COUNTER_H

#include "wire/wire.h"

/*
 * Pure. Optimizers and loaders are identified by their addresses, which are never followed. All
 * calls hold the GIL.
 *
 * Steps are those of the first optimizer, so that two of them (a GAN, a wrapper and the optimizer
 * in it) are not counted twice. Another one takes over when the first is gone, or when the first
 * makes no more steps while the other does. Once that has happened, as in a program that makes an
 * optimizer for every task and keeps the old ones, an optimizer that never stepped before takes
 * over at once.
 *
 * An epoch is the end of a loader that fed steps: a validation has none.
 */
struct step_counter {
    const void *optimizer; /* the one whose steps count */
    double steps;          /* including those before a resume */
    unsigned others;       /* steps of another optimizer since its last */

    const void *seen[256]; /* optimizers */
    unsigned seen_count;
    bool was_handed_over; /* from one that still exists */

    struct feeding {
        const void *iterator;
        double steps_before;    /* at its first batch */
        double length, batches; /* length NAN: unknown */
        double reported_length; /* 0: not yet */
        bool complete;          /* all its batches have been taken, */
        double steps_then;      /* at that step */
    } feeding[8];
    unsigned next_feeding;                      /* the next to replace */
    double epochs, steps_at_epoch, epoch_steps; /* the end and the length of the last one */
};

/* True: this step counts, and `c->steps` has gone up. `gone`: the optimizer that counted no longer
 * exists. */
bool steps_of_optimizer(struct step_counter *c, const void *optimizer, bool gone);

/* The program or a framework reports the steps; epochs are then measured by them. */
void steps_are(struct step_counter *c, double steps);

/* What a batch has revealed. */
struct loader_news {
    bool epoch_ended;    /* `c->epochs` has gone up */
    double epoch_length; /* steps of an epoch, if this has just become known; else NAN */
};

/* True: the loader's length came with its first batch, and need not be asked for again. */
bool steps_know_loader(struct step_counter *c, const void *iterator);

/* A batch was taken from a loader of `length` batches (NAN: unknown; used only with the first
 * batch). A loop that counts batches never asks for one too many, so the end of a loader shows with
 * the next batch, from any loader. */
struct loader_news steps_batch_taken(struct step_counter *c, const void *iterator, double length);

/* A loader was asked for one batch more than it has. True: that ended an epoch. */
bool steps_loader_exhausted(struct step_counter *c, const void *iterator);

#endif
