/* attach/status.h: the fields of /proc/PID/status and /proc/PID/stat that decide whether to attach.
 * Pure. */
#ifndef TIDEMARK_ATTACH_STATUS_H
#define TIDEMARK_ATTACH_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

/* A missing field is 0, or -1 for numbers where 0 has a meaning. */
struct status {
    char name[32];
    char state; /* 'S', 'T', 'Z', ... */
    pid_t parent, tracer;
    pid_t own_pid;  /* in its own pid namespace */
    unsigned depth; /* of that namespace: its number of pids */
    int seccomp;    /* 0: none, 1: strict, 2: filters */
    int filters;    /* how many; -1 before Linux 5.9 */
    long uid[4], gid[4];
    unsigned long long capabilities; /* effective */
    unsigned long long caught;       /* signals with a handler, one bit each */
    bool is_kernel_thread;
};

void status_parse(const char *text, struct status *ret);

/* The start time, field 22; 0 if missing. */
unsigned long long status_start_time(const char *stat);

/* Identifies the running program by the addresses of its code, data and stack, which every exec
 * randomizes. */
unsigned long long status_program(const char *stat);

#endif
