/* proc/file.c: whole files and lists of processes, as the kernel gives them. */
#include "proc/file.h"
#include "proc/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((size_t) 16 << 20)

static int read_all(int fd, bool in_one_piece, struct buf *ret)
{
    char chunk[4096];
    const ssize_t full = sizeof chunk, least = in_one_piece ? full : 1;
    ssize_t n = full;
    buf_clear(ret);
    while (ret->len < FILE_MAX_BYTES && n >= least) {
        n = pread(fd, chunk, sizeof chunk, (off_t) ret->len);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            buf_add(ret, chunk, (size_t) n);
        else if (n < 0)
            n = full; /* interrupted: once more */
    }
    return 0;
}

static int open_and_read(int dir, const char *path, bool in_one_piece, struct buf *ret)
{
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = read_all(fd, in_one_piece, ret);
    close(fd);
    return r;
}

int file_read(int fd, struct buf *ret)
{
    return read_all(fd, true, ret);
}

int file_read_at(int dir, const char *path, struct buf *ret)
{
    return open_and_read(dir, path, true, ret);
}

int file_read_list_at(int dir, const char *path, struct buf *ret)
{
    return open_and_read(dir, path, false, ret);
}

bool file_is_own_proc(int dir)
{
    char self[32] = "";
    struct statfs s;
    return fstatfs(dir, &s) == 0 && s.f_type == PROC_SUPER_MAGIC &&
           readlinkat(dir, "self", self, sizeof self - 1) > 0 && atol(self) == getpid();
}

static int pids_add(struct pids *p, pid_t pid)
{
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? p->capacity * 2 : 256;
        pid_t *list = realloc(p->list, capacity * sizeof *list);
        if (!list)
            return -ENOMEM;
        p->list = list;
        p->capacity = capacity;
    }
    p->list[p->count++] = pid;
    return 0;
}

static int pid_order(const void *a, const void *b)
{
    pid_t x = *(const pid_t *) a, y = *(const pid_t *) b;
    return (x > y) - (x < y);
}

/* The kernel lists them in order; other file systems, in tests, do not. */
static void pids_sort(struct pids *p)
{
    for (size_t i = 1; i < p->count; i++) {
        if (p->list[i] < p->list[i - 1]) {
            qsort(p->list, p->count, sizeof *p->list, pid_order);
            return;
        }
    }
}

int pids_read(DIR *directory, struct pids *ret)
{
    ret->count = 0;
    rewinddir(directory);
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(directory);
        if (!entry && errno != 0)
            return -errno;
        if (!entry)
            break;
        const char *s = entry->d_name, *end = s + strlen(s);
        uint64_t pid;
        if (!scan_unsigned(&s, end, &pid) || s < end || pid == 0 || pid > INT_MAX)
            continue;
        int r = pids_add(ret, (pid_t) pid);
        if (r < 0)
            return r;
    }
    pids_sort(ret);
    return 0;
}

void pids_release(struct pids *p)
{
    free(p->list);
    *p = PIDS_INIT;
}
