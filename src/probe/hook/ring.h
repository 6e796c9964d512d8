/* probe/hook/ring.h: the ring of this process, opened when there is something to tell. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_HOOK_RING_H
#define TIDEMARK_PROBE_HOOK_RING_H

#include "probe/census/inspect.h"
#include "wire/wire.h"

/* To be called at every step, with the GIL; NULL: nobody. */
void ring_on_step(void (*heard)(void));

/* The optimizers have made so many steps. Now and then the other counters go with it. */
void ring_step(double steps);

/* A line was printed, or some time has gone by. Where nobody counts steps, the counters are told.
 * The GIL is held. */
void ring_moment(enum inspect_place place);
/* Is it worth it? Without the GIL, from any thread. */
bool ring_is_due(void);

/* A moment for a census, as the watcher wants it. The GIL is held. */
void ring_inspect(enum inspect_place place);

/* A data worker begins a batch: what malloc has in use is told now and then. There may be many of
 * them, and most hold what the trainer holds: each is looked into once it is suspected to leak. The
 * GIL is held. */
void ring_batch(void);

/* A counter of ours at this moment: for the eye, never judged. */
void ring_counter(const char *kind, const char *device, bool is_count, double value);

/* An epoch has ended at that step. */
void ring_epoch(double steps, double epochs);

/* An epoch will have so many steps. */
void ring_epoch_length(double steps);

/* A dataset that data workers read keeps so many bytes of Python objects in an attribute. */
void ring_dataset(const char *type, const char *owner, const char *attribute, double bytes);

/* Steps counted by someone who is believed more than the optimizers; NAN: nobody. */
double ring_steps(void);

/* The process is the child of a fork: the ring is its parent's. */
void ring_forget(void);

/*
 * The process was entered: its ring, and that of its forks, is in this directory from now on. 0, or
 * -errno of wire_open(): then there is none.
 */
int ring_attach(const char *directory);

/* The directory it was entered with; NULL: it was not. */
const char *ring_directory(void);

/* It is left again. The ring is the caller's to close; NULL: there is none. */
struct wire_ring *ring_detach(void);

/* What the reader wants; nothing where there is no ring. */
enum wire_wanted ring_wanted(void);

/* A text in place of the last report. Safe in a child, as wire_census_replace(). */
void ring_replace_report(const char *text, size_t len);

/* A child works on it; 0: no more. */
void ring_report_by(pid_t child);

#endif
