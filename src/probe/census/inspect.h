/* probe/census/inspect.h: when a census is taken, and by whom. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_INSPECT_H
#define TIDEMARK_PROBE_CENSUS_INSPECT_H

#include "probe/probe.h"

#include <stdbool.h>

/*
 * A census is taken at moments that compare: the same place in every step. It stands in the
 * program's way for as long as it takes, so it is taken where the time that has gone by has paid
 * for it: 0.5 % of it at first and while a leak is suspected, 0.1 % otherwise, half of that where a
 * program watches itself, 2 % for a profile; the first ones come before that, as a run may be a
 * short one. A heap too large for that is walked by a forked child, and so is every search for
 * holders: then the program stands still for the fork alone. The child has no signal to send and no
 * handler to run, is not to be waited for by the program, takes no lock of malloc()'s, and is gone
 * after some seconds at most.
 */

/* The share of the time that may be taken instead, for tests: "1" is all of it. */
#define INSPECT_SHARE_VARIABLE "TIDEMARK_CENSUS_SHARE"

/* Where it was called from. A higher one is believed before a lower one, which is then ignored. */
enum inspect_place {
    INSPECT_TIME,      /* some time has gone by, in a process that was entered */
    INSPECT_LINE,      /* a line was printed */
    INSPECT_BATCH,     /* a data worker begins a batch */
    INSPECT_OPTIMIZER, /* an optimizer has stepped */
    INSPECT_STEP,      /* the program or its framework says: a step */
};

/* Such a moment. The GIL is held; no error of the interpreter is left or lost. */
void inspect_moment(enum inspect_place place, const struct tidemark_probe_listener *l);

/* The last one, when the program has come to its end: a short run may lack just one census to tell
 * what grows in it. The GIL is held. */
void inspect_last(const struct tidemark_probe_listener *l);

/* Takes in a child that has ended, where no moments come any more. The GIL is held. */
void inspect_take_in(const struct tidemark_probe_listener *l);

/* Looks for holders now, whatever it costs; unless `begin`, only asks for what is under way. True:
 * a child is at work. The GIL is held. */
bool inspect_search(const struct tidemark_probe_listener *l, bool begin);

/* Is a moment due, as far as the clock says? Without the GIL, from any thread. */
bool inspect_is_due(void);

/* Does the program watch itself? Then what is found is its own. */
bool inspect_watches_itself(void);

/* The process is the child of the program's own fork. */
void inspect_forget(void);

/* Nobody wants to know any more: a child that is at work ends, all memory is given back. */
void inspect_detach(void);

#endif
