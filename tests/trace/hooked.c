/*
 * tests/trace/hooked.c: preloaded before the probe, with functions where a profiler has its own. It
 * says at the end how often they were called in a copy of the process that nobody was told of: a
 * profiler would have written into the program's file there.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t own;
static atomic_int *elsewhere;

static void note(void)
{
    if (elsewhere && syscall(SYS_getpid) != own)
        atomic_fetch_add(elsewhere, 1);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t from)
{
    note();
    return (void *) syscall(SYS_mmap, at, size, protection, flags, fd, from);
}

int munmap(void *at, size_t size)
{
    note();
    return (int) syscall(SYS_munmap, at, size);
}

int prctl(int what, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    note();
    return (int) syscall(SYS_prctl, what, a, b, c, d);
}

__attribute__((constructor)) static void begin(void)
{
    elsewhere = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    own = getpid();
}

__attribute__((destructor)) static void end(void)
{
    if (getpid() == own)
        fprintf(stderr, "hooked in a copy %d\n", atomic_load(elsewhere));
}
