/* attach/place.c: the library, where the target can open it. */
#include "attach/place.h"

#include "attach/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the file itself ---- */

static bool is_same_file(const struct target *t, const char *path)
{
    char there[PATH_MAX + 64];
    struct stat a, b;
    snprintf(there, sizeof there, "/proc/%d/root%s", (int) t->pid, path);
    return stat(path, &a) == 0 && stat(there, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* ---- a copy ---- */

/* Copies of the same bytes have the same name, so that one that is loaded is known again. */
static int name_of(int library, char ret[128])
{
    uint64_t hash = 0xcbf29ce484222325u;
    uint8_t piece[65536];
    ssize_t n;
    while ((n = pread(library, piece, sizeof piece, 0)) < 0 && errno == EINTR)
        ;
    for (off_t at = 0; n > 0; n = pread(library, piece, sizeof piece, at)) {
        for (ssize_t i = 0; i < n; i++)
            hash = (hash ^ piece[i]) * 0x100000001b3u;
        at += n;
    }
    snprintf(ret, 128, "libtidemark_probe-%016llx.so", (unsigned long long) hash);
    return n < 0 ? -errno : 0;
}

static bool find_loaded(const struct target *t, const char *name, struct place *p)
{
    struct maps_entry m;
    for (size_t position = 0; maps_next(t->maps.text, t->maps.len, &position, &m);) {
        if (!maps_is_named(&m, name) || m.path_len >= sizeof p->path)
            continue;
        memcpy(p->path, m.path, m.path_len);
        p->path[m.path_len] = '\0';
        return true;
    }
    return false;
}

/* A folder of the target, whatever links lie on the way. */
static int open_folder(int root, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    long fd = syscall(SYS_openat2, root, path, &how, sizeof how);
    return fd < 0 ? -errno : (int) fd;
}

static bool lets_load(int folder)
{
    struct statvfs s;
    return fstatvfs(folder, &s) == 0 && !(s.f_flag & (ST_NOEXEC | ST_RDONLY));
}

static int copy(int from, int folder, const char *name)
{
    char piece[65536];
    ssize_t n = 0;
    int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0500);
    if (to < 0)
        return -errno;
    for (off_t at = 0; (n = pread(from, piece, sizeof piece, at)) > 0; at += n)
        if (write(to, piece, (size_t) n) != n) {
            n = -1;
            errno = ENOSPC;
            break;
        }
    int r = n < 0 || fchmod(to, 0555) < 0 ? -errno : 0;
    close(to);
    return r;
}

/* A new folder in `parent` with the copy in it. */
static int fill(int parent, const char *path, int library, struct place *p)
{
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return -EIO;
    snprintf(p->folder, sizeof p->folder, "tidemark-%016llx", (unsigned long long) random);
    if (mkdirat(parent, p->folder, 0700) < 0)
        return -errno;
    p->is_copy = true;
    p->parent = parent;
    p->directory = openat(parent, p->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (p->directory < 0 || fchmod(p->directory, 0755) < 0)
        return -errno;
    snprintf(p->path, sizeof p->path, "%s/%s/%s", path, p->folder, p->file);
    return copy(library, p->directory, p->file);
}

static int make_copy(const struct target *t, int library, struct place *p)
{
    static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm"};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/root", (int) t->pid);
    int r = -ENOENT, root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; root >= 0 && i < sizeof folders / sizeof folders[0]; i++) {
        int parent = open_folder(root, folders[i]);
        if (parent < 0)
            continue;
        r = lets_load(parent) ? fill(parent, folders[i], library, p) : -EACCES;
        if (r == 0)
            break;
        if (p->parent == parent)
            place_release(p);
        else
            close(parent);
    }
    if (root >= 0)
        close(root);
    return r;
}

int place_library(const struct target *t, const char *library, bool must_copy, struct place *ret,
                  struct buf *why)
{
    *ret = PLACE_INIT;
    char *path = realpath(library, NULL);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    int r = fd < 0 ? -errno : name_of(fd, ret->file);
    if (r < 0) {
        buf_addf(why, "%s cannot be read: %s.", library, strerror(-r));
    } else if (!must_copy && path && strlen(path) < sizeof ret->path && is_same_file(t, path)) {
        snprintf(ret->path, sizeof ret->path, "%s", path);
    } else if (!find_loaded(t, ret->file, ret) && (r = make_copy(t, fd, ret)) < 0) {
        buf_addf(
            why,
            "Process %d (%s) sees other files than tidemark does, and no place was found to "
            "put the library for it: neither its /tmp nor /var/tmp nor /dev/shm can be written "
            "by you and lets programs be loaded.",
            (int) t->pid, t->name);
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return r;
}

void place_release(struct place *p)
{
    if (p->directory >= 0) {
        unlinkat(p->directory, p->file, 0);
        close(p->directory);
    }
    if (p->parent >= 0) {
        unlinkat(p->parent, p->folder, AT_REMOVEDIR);
        close(p->parent);
    }
    p->directory = p->parent = -1;
    p->is_copy = false;
}
