/*
 * workloads/oom.c: grows by --kb KB (512) a step, whatever the steps, until it is killed.
 *
 * Meant for a memory cgroup with a limit below --max-mb MB (512). Where none has killed it by then,
 * it says `guard` and kills itself with SIGKILL, as the kernel would have.
 *
 * grows:   RssAnon and private memory of the only process, linear
 * verdict: leak, host.anon or host.private, role trainer; ends by SIGKILL; --fix: does not grow and
 *          ends after --steps
 */
#include "load.h"

#include <signal.h>
#include <stdio.h>

static _Noreturn void guard(void)
{
    puts("guard");
    fflush(stdout);
    for (;;)
        raise(SIGKILL);
}

int main(int argc, char **argv)
{
    long kb = 512, max_mb = 512;
    load_init(argc, argv,
              (struct load_option[]){{"kb", &kb, NULL}, {"max-mb", &max_mb, NULL}, {0}});
    long taken_kb = load.base_mb << 10;
    for (long n = 1; load.fix ? load_running(n) : !load_stopped(); n++) {
        if (!load.fix) {
            if (taken_kb + kb > max_mb << 10)
                guard();
            load_keep((size_t) kb << 10);
            taken_kb += kb;
        }
        load_step(n);
    }
    return load_end();
}
