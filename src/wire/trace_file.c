/* wire/trace_file.c: a process opens the orders of its watcher, and makes the file of its samples.
 */
#include "wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- orders ---- */

/* Only our own user may write them: whoever can truncate a mapped file can kill this process. */
static int check_orders(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) != 0)
        return -EPERM;
    return (size_t) st.st_size >= sizeof(struct wire_trace_orders) ? 0 : -EPROTO;
}

/* The file of a process that another user owns belongs to that user, as the directory does. */
static int give_to_owner(int directory, int fd)
{
    struct stat st;
    if (geteuid() != 0)
        return 0;
    return fstat(directory, &st) < 0 || fchown(fd, st.st_uid, st.st_gid) < 0 ? -errno : 0;
}

static int fill_orders(int fd)
{
    struct wire_trace_orders o = {.version = WIRE_TRACE_VERSION};
    atomic_store(&o.magic, WIRE_TRACE_ORDERS_MAGIC);
    return pwrite(fd, &o, sizeof(o), 0) == (ssize_t) sizeof(o) ? 0 : -EIO;
}

int wire_trace_orders_create(int directory)
{
    unlinkat(directory, WIRE_TRACE_ORDERS_FILE, 0);
    int fd = openat(directory, WIRE_TRACE_ORDERS_FILE,
                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int e = give_to_owner(directory, fd);
    if (e == 0)
        e = fill_orders(fd);
    if (e < 0)
        close(fd);
    return e < 0 ? e : fd;
}

int wire_trace_orders_reopen(int directory)
{
    struct stat st;
    if (fstat(directory, &st) < 0 || st.st_uid != geteuid())
        return -EPERM;
    int fd =
        openat(directory, WIRE_TRACE_ORDERS_FILE, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int e = fd < 0 ? -errno : check_orders(fd);
    if (fd >= 0 && e < 0)
        close(fd);
    return e < 0 ? e : fd;
}

static int map_orders(int fd, const struct wire_trace_orders **ret)
{
    int e = check_orders(fd);
    if (e < 0)
        return e;
    struct wire_trace_orders *o = mmap(NULL, sizeof(*o), PROT_READ, MAP_SHARED, fd, 0);
    if (o == MAP_FAILED)
        return -errno;
    if (atomic_load_explicit(&o->magic, memory_order_acquire) == WIRE_TRACE_ORDERS_MAGIC &&
        o->version == WIRE_TRACE_VERSION) {
        *ret = o;
        return 0;
    }
    munmap(o, sizeof(*o));
    return -EPROTO;
}

int wire_trace_orders_open(const char *directory, const struct wire_trace_orders **ret)
{
    int place = wire_open_place(directory);
    if (place < 0)
        return place;
    int fd = openat(place, WIRE_TRACE_ORDERS_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int e = fd < 0 ? -errno : map_orders(fd, ret);
    if (fd >= 0)
        close(fd);
    close(place);
    return e;
}

bool wire_trace_is_abandoned(const char *directory)
{
    int fd = wire_open_wake(directory, O_WRONLY);
    if (fd >= 0)
        close(fd);
    return fd == -ENXIO || (fd == -ENOENT && access(directory, F_OK) < 0);
}

/* ---- samples ---- */

/* Rooms for this many files like ours must be left, and this part of all: other processes want
 * theirs, and the program may keep files there as well. */
#define ROOMS_LEFT 4u
#define PART_LEFT 0.5
/* A signal interrupts an allocation of space, which then begins again: so in pieces. */
#define PIECE ((off_t) 256 << 10)

/* A write beyond the limit would send a signal that ends the process. */
static int check_room(int fd)
{
    struct statvfs fs;
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < sizeof(struct wire_trace_layout))
        return -EFBIG;
    if (fstatvfs(fd, &fs) < 0)
        return -errno;
    bool is_bounded = fs.f_blocks > 0;
    double room = (double) fs.f_bavail * (double) fs.f_frsize;
    bool is_full = room < ROOMS_LEFT * (double) sizeof(struct wire_trace_layout) ||
                   (double) fs.f_bavail < PART_LEFT * (double) fs.f_blocks;
    return is_bounded && is_full ? -ENOSPC : 0;
}

/* At once, so that a full file system cannot fail a later write. */
static int allocate(int fd)
{
    const off_t size = sizeof(struct wire_trace_layout);
    int e = check_room(fd);
    for (off_t at = 0; e == 0 && at < size; at += PIECE) {
        off_t piece = size - at < PIECE ? size - at : PIECE;
        do
            e = -posix_fallocate(fd, at, piece);
        while (e == -EINTR);
    }
    return e;
}

static void fill(struct wire_trace_layout *l, uint64_t start)
{
    l->version = WIRE_TRACE_VERSION;
    l->pid = getpid();
    l->start = start;
    l->began = wire_now();
    atomic_store(&l->text_used, 1);
    atomic_store_explicit(&l->magic, WIRE_TRACE_MAGIC, memory_order_release);
}

static int create(int place, const char *draft, uint64_t start, struct wire_trace_layout **ret)
{
    int fd = openat(place, draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int e = allocate(fd);
    struct wire_trace_layout *l = MAP_FAILED;
    if (e == 0) {
        l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
        e = l == MAP_FAILED ? -errno : 0;
    }
    close(fd);
    if (e < 0)
        return e;
    fill(l, start);
    *ret = l;
    return 0;
}

/* Takes the place of a file that an earlier program of this process left. */
static int put(int place, uint64_t start, struct wire_trace_layout **ret)
{
    char draft[WIRE_FILE_LENGTH], name[WIRE_FILE_LENGTH];
    struct wire_trace_layout *l = NULL;
    wire_name_file(draft, start, WIRE_TRACE_SUFFIX ".new");
    wire_name_file(name, start, WIRE_TRACE_SUFFIX);
    unlinkat(place, draft, 0); /* an interrupted call may have left it */
    int e = create(place, draft, start, &l);
    if (e == 0 && renameat(place, draft, place, name) < 0) {
        e = -errno;
        munmap(l, sizeof(*l));
    }
    if (e < 0)
        unlinkat(place, draft, 0);
    else
        *ret = l;
    return e;
}

int wire_trace_create(const char *directory, uint64_t start, struct wire_trace_layout **ret)
{
    int place = wire_open_place(directory);
    if (place < 0)
        return place;
    int e = put(place, start, ret);
    close(place);
    return e;
}
