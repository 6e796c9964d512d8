/* job/track.h: one watched series: its samples on both clocks, and its answer. */
#ifndef TIDEMARK_JOB_TRACK_H
#define TIDEMARK_JOB_TRACK_H

#include "job/clock.h"
#include "ledger/ledger.h"

/* What a counter is recorded for. */
enum track_use {
    TRACK_SHOWN,   /* for display only */
    TRACK_JUDGED,  /* lasting growth is a leak, unless the ledger explains it */
    TRACK_WITNESS, /* for the ledger of its process: reported if that finds a leak by it */
};

/* Settings common to all series of a job. 0: not known. */
struct track_terms {
    const struct step_clock *clock;
    double horizon; /* in steps, or seconds where there are no steps */
    double epoch;   /* in steps, as given by the user */
    double plan_steps, plan_seconds;
    unsigned series;         /* number that share the false-alarm budget */
    char *const *activities; /* names of the program's activities; NULL: none */
};

/* Points of a series, at most TRACK_POINTS: when all are used, every second one is dropped. */
#define TRACK_POINTS 64

struct track_points {
    struct {
        double seconds, value;
    } * points; /* NULL: none yet */
    unsigned count;
    unsigned every, skipped; /* one in `every` is kept; number skipped since */
};

/*
 * A flat counter costs only its early points, and has engines only while someone asks for its
 * answer. A moving one gets an engine on the wall clock, and one on the step clock as soon as steps
 * are known. Steps arrive late: samples wait for the next mark. One owner, one thread. Initialise
 * with track_init().
 */
struct track {
    const char *kind; /* a literal, or own_kind */
    char *own_kind;   /* owned; NULL: none */
    char *device;     /* owned; NULL: none */
    enum series_unit unit;
    enum track_use use;
    bool is_accounted; /* false: the engine alone decides */
    struct ledger_judgement judgement;
    double parts;                    /* most processes it has been the sum of; or 1 */
    int64_t stored;                  /* number in the run file; 0: none */
    double written, written_seconds; /* last value in the run file; NAN: none */
    double stored_limit;             /* last written to the run file */
    const char *stored_reading;
    bool moves;
    bool alarmed;     /* its leak was announced, alone or with similar ones */
    double announced; /* ... at this second */
    bool quiet;       /* ... as negligible; announced again if it becomes relevant */
    double next_look; /* ... checked from this second on */
    bool asked;       /* the user asked for this series */

    uint64_t samples;
    double first, last, min, max, sum;
    double first_seconds, last_seconds;
    double step_seconds; /* of the last sample that has a step */
    double limit;        /* of this series; 0: not known */
    unsigned activity;   /* current one of the terms', from 1; 0: none */
    struct stays *stays; /* owned; NULL: it was never in a phase */

    struct track_points early;   /* from the start until it moves */
    struct track_points pending; /* since the last mark of the step clock */
    struct engine *by_time, *by_step;
};

void track_init(struct track *t, const char *kind, enum series_unit unit, enum track_use use);
void track_release(struct track *t);

/* Sets the ledger's judgement of its growth; NULL: none. */
void track_judge(struct track *t, const struct ledger_judgement *j);
/* Attributes all of its growth to that kind. */
void track_excuse(struct track *t, enum ledger_kind kind);
/* Most of its growth belongs to another job. */
bool track_is_foreign(const struct track *t);
/* Its current reading, in the words of run files: "judged", "filling". */
const char *track_reading(const struct track *t);
/* Restores the reading from a run file; an unknown name changes nothing. */
void track_restore(struct track *t, const char *reading);

/* Skips what is not a number: the counter is absent for now. */
void track_push(struct track *t, const struct track_terms *terms, double seconds, double value);

/* Its value at a moment between two samples. */
void track_note_peak(struct track *t, const struct track_terms *terms, double value);

/* Whether a series with this range of values moves, that is, is not flat. */
bool track_would_move(const struct track *t, double min, double max);

/* The step clock has a new mark: pending samples get their steps. */
void track_mark(struct track *t, const struct track_terms *terms);

/* Passes the current limit, plan and budget on to the engines. */
void track_renew_terms(struct track *t, const struct track_terms *terms);

/* An epoch ended at the clock's last mark. */
void track_epoch(struct track *t, const struct track_terms *terms);

/* Training restarted inside the same process. */
void track_restart(struct track *t);

/* A new count of steps began, perhaps of other steps: discards what was seen on the old one. */
void track_begin_count(struct track *t);

/* No more samples will come. */
void track_finish(struct track *t);

/* The same for a flat track, while the clock still knows the steps of its time. */
void track_settle(struct track *t, const struct track_terms *terms);

/* The clock of its answer: steps as soon as it has any. */
enum series_clock track_clock(const struct track *t, const struct track_terms *terms);

/* Recorded, but not shown. */
bool track_is_silent(const struct track *t);

/* Whether it leaks now, or has unexplained growth: cheaper than the whole answer. A witness may
 * be wary. */
bool track_leaks(const struct track *t);
bool track_grows(const struct track *t); /* by its engine alone, explained or not */
bool track_is_wary(const struct track *t);

/* It leaks or may leak, and is neither a witness nor a negligible leak. */
bool track_will_be_announced(const struct track *t);

/* The ledger explains its growth by the kind in *ret. */
bool track_is_excused(const struct track *t, enum ledger_kind *ret);

/* The answer so far, as judged by the ledger. *ret_history belongs to the track and is valid
 * until the next change; NULL: none yet. */
void track_answer(struct track *t, const struct track_terms *terms, struct answer *ret,
                  const struct history **ret_history);

/* The engine's own answer, without the ledger. */
void track_engine_answer(struct track *t, const struct track_terms *terms, struct answer *ret);

/* Lasting growth is a leak: nothing explains it. */
bool track_is_judged(const struct track *t);

/* The first of the consecutive growing phases that reach to the end; for a leak, the last phase.
 * Requires a phase. */
const struct phase *track_growing_since(const struct answer *a);

/* Whether two growths on one clock may be the same: their rates are within a factor of two. */
bool track_grows_alike(const struct answer *a, const struct answer *b);

/* How many horizons the growth of that answer lasts, or lasted if it is not a leak. */
double track_horizons(const struct track *t, const struct answer *a);

/* Growth since its onset. The answer must be a leak or suspect. */
double track_rise(const struct answer *a);

#endif
