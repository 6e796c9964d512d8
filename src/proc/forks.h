/* proc/forks.h: who forked whom, as the kernel reports it. Private to proc/. */
#ifndef TIDEMARK_PROC_FORKS_H
#define TIDEMARK_PROC_FORKS_H

#include <sys/types.h>

/*
 * The proc connector reports every fork on the machine, in order, with pids of the initial pid
 * namespace. From Linux 6.6 on any user may listen, reports can be limited to forks, and the kernel
 * notices when a listener dies. Older kernels are not used: only root may listen there, and a
 * killed listener leaves them sending reports to nobody until the next boot.
 *
 * Reports wait in a buffer with room for at least about 500 forks. The kernel drops those that do
 * not fit.
 */

/* Returns a descriptor that the caller closes. -ENOTSUP: the kernel is too old, or this is not the
 * initial pid namespace (a container); -errno. */
int forks_open(void);

/* Calls `heard` for every new process since the last call. Skips threads. */
void forks_read(int fd, void (*heard)(void *context, pid_t parent, pid_t child), void *context);

#endif
