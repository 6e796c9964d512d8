/* cli/doctor_inside.c: may tidemark attach to a running process? Reports only, changes nothing. */
#include "cli/doctor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPABILITY_PTRACE 19
#define SECCOMP_FILTER 2
#define END_MILLISECONDS 2000

/* ---- children to try it on ---- */

/* Starts a child that sleeps until it is killed. -errno. */
static pid_t start_sleeper(void)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return child < 0 ? -errno : child;
}

static void end_sleeper(pid_t child)
{
    if (child <= 0)
        return;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- what the kernel says about it ---- */

/* The number after "Name:" in /proc/PID/status; -1: not reported. */
static long long status_number(const char *pid, const char *name, int base)
{
    char path[48], line[48];
    struct buf text = BUF_INIT;
    snprintf(path, sizeof(path), "/proc/%s/status", pid);
    snprintf(line, sizeof(line), "\n%s:", name);
    const char *found = NULL;
    if (doctor_read_file(path, &text) == 0)
        found = strstr(buf_text(&text), line);
    long long value = found ? strtoll(found + strlen(line), NULL, base) : -1;
    buf_release(&text);
    return value;
}

static bool has_capability(void)
{
    long long effective = status_number("self", "CapEff", 16);
    return effective >= 0 && (effective >> CAPABILITY_PTRACE & 1);
}

/* Yama's rule: 0 own processes, 1 descendants, 2 administrators, 3 nobody; -1: no Yama. */
static int read_scope(void)
{
    struct buf text = BUF_INIT;
    int scope = -1;
    if (doctor_read_file("/proc/sys/kernel/yama/ptrace_scope", &text) == 0 && text.len > 0)
        scope = (int) strtol(buf_text(&text), NULL, 10);
    buf_release(&text);
    return scope;
}

static void advise_access(struct buf *advice, int scope)
{
    if (scope == 3)
        buf_adds(advice, "ptrace_scope=3 forbids it to everybody until the machine is started "
                         "anew with another");
    else if (status_number("self", "Seccomp", 10) == SECCOMP_FILTER && scope < 1)
        buf_adds(advice, "a filter of the container (seccomp) is at work: docker run "
                         "--cap-add=SYS_PTRACE");
    else if (scope >= 1)
        buf_adds(advice, "run tidemark as root, or as root allow it to all: sysctl "
                         "kernel.yama.ptrace_scope=0; in a container: docker run "
                         "--cap-add=SYS_PTRACE");
    else
        buf_adds(advice, "run tidemark as the job's user or as root; in a container: docker run "
                         "--cap-add=SYS_PTRACE");
}

/* ---- trying it ---- */

/*
 * The kernel demands the same rights for reading a process's memory as for attaching to it. Address
 * 0 is not mapped, so a permitted read fails with a bad address and touches nothing.
 */
static int try_access(pid_t pid)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {NULL, 1};
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT)
        return 0;
    return -errno;
}

static int seize(pid_t pid)
{
    return ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ? -errno : 0;
}

/* The same from a process that is not the parent of `pid`, as with a job that already runs. */
static int seize_as_stranger(pid_t pid)
{
    pid_t stranger = fork();
    if (stranger < 0)
        return -errno;
    if (stranger == 0)
        _exit(-seize(pid));
    int status;
    if (waitpid(stranger, &status, 0) < 0 || !WIFEXITED(status))
        return -EIO;
    return -WEXITSTATUS(status);
}

static void set_traced(struct doctor_check *c, int child, int stranger, int scope)
{
    char rule[48] = "";
    if (scope > 0)
        snprintf(rule, sizeof(rule), " (Yama's ptrace_scope=%d)", scope);
    if (stranger == 0) {
        doctor_set(c, DOCTOR_OK, "allowed for %s",
                   has_capability() && try_access(1) == 0 ? "every process" : "your own processes");
        return;
    }
    if (child == 0)
        doctor_set(c, DOCTOR_LIMITED, "allowed only for what tidemark started itself%s", rule);
    else
        doctor_set(c, DOCTOR_NO, "refused%s: %s", rule, error_words(-child));
    advise_access(&c->advice, scope);
}

static void check_ptrace(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "ptrace", "attaching");
    pid_t child = start_sleeper();
    int stranger = child < 0 ? (int) child : seize_as_stranger(child);
    int own = child < 0 ? (int) child : seize(child);
    end_sleeper(child);
    set_traced(c, own, stranger, read_scope());
}

/* The rules behind the result, for experts. */
static void check_rules(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "ptrace_rules", "its rules");
    int scope = read_scope();
    if (scope < 0)
        buf_adds(&c->detail, "no ptrace_scope");
    else
        buf_addf(&c->detail, "ptrace_scope=%d", scope);
    buf_addf(&c->detail, ", %s CAP_SYS_PTRACE, %s seccomp filter", has_capability() ? "with" : "no",
             status_number("self", "Seccomp", 10) == SECCOMP_FILTER ? "with" : "no");
}

/* A forked child has a copy at the same address. */
static unsigned marker = 0x7469646d;

static int read_marker(pid_t child)
{
    unsigned value = 0;
    struct iovec here = {&value, sizeof(value)};
    struct iovec there = {&marker, sizeof(marker)};
    ssize_t n = process_vm_readv(child, &here, 1, &there, 1, 0);
    if (n < 0)
        return -errno;
    return value == marker ? 0 : -EIO;
}

static void check_reading(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "memory_read", "reading memory");
    pid_t child = start_sleeper();
    int r = child < 0 ? (int) child : read_marker(child);
    end_sleeper(child);
    if (r == 0) {
        doctor_set(c, DOCTOR_OK, "works on a process of our own");
        return;
    }
    doctor_set(c, DOCTOR_NO, "refused (process_vm_readv: %s)", error_words(-r));
    advise_access(&c->advice, read_scope());
}

/* -errno; -ETIME: no notice of its end came. */
static int notice_end(pid_t child)
{
    int fd = (int) syscall(SYS_pidfd_open, child, 0);
    if (fd < 0)
        return -errno;
    kill(child, SIGKILL);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int r = poll(&wait, 1, END_MILLISECONDS);
    int error = r < 0 ? -errno : r == 0 ? -ETIME : 0;
    close(fd);
    return error;
}

static void check_end(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "pidfd", "process end");
    pid_t child = start_sleeper();
    int r = child < 0 ? (int) child : notice_end(child);
    end_sleeper(child);
    if (r == 0) {
        doctor_set(c, DOCTOR_OK, "is told at once (pidfd_open)");
        return;
    }
    doctor_set(c, DOCTOR_LIMITED, "is not told (pidfd_open: %s)", error_words(-r));
    buf_adds(&c->advice, "nothing to do: it is seen at the next look, up to a second later");
}

void doctor_check_inside(struct doctor *d)
{
    check_ptrace(d);
    check_rules(d);
    check_reading(d);
    check_end(d);
}

/* ---- the process to check ---- */

void doctor_check_attach(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "process_attach", "attaching");
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", (int) d->pid);
    long long tracer = status_number(pid, "TracerPid", 10);
    int r = try_access(d->pid);
    if (r < 0) {
        doctor_set(c, DOCTOR_NO, "refused (%s)", error_words(-r));
        advise_access(&c->advice, read_scope());
    } else if (tracer > 0) {
        doctor_set(c, DOCTOR_NO, "process %lld is attached to it already", tracer);
        buf_adds(&c->advice, "a debugger, strace or py-spy: end that first; watching needs no "
                             "attaching");
    } else {
        doctor_set(c, DOCTOR_OK, "would be allowed");
    }
}
