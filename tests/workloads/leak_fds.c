/*
 * workloads/leak_fds.c: opens a descriptor every --every steps (3) and never closes it.
 *
 * grows:   the number of open descriptors of the only process, a staircase; its memory is flat
 * verdict: leak, fds, role trainer, and no kind of memory; --fix closes it again: no leak
 */
#include "load.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    long every = 3;
    load_init(argc, argv, (struct load_option[]){{"every", &every, NULL}, {0}});
    raise_limit();
    for (long n = 1; load_running(n); n++) {
        if (every > 0 && n % every == 0) {
            int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
            if (fd < 0)
                load_fail("/dev/null");
            if (load.fix)
                close(fd);
        }
        load_step(n);
    }
    return load_end();
}
