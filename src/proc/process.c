/* proc/process.c: one open process: its memory, descriptors, arguments and environment. */
#include "proc/fields.h"
#include "proc/file.h"
#include "proc/held.h"
#include "proc/stat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- parsers ---- */

int proc_status_parse(const char *text, size_t len, struct proc_status *ret)
{
    struct {
        struct proc_status s;
        double uid;
    } r;
#define FIELD(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(__typeof__(r), member)                                                      \
    }
    static const struct field fields[] = {
        FIELD("VmRSS", s.rss),    FIELD("RssAnon", s.anon),
        FIELD("RssFile", s.file), FIELD("RssShmem", s.shmem),
        FIELD("VmSwap", s.swap),  FIELD("VmSize", s.vsize),
        FIELD("VmHWM", s.peak),   FIELD("Threads", s.threads),
        FIELD("Uid", uid),        FIELD("Seccomp_filters", s.filters),
    };
#undef FIELD
    if (fields_parse(text, len, fields, sizeof fields / sizeof *fields, &r) == 0)
        return -EINVAL;
    r.s.uid = r.uid <= UINT32_MAX ? (int64_t) r.uid : -1;
    *ret = r.s;
    return 0;
}

int proc_rollup_parse(const char *text, size_t len, struct proc_rollup *ret)
{
    struct {
        struct proc_rollup s;
        double clean, dirty;
    } r;
#define FIELD(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(__typeof__(r), member)                                                      \
    }
    static const struct field fields[] = {
        FIELD("Rss", s.rss),           FIELD("Pss", s.pss),
        FIELD("Pss_Anon", s.pss_anon), FIELD("Pss_File", s.pss_file),
        FIELD("SwapPss", s.swap_pss),  FIELD("Pss_Shmem", s.pss_shmem),
        FIELD("Private_Clean", clean), FIELD("Private_Dirty", dirty),
    };
#undef FIELD
    fields_parse(text, len, fields, sizeof fields / sizeof *fields, &r);
    if (isnan(r.s.rss) || isnan(r.s.pss))
        return -EINVAL;
    r.s.private_bytes = r.clean + r.dirty;
    *ret = r.s;
    return 0;
}

int proc_io_parse(const char *text, size_t len, double *ret_written)
{
    static const struct field fields[] = {{"wchar", 0}};
    double written;
    if (fields_parse(text, len, fields, 1, &written) == 0)
        return -EINVAL;
    *ret_written = written;
    return 0;
}

/* ---- an open process ---- */

/* How the open descriptors are counted. */
enum fds_way { FDS_UNTRIED, FDS_BY_SIZE, FDS_BY_LISTING };

/* statm is seven numbers of pages. */
#define SIZES_BYTES 160

/*
 * All descriptors belong to this one process. Once it has ended they return -ESRCH or -ENOENT, even
 * if its pid is in use again. smaps_rollup is not kept open: the kernel ties that descriptor to the
 * memory the process had then, so it goes stale at exec.
 */
struct proc {
    struct proc_id id;
    int dir, status, statm;
    int rollup_error; /* sticky, 0: none */
    enum fds_way fds;
    bool has_clock; /* it has a clock of its CPU time */
    clockid_t clock;
    struct timespec ran;     /* the last value of that clock */
    char sizes[SIZES_BYTES]; /* statm as it was last read */
    ssize_t sizes_len;
    struct buf text;
};

struct proc *proc_free(struct proc *p)
{
    if (p) {
        if (p->dir >= 0)
            close(p->dir);
        if (p->status >= 0)
            close(p->status);
        if (p->statm >= 0)
            close(p->statm);
        buf_release(&p->text);
    }
    free(p);
    return NULL;
}

/* The folder above is the root of the file system. */
static bool is_pid_of_ours(const struct proc *p)
{
    int root = openat(p->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_own = root >= 0 && file_is_own_proc(root);
    if (root >= 0)
        close(root);
    return is_own;
}

static int open_files(struct proc *p, const char *path)
{
    p->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->dir < 0)
        return -errno;
    p->has_clock = is_pid_of_ours(p) && clock_getcpuclockid(p->id.pid, &p->clock) == 0;
    p->statm = openat(p->dir, "statm", O_RDONLY | O_CLOEXEC);
    p->status = openat(p->dir, "status", O_RDONLY | O_CLOEXEC);
    return p->status < 0 ? -errno : 0;
}

/* The pid may have been reused before it was opened. */
static int verify(struct proc *p)
{
    struct proc_stat stat;
    int r = proc_read_stat(p, &stat);
    if (r < 0)
        return r;
    return proc_id_equal(stat.id, p->id) && !proc_stat_ended(&stat) ? 0 : -ESRCH;
}

int proc_open(const char *root, struct proc_id id, struct proc **ret)
{
    struct proc *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->id = id;
    p->dir = p->status = p->statm = -1;
    p->ran.tv_nsec = -1; /* not a valid time: the first call finds a change */
    struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%d", root, (int) id.pid);
    int r = open_files(p, buf_text(&path));
    buf_release(&path);
    if (r == 0)
        r = verify(p);
    if (r < 0) {
        proc_free(p);
        return r == -ENOENT ? -ESRCH : r;
    }
    *ret = p;
    return 0;
}

int proc_read_status(struct proc *p, struct proc_status *ret)
{
    struct proc_status s;
    int r = file_read(p->status, &p->text);
    if (r < 0)
        return r;
    r = proc_status_parse(buf_text(&p->text), p->text.len, &s);
    if (r < 0)
        return r;
    /* A zombie has no memory any more, a kernel thread never had. */
    if (isnan(s.vsize) && isnan(s.rss))
        return -ESRCH;
    *ret = s;
    return 0;
}

/* Whether it has run since the last call; true where that is not known. */
static bool has_run(struct proc *p)
{
    struct timespec ran;
    if (!p->has_clock || clock_gettime(p->clock, &ran) < 0)
        return true;
    bool same = ran.tv_sec == p->ran.tv_sec && ran.tv_nsec == p->ran.tv_nsec;
    p->ran = ran;
    return !same;
}

int proc_has_changed(struct proc *p)
{
    char sizes[SIZES_BYTES];
    if (!has_run(p))
        return 0;
    ssize_t n = p->statm < 0 ? -1 : pread(p->statm, sizes, sizeof sizes, 0);
    if (n < 0)
        return p->statm >= 0 && errno == ESRCH ? -ESRCH : 1;
    /* A zombie has no memory any more. */
    if (n >= 2 && memcmp(sizes, "0 ", 2) == 0)
        return -ESRCH;
    if (n == p->sizes_len && memcmp(sizes, p->sizes, (size_t) n) == 0)
        return 0;
    memcpy(p->sizes, sizes, (size_t) n);
    p->sizes_len = n;
    return 1;
}

int proc_read_stat(struct proc *p, struct proc_stat *ret)
{
    return proc_stat_read_file(p->dir, "stat", &p->text, ret);
}

/* Why a file of the process is missing: the process has ended, or the kernel has no such file. */
static int missing_file(struct proc *p)
{
    struct proc_status s;
    int r = proc_read_status(p, &s);
    return r < 0 ? r : -ENOSYS;
}

/* Reads a file of the process into p->text. */
static int read_own(struct proc *p, const char *name)
{
    int r = file_read_at(p->dir, name, &p->text);
    return r == -ENOENT ? missing_file(p) : r;
}

int proc_read_rollup(struct proc *p, struct proc_rollup *ret)
{
    if (p->rollup_error < 0)
        return p->rollup_error;
    int r = read_own(p, "smaps_rollup");
    if (r == -EACCES || r == -EPERM || r == -ENOSYS)
        p->rollup_error = r;
    if (r == 0 && p->text.len == 0)
        r = -ESRCH;
    return r < 0 ? r : proc_rollup_parse(buf_text(&p->text), p->text.len, ret);
}

/* Counts the entries of fd/. *ret_size is the size of the folder according to the kernel while it
 * is open: from Linux 6.2 on, the same number. */
static int list_fds(struct proc *p, double *ret_count, double *ret_size)
{
    int fd = openat(p->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? missing_file(p) : -errno;
    DIR *directory = fdopendir(fd);
    if (!directory) {
        int r = -errno;
        close(fd);
        return r;
    }
    double count = 0;
    for (const struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    struct stat s;
    *ret_size = fstat(fd, &s) == 0 ? (double) s.st_size : NAN;
    *ret_count = count;
    closedir(directory);
    return 0;
}

int proc_read_fds(struct proc *p, double *ret_count)
{
    struct stat s;
    if (p->fds == FDS_BY_SIZE) {
        if (fstatat(p->dir, "fd", &s, 0) < 0)
            return errno == ENOENT ? -ESRCH : -errno;
        /* It is 0 while the process ends. */
        if (s.st_size > 0) {
            *ret_count = (double) s.st_size;
            return 0;
        }
    }
    double count = 0, size = NAN;
    int r = list_fds(p, &count, &size);
    if (r < 0)
        return r;
    /* A descriptor opened in between makes them differ on a correct kernel too: try again. */
    if (p->fds == FDS_UNTRIED && count > 0 && size == count)
        p->fds = FDS_BY_SIZE;
    else if (p->fds == FDS_UNTRIED && count > 0 && !(size > 0))
        p->fds = FDS_BY_LISTING;
    *ret_count = count;
    return 0;
}

int proc_read_arguments(struct proc *p, struct buf *ret)
{
    int r = read_own(p, "cmdline");
    if (r < 0)
        return r;
    buf_clear(ret);
    buf_add(ret, buf_text(&p->text), p->text.len);
    return 0;
}

int proc_read_written(struct proc *p, double *ret_bytes)
{
    struct proc_stat stat;
    return held_read_written(p->dir, &p->text, &stat, ret_bytes);
}

int proc_read_held(struct proc *p, dev_t device, const char *place, bool maps,
                   proc_held_found *found, void *context)
{
    return held_read_at(p->dir, device, place, maps, &p->text, found, context);
}

int proc_read_variable(struct proc *p, const char *name, struct buf *ret)
{
    int r = read_own(p, "environ");
    if (r < 0)
        return r;
    size_t len = strlen(name);
    const char *s = buf_text(&p->text), *end = s + p->text.len;
    for (; s < end; s += strlen(s) + 1) {
        if (strncmp(s, name, len) == 0 && s[len] == '=') {
            buf_clear(ret);
            buf_adds(ret, s + len + 1);
            return 0;
        }
    }
    return -ENOENT;
}
