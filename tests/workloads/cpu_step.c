/*
 * workloads/cpu_step.c: steps that only compute, --work rounds each (200000, about half a
 * millisecond), and how long they took.
 *
 * grows:   nothing; for measuring what watching costs the watched. --quiet prints no steps
 * says:    at the end `cpu steps N mean_ns N p50_ns N p99_ns N max_ns N`
 * verdict: no leak
 */
#include "load.h"

#include <stdio.h>

static volatile uint64_t sink;

static void compute(long rounds)
{
    uint64_t x = 88172645463325252u;
    for (long i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    sink = x;
}

int main(int argc, char **argv)
{
    long rounds = 200000;
    bool quiet = false;
    load.steps = 10000;
    load.step_ms = 0;
    load_init(argc, argv,
              (struct load_option[]){{"work", &rounds, NULL}, {"quiet", NULL, &quiet}, {0}});
    struct load_times times;
    load_times_init(&times, load.steps > 0 ? (size_t) load.steps : 1);
    for (long n = 1; load_running(n); n++) {
        uint64_t from = load_now_ns();
        compute(rounds);
        if (!quiet)
            load_step(n);
        else
            load_sleep_ms(load.step_ms);
        load_times_add(&times, load_now_ns() - from);
    }
    struct load_times_summary summary = load_times_summary(&times);
    load_times_print("cpu", &summary);
    load_times_release(&times);
    return load_end();
}
