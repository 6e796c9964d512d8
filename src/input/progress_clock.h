/* input/progress_clock.h: of all that counts in a program's output, the steps of the training. */
#ifndef TIDEMARK_INPUT_PROGRESS_CLOCK_H
#define TIDEMARK_INPUT_PROGRESS_CLOCK_H

#include "input/input.h"
#include "input/progress_line.h"

#define PROGRESS_SOURCES 16

/*
 * All lines of one shape. Its position is `offset` + `last`: a count that begins anew with every
 * epoch is put behind the epochs before. It is believed once it has advanced.
 *
 * A count that falls has begun a new epoch where the epoch has advanced or the count was complete.
 * Otherwise it may be a slower rank that prints the same: it is waited for until some more counts
 * have come that advance and stay below (`lows`).
 */
struct progress_source {
    uint64_t shape; /* 0: not in use */
    enum progress_kind kind;
    double first, last, stride; /* the count as it stands in the lines */
    double widest;              /* stride so far */
    double total;               /* NAN: not told */
    double offset;
    double epoch;      /* in which `last` was counted; NAN: not told */
    bool has_epochs;   /* its own lines do */
    bool spans_epochs; /* went on when the epoch advanced */
    double length;     /* of the epoch before; NAN: none was */
    uint64_t epochs;   /* times it began anew */
    uint64_t advances; /* altogether */
    uint64_t fresh;    /* since it began anew */
    uint64_t strays;   /* counts of the epoch before that came late */
    uint64_t lows;     /* counts below `last` that advance */
    double low_first, low;
    uint64_t lead;    /* advances since the chosen source made its last */
    double lead_from; /* where it stood after the first of these */
    uint64_t noted;   /* when it was seen last, in lines */
};

/* The number of the epoch as the lines tell it. */
struct progress_epochs {
    double raw, latest; /* the highest and the last that was told; NAN: none */
    double base;        /* the number of the first */
    bool are_ended;     /* "0.12": the number is how many are over, the count need not be of one */
    double total;
    double start, length; /* steps at the beginning of this one, steps of the one before */
    uint64_t advances;
};

struct progress_clock {
    struct progress_source sources[PROGRESS_SOURCES];
    struct progress_source *chosen; /* in `sources`; NULL: none is believed yet */
    struct progress_epochs epochs;
    double shift;     /* from the position of the chosen source to the step */
    double before;    /* the step before the first that was told */
    double done;      /* epochs, as last told; NAN: not known */
    bool is_trusting; /* the first count is believed: the user said what counts */
    bool has_restarted;
    uint64_t lines;
};

void progress_clock_init(struct progress_clock *c, bool is_trusting);
void progress_clock_note(struct progress_clock *c, const struct progress_line *line);

/* False: nothing is believed yet. Clears has_restarted. */
bool progress_clock_mark(struct progress_clock *c, struct progress_mark *ret);

#endif
