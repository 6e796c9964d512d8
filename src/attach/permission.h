/* attach/permission.h: whether the kernel lets us attach to a process and, if not, what to ask for.
 * */
#ifndef TIDEMARK_ATTACH_PERMISSION_H
#define TIDEMARK_ATTACH_PERMISSION_H

#include "attach/status.h"
#include "base/base.h"

#include <sys/types.h>

/* Asks the kernel, without touching the process. 0; -EPERM: it refuses; -errno: it could not be
 * asked. Both with the reason in `why`. */
int permission_check(pid_t pid, const struct status *target, struct buf *why);

/* The facts behind a refusal. */
struct permission {
    const struct status *self, *target;
    pid_t pid;
    int yama;          /* kernel.yama.ptrace_scope; -1: there is none */
    bool not_dumpable; /* the process protects itself from its own user */
    bool in_container; /* we are in one */
};

/* Explains the refusal and the way around it. Pure. */
void permission_explain(const struct permission *p, struct buf *why);

#endif
