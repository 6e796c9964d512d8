/* deputy/folder.c: a folder where a target sees it, for the rings of its processes. */
#include "deputy/work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

static bool is_in_memory(int fd)
{
    struct statfs s;
    return fstatfs(fd, &s) == 0 && s.f_type == TMPFS_MAGIC;
}

/* ---- making ---- */

struct make {
    const char *fifo;
};

static int make_in(const struct deputy *d, const char *place, const struct make *m,
                   struct answer *ret)
{
    char name[DEPUTY_PATH];
    int folder = work_open_in_root(d, place, O_RDONLY | O_DIRECTORY);
    if (folder < 0)
        return folder;
    int directory =
        d->is_foreign && !is_in_memory(folder) ? -EACCES : work_make_folder(folder, name);
    if (directory < 0)
        return directory;
    int r = mkfifoat(directory, m->fifo, 0600) < 0 ? -errno : 0;
    int reads = r < 0 ? r : work_open_below(directory, m->fifo, O_RDONLY | O_NONBLOCK);
    int writes = reads < 0 ? reads : work_open_below(directory, m->fifo, O_WRONLY | O_NONBLOCK);
    if (writes < 0) {
        work_remove_folder(folder, directory, name);
        return writes;
    }
    const int fds[WORK_FDS] = {folder, directory, reads, writes};
    memcpy(ret->fds, fds, sizeof fds);
    ret->fd_count = WORK_FDS;
    if (strlen(place) + 1 + strlen(name) >= sizeof ret->text)
        return -ENAMETOOLONG;
    stpcpy(stpcpy(stpcpy(ret->text, place), "/"), name);
    return 0;
}

static int make(const struct deputy *d, const void *context, struct answer *ret)
{
    int r = make_in(d, "/dev/shm", context, ret);
    return r < 0 && !d->is_foreign ? make_in(d, "/tmp", context, ret) : r;
}

/* Checks everything, because nothing from the target is trusted. */
static bool is_as_it_should(const struct deputy *d, const struct deputy_folder *f)
{
    struct stat reads, writes;
    return fstat(f->fifo, &reads) == 0 && fstat(f->fifo_held, &writes) == 0 &&
           S_ISFIFO(reads.st_mode) && reads.st_ino == writes.st_ino &&
           reads.st_dev == writes.st_dev && S_ISDIR(f->st.st_mode) && f->st.st_uid == d->uid &&
           (f->st.st_mode & 077) == 0 && (!d->is_foreign || is_in_memory(f->directory));
}

int deputy_make_folder(const struct deputy *d, const char *fifo, struct deputy_folder *ret)
{
    struct answer a;
    const struct make m = {fifo};
    int r = work_run(d, make, &m, NULL, 0, WORK_FDS, &a);
    if (r < 0)
        return r;
    struct deputy_folder f = {
        .place = a.fds[0], .directory = a.fds[1], .fifo = a.fds[2], .fifo_held = a.fds[3]};
    memcpy(f.path, a.text, sizeof f.path);
    if (fstat(f.directory, &f.st) < 0 || !is_as_it_should(d, &f)) {
        work_close(&a);
        return -EACCES;
    }
    *ret = f;
    return 0;
}

/* ---- removing ---- */

struct removal {
    int place, directory;
    const char *name;
};

static int remove_it(const struct deputy *d, const void *context, struct answer *ret)
{
    const struct removal *x = context;
    (void) d;
    (void) ret;
    work_remove_folder(x->place, x->directory, x->name);
    return 0;
}

void work_remove(const struct deputy *d, int *place, int *directory, const char *path)
{
    struct answer a;
    const char *slash = strrchr(path, '/');
    const struct removal x = {*place, *directory, slash ? slash + 1 : path};
    const int keep[] = {*place, *directory};
    if (*place < 0)
        return;
    (void) work_run(d, remove_it, &x, keep, 2, 0, &a);
    close(*place);
    close(*directory);
    *place = *directory = -1;
}

void deputy_remove_folder(const struct deputy *d, struct deputy_folder *f)
{
    if (f->place < 0)
        return;
    work_remove(d, &f->place, &f->directory, f->path);
    if (f->fifo >= 0)
        close(f->fifo);
    if (f->fifo_held >= 0)
        close(f->fifo_held);
    *f = DEPUTY_FOLDER_NONE;
}

/* ---- somebody else's folder ---- */

struct reader_query {
    const char *folder, *fifo;
};

static int find_reader(const struct deputy *d, const void *context, struct answer *ret)
{
    const struct reader_query *q = context;
    struct stat folder, fifo;
    (void) ret;
    int directory = work_open_in_root(d, q->folder, O_RDONLY | O_DIRECTORY);
    if (directory < 0 || fstat(directory, &folder) < 0 || folder.st_uid != d->uid)
        return -ENOENT;
    int fd = work_open_below(directory, q->fifo, O_WRONLY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    return fstat(fd, &fifo) == 0 && S_ISFIFO(fifo.st_mode) && fifo.st_uid == d->uid ? 0 : -ENOENT;
}

bool deputy_has_reader(const struct deputy *d, const char *folder, const char *fifo)
{
    struct answer a;
    const struct reader_query q = {folder, fifo};
    return folder[0] == '/' && work_run(d, find_reader, &q, NULL, 0, 0, &a) == 0;
}
