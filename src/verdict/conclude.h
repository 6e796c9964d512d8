/* verdict/conclude.h: from the state of an engine to an answer. Private to verdict/. Pure. */
#ifndef TIDEMARK_VERDICT_CONCLUDE_H
#define TIDEMARK_VERDICT_CONCLUDE_H

#include "verdict/engine.h"

/* Fewer samples than this prove nothing. */
#define LEAST_SAMPLES 10

/* Two-sided 95 % of a normal distribution. */
#define Z95 1.96

/* A leak has to be quiet for this many horizons before the verdict is "no leak". */
#define ACQUITTAL 1.5

/* The floor of the current run, block by block of its history. */
struct floor_line {
    size_t n;
    double at[HISTORY_BLOCKS], floor[HISTORY_BLOCKS];
    double noise;     /* from block to block */
    double tolerance; /* a smaller rise of the floor does not count */
};

void floor_line_take(const struct engine *e, struct floor_line *ret);

/*
 * Cuts the floor into named stretches, at most ANSWER_PHASES. With a leak, the last one is the
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
    BASIS_PLAN_TOO_LONG, /* inconclusive: growth not ruled out would matter by the plan's end */
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
 * `last` is the last phase; without samples, PHASE_START. `stands`: the growth that raised the
 * alarm still goes on at the end, as far as the samples show.
 */
void conclude(const struct engine *e, const struct floor_line *f, const struct phase *last,
              bool stands, struct conclusion *ret);

/* Where a floor that stays level has left the line of its stairs for good. */
double stairs_acquit(const struct stairs *s);

/* Extrapolation can go below 0; a level that never was negative is cut at 0. */
double possible_level(const struct engine *e, double level);

/* The alarm behind the verdict: of this run, or of the one before a restart. NULL: none. */
const struct alarm *standing_alarm(const struct engine *e);

/* Adds the reasons of an answer whose numbers are complete. */
void explain(const struct engine *e, const struct conclusion *c, struct answer *a);

#endif
