/* probe/census/act.h: measures, on request, how much memory the program could free. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_ACT_H
#define TIDEMARK_PROBE_CENSUS_ACT_H

#include <stdint.h>

/* Totals of one action so far. */
struct act_account {
    uint64_t times, ns;
    double objects; /* unreachable objects found; 0 for `trim` */
    double bytes;   /* decrease of malloc's in-use bytes or of the process's memory, whichever is
                       larger */
};

struct acts {
    struct act_account gc, trim;
};

/*
 * Runs the actions in `wanted` (enum wire_act). The collection comes first: its finalizers are the
 * program's code. The GIL is held; no error is left behind.
 */
void act(unsigned wanted, struct acts *account);

#endif
