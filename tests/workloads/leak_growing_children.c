/*
 * workloads/leak_growing_children.c: one more child every --every steps (10), none ever ends.
 *
 * grows:   the number of processes and the tree's total, by --kb KB (1024) a child: a staircase;
 *          every single process is flat
 * verdict: leak of the tree's total or of the number of processes, of no single process; --fix ends
 *          the child before it starts the next: no leak
 */
#include "load.h"

#include <unistd.h>

static _Noreturn void live_on(size_t bytes)
{
    load_keep(bytes);
    load_idle();
    _exit(load_end());
}

int main(int argc, char **argv)
{
    long every = 10, kb = 1024;
    load_init(argc, argv, (struct load_option[]){{"every", &every, NULL}, {"kb", &kb, NULL}, {0}});
    pid_t youngest = 0;
    for (long n = 1; load_running(n); n++) {
        if (every > 0 && n % every == 0) {
            if (load.fix && youngest)
                load_end_child(youngest);
            youngest = load_fork();
            if (youngest == 0)
                live_on((size_t) kb << 10);
        }
        load_step(n);
    }
    return load_end();
}
