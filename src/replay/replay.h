/* replay/replay.h: loads a recorded run into a job and judges it again by the live rules. */
#ifndef TIDEMARK_REPLAY_REPLAY_H
#define TIDEMARK_REPLAY_REPLAY_H

#include "advice/advice.h"
#include "store/store.h"
#include "view/view.h"

#include <stdbool.h>
#include <stddef.h>

struct account;

/* ---- a recorded run ---- */

/* A run file: what each series is called, and at which step each of its samples was taken. The
 * store must outlive it. One owner, one thread. */
struct recording;

struct recorded_series {
    struct series_info info; /* named as in a view; texts belong to the recording */
    bool judged;  /* by `run`, or reported by the program; false: recorded for display only, or the
                     sum of a single process */
    double limit; /* as last known; 0: not known */
};

int recording_new(struct store *store, struct recording **ret); /* -errno of reading */
struct recording *recording_free(struct recording *r);          /* accepts NULL, returns NULL */

size_t recording_count(const struct recording *r);
const struct recorded_series *recording_series(const struct recording *r, size_t index);
bool recording_has_steps(const struct recording *r);
bool recording_has_evidence(const struct recording *r);         /* censuses of its processes */
bool recording_has_foreign_censuses(const struct recording *r); /* of another version: unreadable */
double recording_steps(const struct recording *r); /* between the first and the last; NAN: none */
/* The step it would reach by then at its mean pace; 0: not known. */
double recording_step_by(const struct recording *r, double seconds);

/* Visits every sample or block in order of time, with its step; NAN: not known. A negative
 * return stops and is passed on. */
int recording_each_sample(struct recording *r, size_t index,
                          int (*visit)(void *c, double step, const struct store_sample *x),
                          void *c);

/* Visits every mark in order of time. `begins`: another source counts from here on, perhaps
 * other steps; such a mark has no step. A negative return stops and is passed on. */
int recording_each_mark(const struct recording *r,
                        int (*visit)(void *c, double seconds, double step, bool begins), void *c);

/* 0 and NULL: as it was recorded. */
struct recording_options {
    double horizon, epoch, plan_steps, plan_seconds, limit_bytes;
    bool by_time;                                                   /* as if no steps were known */
    bool (*wanted)(void *context, const struct recorded_series *s); /* NULL: what `run` judges */
    void *context;
};

/*
 * Judges the recording again, with the rules, parts and false-alarm budget of `run`. The answer is
 * the same except for what was thinned since. Fills only the view's series and answer. At most once
 * per recording. -errno of reading.
 */
int recording_judge(struct recording *r, const struct recording_options *options, struct view *ret);

/* After recording_judge(): the account of this series' growth. False: it has none, such as
 * counters without kept evidence. */
bool recording_account(struct recording *r, size_t index, struct account *ret);

/*
 * What a run took, for comparison with other runs of the same job. The first fifth of its steps is
 * warm-up and left out; step time is the mean of the rest. A floor is the lowest value in the
 * second half of these, so that it shows memory that grows or is freed. A peak is the highest value
 * from the start of the run to the last step. Host memory is that of the whole job; of torch's
 * counters the largest of a process and device counts. Cleanup time, as reported from inside, is
 * relative to the rest of the time. NAN: not recorded.
 */
struct measured_run {
    double steps;          /* made in the measured time; 0: the run reported too few */
    double steps_reported; /* in the whole run, perhaps without the last few */
    double values[TRADEOFF_MEASURES];
};

#define MEASURE_LEAST_STEPS 10 /* reported by a run; with fewer nothing is measured */

/* `most_steps`: ignores what came after them; 0: all. -errno of reading. */
int recording_measure(struct recording *r, double most_steps, struct measured_run *ret);

/* ---- what a recorded run says about the memory it takes ---- */

#define ADVICE_FACTS_PARTS 8

/* The facts behind the advice. Points into itself, the view and the recording. */
struct advice_facts {
    struct size_facts sizes[1 + ADVICE_DEVICES]; /* the host first, if known */
    size_t size_count;
    char device_names[1 + ADVICE_DEVICES][48]; /* of devices that several processes name alike */
    struct part_facts parts[ADVICE_FACTS_PARTS];
    size_t part_count;
    struct setting_facts settings;
    double plan;                  /* last step, or second, of the plan; NAN: none known */
    enum series_clock clock;      /* of the plan */
    struct worker_copies *copies; /* of the workers that copied most; NULL: nothing to report */
};

/* After recording_judge(), which filled the view. `failed`: the command failed. -errno of
 * reading. */
int advice_facts_init(struct advice_facts *e, struct recording *r, const struct view *view,
                      double limit_bytes, bool failed);
void advice_facts_release(struct advice_facts *e);

#endif
