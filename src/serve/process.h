/* serve/process.h: what a process of the server has and may take. */
#ifndef TIDEMARK_SERVE_PROCESS_H
#define TIDEMARK_SERVE_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

#define PROCESS_FIRST_FD 3

/* For a forked child: standard streams lead nowhere, the given descriptors become PROCESS_FIRST_FD
 * and those after it, and all others are closed. At most 4. */
void process_keep_only(const int *fds, size_t count);

/* Takes processor time only when others leave some, and is the first to go when memory is short. */
void process_stand_back(int nicer);

/* Sends `signal` to this process when its parent ends, and ends it if that has happened already. */
void process_follow(pid_t parent, int signal);

#endif
