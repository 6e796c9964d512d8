/* screen/guard.c: gives the terminal back where this process cannot. */
#include "screen/guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_all(int fd, const char *text, size_t len)
{
    for (ssize_t n; len > 0; text += n, len -= (size_t) n) {
        n = write(fd, text, len);
        if (n <= 0)
            return;
    }
}

static void copy_aside(const struct guard *g)
{
    char text[4096];
    off_t at = 0;
    for (ssize_t n; (n = pread(g->aside, text, sizeof(text), at)) > 0; at += n)
        write_all(g->error, text, (size_t) n);
}

/* All signals are blocked. In the background, tcsetattr() works for a process that blocks SIGTTOU.
 */
static _Noreturn void guard(const struct guard *g, pid_t parent)
{
    sigset_t death;
    int number;
    sigemptyset(&death);
    sigaddset(&death, SIGTERM);
    while (getppid() == parent)
        sigwait(&death, &number);
    if (*g->is_on) {
        write_all(g->fd, g->leave, g->leave_len);
        tcsetattr(g->fd, TCSANOW, &g->modes);
    }
    copy_aside(g);
    _exit(0);
}

void guard_start(struct guard *g)
{
    sigset_t all, before;
    pid_t parent = getpid();
    g->pid = 0;
    void *shared =
        mmap(NULL, sizeof(*g->is_on), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return;
    g->is_on = shared;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    g->pid = fork();
    if (g->pid == 0) {
        prctl(PR_SET_NAME, "tidemark-guard");
        /* If the parent has died already, the loop notices. */
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        guard(g, parent);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (g->pid < 0)
        g->pid = 0;
}

void guard_end(struct guard *g)
{
    if (g->pid > 0) {
        kill(g->pid, SIGKILL);
        while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (g->is_on)
        munmap((void *) g->is_on, sizeof(*g->is_on));
    g->pid = 0;
    g->is_on = NULL;
}
