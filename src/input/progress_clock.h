/* input/progress_clock.h: picks the training steps among everything a program's output counts. */
#ifndef TIDEMARK_INPUT_PROGRESS_CLOCK_H
#define TIDEMARK_INPUT_PROGRESS_CLOCK_H

#include "input/input.h"
#include "input/progress_line.h"

#define PROGRESS_SOURCES 16

/*
 * All lines of one shape. Its position is `offset` + `last`: a count that restarts with every epoch
 * is added to the earlier epochs. It is believed once it has advanced.
 *
 * A falling count starts a new epoch if the epoch has advanced or the count was complete. Otherwise
 * it may come from a slower rank that prints the same lines. The source then waits until several
 * more counts advance and stay below (`lows`).
 */
struct progress_source {
    uint64_t shape; /* 0: not in use */
    enum progress_kind kind;
    double first, last, stride; /* the count as printed */
    double widest;              /* largest stride so far */
    double total;               /* NAN: not printed */
    double offset;
    double epoch;      /* epoch of `last`; NAN: not printed */
    bool has_epochs;   /* its own lines print the epoch */
    bool spans_epochs; /* did not restart when the epoch advanced */
    double length;     /* steps of the previous epoch; NAN: none */
    uint64_t epochs;   /* number of restarts */
    uint64_t advances; /* in total */
    uint64_t fresh;    /* counts since it restarted */
    uint64_t strays;   /* late counts of the previous epoch */
    uint64_t lows;     /* counts below `last` that advance */
    double low_first, low;
    uint64_t lead;    /* advances since the chosen source made its last */
    double lead_from; /* its position after the first of these */
    uint64_t noted;   /* line number of its last count */
};

/* The number of the epoch as the lines print it. */
struct progress_epochs {
    double raw, latest; /* the highest and the last number; NAN: none */
    double base;        /* the number of the first */
    bool are_ended;     /* "0.12": it counts finished epochs; the count may span epochs */
    double total;
    double start, length; /* step at the start of this epoch, steps of the previous one */
    uint64_t advances;
};

struct progress_clock {
    struct progress_source sources[PROGRESS_SOURCES];
    struct progress_source *chosen; /* one of `sources`; NULL: none is believed yet */
    struct progress_epochs epochs;
    double shift;     /* from the chosen source's position to the step */
    double before;    /* the step before the first one printed */
    double done;      /* finished epochs, as last printed; NAN: not known */
    bool is_trusting; /* the user's regex counts: believe the first count */
    bool has_restarted;
    uint64_t lines;
};

void progress_clock_init(struct progress_clock *c, bool is_trusting);
void progress_clock_note(struct progress_clock *c, const struct progress_line *line);

/* False: no source is believed yet. Clears has_restarted. */
bool progress_clock_mark(struct progress_clock *c, struct progress_mark *ret);

#endif
