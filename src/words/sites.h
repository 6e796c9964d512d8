/* words/sites.h: where a process allocates the memory that it keeps, in words. */
#ifndef TIDEMARK_WORDS_SITES_H
#define TIDEMARK_WORDS_SITES_H

#include "base/base.h"
#include "ledger/ledger.h"
#include "sites/sites.h"
#include "verdict/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SITE_VIEW_FRAMES 24u
#define SITE_VIEWS_MOST 12u

/* A line of the program whose allocations stay. The view owns the texts; NULL and NAN: not known.
 * Rates and shares are of the time in which the process was traced. */
struct site_view {
    int64_t pid;
    char *process;  /* "trainer 4242" */
    char *sentence; /* "train.py:41 train → step → at::conv2d: 4.0 KB a step (3.6 to 4.4)" */
    char *what;     /* "train.py:41 train → step → at::conv2d" */
    char *function, *file;
    double line;
    enum site_kind kind;
    enum site_habit habit;
    enum verdict verdict;                /* of this line alone */
    bool has_stopped;                    /* it gains no more: a warm-up */
    double bytes, bytes_low, bytes_high; /* gained */
    double bytes_per_step, bytes_per_second;
    double share_low, share_high; /* of the growth of the memory in use, 0 to 1 */
    double samples;
    double from, to;               /* seconds of the run */
    char *stack[SITE_VIEW_FRAMES]; /* innermost first: "conv2d (torch/nn/functional.py:12)" */
    unsigned stack_count;
};

/* What the tracer of a process did. */
struct tracer_view {
    int64_t pid;
    char *process;
    double from, to; /* seconds of the run; NAN: it sampled nothing */
    double interval; /* bytes */
    double samples, dropped;
    double not_seen; /* bytes of growth that passed it by, at least; NAN: not known */
    double spent_seconds;
    bool has_native, has_python;
    double blocks_from, blocks_to, blocks_seconds; /* torch's recording; NAN: none */
};

/* "step (train.py:41)", "libleak.so+0x1234". */
void site_words_frame(struct buf *out, const struct site_frame *f);

/* What is known of a line; NAN: not known. */
struct site_facts {
    const char *what;
    enum site_kind kind;
    struct interval bytes_a_unit; /* of the clock */
    double rate;
    enum series_clock clock;
    struct interval share;
    bool has_stopped;
    enum site_habit habit;
};

/* "train.py:41 train → step: 4.0 KB a step (3.6 to 4.4 KB), 90 to 100 % of the growth". */
void site_words(struct buf *out, const struct site_facts *f);

/* "allocated at train.py:41 train → step (90 to 100 % of the growth of device memory)". */
void site_words_allocated(struct buf *out, const char *what, struct interval share,
                          enum site_kind kind);

/* "trainer 4242: one allocation in about 512 KB sampled from 12 s to 90 s: 1,234 samples took 20
 * ms; at least 1.20 MB of the growth passed the tracer by". */
void site_words_tracer(struct buf *out, const struct tracer_view *t);

#endif
