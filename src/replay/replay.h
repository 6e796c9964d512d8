/* replay/replay.h: a recorded run into a job, judged again by the rules of a live one. */
#ifndef TIDEMARK_REPLAY_REPLAY_H
#define TIDEMARK_REPLAY_REPLAY_H

#include "advice/advice.h"
#include "store/store.h"
#include "view/view.h"

#include <stdbool.h>
#include <stddef.h>

struct account;

/* ---- a recorded run ---- */

/*
 * A run file as it was seen: what each series is called, and at which step each of its samples was
 * taken. The store must outlive it. One owner, one thread.
 */
struct recording;

struct recorded_series {
    struct series_info info; /* named as in a view; texts belong to the recording */
    bool judged; /* by `run`, or told by the program itself; false: recorded for the eye, or the sum
                    of a single process */
    double limit; /* as last known; 0: not known */
};

int recording_new(struct store *store, struct recording **ret); /* -errno of reading */
struct recording *recording_free(struct recording *r);          /* accepts NULL, returns NULL */

size_t recording_count(const struct recording *r);
const struct recorded_series *recording_series(const struct recording *r, size_t index);
bool recording_has_steps(const struct recording *r);
bool recording_has_evidence(const struct recording *r);         /* censuses of its processes */
bool recording_has_foreign_censuses(const struct recording *r); /* which cannot be read */
double recording_steps(const struct recording *r); /* between the first and the last; NAN: none */
/* Where it would be by then at its mean pace; 0: not known. */
double recording_step_by(const struct recording *r, double seconds);

/* Every sample or block in order of time, with its step; NAN: not known. A negative return stops
 * and is handed on. */
int recording_each_sample(struct recording *r, size_t index,
                          int (*visit)(void *c, double step, const struct store_sample *x),
                          void *c);

/* Every mark in order of time. `begins`: what follows is counted by somebody else, and may be other
 * steps; such a mark has no step. A negative return stops and is handed on. */
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
 * Judges it again by what is recorded: the same rules, parts and false-alarm budget as `run` has,
 * so that the answer is the same but for what has been thinned since. Fills the view's series and
 * answer, nothing else. At most once a recording. -errno of reading.
 */
int recording_judge(struct recording *r, const struct recording_options *options, struct view *ret);

/* After recording_judge(): the account of this series' growth. False: it has none, as counters
 * that no evidence is kept of. */
bool recording_account(struct recording *r, size_t index, struct account *ret);

/*
 * What a run took, to be compared with other runs of the same job. The first fifth of its steps is
 * left out as warm-up. Step time is the mean of the others; a floor is the lowest value in the
 * second half of these, so that memory that grows or is given back shows in it; a peak is the
 * highest value from the start of the run to the last step. Host memory is that of the whole job;
 * of torch's counters the largest of a process and device. The time in cleanup, as told from
 * inside, is compared with the rest of the time. NAN: not recorded.
 */
struct measured_run {
    double steps;          /* made in the time that is measured; 0: the run told too few */
    double steps_reported; /* in the whole run; the last few may not have been */
    double values[TRADEOFF_MEASURES];
};

#define MEASURE_LEAST_STEPS 10 /* told by a run; with fewer nothing is measured */

/* `most_steps`: what came after them is not looked at; 0: all. -errno of reading. */
int recording_measure(struct recording *r, double most_steps, struct measured_run *ret);

/* ---- what a recorded run says about the memory it takes ---- */

#define ADVICE_FACTS_PARTS 8

/* The facts that advice rests on. Points into itself, the view and the recording. */
struct advice_facts {
    struct size_facts sizes[1 + ADVICE_DEVICES]; /* the host first, where it is known */
    size_t size_count;
    char device_names[1 + ADVICE_DEVICES][48]; /* of devices that several processes call alike */
    struct part_facts parts[ADVICE_FACTS_PARTS];
    size_t part_count;
    struct setting_facts settings;
    double plan;                  /* the last step, or second, of the plan; NAN: none is known */
    enum series_clock clock;      /* of the plan */
    struct worker_copies *copies; /* of the workers that copied most; NULL: nothing to tell */
};

/* After recording_judge(), which filled the view. `failed`: the command did. -errno of reading. */
int advice_facts_init(struct advice_facts *e, struct recording *r, const struct view *view,
                      double limit_bytes, bool failed);
void advice_facts_release(struct advice_facts *e);

#endif
