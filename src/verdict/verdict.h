/* verdict/verdict.h: memory series in, answers out. Pure: no I/O, no clock, no globals. */
#ifndef TIDEMARK_VERDICT_H
#define TIDEMARK_VERDICT_H

#include "base/base.h"
#include "stat/stat.h"
#include "verdict/reason.h"
#include "verdict/tradeoff.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Glossary (docs/VERDICT.md has the mathematics):
 *   floor    the low-water mark of a series: spikes live above it, a leak lifts it
 *   horizon  the longest straight ramp that may still be harmless (a cache filling)
 *   plan     how long the job will run, if anybody said so
 *   suspect  grows, but has not lasted long enough to be judged: shown, no alarm
 *   alarm    the first checkpoint at which the engine, knowing only the past, said leak
 */
enum verdict { VERDICT_INCONCLUSIVE, VERDICT_NO_LEAK, VERDICT_LEAK };

/* In ascending order. Alarms and --fail-on start at low; a negligible leak is reported, but raises
 * no alarm. Run files store numbers of their own for these. */
enum severity {
    SEVERITY_NONE,
    SEVERITY_NEGLIGIBLE,
    SEVERITY_LOW,
    SEVERITY_MEDIUM,
    SEVERITY_HIGH,
};

/* Without a plan, a leak is judged by what it adds in a run this many times as long. */
#define SEVERITY_FUTURE 10.0

enum pattern {
    PATTERN_UNKNOWN,
    PATTERN_FLAT,
    PATTERN_WARM_UP,
    PATTERN_SPIKES,
    PATTERN_SAWTOOTH,
    PATTERN_LEVEL_SHIFT,
    PATTERN_SHRINKING,
    PATTERN_BOUNDED_CACHE,
    PATTERN_COPY_ON_WRITE,
    PATTERN_ALLOCATOR_RETENTION,
    PATTERN_PAGE_CACHE,
    PATTERN_LINEAR,
    PATTERN_STAIRCASE,
    PATTERN_ACCELERATING,
};

/* The names in reports and JSON: "no_leak", "medium", "warm-up". */
const char *verdict_name(enum verdict verdict);
const char *severity_name(enum severity severity);
const char *pattern_name(enum pattern pattern);
const char *pattern_word(unsigned pattern); /* NULL: no such number */

/* ---- one series ---- */

struct engine_options {
    enum series_clock clock; /* the clock the engine judges on */
    enum series_unit unit;
    double epoch_length; /* in units of the clock; 0: not known */
    double horizon;      /* 0: max(epoch, 150 steps or 900 s) */
    double plan;         /* position on the clock at which the job will end; 0: not known */
    bool plan_reported;  /* reported by the job, not given by the user: excuses no growth */
    double limit;        /* capacity in the series' unit; 0: not known */
    double resolution;   /* smallest growth the counter can show; < 0: inferred from values */
    double rounding;     /* one unit of the last printed digit; 0: values are not rounded */
    unsigned job_series; /* how many series share the job's false-alarm budget; 0 means 1 */
    /* Names of the activities, the first is number 1. Must outlive the engine. NULL: none. */
    char *const *activities;
};

/*
 * The streaming engine of one series. Starts at about 1 KiB, never exceeds ENGINE_MAX_BYTES
 * whatever the length; engine_push() is amortised O(1). The same samples give the same answer,
 * byte for byte, whenever it is asked for. One owner, one thread.
 */
struct engine;

#define ENGINE_MAX_BYTES ((size_t) 64 << 10)

/* Larger numbers are refused: their squares would overflow. */
#define ENGINE_MAX_NUMBER 1e30

int engine_new(const struct engine_options *options, struct engine **ret); /* -EINVAL, -ENOMEM */
struct engine *engine_free(struct engine *e); /* accepts NULL, returns NULL */

/*
 * One sample. The clock the engine judges on must be known; the other may be NAN, and is needed
 * only for rates on that clock. -ERANGE: the clock went backwards; -EINVAL: not a number, or
 * beyond ENGINE_MAX_NUMBER. A refused sample is counted and changes nothing. -ENOMEM.
 */
int engine_push(struct engine *e, double step, double seconds, double value);

/*
 * The series was this high between samples, during this activity of the program (0: not known).
 * It names spikes; no verdict rests on it.
 */
void engine_note_peak(struct engine *e, double value, unsigned activity);

/* From now on this many series share the job's false-alarm budget. */
void engine_share_budget(struct engine *e, unsigned job_series);

/* Where the job will end, and the capacity for this series, as known by now; 0: not known. */
void engine_set_bounds(struct engine *e, double plan, double limit);

/* From now on the counter's resolution is this, as `resolution` of the options. */
void engine_set_resolution(struct engine *e, double resolution);

/* The expected length of an epoch; 0: not known. A length from the options or from a completed
 * epoch takes precedence. */
void engine_expect_epoch(struct engine *e, double length);

/* An epoch ended at `at`: teaches the epoch length where none was given. */
void engine_epoch_mark(struct engine *e, double at);

/* The process restarted: what follows is another run of the same program. */
void engine_restart(struct engine *e);

/*
 * No more samples will come. Growth that was still being watched, because waiting cost nothing,
 * is judged by what there is.
 */
void engine_finish(struct engine *e);

/* Whether the alarm stands, and whether the series is suspect now. Cheaper than an answer. */
bool engine_leaks(const struct engine *e);
bool engine_suspects(const struct engine *e);

/* Memory the engine uses now. */
size_t engine_bytes(const struct engine *e);

/* The whole run in at most HISTORY_BLOCKS blocks, for charts; valid until the next push. */
const struct history *engine_history(const struct engine *e);

/* ---- its answer ---- */

enum phase_name {
    PHASE_START, /* too few samples to say more */
    PHASE_WARM_UP,
    PHASE_STABLE,
    PHASE_GROWING,
    PHASE_SHRINKING,
    PHASE_LEVEL_SHIFT,
};

const char *phase_name(enum phase_name name);

/* A maximal stretch over which the floor has one slope. */
struct phase {
    enum phase_name name;
    double from, to;             /* positions on the clock */
    double level_from, level_to; /* of the floor, as fitted */
    double rate, rate_low, rate_high;
};

#define ANSWER_PHASES 8
#define ANSWER_ACTIVITIES 4
#define ANSWER_ACTIVITY_LENGTH 48
#define ANSWER_WHY 6
#define ANSWER_WHY_LENGTH 200

/* Spikes during one activity, as the program reported it. */
struct spike_activity {
    char name[ANSWER_ACTIVITY_LENGTH];
    unsigned count;
};

/* Everything is absent (NAN) unless it is known. Rates are per unit of the clock unless named. */
struct answer {
    enum verdict verdict;
    bool suspect;
    enum severity severity;
    enum pattern pattern;
    double confidence; /* probability that the verdict is right, 0 to 1 */

    uint64_t samples, refused, restarts;
    double first_at, last_at; /* of the current run */
    double first_seconds, last_seconds;
    double epoch_length, horizon; /* as used */
    double plan, limit;
    double limit_shared; /* the limit of all series that draw on it, where this one has a part */

    double min, max, mean, last;    /* of the whole series */
    double floor_first, floor_last; /* low-water mark at both ends of the current run */
    double noise;                   /* robust scale of the values above trend and floor */

    double suspect_at, alarm_at;
    double onset_at, onset_seconds;
    double rate, rate_low, rate_high; /* of the last phase */
    double rate_upper;                /* no leak: the rate is at most this */
    double rate_per_step, rate_per_epoch, rate_per_second;

    struct phase phases[ANSWER_PHASES];
    unsigned phase_count;
    double warm_up_end;    /* where the warm-up ended */
    double warm_up_epochs; /* its length, in passes over the data */

    struct answer_forecast {
        double plan_value; /* expected at the plan's end ... */
        double plan_low, plan_high;
        double limit_at, limit_low, limit_high; /* where the limit is reached; beyond: INFINITY */
        double limit_seconds;                   /* from the last sample */
    } forecast;

    struct answer_needs {
        double at_least; /* clock units still needed for a verdict */
        double seconds;
        bool is_first_reason; /* the first reason says what is missing */
        char why[ANSWER_WHY_LENGTH];
    } needs;

    struct answer_naive {
        bool misleads;        /* an average over the whole run would suggest another answer */
        double rate;          /* (last - first) / span */
        double warm_up_share; /* of the growth, 0 to 1 */
    } naive;

    struct answer_spikes {
        unsigned count;
        double height; /* median, above the floor */
        bool recovered;
        struct spike_activity during[ANSWER_ACTIVITIES]; /* most first */
        unsigned during_count;
    } spikes;

    struct reason reasons[ANSWER_WHY]; /* the first says most */
    unsigned reason_count;

    /* The reasons and needs.why as sentences: reasons_write() of words/ writes them, a run file
     * keeps them. */
    char why[ANSWER_WHY][ANSWER_WHY_LENGTH];
    unsigned why_count;
};

/* Everything absent, inconclusive. */
void answer_clear(struct answer *a);

/* A reason beyond the last that there is room for is dropped. */
void answer_add_reason(struct answer *a, struct reason reason);

/* Every member, in the order of docs/JSON.md. */
extern const struct field_table answer_fields, answer_forecast_fields, answer_needs_fields;

/*
 * The mean rate of a leak since its onset, where growth bends and that differs from the rate at
 * the end. NAN: they agree, or it is not known. A report that shows one of them beside the onset
 * shows both.
 */
double answer_mean_rate(const struct answer *a);

/* The limit as the user knows it: limit_shared where it is set, of which `limit` is this series'
 * part. */
double answer_limit(const struct answer *a);

/* May be called at any time, any number of times; changes nothing. */
void engine_answer(const struct engine *e, struct answer *ret);

/* Where the growth of a leak became level; the last sample where it goes on. */
double engine_grows_until(const struct engine *e);

/* On this clock the series rises gradually and falls back, repeatedly. An evaluation during which
 * the job's steps stand still shows on the clock of seconds alone. */
bool engine_has_teeth(const struct engine *e);

/*
 * How much a leak matters. A count is never negligible, because it says nothing about the memory
 * behind it. A count without a limit is low, because it does not say when memory runs out.
 */
enum severity severity_of(const struct answer *a, enum series_unit unit, enum series_clock clock);

/* How a leak uses up the memory that is left. */
struct outlook {
    bool by_plan;    /* until the plan's end; else within ten times the run so far */
    double added;    /* by the leak in that time */
    double headroom; /* up to the limit; without a limit, a stand-in for it */
};

/* Needs an answer whose rate, floor, plan and limit are known. */
struct outlook outlook_of(const struct answer *a);

/* ---- the job ---- */

/* The part of a series in its job. */
enum job_part {
    PART_MAIN,      /* a trainer, a GPU, a series of a log */
    PART_BYSTANDER, /* a helper, a worker: leaves the job decided where it is undecided itself */
    PART_TOTAL, /* the sum of others: decides where no other series has its verdict, or where all
                   that do are negligible and it is not */
};

/*
 * One verdict from all series: leak if one leaks; else inconclusive if one that counts is; else
 * no leak. A series of fewer than 10 samples that does not grow (a process that just began) does
 * not count beside an older one of its kind: a flat number of descriptors says nothing about a
 * trainer's memory.
 */
struct job_answer {
    enum verdict verdict;
    enum severity severity;
    size_t deciding; /* index of the series that decided; SIZE_MAX with no series */
    unsigned leaks, inconclusives, no_leaks;
};

extern const struct field_table job_answer_fields;

/* `parts` may be NULL: all are main. */
void job_judge(const struct answer *const *answers, const enum job_part *parts, size_t count,
               struct job_answer *ret);

/*
 * These series draw on one limit. They reach it together, by the growth of all that leak at the
 * same time. Changes their forecasts and adds the reason.
 */
void answers_share_limit(struct answer *const *answers, size_t count);

/* ---- two runs side by side ---- */

struct comparison {
    bool same_pattern;        /* same verdict and phases, relative to each run's own size */
    bool same_warm_up_epochs; /* both warm-ups end after the same share of the data */
    double level_ratio;       /* b / a, of the final floors */
    char differences[ANSWER_WHY][ANSWER_WHY_LENGTH];
    unsigned difference_count;
    char summary[ANSWER_WHY_LENGTH];
};

void answers_compare(const struct answer *a, const struct answer *b, enum series_unit unit,
                     struct comparison *ret);

/* ---- a gate for CI ---- */

/* NAN: not limited. */
struct gate_limits {
    double max_rate;    /* in the stable phase, per clock unit */
    double max_rise;    /* of the floor, after warm-up or over the window */
    double max_warm_up; /* the warm-up has to end by this position */
    double min_steps;   /* with fewer, the result is "too short" */
    double window_from, window_to;
};

struct gate_result {
    int exit_status;              /* 0 fine, 3 a limit is broken, 4 too few steps */
    char line[ANSWER_WHY_LENGTH]; /* which limits broke and by how much, or that all hold */
};

/* `history` is the engine's; the window is measured on it. */
void gate_check(const struct gate_limits *limits, const struct answer *a,
                const struct history *history, enum series_unit unit, enum series_clock clock,
                struct gate_result *ret);

#endif
