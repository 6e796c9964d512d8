/* launch/probe_copy.c: a copy of the probe that every user can load. */
#include "launch/probe_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Differs from the folders of rings: they are swept by another rule. */
#define FOLDER_NAME "tidemark_probe-"
#define COPY_NAME "libtidemark_probe.so"

/* A folder whose lock is free was left behind, unless it is younger than this. */
#define ABANDONED_SECONDS 60

static const char *const places[] = {"/run", "/tmp", "/var/tmp"};

#define PLACES (sizeof(places) / sizeof(places[0]))

/* ---- who can read it ---- */

bool probe_is_readable_by_all(const char *path)
{
    char folder[PATH_MAX];
    struct stat st;
    int len = snprintf(folder, sizeof(folder), "%s", path);
    if (len >= (int) sizeof(folder) || stat(path, &st) < 0 || !(st.st_mode & S_IROTH))
        return false;
    for (char *slash = strrchr(folder, '/'); slash; slash = strrchr(folder, '/')) {
        *slash = '\0';
        if (stat(folder[0] ? folder : "/", &st) < 0 || !(st.st_mode & S_IXOTH))
            return false;
    }
    return true;
}

/* Whether nobody else can replace our folder there, and files there can be loaded. */
static bool is_safe_place(const char *place)
{
    struct stat st;
    struct statvfs fs;
    if (stat(place, &st) < 0 || statvfs(place, &fs) < 0 || !probe_is_readable_by_all(place))
        return false;
    bool others_write = st.st_mode & (S_IWGRP | S_IWOTH);
    return st.st_uid == 0 && (!others_write || (st.st_mode & S_ISVTX)) &&
           !(fs.f_flag & (ST_NOEXEC | ST_RDONLY));
}

/* ---- removing ---- */

/* Takes over the folder's descriptor. */
static void remove_folder(int folder, const char *path)
{
    unlinkat(folder, COPY_NAME, 0);
    close(folder);
    rmdir(path);
}

/* Opens a folder of our own user; -1: it is not. */
static int open_own_folder(const char *path, struct stat *ret)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, ret) == 0 && ret->st_uid == geteuid())
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Orphans of the job are children of the relay, or of the watcher if the relay is gone. */
static bool has_children(void)
{
    pid_t pid;
    do {
        pid = waitpid(-1, NULL, WNOHANG);
    } while (pid > 0);
    return pid == 0;
}

void probe_copy_remove(const char *path)
{
    char folder[PATH_MAX];
    struct stat st;
    const char *slash = strrchr(path, '/');
    if (!slash || slash - path >= PATH_MAX || has_children())
        return;
    snprintf(folder, sizeof(folder), "%.*s", (int) (slash - path), path);
    int fd = open_own_folder(folder, &st);
    if (fd >= 0)
        remove_folder(fd, folder);
}

/* ---- what other runs have left ---- */

static bool mentions(const char *pid, const char *file, const char *text)
{
    char path[PATH_MAX], piece[8192];
    struct buf all = BUF_INIT;
    snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    while (fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0)
        buf_add(&all, piece, (size_t) n);
    if (fd >= 0)
        close(fd);
    bool found = memmem(buf_text(&all), all.len, text, strlen(text)) != NULL;
    buf_release(&all);
    return found;
}

/* Whether a process has it loaded, or will make its children load it. */
static bool is_used(const char *folder)
{
    bool used = false;
    struct dirent *entry;
    DIR *all = opendir("/proc");
    while (all && !used && (entry = readdir(all)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            used = mentions(entry->d_name, "environ", folder) ||
                   mentions(entry->d_name, "maps", folder);
    if (all)
        closedir(all);
    return used || !all;
}

static void sweep_one(const char *path)
{
    struct stat st;
    int fd = open_own_folder(path, &st);
    if (fd < 0)
        return;
    if (time(NULL) - st.st_mtime < ABANDONED_SECONDS || flock(fd, LOCK_EX | LOCK_NB) < 0 ||
        is_used(path))
        close(fd);
    else
        remove_folder(fd, path);
}

static void sweep(const char *place)
{
    char path[PATH_MAX];
    DIR *folder = opendir(place);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, FOLDER_NAME, strlen(FOLDER_NAME)) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", place, entry->d_name);
        sweep_one(path);
    }
    if (folder)
        closedir(folder);
}

/* ---- making one ---- */

static int copy_bytes(int from, int to)
{
    char piece[65536];
    ssize_t n;
    while ((n = read(from, piece, sizeof(piece))) > 0)
        for (ssize_t done = 0; done < n;) {
            ssize_t written = write(to, piece + done, (size_t) (n - done));
            if (written < 0)
                return -errno;
            done += written;
        }
    return n < 0 ? -errno : 0;
}

/* Fills a folder that stays closed to others until the copy is complete. */
static int fill_folder(int folder, int probe)
{
    int fd = openat(folder, COPY_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
    if (fd < 0)
        return -errno;
    int r = copy_bytes(probe, fd);
    if (r == 0 && (fchmod(fd, 0444) < 0 || fchmod(folder, 0755) < 0))
        r = -errno;
    close(fd);
    return r;
}

static int make_at(const char *place, int probe, struct buf *ret_path, int *ret_lock)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "%s/" FOLDER_NAME "XXXXXX", place);
    if (!mkdtemp(path))
        return -errno;
    int folder = open_own_folder(path, &st);
    if (folder < 0)
        return -EIO;
    int r = flock(folder, LOCK_SH | LOCK_NB) < 0 ? -errno : 0;
    if (r == 0)
        r = lseek(probe, 0, SEEK_SET) < 0 ? -errno : fill_folder(folder, probe);
    if (r < 0) {
        remove_folder(folder, path);
        return r;
    }
    buf_addf(ret_path, "%s/" COPY_NAME, path);
    *ret_lock = folder;
    return 0;
}

/* ---- the run around this one ---- */

static bool has_same_contents(int a, int b)
{
    struct stat x, y;
    if (fstat(a, &x) < 0 || fstat(b, &y) < 0 || x.st_size != y.st_size || x.st_size == 0)
        return false;
    size_t size = (size_t) x.st_size;
    void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, a, 0);
    void *q = mmap(NULL, size, PROT_READ, MAP_PRIVATE, b, 0);
    bool same = p != MAP_FAILED && q != MAP_FAILED && memcmp(p, q, size) == 0;
    if (p != MAP_FAILED)
        munmap(p, size);
    if (q != MAP_FAILED)
        munmap(q, size);
    return same;
}

/* Finds a preloaded copy: loaded from two files, the probe would be there twice. */
static bool find_preloaded(int probe, struct buf *ret_path)
{
    const char *s = getenv("LD_PRELOAD");
    char path[PATH_MAX];
    for (size_t len; s && *s; s += len + (s[len] != '\0')) {
        len = strcspn(s, " :");
        if (len == 0 || len >= sizeof(path) ||
            !memmem(s, len, "/" FOLDER_NAME, sizeof("/" FOLDER_NAME) - 1))
            continue;
        snprintf(path, sizeof(path), "%.*s", (int) len, s);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        bool same = fd >= 0 && has_same_contents(fd, probe);
        if (fd >= 0)
            close(fd);
        if (same) {
            buf_adds(ret_path, path);
            return true;
        }
    }
    return false;
}

int probe_copy_make(const char *probe, struct buf *ret_path, int *ret_lock)
{
    int fd = open(probe, O_RDONLY | O_CLOEXEC), r = -ENOENT;
    if (fd < 0)
        return -errno;
    bool is_there = find_preloaded(fd, ret_path);
    for (unsigned i = 0; i < PLACES && !is_there && r < 0; i++)
        if (is_safe_place(places[i])) {
            sweep(places[i]);
            r = make_at(places[i], fd, ret_path, ret_lock);
        }
    close(fd);
    return is_there ? 0 : r < 0 ? r : 1;
}
