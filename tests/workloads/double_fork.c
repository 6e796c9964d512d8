/*
 * workloads/double_fork.c: a daemon (fork, setsid, fork) leaks while the command stays, flat.
 *
 * The daemon's parent has ended before the first step, its session and group are its own.
 *
 * grows:   RssAnon and private memory of the daemon, by --kb KB (64) a step, linear
 * says:    `truth: pid N leaks` before the first step
 * verdict: leak, host.anon or host.private, of that pid and of no other process; --fix: no leak
 * cleans:  the daemon ends with the command, however that ends: its pipe is closed then
 */
#include "load.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends when the command's end of the pipe is closed. */
static _Noreturn void daemon_main(int life_fd, int news_fd, size_t leak_bytes)
{
    pid_t self = getpid();
    if (write(news_fd, &self, sizeof(self)) != sizeof(self))
        _exit(1);
    struct pollfd life = {.fd = life_fd, .events = POLLIN};
    while (!load_stopped() && poll(&life, 1, (int) (load.step_ms ? load.step_ms : 1)) <= 0)
        if (!load.fix)
            load_keep(leak_bytes);
    _exit(0);
}

static _Noreturn void daemonise(int life_fd, int news_fd, size_t leak_bytes)
{
    setsid();
    pid_t pid = fork();
    if (pid == 0)
        daemon_main(life_fd, news_fd, leak_bytes);
    _exit(pid < 0);
}

int main(int argc, char **argv)
{
    long kb = 64;
    load_init(argc, argv, (struct load_option[]){{"kb", &kb, NULL}, {0}});
    int life[2], news[2];
    if (pipe(life) != 0 || pipe(news) != 0)
        load_fail("pipe");
    pid_t between = fork();
    if (between == 0) {
        close(life[1]);
        close(news[0]);
        daemonise(life[0], news[1], (size_t) kb << 10);
    }
    close(life[0]);
    close(news[1]);
    if (between < 0 || waitpid(between, NULL, 0) != between)
        load_fail("fork");
    pid_t leaking = 0;
    if (read(news[0], &leaking, sizeof(leaking)) != sizeof(leaking))
        load_fail("the daemon did not start");
    load_truth(leaking);
    for (long n = 1; load_running(n); n++)
        load_step(n);
    close(life[1]);
    /* The end of the file comes when the daemon has ended. */
    while (read(news[0], &leaking, sizeof(leaking)) > 0)
        continue;
    return load_end();
}
