/* probe/census/act.c: runs a full collection or trims the heap, and measures what that freed. */
#include "probe/census/act.h"

#include "probe/base/allocator.h"
#include "probe/base/python.h"
#include "wire/wire.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Anonymous memory of the process, in bytes. */
static double anonymous_bytes(void)
{
    char text[128];
    long size, resident, shared;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return NAN;
    text[n] = '\0';
    if (sscanf(text, "%ld %ld %ld", &size, &resident, &shared) != 3) /* NOLINT(cert-err34-c) */
        return NAN;
    return (double) (resident - shared) * (double) sysconf(_SC_PAGESIZE);
}

static double bytes_in_use(void)
{
    struct allocator_facts a;
    return allocator_read(&a) ? (double) a.in_use : (double) NAN;
}

struct moment {
    uint64_t time;
    double anonymous, in_use;
};

static struct moment moment_now(void)
{
    return (struct moment){wire_now(), anonymous_bytes(), bytes_in_use()};
}

static void add(struct act_account *a, const struct moment *before, double objects)
{
    struct moment after = moment_now();
    double bytes = fmax(before->anonymous - after.anonymous, before->in_use - after.in_use);
    a->times++;
    a->ns += after.time - before->time;
    a->objects += objects;
    a->bytes += bytes > 0 ? bytes : 0;
}

/* Also if the program has disabled the collector. */
static void collect(struct act_account *a)
{
    py_object *gc = python_module("gc");
    struct moment before = moment_now();
    py_object *found = gc ? py.PyObject_CallMethod(gc, "collect", NULL) : NULL;
    if (found)
        add(a, &before, (double) py.PyLong_AsLong(found));
    py.PyErr_Clear();
    python_drop(found);
}

static void trim(struct act_account *a)
{
    int (*give_back)(size_t pad) = NULL;
    void *address = dlsym(RTLD_DEFAULT, "malloc_trim");
    memcpy(&give_back, &address, sizeof(address));
    if (!give_back)
        return;
    struct moment before = moment_now();
    give_back(0);
    add(a, &before, 0);
}

void act(unsigned wanted, struct acts *account)
{
    if (wanted & WIRE_ACT_GC)
        collect(&account->gc);
    if (wanted & WIRE_ACT_TRIM)
        trim(&account->trim);
}
