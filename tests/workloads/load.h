/* workloads/load.h: what the test programs share: options, steps, children, memory, times. */
#ifndef TIDEMARK_WORKLOADS_LOAD_H
#define TIDEMARK_WORKLOADS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Every program takes --steps N, --step-ms M (slept in each step), --base-mb B (touched before the
 * first step and held) and --fix (the twin that does not grow), and ends with exit status 77 where
 * it cannot run on this machine. A program may set other defaults before load_init().
 */
struct load {
    long steps, step_ms, base_mb;
    bool fix;
};

extern struct load load;

/* An option of one program: `--name N` where `value` is set, the flag `--name` where `flag` is. */
struct load_option {
    const char *name;
    long *value;
    bool *flag;
};

/* Reads the options; `own` ends with an entry without name and may be NULL. Bad usage ends it. */
void load_options(int argc, char **argv, const struct load_option *own);

/* load_options(), then lets SIGTERM and SIGINT stop the steps, and takes the base. */
void load_init(int argc, char **argv, const struct load_option *own);

/* Step `n` (from 1) is to be made: neither the last one has been made nor a signal come. */
bool load_running(long n);

bool load_stopped(void);

/* Ends step `n`: prints `step n` at once, and sleeps. */
void load_step(long n);

void load_sleep_ms(long ms);

/* Sleeps until a signal stops the program. */
void load_idle(void);

/* Says on standard output who leaks, for the runner: `truth: pid N leaks`. Nothing with --fix. */
void load_truth(pid_t leaking);

/*
 * fork() of a child that is ended by load_end(), and by the kernel where its parent has died
 * without. Returns 0 in the child, which ends with `_exit(load_end())`.
 */
pid_t load_fork(void);

/* Ends and reaps one child of load_fork(). */
void load_end_child(pid_t pid);

/* Ends and reaps every child; dies of the signal that stopped the steps; 0 where none did. */
int load_end(void);

/* Allocates and touches; the block stays reachable for ever, so that no checker calls it lost. */
void *load_keep(size_t bytes);

/* Memory of its own mapping, touched: load_unmap() gives it back to the kernel at once. */
void *load_map(size_t bytes);
void load_unmap(void *map, size_t bytes);

/* Ends the program: what failed, and errno. load_skip(): cannot run here, exit status 77. */
__attribute__((noreturn)) void load_fail(const char *what);
_Noreturn void load_skip(const char *why);

uint64_t load_now_ns(void);

/* How long each step took: the last `capacity` of them. No memory is taken while it is filled. */
struct load_times {
    uint64_t *ns;
    size_t capacity, count;
};

struct load_times_summary {
    uint64_t steps, mean_ns, p50_ns, p99_ns, max_ns;
};

void load_times_init(struct load_times *t, size_t capacity);
void load_times_release(struct load_times *t);
void load_times_add(struct load_times *t, uint64_t ns);

/* Sorts them. All 0 where there are none. */
struct load_times_summary load_times_summary(struct load_times *t);

/* `NAME steps N mean_ns N p50_ns N p99_ns N max_ns N`. */
void load_times_print(const char *name, const struct load_times_summary *s);

#endif
