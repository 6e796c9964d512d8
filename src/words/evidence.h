/*
 * words/evidence.h: what censuses showed, a sentence each: the evidence of a finding, what --probe
 * tried out, and why nothing was found.
 */
#ifndef TIDEMARK_WORDS_EVIDENCE_H
#define TIDEMARK_WORDS_EVIDENCE_H

#include "base/base.h"

#include <stdbool.h>

/* ---- evidence of a finding ---- */

/* Growth from the first census that shows it to the last. Positions: NAN: not known. */
struct census_points {
    double first, last, from, to;
    enum series_unit unit;
    enum series_clock clock;
    unsigned censuses;
};

/* "from 20 at step 20 to 500 at step 499, more at each of 12 censuses". */
void evidence_words_points(struct buf *out, const struct census_points *p);
/* Each item is a view that keeps so many bytes more than it shows. */
void evidence_words_view(struct buf *out, double bytes);
/* A bounded cache, and where it is full. */
void evidence_words_bound(struct buf *out, double items, double bound, double full_at,
                          enum series_clock clock);

/* ---- what --probe tried out ---- */

enum tried { TRIED_GC, TRIED_TRIM };

struct tried_facts {
    enum tried what;
    double times;
    double objects; /* unreachable objects that a collection found */
    double bytes;   /* that the process gave back */
    bool gave_back; /* more than any program does */
};

void evidence_words_tried(struct buf *out, const struct tried_facts *f);

/* ---- why there is no finding ---- */

enum not_found {
    NOT_FOUND_IDLE,   /* no step of an optimizer and no printed line: no moment for a census */
    NOT_FOUND_WORKER, /* a worker's objects are counted at a DataLoader's batches only */
    NOT_FOUND_FEW,    /* too few censuses in a row */
    NOT_FOUND_ENDED,  /* two censuses, and the process has ended */
    NOT_FOUND_EARLY,  /* censuses at its beginning only */
    NOT_FOUND_GRAPHS, /* graphs behind tensors, not measured often enough */
};

/* `censuses`, `required`: of NOT_FOUND_FEW. */
void evidence_words_not_found(struct buf *out, enum not_found why, const char *process,
                              double censuses, unsigned required);

#endif
