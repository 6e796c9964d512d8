/* probe/ring.h: the ring of this process, opened when there is something to tell. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_RING_H
#define TIDEMARK_PROBE_RING_H

#include "wire/wire.h"

/* The optimizers have made so many steps. Now and then the other counters go with it. */
void ring_step(double steps);

/* A counter of ours at this moment: for the eye, never judged. */
void ring_counter(const char *kind, const char *device, bool is_count, double value);

/* An epoch has ended at that step. */
void ring_epoch(double steps, double epochs);

/* An epoch will have so many steps. */
void ring_epoch_length(double steps);

/* Steps counted by someone who is believed more than the optimizers; NAN: nobody. */
double ring_steps(void);

/* The process is the child of a fork: the ring is its parent's. */
void ring_forget(void);

#endif
