/* proc/proc.h: what the kernel reports about processes, their memory, cgroups and the machine. */
#ifndef TIDEMARK_PROC_H
#define TIDEMARK_PROC_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Every *_parse() is pure and fuzzed. It returns 0 or -EINVAL and leaves its outputs untouched on
 * failure. Every reader takes the root of a proc file system ("/proc"), so that tests can supply
 * files. Sizes are bytes. What the kernel does not report is absent (NAN), never 0.
 */

/* ---- one process ---- */

/* A process is its pid and its start time: a pid alone is never an identity. */
struct proc_id {
    pid_t pid;
    uint64_t start; /* clock ticks since boot */
};

bool proc_id_equal(struct proc_id a, struct proc_id b);

/* /proc/PID/stat. */
struct proc_stat {
    struct proc_id id;
    pid_t parent, group, session;
    char state;         /* 'R', 'S', 'D', 'T', 'Z', ... */
    char comm[32];      /* cleaned to printable UTF-8 */
    uint64_t cpu_ticks; /* user and system */
    uint64_t faults;    /* page faults: a missing page touched, or a read-only page written */
    double rss;
    /* Where the kernel placed the program in memory, at random. A forked child has the same
     * addresses. 0: not known, or we lack the rights to read them. */
    uint64_t image_code, image_stack;
    bool is_silent; /* forked without an exit signal to its parent, and no exec since; false where
                       that is not known */
};

int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret);
int proc_stat_read(const char *root, pid_t pid, struct proc_stat *ret); /* -ESRCH, -EACCES */

/* A zombie, or about to become one. */
bool proc_stat_ended(const struct proc_stat *s);

/* /proc/PID/status: cheap, never blocks the process. */
struct proc_status {
    double rss, anon, file, shmem, swap, vsize;
    double peak; /* of rss, since the last exec or fork */
    double threads;
    double filters; /* of its system calls (seccomp); NAN: before Linux 5.9 */
    int64_t uid;
};

int proc_status_parse(const char *text, size_t len, struct proc_status *ret);

/* /proc/PID/smaps_rollup: about 10 ms a GB under the process's mmap lock. */
struct proc_rollup {
    double rss, pss, pss_anon, pss_file, pss_shmem;
    double private_bytes; /* clean and dirty: what would be freed with the process */
    double swap_pss;
};

int proc_rollup_parse(const char *text, size_t len, struct proc_rollup *ret);

/*
 * An open process. Three descriptors stay open (raise RLIMIT_NOFILE for hundreds of processes), and
 * every read goes through them, so a reused pid cannot be read by mistake. It stays the same
 * process through exec. One owner, one thread.
 */
struct proc;

/* -ESRCH: gone, a zombie, or another process; -EMFILE, -ENOMEM. */
int proc_open(const char *root, struct proc_id id, struct proc **ret);
struct proc *proc_free(struct proc *p); /* accepts NULL, returns NULL */

/*
 * The cheapest check. 1: the size of its mapped or resident memory has changed since the last call,
 * or that cannot be known. 0: nothing changed; it may not even have run (1 us; reading statm takes
 * three). -ESRCH: it has ended. Pages that the kernel reclaims from a sleeping process show once it
 * wakes.
 */
int proc_has_changed(struct proc *p);

/* All four return -ESRCH when it has ended (a zombie too), -EACCES or -EPERM without the rights,
 * -ENOSYS when the kernel has no such file. */
int proc_read_stat(struct proc *p, struct proc_stat *ret);
int proc_read_status(struct proc *p, struct proc_status *ret);
int proc_read_rollup(struct proc *p, struct proc_rollup *ret);
int proc_read_fds(struct proc *p, double *ret_count);

/* The arguments, NUL-separated as in /proc/PID/cmdline (empty for kernel threads and zombies).
 * Replaces the contents of `ret`, as does the next function. */
int proc_read_arguments(struct proc *p, struct buf *ret);

/* An upper bound on what it can have written into files: all bytes that it and its reaped children
 * wrote by any call, plus one page for each of its own page faults. */
int proc_read_written(struct proc *p, double *ret_bytes);
int proc_io_parse(const char *text, size_t len, double *ret_written); /* /proc/PID/io */

/* The value of one variable of its initial environment. -ENOENT. */
int proc_read_variable(struct proc *p, const char *name, struct buf *ret);

/*
 * Adds the arguments as one line for people: quoted where needed, safe for a terminal, secrets
 * replaced by ***. Secrets are the values of revealing options and variables (--token, *_KEY=),
 * passwords in URLs, cookies, and well-known tokens anywhere. Names are compared word by word, so
 * --tokenizer and --max-tokens stay. A one-letter option means what its program says: mysql -pX is
 * hidden, ssh -p 22 is not.
 */
void proc_add_command(struct buf *out, const char *arguments, size_t len);

/* A command in one line, as above, that runs a Python interpreter: "/usr/bin/python3 train.py". */
bool proc_command_is_python(const char *command);

/* The same for an argv, without quotes: `count` texts, each followed by a NUL. Replaces the
 * contents of `ret`. */
void proc_redact(const char *const *argv, size_t count, struct buf *ret);

/* ---- shared memory ---- */

/* A file of a tmpfs that a process maps or has open. */
struct proc_held {
    uint64_t inode;
    double bytes, size; /* allocated bytes and file length; NAN: it is only mapped */
    double extent;      /* end of the mapped range; 0: it is only open */
};

typedef void proc_held_found(void *context, const struct proc_held *h);

/*
 * Finds the files of `device`, mounted at `place`, that the process holds, unlinked ones included.
 * A file held twice is found twice. `maps` may be false for a process known to have touched no
 * shared memory. 0: everything readable was read; -ESRCH.
 */
int proc_read_held(struct proc *p, dev_t device, const char *place, bool maps,
                   proc_held_found *found, void *context);

struct proc_held_hooks {
    void *context;
    bool (*skip)(void *context, pid_t pid);
    proc_held_found *found;
    /* `bytes` is what proc_read_written() returns. */
    void (*wrote)(void *context, struct proc_id id, double bytes);
};

/* The same for every process of the machine, ascending by pid, except those that `skip` names and
 * those we may not read. -errno. */
int proc_survey_held(const char *root, dev_t device, const char *place,
                     const struct proc_held_hooks *hooks);

/* ---- the tree ---- */

/*
 * The processes that descend from the roots, found by scanning. A scan lists the pids of the
 * machine (0.2 ms at 580) and reads `stat` of the new ones and of all members. Because pids are
 * reused, it also re-reads known foreign processes from time to time. A member stays a member when
 * it is reparented, and leaves once it is a zombie. Children of members are members, whatever their
 * session or group.
 *
 * A process whose parent ended between two scans (a daemon: fork, setsid, fork) is an orphan when
 * the tree first meets it. It becomes a member if one of these holds:
 * - It was reparented to a root: a child subreaper (the relay) that was added.
 * - The kernel reported its fork: see proc_tree_hear_forks().
 * - A current or former member leads its session. A session can only be inherited.
 * - A current or former member leads its group, and the orphan is younger than the tree. Older ones
 *   are left out: a shell puts a whole pipeline into the group of its first process.
 * - An older member has the same memory layout, and no process outside the job that is as old has
 *   it. The kernel picks the layout at random with every exec, and shows it to whoever may trace
 *   both.
 *
 * Without fork reports the tree misses an orphan in a session of its own that runs another program
 * than any member, and one in the session and group of a leader outside the job.
 *
 * One owner, one thread.
 */
struct proc_tree;

struct proc_member {
    struct proc_stat stat; /* as of the last scan */
    struct proc_id parent; /* when it joined; pid 0: a root, or its parent was no member */
    void *user;            /* the caller's own */
};

struct proc_tree_hooks {
    void *context;
    void (*joined)(void *context, struct proc_member *m); /* may set m->user */
    void (*left)(void *context, struct proc_member *m);   /* m is gone after the call */
};

int proc_tree_new(const char *root, const struct proc_tree_hooks *hooks, struct proc_tree **ret);
struct proc_tree *proc_tree_free(struct proc_tree *t); /* calls no hook; accepts NULL */

/*
 * Follows `pid` and its descendants from now on. With `children_only` the process itself is not a
 * member (the relay under `run`). -ESRCH.
 */
int proc_tree_add_root(struct proc_tree *t, pid_t pid, bool children_only);

/* Excludes a process and its descendants, except roots among them: the watcher itself. */
void proc_tree_exclude(struct proc_tree *t, pid_t pid);
/* Excludes one process in place of the previous one; 0: none. */
void proc_tree_exclude_one(struct proc_tree *t, pid_t pid);
/* Excludes every process whose main thread has that name; the text must outlive the tree. Such a
 * process is forked without an exit signal and keeps its parent's name until it first runs, so
 * every process forked that way counts as one. */
void proc_tree_exclude_name(struct proc_tree *t, const char *name);

/*
 * Makes the kernel report every fork, so that no orphan is missed. Every scan and
 * proc_tree_has_arrivals() read the reports. -ENOTSUP: before Linux 6.6 or in a container; -errno:
 * the tree works without reports.
 */
int proc_tree_hear_forks(struct proc_tree *t);

/* Finds who joined and who left. Returns the number of members, or -errno. */
int proc_tree_scan(struct proc_tree *t);

/* Whether a process descends from a member or a root, as far as /proc shows. Neither it nor its
 * parents need be known: they may have started after the last scan. */
bool proc_tree_claims(struct proc_tree *t, pid_t pid);

/*
 * Whether a scan would find new members; much cheaper than a scan. The kernel hands out pids in
 * order and shows the last one (/proc/loadavg), so only the pids in between can be new, and only a
 * child of a member or a root can join. True where that cannot be known. It does not notice who
 * left.
 */
bool proc_tree_has_arrivals(struct proc_tree *t);

/* Members in the order they joined; `index` must be below what the last scan returned. */
struct proc_member *proc_tree_member(struct proc_tree *t, size_t index);

/* The number of members so far, including those met only as zombies, which came and went between
 * two scans. */
uint64_t proc_tree_total_members(const struct proc_tree *t);

/* -EMFILE or -ENFILE if a lack of descriptors ever kept a scan from a process, which then stayed as
 * it was, or unknown; 0: never. */
int proc_tree_unread(const struct proc_tree *t);

/* ---- roles ---- */

enum proc_role {
    ROLE_UNKNOWN,
    ROLE_WRAPPER,
    ROLE_TRAINER,
    ROLE_RANK,
    ROLE_DATA_WORKER,
    ROLE_COMPILE_WORKER,
    ROLE_HELPER,
};

const char *proc_role_name(enum proc_role role); /* "data worker" */

/* The facts about one process of the tree; texts may be NULL. */
struct role_evidence {
    const char *arguments; /* NUL-separated */
    size_t arguments_len;
    const char *comm;
    const char *rank, *local_rank; /* values of RANK and LOCAL_RANK in its environment */
    int parent;                    /* index of the parent in the same array, -1: none */
    double anon, peak_anon;        /* NAN: not known */
    double cpu_seconds;
    double age_seconds;
    bool forked;       /* same arguments as its parent: forked without exec */
    bool counts_steps; /* reported from inside */
};

struct role_finding {
    enum proc_role role;
    int rank;      /* -1: none */
    char why[120]; /* the evidence in words: "started by torchrun with RANK=3" */
};

/*
 * Judges a whole tree at once: who wraps, who trains, who helps. Pure. A wrapper is small and
 * stable, and the parent of the real program. It is known by name (uv, torchrun, shells, env, time,
 * accelerate, deepspeed, sudo, numactl, ...), or because it started the ranks or only waits for a
 * far larger child. The topmost processes that are not wrappers train, unless they are small beside
 * another one. Their forked children are data workers. torch's compile workers and helpers are
 * known by their arguments. There is always one trainer. Judge again as the job runs: the evidence
 * grows.
 */
void roles_judge(const struct role_evidence *evidence, size_t count, struct role_finding *ret);

/*
 * Picks the process that `pattern` means: a part of the space-joined arguments or, if no process
 * contains it, a POSIX extended regular expression. The result is the trainer, not a wrapper or a
 * worker; never `self`, its ancestors, other tidemarks, or editors and pagers that only mention the
 * pattern. For several ranks of one launcher the result is the launcher, with ROLE_WRAPPER, so that
 * its tree is the whole job. *ret_list has all matches, the largest first; the caller frees it with
 * free().
 */
struct proc_match {
    struct proc_id id;
    enum proc_role role;
    double rss;
    bool has_library;  /* proc_find_training(): of deep learning, or CUDA */
    char command[256]; /* redacted */
};

/* Returns the number of matches, also in *ret_count (1: ret_list[0] is the process; 0: none).
 * -EINVAL: bad pattern; -ENOMEM, -errno. */
int proc_find(const char *root, const char *pattern, pid_t self, struct proc_match **ret_list,
              size_t *ret_count);

/*
 * The same for every job that looks like training: a process that has loaded a library of deep
 * learning or CUDA, or that runs Python. Those with such a library come first, and the larger
 * before the smaller. Returns their number, or -errno.
 */
int proc_find_training(const char *root, pid_t self, struct proc_match **ret_list,
                       size_t *ret_count);

/* ---- the machine ---- */

/* /proc/meminfo. */
struct proc_meminfo {
    double total, available, free, swap_total, swap_free, shmem, buffers, cached;
};

int proc_meminfo_parse(const char *text, size_t len, struct proc_meminfo *ret);
int proc_meminfo_read(const char *root, struct proc_meminfo *ret);

/* The first line of /proc/stat: all processors together since boot, in ticks. */
struct proc_cpu {
    double busy, total;
};

int proc_cpu_parse(const char *text, size_t len, struct proc_cpu *ret);
int proc_cpu_read(const char *root, struct proc_cpu *ret);

/* How much a tmpfs (/dev/shm) holds and can hold; both absent without a limit. -ENOTSUP: not a
 * tmpfs; -errno. */
int proc_tmpfs_read(const char *path, double *ret_used, double *ret_size);

/*
 * The resident memory of every process of the machine. Two surveys show which process grew. A
 * survey takes about 2 ms at 580 processes, so one every half minute is cheap.
 */
struct proc_survey;

int proc_survey_take(const char *root, struct proc_survey **ret);
struct proc_survey *proc_survey_free(struct proc_survey *s); /* accepts NULL, returns NULL */

struct proc_grower {
    struct proc_id id;
    double before, now; /* resident bytes; before: 0 if it is younger than the first survey */
    char comm[32];
};

/* The process that grew most from `a` to `b` and that `skip` (may be NULL) does not skip. -ENOENT.
 * */
int proc_survey_grower(const struct proc_survey *a, const struct proc_survey *b,
                       bool (*skip)(void *context, struct proc_id id, const char *comm),
                       void *context, struct proc_grower *ret);

/* ---- cgroups ---- */

enum cgroup_version { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

/* A field is absent where the hierarchy does not report it. */
struct cgroup_memory {
    double current, limit; /* limit: the smallest of it and its ancestors */
    double swap_current, swap_limit;
    double anon, file, shmem, kernel, inactive_file;
    double working_set;           /* current - inactive_file: what cannot be reclaimed easily */
    double oom_events, oom_kills; /* since the cgroup was created; v1 reports kills only */
    double pressure_some, pressure_full; /* avg10 of memory.pressure, in percent */
    double stall_seconds;                /* total of `some` */
};

/* The memory cgroup that a process was in when it was opened; its folder stays open. */
struct cgroup;

/*
 * `sys_root` is usually "" (in tests, a folder with sys/fs/cgroup). -ENOENT: in no cgroup that
 * counts memory, or none is mounted here. Handles v1, v2 and hybrid trees, and the mount of a
 * cgroup namespace or container. Where the leaf does not count memory, it opens the nearest
 * ancestor that does.
 */
int cgroup_open(const char *proc_root, const char *sys_root, pid_t pid, struct cgroup **ret);
struct cgroup *cgroup_free(struct cgroup *c); /* accepts NULL, returns NULL */
enum cgroup_version cgroup_version(const struct cgroup *c);
const char *cgroup_path(const struct cgroup *c); /* inside the hierarchy: "/user.slice/..." */
int cgroup_read(struct cgroup *c, struct cgroup_memory *ret); /* -ENODEV: it was removed */

/* Parsers of its files, for fuzzing and tests. */
int cgroup_stat_parse(const char *text, size_t len, struct cgroup_memory *ret);
int cgroup_events_parse(const char *text, size_t len, struct cgroup_memory *ret);
int cgroup_pressure_parse(const char *text, size_t len, struct cgroup_memory *ret);
int cgroup_of_process_parse(const char *text, size_t len, enum cgroup_version *ret_version,
                            struct buf *ret_path); /* /proc/PID/cgroup */

#endif
