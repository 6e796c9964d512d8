/* job/stays.h: one series in the phases of its program: how high it rose, what stayed. Pure. */
#ifndef TIDEMARK_JOB_STAYS_H
#define TIDEMARK_JOB_STAYS_H

#include "wire/wire.h"

/*
 * A stay is one time in a phase. It is known when it is over and something has been seen after it:
 * until the next phase of any name begins, the lowest value counts. The floor around a stay is the
 * higher of what was there before and after it: nothing is said to be of the phase that was there
 * before or is there afterwards. It is given back if the floor is not higher after it than after
 * any before; what the first of several leaves counts only if others leave more. One owner, one
 * thread; all 0 at first.
 */
struct stay {
    bool in, over; /* in the phase; out of it, and what comes after is being seen */
    double before, high, after;
    /* Of all that are known. */
    uint64_t looked_at;
    uint64_t given_back; /* set by stays_found(): those after which the floor was no higher */
    double height;       /* most above the floor around it */
    double kept;         /* by which the floor was higher afterwards than ever before, in all */
    /* The same while they are counted. */
    double floor;      /* the highest that any of them left */
    double kept_first; /* by the first: an allocator may have kept it for the next ones */
    uint64_t rises;    /* of the others */
};

struct stays {
    struct stay phases[WIRE_PHASES];
    bool has_last;
    double last; /* the last value that was noted */
};

/* `last`: where the series stands, for the first time; NAN: not known. */
void stays_begin(struct stays *s, unsigned phase, double last);
void stays_end(struct stays *s, unsigned phase);

/* A value of the series. */
void stays_note(struct stays *s, double value);

/* What is known by now, as if the run ended here. False: nothing. */
bool stays_found(const struct stays *s, unsigned phase, struct stay *ret);

#endif
