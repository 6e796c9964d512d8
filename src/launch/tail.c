/* launch/tail.c: reads what is appended to a regular file. */
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* If more than this is unread, the part in between is skipped. */
#define BEHIND_MOST ((off_t) 1 << 20)

struct tail {
    int fd;
    int changes; /* inotify; -1: the file system has no events */
    off_t at;
};

static int watch_changes(int file)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd >= 0 && inotify_add_watch(fd, path, IN_MODIFY) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int tail_open(int fd, off_t from, struct tail **ret)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    /* Reading leaves no access time if we may request that: the file is ours, or we are root. */
    (void) fcntl(fd, F_SETFL, O_NONBLOCK | O_NOATIME);
    struct tail *t = malloc(sizeof(*t));
    if (!t)
        base_out_of_memory();
    *t = (struct tail){fd, watch_changes(fd), from == TAIL_END ? st.st_size : from};
    *ret = t;
    return 0;
}

bool tail_is_same(const struct tail *a, const struct tail *b)
{
    struct stat x, y;
    return fstat(a->fd, &x) == 0 && fstat(b->fd, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

struct tail *tail_free(struct tail *t)
{
    if (!t)
        return NULL;
    close(t->fd);
    if (t->changes >= 0)
        close(t->changes);
    free(t);
    return NULL;
}

int tail_changes(const struct tail *t)
{
    return t->changes;
}

static void forget_changes(const struct tail *t)
{
    char events[4096];
    if (t->changes >= 0 && read(t->changes, events, sizeof(events)) < 0)
        return; /* there were none */
}

ssize_t tail_read(struct tail *t, char *bytes, size_t size)
{
    struct stat st;
    forget_changes(t);
    if (fstat(t->fd, &st) < 0)
        return 0;
    if (st.st_size < t->at)
        t->at = st.st_size; /* truncated: continues at its new end */
    else if (st.st_size - t->at > BEHIND_MOST)
        t->at = st.st_size - BEHIND_MOST;
    ssize_t n = pread(t->fd, bytes, size, t->at);
    if (n < 0)
        return 0;
    t->at += n;
    return n;
}

void tail_skip(struct tail *t, const char *text, size_t len)
{
    size_t size = 2 * len + 4096;
    char *bytes = malloc(size);
    if (!bytes)
        base_out_of_memory();
    ssize_t n = pread(t->fd, bytes, size, t->at);
    const char *found = n > 0 ? memmem(bytes, (size_t) n, text, len) : NULL;
    if (found)
        t->at += found - bytes + (ssize_t) len;
    free(bytes);
}
