/* serve/place.c: run files below a folder, reached through no link. */
#include "serve/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIVE_SECONDS 15 /* a watcher writes every second, or says that it cannot */

#define LEVELS_MOST 3u
#define ENTRIES_MOST 50000u
#define RUNS_MOST 2000u

/* ---- one file ---- */

static int enter_folder(int at, const char *name, size_t len)
{
    char part[256];
    if (len == 0 || len >= sizeof(part))
        return -ENOENT;
    memcpy(part, name, len);
    part[len] = '\0';
    int fd = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* Opens the folder of `name` below `root`. */
static int open_folder(const char *root, const char *name)
{
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    for (const char *slash; fd >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        int inner = enter_folder(fd, name, (size_t) (slash - name));
        close(fd);
        fd = inner;
    }
    return fd;
}

static time_t later(time_t a, time_t b)
{
    return a > b ? a : b;
}

static void stamp(struct place *p, const struct stat *file, const struct stat *log)
{
    time_t changed = later(file->st_mtim.tv_sec, log->st_mtim.tv_sec);
    p->is_live = time(NULL) - changed < LIVE_SECONDS;
    snprintf(p->stamp, sizeof(p->stamp), "%llx-%llx-%llx-%llx%08lx-%llx-%llx%08lx%s",
             (unsigned long long) file->st_dev, (unsigned long long) file->st_ino,
             (unsigned long long) file->st_size, (unsigned long long) file->st_mtim.tv_sec,
             file->st_mtim.tv_nsec, (unsigned long long) log->st_size,
             (unsigned long long) log->st_mtim.tv_sec, log->st_mtim.tv_nsec,
             p->is_live ? "-live" : "");
}

int place_enter(const char *root, const char *name, struct place *ret)
{
    struct place p = {.file = last_part(name)};
    struct stat file = {0}, log = {0};
    char log_name[264];
    int fd = open_folder(root, name);
    if (fd < 0)
        return fd;
    int r = fchdir(fd) < 0 ? -errno : 0;
    close(fd);
    if (r == 0 && lstat(p.file, &file) < 0)
        r = -errno;
    if (r < 0)
        return r;
    if (!S_ISREG(file.st_mode))
        return S_ISLNK(file.st_mode) ? -ELOOP : -EINVAL;
    if (snprintf(log_name, sizeof(log_name), "%s-wal", p.file) < (int) sizeof(log_name) &&
        lstat(log_name, &log) < 0)
        log = (struct stat){0};
    stamp(&p, &file, &log);
    *ret = p;
    return 0;
}

/* ---- a folder ---- */

struct walk {
    void (*visit)(void *context, const char *name);
    void *context;
    unsigned entries, runs;
    bool is_cut;
    struct buf path; /* below the root, ends with a slash or is empty */
};

static bool is_run_name(const char *name)
{
    size_t len = strlen(name);
    return len > 5 && strcmp(name + len - 5, ".tide") == 0;
}

static void walk(struct walk *w, int fd, unsigned level);

static void walk_into(struct walk *w, int fd, const char *name, unsigned level)
{
    size_t len = w->path.len;
    int inner = enter_folder(fd, name, strlen(name));
    if (inner < 0)
        return;
    buf_addf(&w->path, "%s/", name);
    walk(w, inner, level + 1);
    w->path.len = len;
    w->path.text[len] = '\0';
}

static void visit_file(struct walk *w, const char *name)
{
    struct buf path = BUF_INIT;
    if (w->runs >= RUNS_MOST) {
        w->is_cut = true;
        return;
    }
    w->runs++;
    buf_addf(&path, "%s%s", buf_text(&w->path), name);
    w->visit(w->context, buf_text(&path));
    buf_release(&path);
}

static void visit_entry(struct walk *w, int fd, const struct dirent *e, unsigned level)
{
    struct stat st;
    bool may_be_folder = e->d_type == DT_DIR || e->d_type == DT_UNKNOWN;
    if (e->d_name[0] == '.' || (!may_be_folder && !is_run_name(e->d_name)) ||
        fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (S_ISREG(st.st_mode) && is_run_name(e->d_name))
        visit_file(w, e->d_name);
    else if (S_ISDIR(st.st_mode) && level < LEVELS_MOST)
        walk_into(w, fd, e->d_name, level);
}

/* Takes over the descriptor. */
static void walk(struct walk *w, int fd, unsigned level)
{
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return;
    }
    for (const struct dirent *e; !w->is_cut && (e = readdir(folder));) {
        w->is_cut = ++w->entries > ENTRIES_MOST;
        visit_entry(w, fd, e, level);
    }
    closedir(folder);
}

int place_each(const char *root, void (*visit)(void *context, const char *name), void *context,
               struct buf *note)
{
    struct walk w = {.visit = visit, .context = context, .path = BUF_INIT};
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    walk(&w, fd, 0);
    buf_release(&w.path);
    if (w.is_cut)
        buf_addf(note, "the folder is too large: only %u runs were found in its first %u files",
                 w.runs, w.entries);
    return 0;
}
