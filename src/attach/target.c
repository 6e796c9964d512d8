/* attach/target.c: the process to attach to, and the reasons to refuse it. */
#include "attach/target.h"

#include "attach/permission.h"
#include "attach/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- files of /proc ---- */

/* The whole file, appended. */
static int read_file(const char *path, struct buf *ret)
{
    char piece[8192];
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    while ((n = read(fd, piece, sizeof piece)) > 0)
        buf_add(ret, piece, (size_t) n);
    int r = n < 0 ? -errno : 0;
    close(fd);
    return r;
}

static int read_of(pid_t pid, const char *name, struct buf *ret)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int) pid, name);
    return read_file(path, ret);
}

static int read_status(pid_t pid, struct status *ret)
{
    struct buf text = BUF_INIT;
    int r = read_of(pid, "status", &text);
    if (r == 0)
        status_parse(buf_text(&text), ret);
    buf_release(&text);
    return r;
}

/* Its start time and program; 0 where it has ended. -errno. */
static int read_identity(pid_t pid, unsigned long long *ret_start, uint64_t *ret_program)
{
    struct buf text = BUF_INIT;
    int r = read_of(pid, "stat", &text);
    *ret_start = r == 0 ? status_start_time(buf_text(&text)) : 0;
    *ret_program = r == 0 ? status_program(buf_text(&text)) : 0;
    buf_release(&text);
    return r;
}

/* ---- memory ---- */

static struct iovec place_of(uint64_t address, size_t len)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process. */
    return (struct iovec){(void *) (uintptr_t) address, len};
}

int target_read(const struct target *t, uint64_t address, void *ret, size_t len)
{
    /* cppcheck-suppress ctuuninitvar ; it is filled here */
    struct iovec own = {ret, len}, other = place_of(address, len);
    ssize_t n = process_vm_readv(t->pid, &own, 1, &other, 1, 0);
    if (n < 0)
        return -errno;
    return (size_t) n == len ? 0 : -EFAULT;
}

int target_write(const struct target *t, uint64_t address, const void *data, size_t len)
{
    struct iovec own = {(void *) data, len}, other = place_of(address, len);
    ssize_t n = process_vm_writev(t->pid, &own, 1, &other, 1, 0);
    if (n < 0)
        return -errno;
    return (size_t) n == len ? 0 : -EFAULT;
}

static int read_memory(void *context, uint64_t address, void *ret, size_t len)
{
    return target_read(context, address, ret, len);
}

/* ---- reasons ---- */

static int gone(pid_t pid, struct buf *why)
{
    buf_addf(why, "There is no process %d, or it has just ended.", (int) pid);
    return -ESRCH;
}

static int unreadable(pid_t pid, int r, struct buf *why)
{
    if (!error_lacks_files(-r))
        return gone(pid, why);
    buf_addf(why, "Process %d cannot be read: %s.", (int) pid, error_words(-r));
    return r;
}

/*
 * How many seccomp filters the environment applies to every process: those of the container's first
 * process, or our own in the same container. Any filters beyond these are the target's own. -1:
 * unknown.
 */
static int filters_around(const struct status *s)
{
    struct status up = *s, self;
    int around = -1;
    if (read_status(getpid(), &self) == 0 && self.depth == s->depth)
        around = self.filters;
    for (unsigned i = 0; i < 64 && up.parent > 0; i++) {
        if (read_status(up.parent, &up) < 0 || up.depth < s->depth)
            break;
        if (up.own_pid == 1 && up.filters > around)
            around = up.filters;
    }
    return around;
}

static int check_seccomp(const struct status *s, pid_t pid, struct buf *why)
{
    if (s->seccomp == 0)
        return 0;
    if (s->seccomp == 2 && s->filters >= 0 && s->filters <= filters_around(s))
        return 0;
    buf_addf(
        why,
        "could not attach to process %d (%s): it forbids itself system calls (seccomp) and might "
        "be killed for those that attaching needs. Start it with `tidemark run` instead.",
        (int) pid, s->name);
    return -ENOTSUP;
}

static int check_state(const struct status *s, pid_t pid, struct buf *why)
{
    if (s->state == 'Z' || s->state == 'X')
        return gone(pid, why);
    if (s->is_kernel_thread || (s->parent == 2 && pid != 1)) {
        buf_addf(why, "could not attach to process %d (%s): it is a kernel thread.", (int) pid,
                 s->name);
        return -ENOTSUP;
    }
    if (s->tracer) {
        buf_addf(why,
                 "could not attach to process %d (%s): it is already traced by process %d (a "
                 "debugger, strace or another profiler). Try again when that has ended.",
                 (int) pid, s->name, (int) s->tracer);
        return -EBUSY;
    }
    if (s->state == 'T' || s->state == 't') {
        buf_addf(why,
                 "could not attach to process %d (%s): it is stopped. Resume it (kill -CONT %d), "
                 "then try again.",
                 (int) pid, s->name, (int) pid);
        return -EBUSY;
    }
    return check_seccomp(s, pid, why);
}

static int check(pid_t pid, struct target *t, struct buf *why)
{
    struct status s;
    int r = pid <= 0 ? -ESRCH : read_status(pid, &s);
    if (r < 0)
        return unreadable(pid, r, why);
    if (pid == getpid()) {
        buf_adds(why, "A process cannot attach to itself.");
        return -EINVAL;
    }
    snprintf(t->name, sizeof t->name, "%s", s.name);
    t->pid = pid;
    t->own_pid = s.own_pid;
    t->caught = s.caught;
    r = check_state(&s, pid, why);
    if (r == 0)
        r = permission_check(pid, &s, why);
    if (r < 0)
        return r;
    r = read_identity(pid, &t->start_time, &t->program);
    if (r == 0)
        r = read_of(pid, "maps", &t->maps);
    if (r < 0 || t->maps.len == 0 || t->start_time == 0)
        return unreadable(pid, r, why);
    return 0;
}

int target_open(pid_t pid, struct target *t, struct buf *why)
{
    *t = (struct target){.maps = BUF_INIT};
    t->memory = (struct elf_memory){read_memory, t};
    return check(pid, t, why);
}

void target_release(struct target *t)
{
    buf_release(&t->maps);
}

bool target_is_there(const struct target *t)
{
    unsigned long long start_time;
    uint64_t program;
    if (error_lacks_files(-read_identity(t->pid, &start_time, &program)))
        return true; /* nothing shows that it has ended */
    char state = target_thread_state(t, t->pid);
    return start_time == t->start_time && program == t->program && state != 0 && state != 'Z' &&
           state != 'X';
}

/* ---- threads ---- */

int target_threads(const struct target *t, pid_t **ret_threads, size_t *ret_count)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int) t->pid);
    DIR *directory = opendir(path);
    if (!directory)
        return -errno;
    size_t count = 1, capacity = 16;
    pid_t *threads = malloc(capacity * sizeof *threads);
    if (threads)
        threads[0] = t->pid;
    for (struct dirent *d; threads && (d = readdir(directory));) {
        pid_t thread = atoi(d->d_name);
        if (thread <= 0 || thread == t->pid)
            continue;
        if (count == capacity) {
            pid_t *more = reallocarray(threads, capacity *= 2, sizeof *threads);
            if (!more)
                free(threads);
            threads = more;
        }
        if (threads)
            threads[count++] = thread;
    }
    closedir(directory);
    *ret_threads = threads;
    *ret_count = count;
    return threads ? 0 : -ENOMEM;
}

char target_thread_state(const struct target *t, pid_t thread)
{
    char path[64];
    struct buf text = BUF_INIT;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int) t->pid, (int) thread);
    char state = 0;
    if (read_file(path, &text) == 0) {
        const char *end = strrchr(buf_text(&text), ')');
        if (end && end[1] == ' ')
            state = end[2];
    }
    buf_release(&text);
    return state;
}
