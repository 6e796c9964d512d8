/* words/patterns.h: what memory does that only looks like a leak, a sentence each. */
#ifndef TIDEMARK_WORDS_PATTERNS_H
#define TIDEMARK_WORDS_PATTERNS_H

#include "base/base.h"
#include "verdict/verdict.h"

#include <stdbool.h>

struct pattern_facts {
    enum pattern pattern;
    const char *series;  /* the one that moved most */
    double low, high;    /* bytes; high: where it went, or its peak where it comes back */
    bool returns, slows; /* it comes back each time; it grows, ever slower */
    unsigned others;     /* more series that do the same */
};

/* "sawtooth: trainer 7 host.anon, repeatedly from 100 MB to 200 MB and back". */
void pattern_describe(struct buf *out, const struct pattern_facts *f);

/* Data workers that have copied all they will: `bytes` together. */
void pattern_describe_copies(struct buf *out, unsigned workers, const char *parent, double bytes);

/* malloc's in-use bytes go up and down; the process does not show it. */
void pattern_describe_heap(struct buf *out, const char *process, double low, double high);

#endif
