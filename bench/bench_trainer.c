/*
 * bench/bench_trainer.c: the trainer of a job, which measures how long it is held up.
 *
 *     bench_trainer MB TIMES COMMAND [ARGUMENT...]
 *
 * Holds MB MB, starts the rest of the job (COMMAND, which prints `ready`), prints `ready` itself
 * and makes 50 steps a second until a signal arrives. Each step computes for about half a
 * millisecond, then maps, touches and unmaps 4 MB, which blocks while another process reads its
 * smaps. At the end it writes one line per step to TIMES: its start (CLOCK_MONOTONIC), its
 * duration, and how long it was held up, that is, neither ran nor waited for a core. All in
 * nanoseconds.
 */
#include "load.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 200000, MAP_BYTES = 4 << 20, STEP_MS = 18, MOST_STEPS = 1 << 18 };

struct step {
    uint64_t began_ns, took_ns, held_ns;
};

static volatile uint64_t sink;

static void compute(void)
{
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < ROUNDS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    sink = x;
}

/* Time spent running or waiting for a core. The wait is 0 if the kernel does not report it. */
static uint64_t busy_ns(int schedstat)
{
    char text[128];
    struct timespec ran;
    uint64_t waited = 0;
    ssize_t n = pread(schedstat, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%*u %" SCNu64, &waited) != 1)
        waited = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return waited + (uint64_t) ran.tv_sec * 1000000000u + (uint64_t) ran.tv_nsec;
}

static void make_step(int schedstat, struct step *ret)
{
    uint64_t busy = busy_ns(schedstat);
    ret->began_ns = load_now_ns();
    compute();
    load_unmap(load_map(MAP_BYTES), MAP_BYTES);
    ret->took_ns = load_now_ns() - ret->began_ns;
    busy = busy_ns(schedstat) - busy;
    ret->held_ns = ret->took_ns > busy ? ret->took_ns - busy : 0;
}

/* Reads the output up to `ready` and leaves the rest in the pipe: the job prints little more. */
static void start_rest(char **command)
{
    int ends[2];
    char line[64] = "";
    if (pipe(ends) != 0)
        load_fail("pipe");
    if (load_fork() == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execvp(command[0], command);
        load_fail(command[0]);
    }
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    if (!output)
        load_fail("fdopen");
    if (!fgets(line, sizeof(line), output) || strcmp(line, "ready\n") != 0)
        load_skip("the rest of the job has not come up");
}

static void write_times(const char *path, const struct step *steps, long count)
{
    FILE *file = fopen(path, "w");
    if (!file)
        load_fail(path);
    for (long i = 0; i < count; i++)
        fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", steps[i].began_ns, steps[i].took_ns,
                steps[i].held_ns);
    if (fclose(file) != 0)
        load_fail(path);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench_trainer MB TIMES COMMAND [ARGUMENT...]\n");
        return 1;
    }
    load.base_mb = atol(argv[1]);
    load.steps = MOST_STEPS;
    load.step_ms = STEP_MS;
    load_init(1, argv, NULL);
    struct step *steps = load_keep(MOST_STEPS * sizeof(*steps));
    int schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    start_rest(argv + 3);
    puts("ready");
    long n = 0;
    for (; load_running(n + 1); n++) {
        make_step(schedstat, &steps[n]);
        load_step(n + 1);
    }
    write_times(argv[2], steps, n);
    return load_end();
}
