/*
 * bench/bench_step.c: the cost of one step in a program that watches itself.
 *
 * bench_step hot N        N steps in a row: `NS` per step, best of five
 * bench_step loop MS S    steps of MS ms for S seconds: `SHARE WORST_US OPEN_MS CLOSE_MS`, CPU time
 * in the library as a share of the time in percent, and the longest step
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tidemark.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* CPU time, so other programs on the machine do not count. */
static double cpu(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

static double hot(tidemark_watcher *w, long steps)
{
    double best = INFINITY;
    for (unsigned round = 0; round < 5; round++) {
        double before = cpu();
        for (long i = 0; i < steps; i++)
            tidemark_step(w, NAN);
        best = fmin(best, (cpu() - before) / (double) steps);
    }
    return best;
}

static void work(double ms)
{
    double until = seconds_of(CLOCK_MONOTONIC) + ms / 1000;
    while (seconds_of(CLOCK_MONOTONIC) < until)
        continue;
}

/* The cost of reading the clock, which is not part of the step. */
static double clock_cost(void)
{
    double before = cpu();
    for (unsigned i = 0; i < 1000; i++)
        (void) cpu();
    return (cpu() - before) / 1000;
}

static void loop(tidemark_watcher *w, double ms, double seconds, double *ret_share,
                 double *ret_worst)
{
    double begin = seconds_of(CLOCK_MONOTONIC), inside = 0, worst = 0, clock = clock_cost();
    while (seconds_of(CLOCK_MONOTONIC) < begin + seconds) {
        work(ms);
        double before = cpu();
        tidemark_step(w, 1);
        double took = cpu() - before - clock;
        inside += took;
        worst = fmax(worst, took);
    }
    *ret_share = inside / (seconds_of(CLOCK_MONOTONIC) - begin);
    *ret_worst = worst;
}

int main(int argc, char **argv)
{
    bool is_loop = argc == 4 && strcmp(argv[1], "loop") == 0;
    if (!is_loop && !(argc == 3 && strcmp(argv[1], "hot") == 0))
        return 1;
    char file[64] = "";
    if (is_loop)
        snprintf(file, sizeof(file), "/tmp/bench_step-%d.tide", (int) getpid());
    const struct tidemark_options options = {.size = sizeof(options),
                                             .run_file = is_loop ? file : NULL};
    tidemark_watcher *w;
    double before = cpu();
    if (tidemark_open(&options, &w) < 0)
        return 1;
    double opened = cpu() - before, share, worst;
    if (is_loop) {
        loop(w, atof(argv[2]), atof(argv[3]), &share, &worst);
        before = cpu();
        tidemark_close(w);
        printf("%.3f %.0f %.1f %.1f\n", 100 * share, 1e6 * worst, 1e3 * opened,
               1e3 * (cpu() - before));
        return unlink(file) < 0;
    }
    printf("%.1f\n", 1e9 * hot(w, atol(argv[2])));
    tidemark_close(w);
    return 0;
}
