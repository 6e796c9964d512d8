/* verdict/tradeoff.h: one job run with several settings: what each changes, and whether it is real.
 * Pure. */
#ifndef TIDEMARK_VERDICT_TRADEOFF_H
#define TIDEMARK_VERDICT_TRADEOFF_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Glossary:
 *   setting   what is done to the job: cleanup every so many steps, another zero_grad(), ...
 *   run       the job from start to end with one setting
 *   round     one run of each setting; differences are taken within a round, so that what changes
 *             on the machine from round to round does not count
 *   real      more than chance explains, all comparisons of the table taken together: those of
 *             memory, and those of time
 */

/* What a setting may change; each is tried alone, then the best of each together. */
enum tradeoff_dimension {
    TRADEOFF_EVERY,
    TRADEOFF_SET_TO_NONE,
    TRADEOFF_WORKERS,
    TRADEOFF_DIMENSIONS,
};

#define TRADEOFF_UNSAID (-1)

/* The value of each dimension: steps between cleanups (never 0), 0 or 1, a number of workers;
 * TRADEOFF_UNSAID: as it is in the job. */
struct tradeoff_setting {
    int said[TRADEOFF_DIMENSIONS];
};

/* "every 10", "set_to_none no, 2 workers", "as it is". */
void tradeoff_add_name(struct buf *out, const struct tradeoff_setting *s);

/* What every run measures; less is better. All before TRADEOFF_STEP_SECONDS are bytes. */
enum tradeoff_measure {
    TRADEOFF_FLOOR, /* host memory of the whole job */
    TRADEOFF_PEAK,
    TRADEOFF_GPU_FLOOR, /* torch.allocated */
    TRADEOFF_GPU_PEAK,  /* torch.peak */
    TRADEOFF_RESERVED,  /* the most of torch.reserved */
    TRADEOFF_STEP_SECONDS,
    TRADEOFF_CLEANUP_SHARE, /* time in cleanup, over the rest of the time */
    TRADEOFF_MEASURES,
};

/* "host_floor", for programs; "floor, host memory", for people. */
const char *tradeoff_measure_key(enum tradeoff_measure m);
const char *tradeoff_measure_title(enum tradeoff_measure m);

struct tradeoff_run {
    size_t setting; /* index */
    unsigned round;
    double values[TRADEOFF_MEASURES]; /* NAN: not measured */
};

#define TRADEOFF_MAX_SETTINGS 32u

/* Nothing is owned. */
struct tradeoff {
    const struct tradeoff_setting *settings; /* [0] is the job as it is */
    size_t setting_count;                    /* 1 to TRADEOFF_MAX_SETTINGS */
    const struct tradeoff_run *runs;
    size_t run_count;
};

/* With fewer rounds nothing is called real: two values hardly show their spread. */
#define TRADEOFF_LEAST_ROUNDS 3u

/* The chance that one of the differences in memory is called real by accident is at most this;
 * likewise for those in time. */
#define TRADEOFF_CHANCE 0.05

enum tradeoff_finding {
    FINDING_ABSENT,  /* nothing to compare: not measured, or the job as it is */
    FINDING_TOO_FEW, /* not enough repeats */
    FINDING_NOISE,
    FINDING_REAL,
};

/* "real", "within noise", "not enough repeats"; NULL: absent. */
const char *tradeoff_finding_name(enum tradeoff_finding finding);

/* One measure of one setting. NAN: not known. */
struct tradeoff_cell {
    unsigned runs; /* in which it was measured */
    double mean, low, high;
    enum tradeoff_finding finding;
    unsigned pairs;    /* rounds in which the job as it is was measured as well */
    double before;     /* mean of the job as it is, in these rounds */
    double difference; /* mean difference to that; geometric for times */
    double difference_low, difference_high; /* what the test allows; real: 0 is outside */
    double share;                           /* difference / before */
};

struct tradeoff_row {
    struct tradeoff_cell cells[TRADEOFF_MEASURES];
};

/* Fills a row for each setting: Student's t of the differences by round (of times, of their
 * ratios), by their own spread and by that of all settings, and Holm's procedure over all. */
void tradeoff_compare(const struct tradeoff *t, struct tradeoff_row *ret_rows);

/*
 * Of the settings of this dimension alone, the one that frees most; of those within a tenth of
 * it, the fastest. Where none frees anything, the one that is faster. Only real changes count.
 * 0: none is better than the job as it is.
 */
size_t tradeoff_best(const struct tradeoff *t, const struct tradeoff_row *rows,
                     enum tradeoff_dimension dimension);

#endif
