/*
 * workloads/leak_one_of_eight.c: of eight forked workers only number 5 forgets --kb KB a step.
 *
 * grows:   RssAnon and private memory of that worker, linear; parent and the other seven are flat
 * says:    `truth: pid N leaks` before the first step
 * verdict: leak, host.anon or host.private, of that pid, role data worker, and of no other process;
 *          --fix: no worker leaks
 */
#include "load.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { WORKERS = 8, LEAKING = 5, WORKER_BYTES = 4 << 20 };

static _Noreturn void work(int number, size_t leak_bytes)
{
    char name[16];
    snprintf(name, sizeof(name), "worker-%d", number);
    prctl(PR_SET_NAME, name);
    load_keep(WORKER_BYTES);
    while (!load_stopped()) {
        if (number == LEAKING && !load.fix)
            load_keep(leak_bytes);
        load_sleep_ms(load.step_ms);
    }
    _exit(load_end());
}

int main(int argc, char **argv)
{
    long kb = 64;
    load_init(argc, argv, (struct load_option[]){{"kb", &kb, NULL}, {0}});
    for (int i = 1; i <= WORKERS; i++) {
        pid_t pid = load_fork();
        if (pid == 0)
            work(i, (size_t) kb << 10);
        if (i == LEAKING)
            load_truth(pid);
    }
    for (long n = 1; load_running(n); n++)
        load_step(n);
    return load_end();
}
