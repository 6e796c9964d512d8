/* job/track.h: one series being watched: its samples on both clocks, and its answer. */
#ifndef TIDEMARK_JOB_TRACK_H
#define TIDEMARK_JOB_TRACK_H

#include "job/clock.h"
#include "ledger/ledger.h"

/* What a counter is recorded for. */
enum track_use {
    TRACK_SHOWN,   /* to be looked at */
    TRACK_JUDGED,  /* growth that lasts is a leak, unless the ledger explains it */
    TRACK_WITNESS, /* for the ledger of its process: reported where that names a leak by it */
};

/* What holds for all series of a job. 0: not known. */
struct track_terms {
    const struct step_clock *clock;
    double horizon; /* in steps, or seconds where there are no steps */
    double epoch;   /* steps, as told by the user */
    double plan_steps, plan_seconds;
    unsigned series;         /* so many share the false-alarm budget */
    char *const *activities; /* names of what the program does beside its steps; NULL: none */
};

/* Points of a series, at most TRACK_POINTS: when they are full every second one goes. */
#define TRACK_POINTS 64

struct track_points {
    struct {
        double seconds, value;
    } * points; /* NULL: none yet */
    unsigned count;
    unsigned every, skipped; /* one in so many is kept, so many were passed over since */
};

/*
 * A counter that stands still costs nothing but its early points, and has engines only while it is
 * asked for an answer; one that moves gets an engine on the wall clock, and one on the steps as
 * soon as they are known. Steps come late: samples wait for the next mark. One owner, one thread.
 * Initialise with track_init().
 */
struct track {
    const char *kind; /* a literal, or own_kind */
    char *own_kind;   /* owned; NULL: none */
    char *device;     /* owned; NULL: none */
    enum series_unit unit;
    enum track_use use;
    bool is_accounted; /* false: the engine alone says what it is */
    struct ledger_judgement judgement;
    double parts;                    /* processes that it is the sum of, at most so far; or 1 */
    int64_t stored;                  /* its number in the run file; 0: none */
    double written, written_seconds; /* the last value there; NAN: none */
    double stored_limit;             /* what the run file was last told */
    const char *stored_reading;
    bool moves;
    bool alarmed;     /* its leak was announced, alone or with those that leak alike ... */
    double announced; /* ... at this second */
    bool quiet;       /* ... as a negligible leak, once more if it comes to matter ... */
    double next_look; /* ... which is looked for from this second on */
    bool asked;       /* somebody wants to see just this one */

    uint64_t samples;
    double first, last, min, max, sum;
    double first_seconds, last_seconds;
    double step_seconds; /* of the last sample with a step */
    double limit;        /* for this series, as known now; 0: not known */
    unsigned activity;   /* of the terms, at present, from 1; 0: none */
    struct stays *stays; /* owned; NULL: it was never in a phase */

    struct track_points early;   /* from the beginning, until it moves */
    struct track_points pending; /* since the last mark of the step clock */
    struct engine *by_time, *by_step;
};

void track_init(struct track *t, const char *kind, enum series_unit unit, enum track_use use);
void track_release(struct track *t);

/* What the ledger says of its growth; NULL: nothing. */
void track_judge(struct track *t, const struct ledger_judgement *j);
/* All of its growth is such a part. */
void track_excuse(struct track *t, enum ledger_kind kind);
/* Most of its growth is another job's. */
bool track_is_foreign(const struct track *t);
/* How it is read by now, as run files call it: "judged", "filling". */
const char *track_reading(const struct track *t);
/* What it was when the file was written; a name that is not known changes nothing. */
void track_restore(struct track *t, const char *reading);

/* What is not a number is passed over: the counter is absent for now. */
void track_push(struct track *t, const struct track_terms *terms, double seconds, double value);

/* Its value at a moment between two samples. */
void track_note_peak(struct track *t, const struct track_terms *terms, double value);

/* Whether a series with this range of values moves: it is not flat. */
bool track_would_move(const struct track *t, double min, double max);

/* The step clock has a new mark: what waited gets its steps. */
void track_mark(struct track *t, const struct track_terms *terms);

/* Limit, plan and budget as they are now. */
void track_renew_terms(struct track *t, const struct track_terms *terms);

/* An epoch ended at the clock's last mark. */
void track_epoch(struct track *t, const struct track_terms *terms);

/* The training began anew inside the same process. */
void track_restart(struct track *t);

/* Another count of steps has begun, of other steps perhaps: what was seen on the old one goes. */
void track_begin_count(struct track *t);

/* Nothing more will come. */
void track_finish(struct track *t);

/* The same of one that stands still, while the clock still knows the steps of its time. */
void track_settle(struct track *t, const struct track_terms *terms);

/* The clock its answer is given on: steps as soon as there are any for it. */
enum series_clock track_clock(const struct track *t, const struct track_terms *terms);

/* Recorded, and not shown. */
bool track_is_silent(const struct track *t);

/* Whether it leaks now, or grows at all and nothing explains that: cheaper than the whole answer. A
 * witness may be wary. */
bool track_leaks(const struct track *t);
bool track_grows(const struct track *t); /* by its engine alone, whatever explains it */
bool track_is_wary(const struct track *t);

/* It leaks, or may turn out to: as it is, and not as a witness or a negligible leak. */
bool track_will_be_announced(const struct track *t);

/* Its growth is explained by such a part. */
bool track_is_excused(const struct track *t, enum ledger_kind *ret);

/*
 * The answer so far, as the ledger judges it. *ret_history belongs to the track or is NULL where it
 * has none yet; valid until the next change.
 */
void track_answer(struct track *t, const struct track_terms *terms, struct answer *ret,
                  const struct history **ret_history);

/* The engine's own answer, which no ledger has judged. */
void track_engine_answer(struct track *t, const struct track_terms *terms, struct answer *ret);

/* Growth that lasts is a leak: nothing explains it. */
bool track_is_judged(const struct track *t);

/* The first of the phases that grow, one after the other, to the last of all; of a leak the last.
 * There is one. */
const struct phase *track_growing_since(const struct answer *a);

/* Two growths on one clock that may be the same: their rates are within a factor of two. */
bool track_grows_alike(const struct answer *a, const struct answer *b);

/* How many horizons the growth of that answer lasts, or lasted where it is not a leak. */
double track_horizons(const struct track *t, const struct answer *a);

/* By how much it has grown since its onset. The answer is a leak, or is suspect. */
double track_rise(const struct answer *a);

#endif
