/* advice/advice.h: what a run says about the memory its job needs. Pure: no I/O, no clock. */
#ifndef TIDEMARK_ADVICE_H
#define TIDEMARK_ADVICE_H

#include "base/base.h"
#include "stat/stat.h"
#include "verdict/verdict.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Facts in, advice out, each piece with the measurement it rests on. Nothing is said that the run
 * does not show: where a fact is absent (NAN, NULL), so is what would follow from it.
 */

/* ---- what data workers copy ---- */

/*
 * The data workers of one process. A forked one shares its parent's pages until one of them is
 * written to; reading a Python object writes its reference count. So a list that all of them read
 * is there once more in each of them in the end: bounded, and no leak. A spawned one holds copies
 * of its own from the start.
 */
enum copy_trend {
    COPIES_UNKNOWN, /* too few looks */
    COPIES_GROW,    /* they still did at the last look */
    COPIES_STAND,
};

struct copy_facts {
    const char *parent; /* whose: "trainer 4242" */
    bool spawned;
    unsigned workers; /* at a time */
    double each, all; /* what of their parent's memory they have for themselves now; of spawned ones
                         all that they have for themselves */
    double inherited; /* what one of them shared at its fork: it cannot copy more */
    enum copy_trend trend;
    double rate; /* of one that grows, per unit of the clock */
    enum series_clock clock;

    /* The largest attribute of the dataset that is made of Python objects; NULL: not known. */
    const char *type, *owner, *attribute; /* "list", "Files", "samples"; the owner may be empty */
    double objects; /* bytes of the objects in it ... */
    double objects_all; /* ... and in all such attributes */
};

struct copies {
    bool matter;    /* enough to be told */
    bool named;     /* that attribute explains what was copied */
    double ends_at; /* what each of them will have copied in the end; NAN: it is that far now */
    bool at_most;   /* ends_at is only a bound */
};

void copies_judge(const struct copy_facts *facts, struct copies *ret);

/* What was copied, of what, where it ends, and how to share it: a few sentences for a person. */
void copies_describe(struct buf *out, const struct copy_facts *facts, const struct copies *c);

/* Whether what a worker has copied still rose over the last quarter of what is known, and how
 * fast. */
enum copy_trend copies_trend(const struct history *copied, double *ret_rate);

#endif
