/* attach/status.h: the parts of /proc/PID/status and /proc/PID/stat that decide. Pure. */
#ifndef TIDEMARK_ATTACH_STATUS_H
#define TIDEMARK_ATTACH_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

/* What is not told there is 0, and -1 for numbers of which 0 means something. */
struct status {
    char name[32];
    char state; /* 'S', 'T', 'Z', ... */
    pid_t parent, tracer;
    pid_t own_pid;  /* in its own pid namespace */
    unsigned depth; /* of that namespace: how many pids it has */
    int seccomp;    /* 0: none, 1: strict, 2: filters */
    int filters;    /* how many; -1 before Linux 5.9 */
    long uid[4], gid[4];
    unsigned long long capabilities; /* effective */
    unsigned long long caught;       /* signals that have a handler, a bit each */
    bool is_kernel_thread;
};

void status_parse(const char *text, struct status *ret);

/* The 22nd field, when it began; 0 where it is not there. */
unsigned long long status_start_time(const char *stat);

/* A number for the program that runs: the addresses of its code, data and stack, which are drawn
 * anew with every exec. */
unsigned long long status_program(const char *stat);

#endif
