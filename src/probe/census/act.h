/* probe/census/act.h: what the program could give back, tried out where that is asked for. Private
 * to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_ACT_H
#define TIDEMARK_PROBE_CENSUS_ACT_H

#include <stdint.h>

/* What an action has given back so far, all times together. */
struct act_account {
    uint64_t times, ns;
    double objects; /* that nobody could reach any more; of `trim` none */
    double bytes;   /* by which the memory in use, or that of the process, became less */
};

struct acts {
    struct act_account gc, trim;
};

/*
 * Does what `wanted` asks for (enum wire_act), the collection first: its finalizers are the
 * program's code. The GIL is held; no error is left behind.
 */
void act(unsigned wanted, struct acts *account);

#endif
