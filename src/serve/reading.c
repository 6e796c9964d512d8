/* serve/reading.c: a forked process that reads run files for the server. */
#include "serve/reading.h"

#include "serve/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPU_SECONDS 60u
#define MEMORY_BYTES ((rlim_t) 4 << 30)
#define NICER 5
#define RESULT_FD PROCESS_FIRST_FD

struct reading {
    pid_t pid;
    int fd;
    struct buf bytes;
};

/* ---- the reader ---- */

void reading_write(const void *bytes, size_t len)
{
    for (const char *at = bytes; len > 0;) {
        ssize_t n = write(RESULT_FD, at, len);
        if (n < 0 && errno != EINTR)
            _exit(1);
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t) n : 0;
    }
}

/* Bytes of address space; a sanitizer has reserved terabytes. */
static rlim_t mapped_bytes(void)
{
    char text[128] = {0};
    unsigned long pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) <= 0 || sscanf(text, "%lu", &pages) != 1)
        pages = 0;
    close(fd);
    return (rlim_t) pages * (rlim_t) sysconf(_SC_PAGESIZE);
}

/* The user's own limit stays if it is lower. */
static void limit(int what, rlim_t most)
{
    struct rlimit r;
    if (getrlimit((__rlimit_resource_t) what, &r) < 0)
        return;
    r.rlim_cur = r.rlim_cur > most ? most : r.rlim_cur;
    r.rlim_max = r.rlim_cur;
    setrlimit((__rlimit_resource_t) what, &r);
}

static void bound_oneself(void)
{
    limit(RLIMIT_CPU, CPU_SECONDS);
    limit(RLIMIT_AS, mapped_bytes() + MEMORY_BYTES);
    limit(RLIMIT_CORE, 0);
}

static _Noreturn void be_reader(reading_work work, void *context, int result, pid_t server)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    process_follow(server, SIGKILL);
    process_keep_only(&result, 1);
    process_stand_back(NICER);
    bound_oneself();
    _exit(work(context) == 0 ? 0 : 1);
}

/* ---- the server ---- */

int reading_start(reading_work work, void *context, struct reading **ret)
{
    int ends[2];
    pid_t server = getpid();
    struct reading *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        free(r);
        return -errno;
    }
    pid_t pid = fork();
    if (pid == 0)
        be_reader(work, context, ends[1], server);
    int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        free(r);
        return -error;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *r = (struct reading){pid, ends[0], BUF_INIT};
    *ret = r;
    return 0;
}

void reading_stop(struct reading *r)
{
    kill(r->pid, SIGKILL);
}

struct reading *reading_free(struct reading *r)
{
    if (!r)
        return NULL;
    if (r->pid > 0) {
        reading_stop(r);
        waitpid(r->pid, NULL, WNOHANG); /* one that waits for a dead disk does not keep us */
    }
    close(r->fd);
    buf_release(&r->bytes);
    free(r);
    return NULL;
}

int reading_fd(const struct reading *r)
{
    return r->fd;
}

static double seconds_of(struct timeval t)
{
    return (double) t.tv_sec + 1e-6 * (double) t.tv_usec;
}

/* The pipe has ended; so has the process, or it soon will. */
static void conclude(struct reading *r, struct reading_result *ret)
{
    int status = 1;
    struct rusage usage = {0};
    while (wait4(r->pid, &status, 0, &usage) < 0 && errno == EINTR)
        continue;
    r->pid = 0;
    *ret = (struct reading_result){
        .bytes = r->bytes,
        .is_complete = status == 0,
        .cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
    };
    r->bytes = BUF_INIT;
}

int reading_collect(struct reading *r, struct reading_result *ret)
{
    char bytes[65536];
    for (;;) {
        ssize_t n = read(r->fd, bytes, sizeof(bytes));
        if (n < 0 && errno == EAGAIN)
            return -EAGAIN;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        buf_add(&r->bytes, bytes, (size_t) n);
        if (r->bytes.len > READER_MOST)
            reading_stop(r);
    }
    conclude(r, ret);
    return 0;
}
