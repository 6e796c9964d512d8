/* wire/place.c: opens the directory of the rings and its files, and checks them once open. */
#include "wire/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the producer's side ---- */

static bool is_private(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & 077) == 0;
}

/*
 * Only the owner may use O_NOATIME. So the kernel decides where st_uid is ambiguous: in a user
 * namespace all unmapped users, ourselves among them, have the same number.
 */
int wire_open_place(const char *directory)
{
    struct stat st;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && is_private(&st))
        return fd;
    close(fd);
    return -EPERM;
}

int wire_open_own_ring(int place, const char *name)
{
    struct stat st;
    int fd = openat(place, name, O_RDWR | O_NOFOLLOW | O_NOATIME | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int e = fstat(fd, &st) < 0 ? -errno : 0;
    /* A new ring has two names for a moment. */
    if (e == 0 && !(S_ISREG(st.st_mode) && is_private(&st) && st.st_nlink <= 2))
        e = -EPERM;
    if (e == 0 && (size_t) st.st_size != sizeof(struct wire_layout))
        e = -EPROTO;
    if (e == 0)
        return fd;
    close(fd);
    return e;
}

int wire_open_wake(const char *directory, int flags)
{
    struct stat st;
    int place = wire_open_place(directory);
    if (place < 0)
        return place;
    int fd = openat(place, WIRE_WAKE_FILE, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int e = fd < 0 ? -errno : 0;
    close(place);
    if (e == 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return e < 0 ? e : -EPERM;
}

/* ---- the reader's side ---- */

/* An old kernel lacks openat2(); an old container forbids it with an error that may have other
 * causes. A kernel that has it answers EINVAL to a size of 0. */
static bool has_openat2(void)
{
    return syscall(SYS_openat2, -1, NULL, NULL, (size_t) 0) < 0 && errno == EINVAL;
}

static int open_beneath(int directory_fd, const char *name, int flags)
{
    struct open_how how = {
        .flags = (unsigned) (flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/'))
        return -EINVAL;
    int fd = (int) syscall(SYS_openat2, directory_fd, name, &how, sizeof(how));
    if (fd >= 0)
        return fd;
    int error = errno;
    if ((error != ENOSYS && error != EPERM) || has_openat2())
        return -error;
    fd = openat(directory_fd, name, (int) how.flags);
    return fd < 0 ? -errno : fd;
}

int wire_open_beneath(int directory_fd, const char *name, mode_t type, int flags, struct stat *ret)
{
    struct stat directory, st;
    int fd = open_beneath(directory_fd, name, flags);
    if (fd < 0)
        return fd;
    if (fstat(directory_fd, &directory) == 0 && fstat(fd, &st) == 0 &&
        (st.st_mode & S_IFMT) == type && st.st_uid == directory.st_uid) {
        *ret = st;
        return fd;
    }
    close(fd);
    return -EPERM;
}
