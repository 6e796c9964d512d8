/* deputy/deputy.c: pins a process, and runs children with its rights. */
#include "deputy/work.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- pinning ---- */

/* Real, effective, saved and file system id, as /proc/PID/status lists them. */
struct ids {
    unsigned real, effective, saved, files;
};

static bool ids_agree(const struct ids *x)
{
    return x->real == x->effective && x->effective == x->saved && x->saved == x->files;
}

static bool parse_ids(const char *line, const char *format, struct ids *ret)
{
    struct ids x;
    if (sscanf(line, format, &x.real, &x.effective, &x.saved, &x.files) != 4)
        return false;
    *ret = x;
    return true;
}

static int read_ids(pid_t pid, struct ids *ret_user, struct ids *ret_group)
{
    char path[64], line[256];
    bool has_user = false, has_group = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int) pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    while (fgets(line, sizeof line, file)) {
        has_user = has_user || parse_ids(line, "Uid: %u %u %u %u", ret_user);
        has_group = has_group || parse_ids(line, "Gid: %u %u %u %u", ret_group);
    }
    fclose(file);
    return has_user && has_group ? 0 : -ESRCH;
}

static int open_of(pid_t pid, const char *what)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int) pid, what);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* With the same mount namespace and root, the same names lead to the same files. */
static bool sees_what_we_see(pid_t pid, int root)
{
    char path[64], own[64] = {0}, its[64] = {0};
    struct stat here, there;
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int) pid);
    return readlink("/proc/self/ns/mnt", own, sizeof own - 1) > 0 &&
           readlink(path, its, sizeof its - 1) > 0 && strcmp(own, its) == 0 &&
           stat("/", &here) == 0 && fstat(root, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

bool work_target_has_ended(const struct deputy *d)
{
    struct pollfd p = {.fd = d->process, .events = POLLIN};
    return poll(&p, 1, 0) != 0;
}

/* Why a process cannot be accessed. */
static int refusal(int r)
{
    if (error_lacks_files(-r))
        return r;
    return r == -EACCES || r == -EPERM ? -EPERM : -ESRCH;
}

static int look(struct deputy *d, struct buf *why)
{
    struct ids user = {0}, group = {0};
    int r = read_ids(d->pid, &user, &group);
    if (r < 0)
        return refusal(r);
    if (!ids_agree(&user) || !ids_agree(&group)) {
        if (why)
            buf_addf(why,
                     "Process %d has changed its user or group for a time (real user %u, effective "
                     "%u, saved %u): tidemark cannot act for it safely.",
                     (int) d->pid, user.real, user.effective, user.saved);
        return -EPERM;
    }
    d->uid = user.real;
    d->gid = group.real;
    d->root = open_of(d->pid, "root");
    d->cwd = open_of(d->pid, "cwd");
    if (d->root < 0)
        return refusal(d->root);
    d->is_foreign = d->uid != geteuid() || !sees_what_we_see(d->pid, d->root);
    return 0;
}

static void explain(pid_t pid, int r, struct buf *why)
{
    if (error_lacks_files(-r))
        buf_addf(why, "Process %d cannot be read: %s.", (int) pid, error_words(-r));
    else if (r == -ESRCH)
        buf_addf(why, "Process %d has ended.", (int) pid);
    else
        buf_addf(why, "The files of process %d are closed to you.", (int) pid);
}

int deputy_new(pid_t pid, struct deputy **ret, struct buf *why)
{
    struct deputy *d = calloc(1, sizeof *d);
    if (!d)
        base_out_of_memory();
    size_t said = why ? why->len : 0;
    *d = (struct deputy){.pid = pid, .root = -1, .cwd = -1};
    d->process = (int) syscall(SYS_pidfd_open, pid, 0);
    int r = d->process < 0 ? refusal(-errno) : look(d, why);
    /* If it is still alive, everything read so far belongs to the pinned process. */
    if (r == 0 && work_target_has_ended(d))
        r = -ESRCH;
    if (r == 0) {
        *ret = d;
        return 0;
    }
    deputy_free(d);
    if (why && why->len == said)
        explain(pid, r, why);
    return r;
}

struct deputy *deputy_free(struct deputy *d)
{
    if (!d)
        return NULL;
    const int fds[] = {d->process, d->root, d->cwd};
    for (unsigned i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(d);
    return NULL;
}

uid_t deputy_uid(const struct deputy *d)
{
    return d->uid;
}

bool deputy_is_foreign(const struct deputy *d)
{
    return d->is_foreign;
}

/* ---- the child ---- */

/* Raw system calls: the C library's versions would synchronise with the parent's other threads,
 * which do not exist here. */
static int take_ids(const struct deputy *d)
{
    if (d->uid != geteuid() || geteuid() == 0) {
        if (syscall(SYS_setgroups, 0, NULL) < 0 ||
            syscall(SYS_setresgid, d->gid, d->gid, d->gid) < 0 ||
            syscall(SYS_setresuid, d->uid, d->uid, d->uid) < 0)
            return -errno;
    }
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capset, &header, none) < 0)
        return -errno;
    uid_t real, effective, saved;
    return getresuid(&real, &effective, &saved) == 0 && real == d->uid && effective == d->uid &&
                   saved == d->uid
               ? 0
               : -EPERM;
}

static void close_others(int *keep, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = i; k > 0 && keep[k - 1] > keep[k]; k--) {
            int swapped = keep[k];
            keep[k] = keep[k - 1];
            keep[k - 1] = swapped;
        }
    unsigned next = 0;
    for (unsigned i = 0; i < count; i++) {
        if (keep[i] < 0 || (unsigned) keep[i] < next)
            continue;
        if ((unsigned) keep[i] > next)
            syscall(SYS_close_range, next, (unsigned) keep[i] - 1, 0);
        next = (unsigned) keep[i] + 1;
    }
    syscall(SYS_close_range, next, ~0U, 0);
}

/* Changing ids clears the parent-death signal and may change who can debug us, so set both
 * afterwards. The target's user may stop or kill the child, but not read or trace it. */
static int become(const struct deputy *d, pid_t parent)
{
    umask(077);
    int r = take_ids(d);
    if (r < 0)
        return r;
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == parent ? 0 : -ESRCH;
}

union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int) * WORK_FDS)];
};

static void send_answer(int to, struct answer *a)
{
    union control control = {{0}};
    struct iovec piece = {a, sizeof *a};
    struct msghdr m = {.msg_iov = &piece, .msg_iovlen = 1};
    if (a->result < 0)
        a->fd_count = 0;
    if (a->fd_count > 0) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * a->fd_count);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * a->fd_count);
        memcpy(CMSG_DATA(c), a->fds, sizeof(int) * a->fd_count);
    }
    (void) sendmsg(to, &m, MSG_NOSIGNAL);
}

/* ---- the parent ---- */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 1: an answer arrived, or none will come; 0: timed out. */
static int wait_for_answer(int from, double seconds)
{
    int64_t end = now_ms() + (int64_t) (1000 * seconds);
    struct pollfd p = {.fd = from, .events = POLLIN};
    for (;;) {
        int64_t left = end - now_ms();
        if (left <= 0)
            return 0;
        int r = poll(&p, 1, (int) left);
        if (r > 0 || (r < 0 && errno != EINTR))
            return 1;
    }
}

static void take_fds(const struct msghdr *m, struct answer *ret)
{
    ret->fd_count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR((struct msghdr *) m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count && ret->fd_count < WORK_FDS; i++)
            memcpy(&ret->fds[ret->fd_count++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
    }
}

static int receive(int from, double seconds, struct answer *ret)
{
    union control control = {{0}};
    struct iovec piece = {ret, sizeof *ret};
    struct msghdr m = {.msg_iov = &piece,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    if (!wait_for_answer(from, seconds))
        return -ETIMEDOUT;
    ssize_t n = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    ret->fd_count = 0;
    if (n >= 0)
        take_fds(&m, ret);
    if (n != (ssize_t) sizeof *ret)
        return -EIO;
    if (m.msg_flags & MSG_CTRUNC) /* there was no room for the descriptors */
        return -EMFILE;
    ret->text[sizeof ret->text - 1] = '\0';
    return 0;
}

/* Kills and reaps the child. Gives up on one stuck in the kernel (a dead network file system). */
static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    for (int64_t end = now_ms() + (int64_t) (1000 * DEPUTY_SECONDS); now_ms() < end;) {
        pid_t got = waitpid(child, NULL, WNOHANG);
        if (got == child || (got < 0 && errno != EINTR))
            return;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

static _Noreturn void be_child(const struct deputy *d, pid_t parent, int to, work_function *work,
                               const void *context, const int *keep, unsigned keep_count)
{
    int kept[3 + WORK_FDS] = {to, d->root, d->cwd};
    struct answer a = {0};
    for (unsigned i = 0; i < keep_count; i++)
        kept[3 + i] = keep[i];
    close_others(kept, 3 + keep_count);
    a.result = become(d, parent);
    if (a.result == 0)
        a.result = work(d, context, &a);
    send_answer(to, &a);
    _exit(0);
}

int work_run(const struct deputy *d, work_function *work, const void *context, const int *keep,
             unsigned keep_count, unsigned fds, struct answer *ret)
{
    return work_run_for(d, DEPUTY_SECONDS, work, context, keep, keep_count, fds, ret);
}

int work_run_for(const struct deputy *d, double seconds, work_function *work, const void *context,
                 const int *keep, unsigned keep_count, unsigned fds, struct answer *ret)
{
    int ends[2];
    assert(keep_count <= WORK_FDS);
    *ret = (struct answer){0};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        be_child(d, parent, ends[1], work, context, keep, keep_count);
    int r = child < 0 ? -errno : 0;
    close(ends[1]);
    if (r == 0) {
        r = receive(ends[0], seconds, ret);
        end_child(child);
        if (r == 0 && ret->result != 0)
            r = ret->result < 0 ? ret->result : -EIO;
        if (r == 0 && ret->fd_count != fds)
            r = -EIO;
        if (r < 0)
            work_close(ret);
    }
    close(ends[0]);
    return r;
}

void work_close(struct answer *a)
{
    for (unsigned i = 0; i < a->fd_count; i++)
        close(a->fds[i]);
    a->fd_count = 0;
}
