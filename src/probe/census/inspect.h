/* probe/census/inspect.h: when a census is taken, and in which process. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_INSPECT_H
#define TIDEMARK_PROBE_CENSUS_INSPECT_H

#include "probe/probe.h"

#include <stdbool.h>

/*
 * Censuses are taken at comparable moments: at the same place of every step. A census pauses the
 * program, so it is taken once the elapsed time has paid for it: 0.5 % of that time at first and
 * while a leak is suspected, 0.1 % otherwise, half of that if the program watches itself, 2 % for a
 * profile. The first ones come earlier, since a run may be short. If the heap is too large for
 * that, a forked child walks it, and a child makes every search for holders; then the program is
 * paused for the fork only. The child sends no signal, runs no handler, needs no wait() by the
 * program, takes no malloc() lock, and ends after some seconds at most.
 */

/* Replaces the share of time that a census may take, for tests: "1" is all of it. */
#define INSPECT_SHARE_VARIABLE "TIDEMARK_CENSUS_SHARE"

/* The place of a moment. A higher one takes precedence; lower ones are then ignored. */
enum inspect_place {
    INSPECT_TIME,      /* some time has passed, in a process we attached to */
    INSPECT_LINE,      /* a line was printed */
    INSPECT_BATCH,     /* a data worker begins a batch */
    INSPECT_OPTIMIZER, /* an optimizer has stepped */
    INSPECT_STEP,      /* the program or its framework announced a step */
};

/* Such a moment. The GIL is held; Python's error state is unchanged. */
void inspect_moment(enum inspect_place place, const struct tidemark_probe_listener *l);

/* The last moment, when the program has ended: a short run may lack just one census to know what
 * grows. The GIL is held. */
void inspect_last(const struct tidemark_probe_listener *l);

/* Reaps a child that has ended, if no moments come any more. The GIL is held. */
void inspect_take_in(const struct tidemark_probe_listener *l);

/* Searches for holders now, whatever it costs. Without `begin` it only asks for a search under way.
 * True: a child is at work. The GIL is held. */
bool inspect_search(const struct tidemark_probe_listener *l, bool begin);

/* Is a census due by the clock? Without the GIL, from any thread. */
bool inspect_is_due(void);

/* Does the program watch itself? Then its findings are its own. */
bool inspect_watches_itself(void);

/* The process is the child of a fork by the program. */
void inspect_forget(void);

/* Detaches: ends a child at work and frees all memory. */
void inspect_detach(void);

#endif
