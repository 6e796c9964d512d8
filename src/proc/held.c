/* proc/held.c: which processes map or have open files of a tmpfs. */
#include "proc/held.h"

#include "proc/file.h"
#include "proc/stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
    dev_t device;
    const char *place;
    proc_held_found *found;
    void *context;
};

static void search_maps(const struct search *s, const char *text, size_t len)
{
    struct maps_entry m;
    for (size_t position = 0; maps_next(text, len, &position, &m) > 0;) {
        if (m.inode == 0 || m.device != s->device)
            continue;
        const struct proc_held h = {.inode = m.inode,
                                    .bytes = NAN,
                                    .size = NAN,
                                    .extent = (double) m.offset + (double) (m.end - m.start)};
        s->found(s->context, &h);
    }
}

/* The link is read first: a stat of the file itself may hang on an unreachable file system. */
static void check_descriptor(const struct search *s, int folder, const char *name)
{
    char path[512];
    size_t len = strlen(s->place);
    ssize_t n = readlinkat(folder, name, path, sizeof path - 1);
    if (n <= (ssize_t) len || memcmp(path, s->place, len) != 0 || path[len] != '/')
        return;
    struct stat st;
    if (fstatat(folder, name, &st, 0) < 0 || st.st_dev != s->device || !S_ISREG(st.st_mode))
        return;
    const struct proc_held h = {
        .inode = st.st_ino, .bytes = 512.0 * (double) st.st_blocks, .size = (double) st.st_size};
    s->found(s->context, &h);
}

static int search_descriptors(const struct search *s, int folder)
{
    int fd = openat(folder, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    DIR *directory = fdopendir(fd);
    if (!directory) {
        int r = -errno;
        close(fd);
        return r;
    }
    for (const struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            check_descriptor(s, fd, entry->d_name);
    closedir(directory);
    return 0;
}

int held_read_at(int folder, dev_t device, const char *place, bool maps, struct buf *scratch,
                 proc_held_found *found, void *context)
{
    const struct search s = {device, place, found, context};
    int r = search_descriptors(&s, folder);
    if (maps && file_read_list_at(folder, "maps", scratch) == 0)
        search_maps(&s, buf_text(scratch), scratch->len);
    return r == -ENOENT ? -ESRCH : r == -EACCES || r == -EPERM ? 0 : r;
}

int held_read_written(int folder, struct buf *scratch, struct proc_stat *ret_stat,
                      double *ret_bytes)
{
    double written;
    int r = proc_stat_read_file(folder, "stat", scratch, ret_stat);
    if (r == 0)
        r = file_read_at(folder, "io", scratch);
    if (r == 0)
        r = proc_io_parse(buf_text(scratch), scratch->len, &written);
    if (r == 0)
        *ret_bytes = written + (double) ret_stat->faults * (double) sysconf(_SC_PAGESIZE);
    return r;
}

/* ---- all processes ---- */

/* Only a process with shared memory has maps worth reading. */
static bool has_shared(int folder, struct buf *scratch)
{
    struct proc_status status;
    return file_read_at(folder, "status", scratch) == 0 &&
           proc_status_parse(buf_text(scratch), scratch->len, &status) == 0 && status.shmem > 0;
}

static void survey_process(int root, pid_t pid, dev_t device, const char *place,
                           const struct proc_held_hooks *hooks, struct buf *scratch)
{
    char name[32];
    struct proc_stat stat;
    double written;
    snprintf(name, sizeof name, "%d", (int) pid);
    int folder = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    (void) held_read_at(folder, device, place, has_shared(folder, scratch), scratch, hooks->found,
                        hooks->context);
    if (held_read_written(folder, scratch, &stat, &written) == 0)
        hooks->wrote(hooks->context, stat.id, written);
    close(folder);
}

int proc_survey_held(const char *root, dev_t device, const char *place,
                     const struct proc_held_hooks *hooks)
{
    DIR *directory = opendir(root);
    if (!directory)
        return -errno;
    struct pids pids = PIDS_INIT;
    struct buf scratch = BUF_INIT;
    int r = pids_read(directory, &pids);
    for (size_t i = 0; r == 0 && i < pids.count; i++)
        if (!hooks->skip(hooks->context, pids.list[i]))
            survey_process(dirfd(directory), pids.list[i], device, place, hooks, &scratch);
    buf_release(&scratch);
    pids_release(&pids);
    closedir(directory);
    return r;
}
