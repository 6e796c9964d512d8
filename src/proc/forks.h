/* proc/forks.h: who forked whom, as the kernel reports it. Private to proc/. */
#ifndef TIDEMARK_PROC_FORKS_H
#define TIDEMARK_PROC_FORKS_H

#include <sys/types.h>

/*
 * The proc connector: a report of every fork on the machine, in order, with pids as the initial pid
 * namespace has them. From Linux 6.6 on any user may listen, reports can be limited to forks, and
 * the kernel notices when a listener dies. Older kernels are not asked: they let only root listen,
 * and a listener that is killed leaves them reporting to nobody until the next boot.
 *
 * Reports wait in a buffer, at least for some 500 forks. Those that do not fit are lost.
 */

/* A descriptor, to be closed. -ENOTSUP: the kernel is too old, or this is not the initial pid
 * namespace (a container); -errno. */
int forks_open(void);

/* Calls `heard` for every new process since the last call. Threads are left out. */
void forks_read(int fd, void (*heard)(void *context, pid_t parent, pid_t child), void *context);

#endif
