/* job/stays.h: one series in the program's phases: how high it rose and what remained. Pure. */
#ifndef TIDEMARK_JOB_STAYS_H
#define TIDEMARK_JOB_STAYS_H

#include "wire/wire.h"

/*
 * A stay is one visit to a phase. It is concluded once it is over and something was measured after
 * it. The lowest value until the next phase of any name begins counts as the level after it. The
 * floor around a stay is the higher of the levels before and after it: memory that was there
 * before, or remains afterwards, is not attributed to the phase. A stay gave its memory back if the
 * floor after it is not higher than after any earlier one. What the first of several leaves counts
 * only if later ones leave more. One owner, one thread; all 0 at first.
 */
struct stay {
    bool in, over; /* in the phase; out of it, with the level after it being measured */
    double before, high, after;
    /* Over all concluded stays. */
    uint64_t looked_at;
    uint64_t given_back; /* set by stays_found(): after these the floor was no higher */
    double height;       /* maximum above the floor around it */
    double kept;         /* sum by which the floor rose above all earlier ones */
    /* The same, while counting. */
    double floor;      /* highest level after any of them */
    double kept_first; /* by the first: an allocator may have kept it for later stays */
    uint64_t rises;    /* number of later stays that raised the floor */
};

struct stays {
    struct stay phases[WIRE_PHASES];
    bool has_last;
    double last; /* the last value noted */
};

/* `last`: current value of the series, for the first time; NAN: not known. */
void stays_begin(struct stays *s, unsigned phase, double last);
void stays_end(struct stays *s, unsigned phase);

/* A value of the series. */
void stays_note(struct stays *s, double value);

/* The result so far, as if the run ended here. False: no result. */
bool stays_found(const struct stays *s, unsigned phase, struct stay *ret);

#endif
