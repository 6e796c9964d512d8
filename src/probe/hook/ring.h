/* probe/hook/ring.h: the ring of this process, opened when there is something to report. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_HOOK_RING_H
#define TIDEMARK_PROBE_HOOK_RING_H

#include "probe/census/inspect.h"
#include "wire/wire.h"

/* `heard` is called at every step, with the GIL; NULL: no listener. */
void ring_on_step(void (*heard)(void));

/* The optimizers have made this many steps. Now and then the other counters are read as well. */
void ring_step(double steps);

/* A line was printed, or some time has passed. Without a step count, the counters are read. The GIL
 * is held. */
void ring_moment(enum inspect_place place);
/* Is anything due? Without the GIL, from any thread. */
bool ring_is_due(void);

/* A moment for the census that the watcher wants. The GIL is held. */
void ring_inspect(enum inspect_place place);

/* A data worker begins a batch: malloc's in-use bytes are reported now and then. There may be many
 * workers, and most hold what the trainer holds, so a census of a worker is taken only once it is
 * suspected of a leak. The GIL is held. */
void ring_batch(void);

/* A counter of the probe at this moment; displayed, never judged. */
void ring_counter(const char *kind, const char *device, bool is_count, double value);

/* An epoch has ended at that step. */
void ring_epoch(double steps, double epochs);

/* An epoch will have this many steps. */
void ring_epoch_length(double steps);

/* A dataset read by data workers keeps this many bytes of Python objects in an attribute. */
void ring_dataset(const char *type, const char *owner, const char *attribute, double bytes);

/* Steps counted by a source that ranks above the optimizers; NAN: none. */
double ring_steps(void);

/* The process is the child of a fork: the ring is its parent's. */
void ring_forget(void);

/*
 * The probe is attached: the ring of this process and of its forks is in this directory from now
 * on. 0, or -errno of wire_open(): then there is none.
 */
int ring_attach(const char *directory);

/* Detaches. The caller closes the ring; NULL: there is none. */
struct wire_ring *ring_detach(void);

/* What the watcher wants; WIRE_CENSUS_NONE without a ring. */
enum wire_wanted ring_wanted(void);

/* Replaces the last report. Safe in a child, like wire_census_replace(). */
void ring_replace_report(const char *text, size_t len);

/* The child that works on the report; 0: none any more. */
void ring_report_by(pid_t child);

#endif
