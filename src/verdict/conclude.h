/* verdict/conclude.h: what to say when asked. Private to verdict/. Pure. */
#ifndef TIDEMARK_VERDICT_CONCLUDE_H
#define TIDEMARK_VERDICT_CONCLUDE_H

#include "verdict/engine.h"

/* Fewer samples than this say nothing. */
#define LEAST_SAMPLES 10

/* Two-sided 95 % of a normal distribution. */
#define Z95 1.96

/* What was called a leak has to be quiet for so many horizons before it is called none. */
#define ACQUITTAL 1.5

/* The floor of the current run, block by block of its history. */
struct floor_line {
    size_t n;
    double at[HISTORY_BLOCKS], floor[HISTORY_BLOCKS];
    double noise;     /* from block to block */
    double tolerance; /* a rise of the floor below this is none */
};

void floor_line_take(const struct engine *e, struct floor_line *ret);

/*
 * The stretches of the floor, named; at most ANSWER_PHASES. With a leak, the last one is the
 * growth since its onset.
 */
unsigned phases_find(const struct engine *e, const struct floor_line *f, const struct alarm *leak,
                     struct phase ret_phases[ANSWER_PHASES]);

/* What a conclusion rests on. */
enum basis {
    BASIS_GROWS,         /* leak: the test holds */
    BASIS_PREVIOUS_RUN,  /* leak: the run before the restart leaked, this one is too young */
    BASIS_TOO_SHORT,     /* inconclusive: less than a horizon, or too few samples */
    BASIS_ROUNDED,       /* inconclusive: the growth is one or two units of rounding */
    BASIS_ROSE_LATELY,   /* inconclusive: the floor rose within the last horizon */
    BASIS_NEW_MAXIMUM,   /* inconclusive: the last samples are the highest of all */
    BASIS_JUST_STOPPED,  /* inconclusive: it leaked, and stopped only lately */
    BASIS_WEAK_GROWTH,   /* inconclusive: it seems to grow, the evidence is too thin */
    BASIS_STAIRS,        /* inconclusive: it rose several times, and may do so again */
    BASIS_PLAN_TOO_LONG, /* inconclusive: what cannot be excluded would matter by the plan's end */
    BASIS_PLAN_COVERED,  /* no leak: whatever grows does not matter for this plan */
    BASIS_NO_RISE,       /* no leak: no rise of the floor for a horizon or longer */
};

struct conclusion {
    enum verdict verdict;
    enum basis basis;
    struct growth weak;   /* BASIS_WEAK_GROWTH */
    struct stairs stairs; /* BASIS_STAIRS */
    double stopped_at;    /* BASIS_JUST_STOPPED: since when the floor is level */
};

/*
 * `last` is the last phase; with no sample, one that has only started. `stands`: the growth that
 * raised the alarm still goes on at the end, as far as one can see when asked.
 */
void conclude(const struct engine *e, const struct floor_line *f, const struct phase *last,
              bool stands, struct conclusion *ret);

/* Where a floor that stays as it is has left the line of its stairs for good. */
double stairs_acquit(const struct stairs *s);

/* A line carried on to where it was not fitted goes below 0; what never was there will not be. */
double possible_level(const struct engine *e, double level);

/* The alarm the verdict rests on: of this run, or of the one before a restart. NULL: none. */
const struct alarm *standing_alarm(const struct engine *e);

/* Fills the sentences of an answer whose numbers are complete. */
void explain(const struct engine *e, const struct conclusion *c, struct answer *a);

#endif
