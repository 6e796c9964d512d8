/*
 * workloads/children_short.c: --steps children (2000), one after another, --live-ms each (2).
 *
 * grows:   nothing: a child touches 256 KB of its own and is gone; the trainer is flat. A step is a
 *          child
 * verdict: no leak; --fix starts no children
 */
#include "load.h"

#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_BYTES = 256 << 10 };

int main(int argc, char **argv)
{
    long live_ms = 2;
    load.steps = 2000;
    load.step_ms = 0;
    load_init(argc, argv, (struct load_option[]){{"live-ms", &live_ms, NULL}, {0}});
    for (long n = 1; load_running(n); n++) {
        if (!load.fix) {
            pid_t pid = load_fork();
            if (pid == 0) {
                load_keep(CHILD_BYTES);
                load_sleep_ms(live_ms);
                _exit(0);
            }
            waitid(P_PID, (id_t) pid, NULL, WEXITED | WNOWAIT);
            load_end_child(pid);
        } else {
            load_sleep_ms(live_ms);
        }
        load_step(n);
    }
    return load_end();
}
