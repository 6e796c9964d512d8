/* wire/place.c: the directory of the rings and the files in it, checked once they are open. */
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
 * O_NOATIME is for owners alone. The kernel's word counts where st_uid says too little: in a user
 * namespace all users without a number there, ourselves among them, have the same one.
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
    /* For a moment a new one has two names. */
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

/* An old kernel does not know openat2(), an old container forbids it with an error that others may
 * mean, too. A kernel that has it says EINVAL to a size of 0. */
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
