/* probe/base/spare.h: memory that a forked child need not have. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_SPARE_H
#define TIDEMARK_PROBE_BASE_SPARE_H

#include <stddef.h>
#include <stdint.h>

/*
 * While a child lives, every page that the program writes to is copied first, and a fork takes the
 * longer the more pages there are. The numbers in tensors are most of a process, and no census
 * reads them: they are left out of the child. Only where it is plain memory of the process alone,
 * as malloc() takes it; what a driver has mapped is not touched.
 */
struct spare {
    uintptr_t begin, end;
};

#define SPARE_LEAST ((size_t) 1 << 20) /* bytes that are worth it */

/* From here on forks leave these out, as far as it can be done; returns how many come first in
 * `list` now, for spare_put_back(). The GIL is held, so that nobody else forks meanwhile. */
size_t spare_leave_out(struct spare *list, size_t count);
/* About what a fork takes without them, in ns. */
uint64_t spare_fork_ns(const struct spare *list, size_t count);
void spare_put_back(const struct spare *list, size_t count);

#endif
