/*
 * workloads/exits.c: ends as it is told, and says how it was started.
 *
 * --status N     exit status (0)
 * --signal N     dies of that signal instead
 * --ignore-int N says `ready`, ignores N interrupts with `interrupt I ignored`, dies of the next
 * one
 * --state        prints pid, parent, group, session, terminal, descriptors and signals, a line each
 * --steps N      makes so many steps first (0)
 *
 * grows:   nothing
 * verdict: does not matter: what the command sees and how it ends are what is tested
 */
#include "load.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t interrupts;

static void on_interrupt(int number)
{
    (void) number;
    interrupts++;
}

static const char *kind_of(int fd)
{
    struct stat s;
    if (fstat(fd, &s) != 0)
        return "closed";
    switch (s.st_mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFIFO:
        return "pipe";
    case S_IFSOCK:
        return "socket";
    case S_IFCHR:
        return isatty(fd) ? "terminal" : "device";
    default:
        return "other";
    }
}

static void print_descriptor(const char *name, int fd)
{
    printf("%s %s", name, kind_of(fd));
    struct winsize size;
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0)
        printf(" %ux%u", size.ws_col, size.ws_row);
    putchar('\n');
}

/* More than 0, 1 and 2: somebody's descriptors were left open across the exec. */
static void print_open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return;
    int others = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        int fd = e->d_name[0] == '.' ? 0 : (int) strtol(e->d_name, NULL, 10);
        others += fd > 2 && fd != dirfd(dir);
    }
    closedir(dir);
    printf("other descriptors %d\n", others);
}

static void print_signals(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    if (!file)
        return;
    char line[256];
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigIgn:", 7) == 0)
            fputs(line, stdout);
    fclose(file);
}

static void print_state(void)
{
    printf("pid %ld ppid %ld pgrp %ld sid %ld\n", (long) getpid(), (long) getppid(),
           (long) getpgrp(), (long) getsid(0));
    print_descriptor("stdin", STDIN_FILENO);
    print_descriptor("stdout", STDOUT_FILENO);
    print_descriptor("stderr", STDERR_FILENO);
    pid_t foreground = tcgetpgrp(STDIN_FILENO);
    printf("foreground %s\n", foreground < 0 ? "none" : foreground == getpgrp() ? "yes" : "no");
    print_open_descriptors();
    print_signals();
    fflush(stdout);
}

/* The interrupts that are ignored; the next one finds the default action. */
static void ignore_interrupts(long count)
{
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    puts("ready");
    fflush(stdout);
    for (long i = 1; i <= count; i++) {
        while (interrupts < i)
            sigsuspend(&before);
        printf("interrupt %ld ignored\n", i);
        fflush(stdout);
    }
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    for (;;)
        pause();
}

static void die_of(int number)
{
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    raise(number);
}

int main(int argc, char **argv)
{
    long status = 0, number = 0, ignored = 0;
    bool state = false;
    load.steps = 0;
    load_options(argc, argv,
                 (struct load_option[]){{"status", &status, NULL},
                                        {"signal", &number, NULL},
                                        {"ignore-int", &ignored, NULL},
                                        {"state", NULL, &state},
                                        {0}});
    if (state)
        print_state();
    for (long n = 1; load_running(n); n++)
        load_step(n);
    if (ignored > 0)
        ignore_interrupts(ignored);
    if (number > 0)
        die_of((int) number);
    return (int) status;
}
