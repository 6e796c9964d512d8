/* cli/doctor.c: the list of checks and their order. */
#include "cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The kernel's fixed number for the machine's own PID namespace. */
#define MACHINE_PID_NAMESPACE "pid:[4026531836]"

void doctor_init(struct doctor *d, pid_t pid)
{
    *d = (struct doctor){.pid = pid};
}

void doctor_release(struct doctor *d)
{
    for (size_t i = 0; i < d->count; i++) {
        buf_release(&d->checks[i].detail);
        buf_release(&d->checks[i].advice);
    }
    free(d->checks);
    *d = (struct doctor){0};
}

void doctor_run(struct doctor *d)
{
    doctor_begin_group(d, "Watching processes");
    doctor_check_processes(d);
    doctor_begin_group(d, "Memory and its limits");
    doctor_check_memory(d);
    doctor_begin_group(d, "GPU");
    doctor_check_gpu(d);
    doctor_begin_group(d, "Running and recording");
    doctor_check_record(d);
    doctor_check_symbols(d);
    doctor_begin_group(d, "Looking inside a running job (not needed by run and watch)");
    doctor_check_inside(d);
    if (d->pid > 0) {
        doctor_begin_group(d, "Process %d", (int) d->pid);
        doctor_check_target(d);
        doctor_check_attach(d);
    }
}

bool doctor_works(const struct doctor *d)
{
    for (size_t i = 0; i < d->count; i++) {
        if (d->checks[i].is_vital && d->checks[i].state == DOCTOR_NO)
            return false;
    }
    return true;
}

void doctor_begin_group(struct doctor *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(d->group, sizeof(d->group), format, args);
    va_end(args);
}

struct doctor_check *doctor_add(struct doctor *d, const char *name, const char *title)
{
    struct doctor_check *checks = realloc(d->checks, (d->count + 1) * sizeof(*checks));
    if (!checks)
        base_out_of_memory();
    d->checks = checks;
    struct doctor_check *c = &checks[d->count++];
    *c = (struct doctor_check){.state = DOCTOR_OK, .detail = BUF_INIT, .advice = BUF_INIT};
    snprintf(c->group, sizeof(c->group), "%s", d->group);
    snprintf(c->name, sizeof(c->name), "%s", name);
    snprintf(c->title, sizeof(c->title), "%s", title);
    return c;
}

void doctor_set(struct doctor_check *c, enum doctor_state state, const char *format, ...)
{
    va_list args;
    c->state = state;
    buf_clear(&c->detail);
    va_start(args, format);
    buf_vaddf(&c->detail, format, args);
    va_end(args);
}

int doctor_read_file(const char *path, struct buf *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    char part[4096];
    ssize_t n;
    buf_clear(ret);
    while ((n = read(fd, part, sizeof(part))) > 0)
        buf_add(ret, part, (size_t) n);
    int r = n < 0 ? -errno : 0;
    close(fd);
    return r;
}

double doctor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

bool doctor_in_container(void)
{
    char name[64] = "";
    ssize_t n = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);
    return n > 0 && strcmp(name, MACHINE_PID_NAMESPACE) != 0;
}
