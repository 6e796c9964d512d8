/* tests/unit/runs.h: whole runs fed to an engine, for tests of its answers. */
#ifndef TIDEMARK_TEST_RUNS_H
#define TIDEMARK_TEST_RUNS_H

#include "verdict/engine.h"
#include "words/words.h"

#include "answers.h"
#include "random.h"

#include <stdlib.h>

/* The value of a series at a position of its clock. */
typedef double value_at(double at, struct random *r);

/* Bytes on the step clock, of a counter nobody has named. */
static const struct engine_options by_step = {.resolution = -1};

/* The same but for a member or two. */
#define BY_STEP(...) (&(struct engine_options){.resolution = -1, __VA_ARGS__})

/* The caller frees the engine. */
static inline struct engine *engine_for(const struct engine_options *options)
{
    struct engine *e;
    if (engine_new(options, &e) < 0)
        abort();
    return e;
}

/* A sample at from, from + every, ... to; the random numbers depend on `from` alone. */
static inline void feed(struct engine *e, double from, double to, double every, value_at *value)
{
    struct random r = {(uint64_t) from};
    for (double at = from; at <= to; at += every)
        if (engine_push(e, at, at, value(at, &r)) < 0)
            abort();
}

/* Values in MB, as the documents have them. */
static inline void feed_mb(struct engine *e, double from, double every, const double *mb, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (engine_push(e, from + every * (double) i, NAN, mb[i] * MB) < 0)
            abort();
}

static inline struct answer ask(const struct engine *e)
{
    struct answer a;
    memset(&a, 0, sizeof a);
    engine_answer(e, &a);
    reasons_write(&a, e->options.unit, e->options.clock);
    return a;
}

/* The answer to a whole run. */
static inline struct answer judge(const struct engine_options *options, double from, double to,
                                  double every, value_at *value)
{
    struct engine *e = engine_for(options);
    feed(e, from, to, every, value);
    struct answer a = ask(e);
    engine_free(e);
    return a;
}

/* The documents' series, in MB, every 10 steps from step 10 on. */
static const double test_run_mb[] = {4993, 6389, 8039, 9432, 9451, 9462, 9473, 9503, 9539, 9566};
static const double run_1_mb[] = {5552, 7159, 8851, 10515, 12227, 13919, 15736};
static const double run_2_mb[] = {5434,  7017,  8721,  10375, 12000, 13757, 15559, 17412,
                                  17658, 17693, 17694, 17694, 17437, 17437, 17437, 17378,
                                  17378, 17229, 17229, 17051, 17052, 17041, 17033, 17032};

static inline struct answer judge_mb(const struct engine_options *options, const double *mb,
                                     size_t n)
{
    struct engine *e = engine_for(options);
    feed_mb(e, 10, 10, mb, n);
    struct answer a = ask(e);
    engine_free(e);
    return a;
}

#define JUDGE_MB(options, mb) judge_mb((options), (mb), sizeof(mb) / sizeof(mb)[0])

#endif
