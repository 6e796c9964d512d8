/* probe/census/growing.h: findings: what grows, what it consists of, and its holders. Private to
 * probe/. */
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
    ptrdiff_t most; /* the bound on its length; -1: unbounded */
    struct holder holders[FINDING_HOLDERS];
    size_t holder_count;
    struct caller caller; /* if the holder is a library's */
};

/*
 * Call it after a census, before the GIL is released. Makes findings of the steady growths, the
 * largest first. With `holders` it also searches for their holders, in several passes over the
 * heap: only in a forked child. In a pair of censuses every growth counts, and new containers come
 * after existing ones. `most`: FINDINGS_MOST or FINDINGS_OF_PAIR.
 */
size_t findings_make(struct survey *c, bool holders, struct finding *ret, size_t most);

#endif
