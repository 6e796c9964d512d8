/* bench/bench_engine.c: what one sample costs the engine, in time and memory. */
#include "verdict/verdict.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB 0x1p20
#define CHUNK 65536

/* splitmix64: the same noise in every run. */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (double) ((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double flat(uint64_t step)
{
    (void) step;
    return 4096 * MIB;
}

static double leak(uint64_t step)
{
    return 4096 * MIB + 1024.0 * (double) step;
}

static double sawtooth(uint64_t step)
{
    return 4096 * MIB + 0.5 * MIB * (double) (step % 100);
}

static const struct shape {
    const char *name;
    double (*value)(uint64_t step);
} shapes[] = {{"flat", flat}, {"leak", leak}, {"sawtooth", sawtooth}};

static const struct shape *find_shape(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (strcmp(shapes[i].name, name) == 0)
            return &shapes[i];
    }
    return NULL;
}

/* Whole bytes, as a counter reports them, with noise of a few MiB. */
static void make_chunk(const struct shape *shape, uint64_t first, size_t count, uint64_t *noise,
                       double *ret_values)
{
    for (size_t i = 0; i < count; i++) {
        double above = 4 * MIB * (uniform(noise) + uniform(noise));
        ret_values[i] = floor(shape->value(first + i) + above);
    }
}

/* CPU time, so other programs on the machine do not count. */
static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

struct cost {
    double push_seconds, answer_seconds;
    size_t first_bytes, peak_bytes;
    enum verdict verdict;
};

/* Times only the pushes, not the generation of the values. */
static int measure(const struct shape *shape, uint64_t samples, struct cost *ret)
{
    struct engine_options options = {.clock = CLOCK_STEP, .unit = SERIES_BYTES, .resolution = -1};
    struct engine *engine;
    int r = engine_new(&options, &engine);
    if (r != 0)
        return r;
    static double values[CHUNK];
    struct cost cost = {0};
    uint64_t noise = 1;
    for (uint64_t done = 0; r == 0 && done < samples;) {
        size_t count = samples - done < CHUNK ? (size_t) (samples - done) : CHUNK;
        make_chunk(shape, done, count, &noise, values);
        double start = seconds_now();
        for (size_t i = 0; r == 0 && i < count; i++) {
            r = engine_push(engine, (double) (done + i + 1), NAN, values[i]);
            if (done + i == 0)
                cost.first_bytes = engine_bytes(engine);
        }
        cost.push_seconds += seconds_now() - start;
        done += count;
        size_t bytes = engine_bytes(engine);
        cost.peak_bytes = bytes > cost.peak_bytes ? bytes : cost.peak_bytes;
    }
    struct answer answer;
    double start = seconds_now();
    engine_answer(engine, &answer);
    cost.answer_seconds = seconds_now() - start;
    cost.verdict = answer.verdict;
    engine_free(engine);
    if (r == 0)
        *ret = cost;
    return r;
}

/* Prints the first samples of a shape, one per line, for other measurements. */
static void print_values(const struct shape *shape, uint64_t samples)
{
    uint64_t noise = 1;
    for (uint64_t i = 0; i < samples; i++) {
        double value;
        make_chunk(shape, i, 1, &noise, &value);
        printf("%.0f\n", value);
    }
}

int main(int argc, char **argv)
{
    const struct shape *shape = argc >= 3 ? find_shape(argv[1]) : NULL;
    uint64_t samples = shape ? strtoull(argv[2], NULL, 10) : 0;
    if (samples == 0) {
        fprintf(stderr, "usage: bench_engine flat|leak|sawtooth SAMPLES [values]\n");
        return 1;
    }
    if (argc > 3) {
        print_values(shape, samples);
        return 0;
    }
    struct cost cost;
    int r = measure(shape, samples, &cost);
    if (r != 0) {
        fprintf(stderr, "bench_engine: %s\n", strerror(-r));
        return 1;
    }
    double ns = 1e9 * cost.push_seconds / (double) samples;
    printf("%s %.2f %.1f %.1f %zu %zu %s\n", shape->name, 1e3 / ns, ns, 1e6 * cost.answer_seconds,
           cost.first_bytes, cost.peak_bytes, verdict_name(cost.verdict));
    return 0;
}
