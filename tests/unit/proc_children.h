/* tests/unit/proc_children.h: real processes and folders for the tests of proc. */
#ifndef TIDEMARK_PROC_CHILDREN_H
#define TIDEMARK_PROC_CHILDREN_H

#include "proc/proc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Forks a child that runs `body` and then sleeps until it is killed (or its parent dies). */
static inline pid_t child_start(void (*body)(void))
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    if (body)
        body();
    for (;;)
        pause();
}

static inline void child_end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Kills it and leaves it a zombie: the caller waits for it some time. */
static inline void child_make_zombie(pid_t pid)
{
    siginfo_t info;
    kill(pid, SIGKILL);
    waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT);
}

static inline struct proc_id child_id(pid_t pid)
{
    struct proc_stat stat = {.id = {0, 0}};
    proc_stat_read("/proc", pid, &stat);
    return stat.id;
}

/* A new folder under /tmp; folder_end() removes it and all in it. */
static inline void folder_start(char ret[64])
{
    snprintf(ret, 64, "/tmp/tidemark-test-XXXXXX");
    if (!mkdtemp(ret))
        abort();
}

static inline void folder_end(const char *folder)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) /* NOLINT: a fixed command, in a test */
        abort();
}

/* Writes folder/path, making the folders on the way. */
static inline void folder_write(const char *folder, const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s", folder, path);
    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
}

#endif
