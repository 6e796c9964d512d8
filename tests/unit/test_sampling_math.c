/* tests/unit/test_sampling_math.c: the estimator against known truth, in hundreds of seeded runs.
 * docs/SAMPLING.md has the mathematics that this proves. */
#include "sampled_program.h"
#include "unit.h"

/* What a program keeps of `count` allocations of sizes from `size` to `size` * `spread`: all but
 * every `freed`-th. */
struct kept {
    uint64_t size, count, spread, freed;
};

struct estimate {
    double truth, bytes, variance;
};

static uint64_t size_of(const struct kept *k, uint64_t turn)
{
    return k->size * (1 + turn % k->spread);
}

/* Allocations of one size at a time, so that it is quick. */
static void allocate(struct countdown *c, const struct kept *k, uint64_t size, uint64_t count,
                     struct estimate *e)
{
    double weight = wire_trace_weight(size, c->interval);
    uint64_t done = 0;
    while ((done += countdown_pass(c, size, count - done)) < count) {
        bool is_kept = done++ % k->freed != 0;
        e->bytes += is_kept ? weight : 0;
        e->variance += is_kept ? weight * (weight - (double) size) : 0;
    }
    e->truth += (double) size * (double) (count - (count + k->freed - 1) / k->freed);
}

static struct estimate run(const struct kept *k, double interval, uint64_t seed)
{
    struct countdown c;
    struct estimate e = {0};
    countdown_begin(&c, seed, interval);
    for (uint64_t turn = 0; turn < k->spread; turn++)
        allocate(&c, k, size_of(k, turn), k->count / k->spread, &e);
    return e;
}

#define NEVER UINT64_MAX

/* From 8 B to 1 GB; `freed` 2: as much is freed as kept. */
static const struct kept programs[] = {
    {8, 16 << 20, 1, NEVER}, {8, 16 << 20, 1, 2},   {24, 4 << 20, 3, 5},
    {100, 1 << 20, 1, 3},    {512, 1 << 18, 16, 2}, {4096, 1 << 15, 1, NEVER},
    {65536, 2048, 1, 2},     {16384, 8192, 100, 7}, {1 << 20, 256, 1, 2},
    {1 << 20, 300, 8, 3},    {100 << 20, 20, 3, 2}, {1 << 30, 9, 1, 3},
    {4096, 10240, 1024, 10},
};
static const double intervals[] = {16384, 65536, 524288};

#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))
#define INTERVALS (sizeof(intervals) / sizeof(intervals[0]))
#define RUNS 400

/* Of all runs of one program with one interval. */
struct proof {
    double truth, mean, deviation, mean_variance;
    int outside; /* runs in which the truth is more than 3 errors away */
};

static struct proof prove(const struct kept *k, double interval)
{
    double sum = 0, squares = 0, variances = 0;
    struct proof p = {0};
    for (uint64_t i = 0; i < RUNS; i++) {
        struct estimate e = run(k, interval, 1000 * i + (uint64_t) interval);
        double off = e.bytes - e.truth;
        p.truth = e.truth;
        sum += off;
        squares += off * off;
        variances += e.variance;
        p.outside += off * off > 9 * e.variance;
    }
    p.mean = p.truth + sum / RUNS;
    p.deviation = sqrt(squares / RUNS);
    p.mean_variance = variances / RUNS;
    return p;
}

static struct proof proofs[PROGRAMS][INTERVALS];

/* Of large allocations nearly none is missed, in most programs not one in all runs. */
static bool is_uncertain(const struct proof *p)
{
    return p->mean_variance > 1e-6 * p->truth * p->truth;
}

static void prove_all(void)
{
    if (proofs[0][0].truth > 0)
        return;
    for (size_t i = 0; i < PROGRAMS; i++)
        for (size_t k = 0; k < INTERVALS; k++)
            proofs[i][k] = prove(&programs[i], intervals[k]);
}

/* docs/SAMPLING.md shows it. */
static void print_proofs(void)
{
    printf("  %10s %9s %9s %9s %8s %10s %8s\n", "bytes each", "kept MB", "interval", "sigma",
           "bias", "in errors", "beyond 3");
    for (size_t i = 0; i < PROGRAMS; i++)
        for (size_t k = 0; k < INTERVALS; k++) {
            const struct proof *p = &proofs[i][k];
            double bias = p->mean - p->truth, error = p->deviation / sqrt(RUNS);
            printf("  %10.0f %9.1f %9.0f %7.2f %% %+6.2f %% %+10.1f %8d\n",
                   (double) programs[i].size, p->truth / 0x1p20, intervals[k],
                   100 * p->deviation / p->truth, 100 * bias / p->truth,
                   error > 1e-7 * p->truth ? bias / error : 0, p->outside);
        }
}

TEST(sampling__has_no_bias_from_8_bytes_to_1_gigabyte)
{
    prove_all();
    print_proofs();
    int off = 0;
    for (size_t i = 0; i < PROGRAMS; i++) {
        for (size_t k = 0; k < INTERVALS; k++) {
            const struct proof *p = &proofs[i][k];
            double error = p->deviation / sqrt(RUNS);
            CHECK_NEAR(p->mean, p->truth, 4 * error + 1e-6 * p->truth);
            off += fabs(p->mean - p->truth) > 2 * error + 1e-6 * p->truth;
        }
    }
    /* Of 39 means, 2 are expected beyond 2 standard errors; 7 once in 300. */
    CHECK(off < 7);
}

TEST(sampling__knows_its_error)
{
    prove_all();
    for (size_t i = 0; i < PROGRAMS; i++) {
        for (size_t k = 0; k < INTERVALS; k++) {
            const struct proof *p = &proofs[i][k];
            /* The relative variance of a variance of 400 runs is 2/400. */
            if (is_uncertain(p))
                CHECK_NEAR(p->deviation * p->deviation / p->mean_variance, 1, 4 * 0.071);
        }
    }
}

TEST(sampling__has_the_truth_within_3_errors)
{
    prove_all();
    double runs = 0, outside = 0;
    for (size_t i = 0; i < PROGRAMS; i++)
        for (size_t k = 0; k < INTERVALS; k++)
            if (is_uncertain(&proofs[i][k]))
                runs += RUNS, outside += proofs[i][k].outside;
    double expected = 0.0027 * runs;
    printf("  %g of %g runs outside 3 errors; %.1f expected\n", outside, runs, expected);
    CHECK(outside <= expected + 3 * sqrt(expected));
}

TEST(sampling__counts_the_byte_that_an_allocation_counts_for)
{
    /* Without it the chance of 8 bytes would be taken for 8/9 of what it is. */
    const struct kept k = {8, 16 << 20, 1, NEVER};
    double sum = 0, error = 0;
    for (uint64_t i = 0; i < 100; i++) {
        struct estimate e = run(&k, 65536, i);
        sum += e.bytes / e.truth;
        error += e.variance / (e.truth * e.truth);
    }
    CHECK_NEAR(sum / 100, 1, 3 * sqrt(error) / 100);
    CHECK(sqrt(error) / 100 < 0.02);
}

TEST(sampling__of_100_live_samples_is_right_to_a_tenth)
{
    const struct kept k = {4096, 25600, 1, NEVER}; /* 100 MB, once a megabyte */
    struct estimate e = run(&k, 1 << 20, 1);
    CHECK_NEAR(sqrt(e.variance) / e.truth, 0.1, 0.02);
}
