/* job/clock.h: the step clock: which step the program was at in a given second. Pure. */
#ifndef TIDEMARK_JOB_CLOCK_H
#define TIDEMARK_JOB_CLOCK_H

#include <stdbool.h>

/* Marks kept; when all are used, the closest are dropped. */
#define CLOCK_MARKS 512

struct clock_mark {
    double seconds, step;
};

/*
 * The program reports its step, and each report is a mark. Steps are assumed to be evenly spaced
 * between two marks; before the first and after the last nothing is known. One owner, one thread.
 */
struct step_clock {
    struct clock_mark marks[CLOCK_MARKS];
    unsigned count;
    double spacing;                           /* minimum seconds between two kept marks */
    struct clock_mark then, now;              /* the last two, kept or not; step NAN: none */
    double epoch;                             /* epochs completed; NAN: not known */
    struct clock_mark epoch_begin, epoch_end; /* of the last epoch; step NAN: none has ended */
    double epoch_length;                      /* steps; NAN: not known */
    double total;                             /* steps the program plans; NAN: not reported */
};

void clock_init(struct step_clock *c);

/* The newest mark always counts; `seconds` never decreases. A step below the last one starts
 * over. */
void clock_mark(struct step_clock *c, double seconds, double step);

/* A new count begins: its steps are unrelated to the earlier ones. */
void clock_begin_count(struct step_clock *c);

/* An epoch has ended at the newest mark. */
void clock_end_epoch(struct step_clock *c);

/* NAN: before the first mark, after the last, or no clock at all. */
double clock_step_at(const struct step_clock *c, double seconds);

/* The same by the last two marks alone, even if one of them is not kept. */
double clock_step_lately(const struct step_clock *c, double seconds);

/* Two marks or more. */
bool clock_runs(const struct step_clock *c);

const struct clock_mark *clock_first(const struct step_clock *c); /* NULL: none */
const struct clock_mark *clock_last(const struct step_clock *c);

#endif
