/*
 * workloads/tree.c: --processes (25) that hold --total-mb MB (8192) in all, for --seconds (30).
 *
 * The command holds --shared-mb MB (2048), which its children share after fork; the rest is divided
 * among them, private, every page touched. The first --churn children (3) map, touch and unmap 4 MB
 * again and again: what somebody who reads their smaps delays. Says `ready` when all is touched,
 * and a `step` every --step-ms (100).
 *
 * grows:   nothing; for measuring what watching costs, the watcher and the watched
 * says:    at the end `churn-I steps N mean_ns N p50_ns N p99_ns N max_ns N` for each of those
 * verdict: no leak; --fix: nothing is mapped and unmapped
 * needs:   so much free memory
 */
#include "load.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHURN_BYTES = 4 << 20, CHURN_TIMES = 1 << 18, MAX_CHURN = 64 };

/* What all of them see. The churning begins when everything is touched, and no sooner. */
struct shared {
    atomic_bool go;
    struct load_times_summary results[MAX_CHURN];
};

static long available_mb(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    long kb = 0;
    char line[128];
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %ld", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb >> 10;
}

static void churn(struct shared *shared, long index)
{
    struct load_times times;
    load_times_init(&times, CHURN_TIMES);
    while (!atomic_load(&shared->go) && !load_stopped())
        load_sleep_ms(1);
    while (!load_stopped()) {
        uint64_t from = load_now_ns();
        load_unmap(load_map(CHURN_BYTES), CHURN_BYTES);
        load_times_add(&times, load_now_ns() - from);
        load_sleep_ms(1);
    }
    shared->results[index] = load_times_summary(&times);
    load_times_release(&times);
}

/* churning: its number among those that map and unmap, -1: none. */
static _Noreturn void child_main(size_t bytes, int ready_fd, struct shared *shared, long churning)
{
    if (bytes > 0)
        load_map(bytes);
    if (write(ready_fd, "", 1) != 1)
        _exit(1);
    if (churning >= 0)
        churn(shared, churning);
    else
        load_idle();
    _exit(load_end());
}

static void wait_ready(int fd, long children)
{
    char byte;
    for (long i = 0; i < children && !load_stopped(); i++)
        if (read(fd, &byte, 1) != 1)
            break;
}

static struct shared *share(void)
{
    void *map = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        load_fail("mmap");
    return map;
}

/* They are stopped by load_end_child(), so that their results are there. */
static void print_results(const pid_t *pids, const struct shared *shared, long churners)
{
    for (long i = 0; i < churners; i++) {
        char name[32];
        load_end_child(pids[i]);
        snprintf(name, sizeof(name), "churn-%ld", i + 1);
        load_times_print(name, &shared->results[i]);
    }
}

static size_t child_bytes(long total_mb, long shared_mb, long children)
{
    if (children < 1 || total_mb < shared_mb)
        return 0;
    return (size_t) (total_mb - shared_mb) / (size_t) children << 20;
}

int main(int argc, char **argv)
{
    long processes = 25, total_mb = 8192, shared_mb = 2048, churners = 3, seconds = 30;
    load.base_mb = 0;
    load.step_ms = 100;
    load_init(argc, argv,
              (struct load_option[]){{"processes", &processes, NULL},
                                     {"total-mb", &total_mb, NULL},
                                     {"shared-mb", &shared_mb, NULL},
                                     {"churn", &churners, NULL},
                                     {"seconds", &seconds, NULL},
                                     {0}});
    if (available_mb() < total_mb + total_mb / 10)
        load_skip("not enough free memory");
    long children = processes > 1 ? processes - 1 : 0;
    churners = load.fix ? 0 : churners < MAX_CHURN ? churners : MAX_CHURN;
    churners = churners < children ? churners : children;
    load_keep((size_t) shared_mb << 20);
    struct shared *shared = share();
    pid_t churning[MAX_CHURN] = {0};
    int ready[2];
    if (pipe(ready) != 0)
        load_fail("pipe");
    for (long i = 0; i < children; i++) {
        pid_t pid = load_fork();
        if (pid == 0)
            child_main(child_bytes(total_mb, shared_mb, children), ready[1], shared,
                       i < churners ? i : -1);
        if (i < churners)
            churning[i] = pid;
    }
    wait_ready(ready[0], children);
    puts("ready");
    atomic_store(&shared->go, true);
    uint64_t end = load_now_ns() + (uint64_t) seconds * 1000000000u;
    for (long n = 1; load_now_ns() < end && !load_stopped(); n++)
        load_step(n);
    print_results(churning, shared, churners);
    return load_end();
}
