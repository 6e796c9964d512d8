/* probe/base/spare.h: keeps large tensors out of forked children. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_SPARE_H
#define TIDEMARK_PROBE_BASE_SPARE_H

#include <stddef.h>
#include <stdint.h>

/*
 * While a child lives, the kernel copies every page before the program writes to it, and a fork
 * takes longer the more pages there are. Tensor values are most of a process, and no census reads
 * them, so the child does not get them. This applies only to private anonymous memory as malloc()
 * maps it; mappings of a driver are not touched.
 */
struct spare {
    uintptr_t begin, end;
};

#define SPARE_LEAST ((size_t) 1 << 20) /* smaller tensors are not worth it */

/* Later forks omit these ranges, as far as possible. Returns how many of them come first in `list`
 * now, for spare_put_back(). The GIL is held, so nobody else forks meanwhile. */
size_t spare_leave_out(struct spare *list, size_t count);
/* The approximate duration of a fork without them, in ns. */
uint64_t spare_fork_ns(const struct spare *list, size_t count);
void spare_put_back(const struct spare *list, size_t count);

#endif
