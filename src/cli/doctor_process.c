/* cli/doctor_process.c: are processes visible, and is their memory readable? */
#include "cli/doctor.h"
#include "proc/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MB (1024.0 * 1024)

/* Bytes touched to measure the cost of reading PSS; skipped if memory is almost full. */
#define TRIAL_BYTES (64u << 20)
#define TRIAL_ROOM (2048 * MB)
#define TRIAL_READS 3

/* ---- opening ---- */

static int open_process(pid_t pid, struct proc **ret)
{
    struct proc_stat stat;
    int r = proc_stat_read("/proc", pid, &stat);
    return r < 0 ? r : proc_open("/proc", stat.id, ret);
}

/* ---- the list ---- */

/* Counts the visible processes. *ret_foreign is the lowest pid of another user; 0: none. -errno. */
static int count_processes(pid_t *ret_foreign)
{
    DIR *directory = opendir("/proc");
    if (!directory)
        return -errno;
    int count = 0;
    pid_t foreign = 0;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        struct stat s;
        if (!isdigit((unsigned char) entry->d_name[0]))
            continue;
        count++;
        pid_t pid = (pid_t) strtol(entry->d_name, NULL, 10);
        if (fstatat(dirfd(directory), entry->d_name, &s, 0) == 0 && s.st_uid != geteuid() &&
            (foreign == 0 || pid < foreign))
            foreign = pid;
    }
    closedir(directory);
    *ret_foreign = foreign;
    return count;
}

static void check_list(struct doctor *d, pid_t *ret_foreign)
{
    struct doctor_check *c = doctor_add(d, "proc", "process list");
    struct proc_stat own;
    *ret_foreign = 0;
    int count = count_processes(ret_foreign);
    int r = count < 0 ? count : proc_stat_read("/proc", getpid(), &own);
    c->is_vital = true;
    if (r < 0) {
        doctor_set(c, DOCTOR_NO, "/proc does not show processes (%s)", error_words(-r));
        buf_adds(&c->advice, "run and watch read it: as root, mount -t proc proc /proc");
        return;
    }
    doctor_set(c, DOCTOR_OK, "/proc shows %d process%s", count, count == 1 ? "" : "es");
}

/* ---- other users ---- */

/* The value of hidepid= of the mount at /proc; "": none. */
static void find_hidepid(const char *mounts, char *ret, size_t size)
{
    static const char option[] = "hidepid=";
    ret[0] = '\0';
    for (const char *line = mounts; *line;) {
        size_t len = strcspn(line, "\n");
        char point[16] = "";
        if (sscanf(line, "%*s %*s %*s %*s %15s", point) == 1 && strcmp(point, "/proc") == 0) {
            const char *found = memmem(line, len, option, sizeof(option) - 1);
            const char *value = found ? found + sizeof(option) - 1 : "";
            /* The last mount there covers earlier ones. */
            snprintf(ret, size, "%.*s", (int) strcspn(value, ", \n"), value);
        }
        line += len + (line[len] == '\n');
    }
}

static bool hides(const char *hidepid)
{
    return hidepid[0] && strcmp(hidepid, "0") != 0 && strcmp(hidepid, "off") != 0;
}

/* Tries to read the shares of another user's process. -errno. */
static int try_foreign(pid_t pid)
{
    struct proc *p;
    struct proc_rollup rollup;
    double fds;
    int r = open_process(pid, &p);
    if (r < 0)
        return r;
    r = proc_read_rollup(p, &rollup);
    /* The process ended, is a kernel thread, or the kernel has no such file: try the
     * descriptors. */
    if (r == -ESRCH || r == -ENOSYS)
        r = proc_read_fds(p, &fds);
    proc_free(p);
    return r == -ESRCH ? 0 : r;
}

static void set_hidden(struct doctor_check *c, const char *hidepid)
{
    doctor_set(c, DOCTOR_LIMITED, "hidden: only your own jobs can be watched%s%s%s",
               hides(hidepid) ? " (/proc has hidepid=" : "", hidepid, hides(hidepid) ? ")" : "");
    buf_adds(&c->advice, "run tidemark as the job's user or as root");
    if (hides(hidepid))
        buf_adds(&c->advice, "; or as root, for all: mount -o remount,hidepid=0 /proc");
}

static void check_others(struct doctor *d, pid_t foreign)
{
    struct doctor_check *c = doctor_add(d, "other_users", "other users");
    struct buf mounts = BUF_INIT;
    struct proc_stat first;
    char hidepid[32];
    (void) doctor_read_file("/proc/self/mountinfo", &mounts);
    find_hidepid(buf_text(&mounts), hidepid, sizeof(hidepid));
    buf_release(&mounts);

    int r = foreign > 0 ? try_foreign(foreign) : 0;
    if (proc_stat_read("/proc", 1, &first) < 0) {
        set_hidden(c, hidepid);
    } else if (foreign == 0) {
        doctor_set(c, DOCTOR_OK, "there are none: every process here is yours");
    } else if (r < 0) {
        doctor_set(c, DOCTOR_LIMITED, "their jobs: memory yes, shares and open files no");
        buf_adds(&c->advice, "for those run tidemark as the job's user or as root");
    } else {
        doctor_set(c, DOCTOR_OK, "their jobs can be watched as well");
    }
}

/* ---- memory of a process ---- */

static void check_kinds(struct doctor *d, struct proc *self)
{
    struct doctor_check *c = doctor_add(d, "kinds", "memory by kind");
    struct proc_status status;
    int r = proc_read_status(self, &status);
    c->is_vital = true;
    if (r < 0 || isnan(status.rss)) {
        doctor_set(c, DOCTOR_NO, "the memory of a process cannot be read (%s)",
                   r < 0 ? error_words(-r) : "the kernel does not tell it");
        buf_adds(&c->advice, "run and watch need /proc/PID/status with VmRSS");
    } else if (isnan(status.anon) || isnan(status.shmem)) {
        doctor_set(c, DOCTOR_LIMITED, "only the total (RSS), not what is in it");
        buf_adds(&c->advice, "leaks are found in the total; Linux 4.5 or newer tells the program's "
                             "own memory from files and shared memory");
    } else {
        doctor_set(c, DOCTOR_OK, "own, files, shared, swapped: told apart");
    }
}

/* The fastest of several readings; NAN: they fail. */
static double time_rollup(struct proc *self)
{
    double best = NAN;
    for (int i = 0; i < TRIAL_READS; i++) {
        struct proc_rollup rollup;
        double began = doctor_seconds();
        if (proc_read_rollup(self, &rollup) < 0)
            return NAN;
        best = fmin(best, doctor_seconds() - began);
    }
    return best;
}

/* The doctor must not use up the last memory. */
static bool has_room(void)
{
    struct proc_meminfo machine;
    struct cgroup_memory group = {.limit = NAN};
    struct cgroup *cgroup;
    if (proc_meminfo_read("/proc", &machine) < 0 || !(machine.available > TRIAL_ROOM))
        return false;
    if (cgroup_open("/proc", "", getpid(), &cgroup) < 0)
        return true;
    int r = cgroup_read(cgroup, &group);
    cgroup_free(cgroup);
    return r < 0 || isnan(group.limit) || group.limit - group.current > TRIAL_ROOM;
}

/* Seconds per reading for each GB of small pages; NAN: not measured. */
static double measure_rollup(struct proc *self)
{
    if (!has_room())
        return NAN;
    char *trial =
        mmap(NULL, TRIAL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        return NAN;
    double before = time_rollup(self);
    (void) madvise(trial, TRIAL_BYTES, MADV_NOHUGEPAGE);
    long page = sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < TRIAL_BYTES; i += (size_t) page)
        ((volatile char *) trial)[i] = 1;
    double after = time_rollup(self);
    munmap(trial, TRIAL_BYTES);
    return fmax(after - before, 0) * (1024 * MB / TRIAL_BYTES);
}

static void set_no_rollup(struct doctor_check *c, int error)
{
    doctor_set(c, DOCTOR_LIMITED, "cannot be read (%s)",
               error == -ENOSYS ? "the kernel has no smaps_rollup" : error_words(-error));
    buf_adds(&c->advice, "what processes share counts for each of them: sums over data workers "
                         "look too large. Linux 4.14 or newer tells the shares");
}

static void check_shares(struct doctor *d, struct proc *self)
{
    struct doctor_check *c = doctor_add(d, "pss", "fair shares");
    struct proc_rollup rollup;
    int r = proc_read_rollup(self, &rollup);
    if (r < 0) {
        set_no_rollup(c, r);
        return;
    }
    doctor_set(c, DOCTOR_OK, "shared memory is split fairly (PSS)");
    double seconds = measure_rollup(self);
    if (isfinite(seconds))
        buf_addf(&c->detail, "; %.*f ms per GB", seconds < 0.01 ? 1 : 0, 1000 * seconds);
}

static void check_fds(struct doctor *d, struct proc *self)
{
    struct doctor_check *c = doctor_add(d, "fds", "open files");
    struct stat s;
    double count;
    int r = proc_read_fds(self, &count);
    if (r < 0) {
        doctor_set(c, DOCTOR_LIMITED, "cannot be counted (%s)", error_words(-r));
        buf_adds(&c->advice, "a leak of files or sockets is not seen; memory is");
        return;
    }
    bool fast = stat("/proc/self/fd", &s) == 0 && s.st_size > 0;
    doctor_set(c, DOCTOR_OK, "%s",
               fast ? "counted, the quick way" : "counted by listing: a little slower, no harm");
}

void doctor_check_processes(struct doctor *d)
{
    pid_t foreign;
    struct proc *self;
    check_list(d, &foreign);
    int r = open_process(getpid(), &self);
    if (r < 0) {
        struct doctor_check *c = doctor_add(d, "kinds", "memory by kind");
        c->is_vital = true;
        doctor_set(c, DOCTOR_NO, "not even our own process can be read (%s)", error_words(-r));
        buf_adds(&c->advice, "run and watch need /proc/PID/stat and status");
        return;
    }
    check_kinds(d, self);
    check_shares(d, self);
    check_fds(d, self);
    check_others(d, foreign);
    proc_free(self);
}

/* ---- the process to check ---- */

static void set_refused(struct doctor_check *c, enum doctor_state state, int error)
{
    doctor_set(c, state, "cannot be read (%s)",
               error == -ENOSYS ? "the kernel does not tell it" : error_words(-error));
    if (error == -ESRCH)
        buf_adds(&c->advice, "it has ended meanwhile");
    else
        buf_adds(&c->advice, "run tidemark as the job's user or as root");
}

static void check_target_memory(struct doctor *d, struct proc *p)
{
    struct doctor_check *c = doctor_add(d, "process_memory", "memory");
    struct proc_status status;
    int r = proc_read_status(p, &status);
    c->is_vital = true;
    if (r < 0) {
        set_refused(c, DOCTOR_NO, r);
        return;
    }
    units_add_bytes(&c->detail, status.rss);
    buf_adds(&c->detail, " resident; can be watched");
}

static void check_target_shares(struct doctor *d, struct proc *p)
{
    struct doctor_check *c = doctor_add(d, "process_pss", "fair share");
    struct proc_rollup rollup;
    double began = doctor_seconds();
    int r = proc_read_rollup(p, &rollup);
    if (r < 0) {
        set_refused(c, DOCTOR_LIMITED, r);
        return;
    }
    units_add_bytes(&c->detail, rollup.pss);
    buf_addf(&c->detail, ", what it shares split fairly (PSS); %.1f ms",
             1000 * (doctor_seconds() - began));
}

static void check_target_fds(struct doctor *d, struct proc *p)
{
    struct doctor_check *c = doctor_add(d, "process_fds", "open files");
    double count;
    int r = proc_read_fds(p, &count);
    if (r < 0)
        set_refused(c, DOCTOR_LIMITED, r);
    else
        doctor_set(c, DOCTOR_OK, "%.0f", count);
}

void doctor_check_target(struct doctor *d)
{
    struct proc *p;
    int r = open_process(d->pid, &p);
    if (r < 0) {
        struct doctor_check *c = doctor_add(d, "process_memory", "memory");
        c->is_vital = true;
        set_refused(c, DOCTOR_NO, r);
        return;
    }
    check_target_memory(d, p);
    check_target_shares(d, p);
    check_target_fds(d, p);
    proc_free(p);
}
