/* deputy/cage.c: runs work on hostile bytes where the kernel allows it next to nothing. */
#include "deputy/work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- limits ---- */

/* A fork inherits its parent's memory: limits count from there. 0: not known. */
static uint64_t mapped_bytes(void)
{
    char text[128] = {0};
    unsigned long pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof text - 1) <= 0 || sscanf(text, "%lu", &pages) != 1)
        pages = 0;
    close(fd);
    return (uint64_t) pages * (uint64_t) sysconf(_SC_PAGESIZE);
}

static int limit(int what, uint64_t most)
{
    struct rlimit r;
    if (getrlimit((__rlimit_resource_t) what, &r) < 0)
        return -errno;
    if (r.rlim_cur > most)
        r.rlim_cur = most;
    /* SIGXCPU may have a handler. The hard limit kills. */
    r.rlim_max = r.rlim_cur;
    return setrlimit((__rlimit_resource_t) what, &r) < 0 ? -errno : 0;
}

static int set_limits(const struct deputy_cage *c)
{
    uint64_t mapped = mapped_bytes();
    int r = mapped ? limit(RLIMIT_AS, mapped + c->memory_bytes) : -EIO;
    if (r == 0)
        r = limit(RLIMIT_CPU, c->seconds);
    if (r == 0)
        r = limit(RLIMIT_CORE, 0);
    return r;
}

/* ---- the cage ---- */

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define ALLOW(call) UNLESS((uint32_t) (call), 1), ANSWER(SECCOMP_RET_ALLOW)

/* Only existing code runs. The lower half of the third argument, on a little-endian machine. */
#define ALLOW_DATA(call)                                                                           \
    UNLESS((uint32_t) (call), 4), LOAD(args[2]),                                                   \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0), ANSWER(SECCOMP_RET_ALLOW),          \
        ANSWER(SECCOMP_RET_ERRNO | EPERM)

/* A refused call fails instead of killing: the C library and parsers have a way without. */
static int shut(void)
{
    struct sock_filter rules[] = {
        LOAD(arch),
        UNLESS(ARCHITECTURE, 1),
        BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        ALLOW_DATA(SYS_mmap),
        ALLOW_DATA(SYS_mprotect),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_brk),
        ALLOW(SYS_read),
        ALLOW(SYS_pread64),
        ALLOW(SYS_futex),
        ALLOW(SYS_clock_gettime),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_sendmsg), /* the result, to the socket that is left open */
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ANSWER(SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -EPERM : 0;
}

#else

static int shut(void)
{
    return -EPERM;
}

#endif

static int be_caged(const struct deputy *d, const void *context, struct answer *ret)
{
    const struct deputy_cage *c = context;
    (void) ret;
    if (c->prepare)
        c->prepare(c->context);
    /* Through these it could still hand over files. */
    close(d->root);
    if (d->cwd >= 0)
        close(d->cwd);
    int r = set_limits(c);
    if (r < 0)
        return r;
    r = shut();
    /* Without a cage: one of our own processes can do by itself all that its files could make us
     * do. */
    if (r < 0 && d->is_foreign)
        return r;
    return c->work(c->context);
}

int deputy_run_caged(const struct deputy *d, const struct deputy_cage *cage)
{
    struct answer a;
    return work_run_for(d, 2.0 * cage->seconds, be_caged, cage, cage->fds, DEPUTY_CAGE_FDS, 0, &a);
}
