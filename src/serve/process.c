/* serve/process.c: what a process of the server has and may take. */
#include "serve/process.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FDS_MOST 4u

/* Out of the way of the places that are filled. */
static int move_up(int fd)
{
    return fcntl(fd, F_DUPFD, PROCESS_FIRST_FD + (int) FDS_MOST);
}

void process_keep_only(const int *fds, size_t count)
{
    int moved[FDS_MOST], end = PROCESS_FIRST_FD + (int) count;
    assert(count <= FDS_MOST);
    for (size_t i = 0; i < count; i++)
        moved[i] = move_up(fds[i]);
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < PROCESS_FIRST_FD; fd++)
        if (nothing != fd)
            dup2(nothing, fd);
    for (size_t i = 0; i < count; i++)
        dup2(moved[i], PROCESS_FIRST_FD + (int) i);
    if (syscall(SYS_close_range, end, ~0u, 0) == 0)
        return;
    for (int fd = end, most = (int) sysconf(_SC_OPEN_MAX); fd < most; fd++)
        close(fd);
}

void process_stand_back(int nicer)
{
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + nicer);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = write(fd, "1000", 4);
    (void) n;
    close(fd);
}

void process_follow(pid_t parent, int number)
{
    prctl(PR_SET_PDEATHSIG, number);
    if (getppid() != parent)
        _exit(1);
}
