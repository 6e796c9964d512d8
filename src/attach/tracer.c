/* attach/tracer.c: runs the tracing in a process of its own. */
#include "attach/tracer.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_STATUS 255
static const double look_every = 0.0002;

static void nap(double seconds)
{
    struct timespec t = {(time_t) seconds, (long) ((seconds - (double) (time_t) seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static void be_child(pid_t parent, int (*work)(void *context), void *context)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    /* Where allowed: a stopped thread must not wait for us behind other processes. */
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1});
    int r = work(context);
    _exit(r < 0 && r >= -MOST_STATUS ? -r : 0);
}

int tracer_run(int (*work)(void *context), void *context, double seconds)
{
    pid_t parent = getpid(), child = fork();
    int status = 0;
    if (child < 0)
        return -errno;
    if (child == 0)
        be_child(parent, work, context);
    for (unsigned long looks = 0; (double) looks * look_every < seconds; looks++) {
        pid_t got = waitpid(child, &status, WNOHANG);
        if (got == child)
            return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
        if (got < 0 && errno != EINTR)
            return -errno;
        nap(look_every);
    }
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return -ETIMEDOUT;
}
