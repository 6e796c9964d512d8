/* probe/base/pages.h: memory from the kernel, past the C library. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_PAGES_H
#define TIDEMARK_PROBE_BASE_PAGES_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Profilers such as memray put functions of their own before mmap(), in this library as well. In
 * the child that takes a census they would write into their file, which is the program's too, and
 * break it.
 */

/* Zeroed pages that can be read and written; `flags`: MAP_PRIVATE or MAP_SHARED, and more. NULL:
 * none. `at`: NULL, or where with MAP_FIXED. */
static inline void *pages_map(void *at, size_t bytes, int flags)
{
    long r = syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0L);
    return r == -1 ? NULL : (void *) r; /* NOLINT(performance-no-int-to-ptr) */
}

static inline void pages_unmap(void *memory, size_t bytes)
{
    (void) syscall(SYS_munmap, memory, bytes);
}

#endif
