/* judge/looks.h: how much a process and its heap grew between two comparable heap samples. Private
 * to judge/. */
#ifndef TIDEMARK_JUDGE_LOOKS_H
#define TIDEMARK_JUDGE_LOOKS_H

#include "job/job.h"

/* The growth of a process, of malloc's in-use and free bytes, and of what it requested from the
 * kernel; and the two moments. */
struct heap_growth {
    double anon, in_use, free, asked, arenas_used, arenas_free;
    double from, to; /* seconds */
};

/* From `since` (NAN: the beginning) until the last census, where that covers most of the growth.
 * `may_stop`: it has grown, and whether it still does is not known. False: too few samples. */
bool looks_compare(const struct job *j, const struct evidence *e, double since, bool may_stop,
                   struct heap_growth *ret);

#endif
