/* tests/attach/killer.c: preloaded into who traces, kills it at one of its steps.
 *
 * KILL_AT=N: at the Nth call by which a target is changed or let go; KILL_AFTER=1: when it is done,
 * else instead of it; KILL_DELAY=US: so much later. Counted in the process that traces, from its first
 * such call. KILL_AT_SIGNAL=N: when it is told that signal N has come for the thread it traces, for
 * which there is time before the stop. */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIME_FOR_SIGNAL 200 /* us */

static int calls;
static pid_t counted_in;

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

static int is_last(void)
{
    if (counted_in != getpid()) {
        counted_in = getpid();
        calls = 0;
    }
    return ++calls == number("KILL_AT");
}

static void die(void)
{
    usleep((useconds_t) number("KILL_DELAY"));
    if (write(STDERR_FILENO, "killed\n", 7) == 7)
        kill(getpid(), SIGKILL);
}

#define STEP(type, call)                                                                           \
    do {                                                                                           \
        int last = is_last();                                                                      \
        if (last && !number("KILL_AFTER"))                                                         \
            die();                                                                                 \
        type result = call;                                                                        \
        if (last)                                                                                  \
            die();                                                                                 \
        return result;                                                                             \
    } while (0)

long ptrace(enum __ptrace_request request, ...)
{
    va_list args;
    va_start(args, request);
    pid_t pid = va_arg(args, pid_t);
    void *address = va_arg(args, void *), *data = va_arg(args, void *);
    va_end(args);
    if (request == PTRACE_INTERRUPT && number("KILL_AT_SIGNAL"))
        usleep(TIME_FOR_SIGNAL);
    long (*real)(enum __ptrace_request, ...) =
        (long (*)(enum __ptrace_request, ...)) dlsym(RTLD_NEXT, "ptrace");
    STEP(long, real(request, pid, address, data));
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
    ssize_t (*real)(int, const void *, size_t, off64_t) =
        (ssize_t(*)(int, const void *, size_t, off64_t)) dlsym(RTLD_NEXT, "pwrite64");
    STEP(ssize_t, real(fd, data, len, at));
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *own, unsigned long own_count,
                          const struct iovec *other, unsigned long count, unsigned long flags)
{
    ssize_t (*real)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                    unsigned long) =
        (ssize_t(*)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                    unsigned long)) dlsym(RTLD_NEXT, "process_vm_writev");
    STEP(ssize_t, real(pid, own, own_count, other, count, flags));
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    int (*real)(idtype_t, id_t, siginfo_t *, int) =
        (int (*)(idtype_t, id_t, siginfo_t *, int)) dlsym(RTLD_NEXT, "waitid");
    int result = real(type, id, info, options), signal = number("KILL_AT_SIGNAL");
    if (result == 0 && signal && info->si_code == CLD_TRAPPED && info->si_status == signal)
        die();
    return result;
}
