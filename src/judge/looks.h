/* judge/looks.h: by how much a process and its heap grew, between two looks that compare. Private
 * to judge/. */
#ifndef TIDEMARK_JUDGE_LOOKS_H
#define TIDEMARK_JUDGE_LOOKS_H

#include "job/job.h"

/* By how much a process has grown, what malloc has in use there, what is free, and what it has
 * asked the kernel for; and between which moments. */
struct heap_growth {
    double anon, in_use, free, asked, arenas_used, arenas_free;
    double from, to; /* seconds */
};

/* Since then (NAN: from the beginning), and until the last census where that saw most of the
 * growth. `may_stop`: it has grown, and whether it still does is not known. False: there are too
 * few looks. */
bool looks_compare(const struct job *j, const struct evidence *e, double since, bool may_stop,
                   struct heap_growth *ret);

#endif
