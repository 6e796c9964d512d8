/* cli/doctor_record.c: can tidemark run a command and record a run here? */
#include "cli/doctor.h"
#include "launch/launch.h"
#include "store/store.h"
#include "watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A day of 25 processes takes less than 50 MB. */
#define SPACE_LEAST (200.0 * 1024 * 1024)

/* Each process of a job of 500 keeps three files open, and tidemark some for itself. */
#define FILES_A_PROCESS 3
#define FILES_OWN 64
#define FILES_LEAST (500 * FILES_A_PROCESS + FILES_OWN)

#define CLOCK_READS 10000

/* ---- the terminal ---- */

static int try_terminal(void)
{
    int inner = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), outer = -1;
    if (inner < 0)
        return -errno;
    char name[64];
    if (grantpt(inner) == 0 && unlockpt(inner) == 0 && ptsname_r(inner, name, sizeof(name)) == 0)
        outer = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    int r = outer < 0 ? -errno : 0;
    if (outer >= 0)
        close(outer);
    close(inner);
    return r;
}

static void check_terminal(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "pty", "terminal");
    int r = try_terminal();
    if (r == 0) {
        doctor_set(c, DOCTOR_OK, "a command under run can have one of its own");
        return;
    }
    doctor_set(c, DOCTOR_LIMITED, "none can be made for a command (%s)", error_words(-r));
    buf_adds(&c->advice, "send the output elsewhere: tidemark run -- python train.py 2>&1 | cat; "
                         "or as root mount -t devpts devpts /dev/pts");
}

/* ---- the run file ---- */

static void remove_trial(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        char name[96];
        snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
        (void) unlink(name);
    }
}

/* Writes a run of one sample. *ret_wal: others can read it while it is written. */
static int write_trial(const char *path, bool *ret_wal)
{
    struct store_run run = {.title = "doctor",
                            .limit_bytes = NAN,
                            .plan_steps = NAN,
                            .plan_seconds = NAN,
                            .horizon = NAN,
                            .epoch_length = NAN};
    struct store *store;
    int r = store_create(path, &run, &store);
    if (r < 0)
        return r;
    char log[96];
    snprintf(log, sizeof(log), "%s-wal", path);
    struct store_series series = {.kind = "host.rss", .unit = SERIES_BYTES};
    store_add_sample(store, store_add_series(store, &series), 1, 4096);
    r = store_commit(store, 1);
    *ret_wal = access(log, F_OK) == 0;
    int closed = store_close(store, 1);
    return r < 0 ? r : closed;
}

static int read_trial(const char *path)
{
    struct store *store;
    struct store_error error;
    int r = store_open(path, &store, &error);
    if (r < 0)
        return r;
    r = store_last_seconds(store) == 1 ? 0 : -EIO;
    store_free(store);
    return r;
}

static void check_run_file(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "run_file", "run file");
    char path[64];
    bool wal = false;
    snprintf(path, sizeof(path), ".tidemark-doctor-%d.tide", (int) getpid());
    int r = write_trial(path, &wal);
    if (r == 0)
        r = read_trial(path);
    if (r != -EEXIST)
        remove_trial(path);
    if (r < 0) {
        doctor_set(c, DOCTOR_LIMITED, "cannot be written in this folder (%s)", error_words(-r));
        buf_adds(&c->advice, "run and watch work and record nothing; to record, change to another "
                             "folder or name the file: --output=/tmp/NAME.tide");
    } else if (!wal) {
        doctor_set(c, DOCTOR_LIMITED, "can be written here, but not be read meanwhile");
        buf_adds(&c->advice, "this file system cannot do it (SQLite's WAL); put the file on a "
                             "local disk: --output=/tmp/NAME.tide");
    } else {
        doctor_set(c, DOCTOR_OK, "written and read in this folder (SQLite %s)",
                   sqlite3_libversion());
    }
}

/* ---- the disk ---- */

static const struct file_system {
    unsigned long magic;
    const char *name;
    bool is_remote; /* a lock or a mapping may not reach other machines */
} file_systems[] = {
    {EXT4_SUPER_MAGIC, "ext4", false},
    {XFS_SUPER_MAGIC, "xfs", false},
    {BTRFS_SUPER_MAGIC, "btrfs", false},
    {OVERLAYFS_SUPER_MAGIC, "overlay", false},
    {TMPFS_MAGIC, "tmpfs: in memory, gone after a restart", false},
    {NFS_SUPER_MAGIC, "NFS", true},
    {SMB_SUPER_MAGIC, "SMB", true},
    {0xff534d42, "CIFS", true},
    {0xfe534d42, "SMB", true},
    {0x0bd00bd0, "Lustre", true},
    {0x47504653, "GPFS", true},
    {0x19830326, "BeeGFS", true},
    {0x00c36400, "CephFS", true},
    {0x65735546, "FUSE", true},
};

static const struct file_system *find_file_system(unsigned long magic)
{
    for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++) {
        if (file_systems[i].magic == (magic & 0xffffffff))
            return &file_systems[i];
    }
    return NULL;
}

static void check_disk(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "disk", "disk");
    struct statfs s;
    if (statfs(".", &s) < 0) {
        doctor_set(c, DOCTOR_LIMITED, "the current folder cannot be looked at (%s)",
                   error_words(errno));
        buf_adds(&c->advice, "change to a folder that exists");
        return;
    }
    const struct file_system *fs = find_file_system((unsigned long) s.f_type);
    double free_bytes = (double) s.f_bavail * (double) s.f_bsize;
    units_add_bytes(&c->detail, free_bytes);
    buf_adds(&c->detail, " free");
    if (fs)
        buf_addf(&c->detail, " (%s)", fs->name);
    char *folder = getcwd(NULL, 0);
    if (folder)
        buf_addf(&c->detail, " in %s", folder);
    free(folder);
    if (free_bytes < SPACE_LEAST) {
        c->state = DOCTOR_LIMITED;
        buf_adds(&c->advice, "a run file takes up to 50 MB a day: make room, or "
                             "--output=/tmp/NAME.tide");
    } else if (fs && fs->is_remote) {
        c->state = DOCTOR_LIMITED;
        buf_adds(&c->advice, "while a run goes on read its file on this machine only, or put it "
                             "on a local disk: --output=/tmp/NAME.tide");
    }
}

/* ---- limits ---- */

static void check_files(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "files", "files at once");
    struct rlimit before, most;
    if (getrlimit(RLIMIT_NOFILE, &before) < 0) {
        doctor_set(c, DOCTOR_LIMITED, "the limit is not told (%s)", error_words(errno));
        buf_adds(&c->advice, "nothing to do for a job of a few processes");
        return;
    }
    /* Raise to the hard limit, as run and watch do. */
    most = before;
    most.rlim_cur = most.rlim_max;
    rlim_t files = setrlimit(RLIMIT_NOFILE, &most) == 0 ? most.rlim_max : before.rlim_cur;
    (void) setrlimit(RLIMIT_NOFILE, &before);
    double processes = floor(((double) files - FILES_OWN) / FILES_A_PROCESS);
    buf_adds(&c->detail, "room to watch ");
    if (files == RLIM_INFINITY)
        buf_adds(&c->detail, "any number of");
    else
        units_add_count(&c->detail, fmax(processes, 0), 0);
    buf_adds(&c->detail, " processes");
    if (files < FILES_LEAST) {
        c->state = DOCTOR_LIMITED;
        buf_addf(&c->detail, " (ulimit -Hn: %llu)", (unsigned long long) files);
        buf_adds(&c->advice, "for larger jobs, before the job: ulimit -n 65536 as root, or docker "
                             "run --ulimit nofile=65536");
    }
}

static void check_clock(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "clock", "clock");
    double first = doctor_seconds(), last = first;
    bool backwards = false;
    for (int i = 0; i < CLOCK_READS; i++) {
        double now = doctor_seconds();
        backwards = backwards || now < last;
        last = now;
    }
    if (backwards || !(last > first)) {
        doctor_set(c, DOCTOR_LIMITED, "%s", backwards ? "runs backwards" : "stands still");
        buf_adds(&c->advice, "rates per second are not to be trusted, those per step are");
        return;
    }
    doctor_set(c, DOCTOR_OK, "steady; a look takes %.0f ns", (last - first) / CLOCK_READS * 1e9);
}

/* The probe that `run` injects into the command's processes. */
static void check_probe(struct doctor *d)
{
    struct doctor_check *c = doctor_add(d, "probe", "inside steps");
    struct buf path = BUF_INIT, why = BUF_INIT;
    int r = inside_find_probe(true, &path, &why);
    if (r == 0) {
        doctor_set(c, DOCTOR_OK, "run counts them itself, by %s", buf_text(&path));
    } else {
        doctor_set(c, DOCTOR_LIMITED, "%s", buf_text(&why));
        buf_adds(&c->advice, r == -ENOENT ? "steps are read from what the program prints; install "
                                            "the probe with the program to have them counted"
                                          : "steps are read from what the program prints; install "
                                            "tidemark where paths have neither");
    }
    buf_release(&path);
    buf_release(&why);
}

void doctor_check_record(struct doctor *d)
{
    check_terminal(d);
    check_probe(d);
    check_run_file(d);
    check_disk(d);
    check_files(d);
    check_clock(d);
}
