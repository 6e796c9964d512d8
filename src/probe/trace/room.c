/* probe/trace/room.c: asks the kernel what lies below. */
#include "probe/trace/room.h"

#include "probe/trace/sampling.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE ((uintptr_t) 4096)
#define PAGES (ROOM_BYTES / PAGE + 1)
#define MOST ((uintptr_t) 128 << 20) /* of the stack of main(), where it has no limit */

extern void *stack_of_main __asm__("__libc_stack_end") __attribute__((weak));

/* It grows as it is used: what lies below is not mapped yet. */
static bool is_of_main(uintptr_t at, bool *ret_enough)
{
    uintptr_t first = &stack_of_main ? (uintptr_t) stack_of_main : 0;
    struct rlimit limit;
    if (at >= first || first - at > MOST || getrlimit(RLIMIT_STACK, &limit) < 0)
        return false;
    uintptr_t most = limit.rlim_cur < MOST ? (uintptr_t) limit.rlim_cur : MOST;
    *ret_enough = first - at + ROOM_BYTES <= most;
    return first - at < most;
}

static bool can_be_read(uintptr_t low)
{
    char bytes[PAGES];
    struct iovec local = {bytes, sizeof(bytes)}, remote[PAGES];
    for (unsigned i = 0; i < PAGES; i++)
        remote[i] = (struct iovec){(void *) (low + i * PAGE), 1}; /* NOLINT: addresses */
    long got = syscall(SYS_process_vm_readv, getpid(), &local, 1L, remote, (long) PAGES, 0L);
    return got == (long) PAGES || (got < 0 && errno != EFAULT); /* where nobody may ask, it is */
}

/* The pages that were found there hold as long as the thread's stack, which a thread keeps. A
 * coroutine's may be unmapped, but not while the thread is on it. */
static bool is_known(const struct sampling_thread *t, uintptr_t at)
{
    return at >= t->room_low + ROOM_BYTES && at < t->room_high;
}

__attribute__((noinline)) static bool learn(struct sampling_thread *t, uintptr_t at)
{
    bool is_enough;
    if (!is_of_main(at, &is_enough))
        is_enough = can_be_read(at - ROOM_BYTES);
    if (!is_enough)
        return false;
    t->room_low = at - ROOM_BYTES;
    t->room_high = at + PAGE;
    return true;
}

bool room_is_enough(void)
{
    struct sampling_thread *t = &sampling_here;
    uintptr_t at = (uintptr_t) __builtin_frame_address(0);
    stack_t alternate;
    if (sigaltstack(NULL, &alternate) == 0 && alternate.ss_flags & SS_ONSTACK)
        return at - (uintptr_t) alternate.ss_sp >= ROOM_BYTES;
    return is_known(t, at) || learn(t, at);
}
