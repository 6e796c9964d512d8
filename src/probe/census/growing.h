/* probe/census/growing.h: what grows, what it is made of, who holds it. Private to probe/. */
#ifndef TIDEMARK_PROBE_CENSUS_GROWING_H
#define TIDEMARK_PROBE_CENSUS_GROWING_H

#include "probe/census/callers.h"
#include "probe/census/weigh.h"
#include "probe/holders/holders.h"

#define FINDINGS_MOST 15u
#define FINDINGS_OF_PAIR 24u
#define FINDING_HOLDERS 3u

struct finding {
    const struct survey_growth *growth;
    struct thing what;
    struct weight item;
    ptrdiff_t most; /* that it will ever have; -1: there is no end to it */
    struct holder holders[FINDING_HOLDERS];
    size_t holder_count;
    struct caller caller; /* of a library's holder */
};

/*
 * After a census, before the GIL is given up: those that have grown steadily, those that take most
 * first. With `holders` they are followed back to who holds them, which takes several passes over
 * the heap: for a forked child. Of a pair of censuses all that has grown counts, and new containers
 * come after those that were there. `most`: FINDINGS_MOST, or FINDINGS_OF_PAIR.
 */
size_t findings_make(struct survey *c, bool holders, struct finding *ret, size_t most);

#endif
