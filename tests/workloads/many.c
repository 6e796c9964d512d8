/*
 * workloads/many.c: a tree of --processes (500) idle processes with --mb MB (1) each.
 *
 * The command forks leaders, each leader 24 more. Says `processes N` when all of them are there.
 *
 * grows:   nothing; for measuring what watching many processes costs
 * verdict: no leak; --fix: only the command itself
 */
#include "load.h"

#include <stdio.h>
#include <unistd.h>

enum { GROUP = 25 };

struct ready {
    int read_fd, write_fd;
};

static _Noreturn void idle(const struct ready *ready, size_t bytes)
{
    load_keep(bytes);
    if (write(ready->write_fd, "", 1) != 1)
        _exit(1);
    load_idle();
    _exit(load_end());
}

static _Noreturn void lead(const struct ready *ready, size_t bytes, long members)
{
    for (long i = 1; i < members; i++)
        if (load_fork() == 0)
            idle(ready, bytes);
    idle(ready, bytes);
}

static void wait_ready(const struct ready *ready, long count)
{
    char byte;
    for (long i = 0; i < count && !load_stopped(); i++)
        if (read(ready->read_fd, &byte, 1) != 1)
            break;
}

int main(int argc, char **argv)
{
    long processes = 500, mb = 1;
    load.base_mb = 1;
    load_init(argc, argv,
              (struct load_option[]){{"processes", &processes, NULL}, {"mb", &mb, NULL}, {0}});
    int fds[2];
    if (pipe(fds) != 0)
        load_fail("pipe");
    struct ready ready = {.read_fd = fds[0], .write_fd = fds[1]};
    long others = load.fix || processes < 1 ? 0 : processes - 1;
    for (long left = others; left > 0; left -= GROUP)
        if (load_fork() == 0)
            lead(&ready, (size_t) mb << 20, left < GROUP ? left : GROUP);
    wait_ready(&ready, others);
    printf("processes %ld\n", others + 1);
    for (long n = 1; load_running(n); n++)
        load_step(n);
    return load_end();
}
