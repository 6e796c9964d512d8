/* deputy/files.c: finds, copies and reads files in a target's view of the file system. */
#include "deputy/work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- looking ---- */

static int find(const struct deputy *d, const void *context, struct answer *ret)
{
    struct stat st;
    int fd = work_open_in_root(d, context, O_PATH);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    ret->device = st.st_dev;
    ret->inode = st.st_ino;
    return 0;
}

int deputy_sees(const struct deputy *d, const char *path, const struct stat *st)
{
    struct answer a;
    int r = work_run(d, find, path, NULL, 0, 0, &a);
    if (error_lacks_files(-r))
        return r;
    return r == 0 && a.device == st->st_dev && a.inode == st->st_ino;
}

/* ---- copying ---- */

struct copy_order {
    int from;
    const char *file;
};

static int write_whole(int to, const char *piece, ssize_t len)
{
    while (len > 0) {
        ssize_t n = write(to, piece, (size_t) len);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            piece += n;
            len -= n;
        }
    }
    return 0;
}

static int copy_into(int directory, const struct copy_order *o)
{
    char piece[16384];
    ssize_t n;
    int r = 0;
    int to = openat(directory, o->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0500);
    if (to < 0)
        return -errno;
    for (off_t at = 0; r == 0 && (n = pread(o->from, piece, sizeof piece, at)) != 0; at += n)
        r = n < 0 ? -errno : write_whole(to, piece, n);
    close(to);
    return r;
}

static bool lets_load(int folder)
{
    struct statfs s;
    return fstatfs(folder, &s) == 0 && !(s.f_flags & (ST_NOEXEC | ST_RDONLY));
}

static int copy_below(const struct deputy *d, const char *place, const struct copy_order *o,
                      struct answer *ret)
{
    char name[DEPUTY_PATH];
    int folder = work_open_in_root(d, place, O_RDONLY | O_DIRECTORY);
    if (folder < 0)
        return folder;
    int directory = lets_load(folder) ? work_make_folder(folder, name) : -EACCES;
    int r = directory < 0 ? directory : copy_into(directory, o);
    if (r < 0) {
        if (directory >= 0)
            work_remove_folder(folder, directory, name);
        return r;
    }
    ret->fds[0] = folder;
    ret->fds[1] = directory;
    ret->fd_count = 2;
    stpcpy(stpcpy(stpcpy(ret->text, place), "/"), name);
    return 0;
}

static int copy(const struct deputy *d, const void *context, struct answer *ret)
{
    static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm"};
    int r = -ENOENT;
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++)
        if ((r = copy_below(d, places[i], context, ret)) == 0)
            break;
    return r;
}

int deputy_copy(const struct deputy *d, int from, const char *file, struct deputy_copy *ret)
{
    struct answer a;
    const struct copy_order o = {from, file};
    int r = work_run(d, copy, &o, &from, 1, 2, &a);
    if (r < 0)
        return r;
    *ret = (struct deputy_copy){.place = a.fds[0], .directory = a.fds[1]};
    snprintf(ret->folder, sizeof ret->folder, "%s", a.text);
    snprintf(ret->path, sizeof ret->path, "%s/%s", a.text, file);
    return 0;
}

void deputy_remove_copy(const struct deputy *d, struct deputy_copy *c)
{
    work_remove(d, &c->place, &c->directory, c->folder);
}

/* ---- reading ---- */

struct reading {
    const char *path;
    char *text; /* shared with the parent */
    size_t most;
};

static int read_it(const struct deputy *d, const void *context, struct answer *ret)
{
    const struct reading *x = context;
    const uint64_t flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    struct stat st;
    int fd = x->path[0] == '/' ? work_open_in_root(d, x->path, flags)
                               : work_open(d->cwd, x->path, flags, RESOLVE_NO_MAGICLINKS);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t) st.st_size > x->most)
        return -EINVAL;
    size_t len = 0;
    ssize_t n = 1;
    while (len < x->most && n != 0) {
        n = read(fd, x->text + len, x->most - len);
        if (n < 0 && errno != EINTR)
            return -errno;
        len += n > 0 ? (size_t) n : 0;
    }
    ret->length = len;
    return 0;
}

int deputy_read(const struct deputy *d, const char *path, size_t most, char **ret_text,
                size_t *ret_len)
{
    struct answer a;
    void *shared = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return -ENOMEM;
    const struct reading x = {path, shared, most};
    int r = work_run(d, read_it, &x, NULL, 0, 0, &a);
    if (r == 0 && a.length > most)
        r = -EIO;
    char *text = r == 0 ? malloc(a.length + 1) : NULL;
    if (text) {
        memcpy(text, shared, a.length);
        text[a.length] = '\0';
        *ret_text = text;
        *ret_len = a.length;
    } else if (r == 0) {
        r = -ENOMEM;
    }
    munmap(shared, most);
    return r;
}

/* ---- opening ---- */

/* On a file system that the target serves itself, any read may block forever. */
static bool may_block(int fd)
{
    struct statfs s;
    return fstatfs(fd, &s) < 0 || s.f_type == FUSE_SUPER_MAGIC;
}

/* An O_PATH descriptor does not prove that the process may read or even open the file: it needs no
 * right. Opening a device or a fifo could block or change something, so the type is checked first.
 */
static int open_pinned(const struct deputy *d, int pinned)
{
    char path[32];
    struct stat st;
    if (d->is_foreign && may_block(pinned))
        return -EACCES;
    if (fstat(pinned, &st) < 0 || !S_ISREG(st.st_mode))
        return -EINVAL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", pinned);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int answer_opened(int fd, struct answer *ret)
{
    if (fd < 0)
        return fd;
    ret->fds[0] = fd;
    ret->fd_count = 1;
    return 0;
}

static int open_it(const struct deputy *d, const void *context, struct answer *ret)
{
    const int *pinned = context;
    return answer_opened(open_pinned(d, *pinned), ret);
}

int deputy_open(const struct deputy *d, int fd)
{
    struct answer a;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int) d->pid, fd);
    int pinned = open(path, O_PATH | O_CLOEXEC);
    if (pinned < 0)
        return -errno;
    int r = work_target_has_ended(d) ? -ESRCH : work_run(d, open_it, &pinned, &pinned, 1, 1, &a);
    close(pinned);
    return r < 0 ? r : a.fds[0];
}

struct paths {
    const char *const *list;
    unsigned count;
};

static int open_one(const struct deputy *d, const char *path)
{
    int pinned = path[0] == '/' ? work_open_in_root(d, path, O_PATH)
                                : work_open(d->cwd, path, O_PATH, RESOLVE_BENEATH);
    if (pinned < 0)
        return pinned;
    int fd = open_pinned(d, pinned);
    close(pinned);
    return fd;
}

static int open_first(const struct deputy *d, const void *context, struct answer *ret)
{
    const struct paths *paths = context;
    int fd = -ENOENT;
    for (unsigned i = 0; i < paths->count && fd < 0; i++)
        fd = open_one(d, paths->list[i]);
    return answer_opened(fd, ret);
}

int deputy_open_path(const struct deputy *d, const char *const *paths, unsigned count)
{
    struct answer a;
    struct stat st;
    const struct paths x = {paths, count};
    int r = work_run(d, open_first, &x, NULL, 0, 1, &a);
    if (r < 0)
        return r;
    if (fstat(a.fds[0], &st) == 0 && S_ISREG(st.st_mode))
        return a.fds[0];
    close(a.fds[0]);
    return -EINVAL;
}
