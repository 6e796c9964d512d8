/* proc/proc.h: what the kernel tells about processes, their memory, cgroups and the machine. */
#ifndef TIDEMARK_PROC_H
#define TIDEMARK_PROC_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Every *_parse() is pure and fuzzed: 0, or -EINVAL, outputs untouched on failure. Every reader
 * takes the root of a proc file system ("/proc"), so that tests can feed files. Sizes are bytes;
 * what the kernel does not tell is absent (NAN), never 0.
 */

/* ---- one process ---- */

/* A process is its pid and its start: a pid alone is never an identity. */
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
    uint64_t faults;    /* pages that were not there, or not to be written to, when touched */
    double rss;
    /* Where the kernel put the program in memory, at random: a process that was forked since has
     * the same. 0: not known, or not for us. */
    uint64_t image_code, image_stack;
    bool is_silent; /* its parent is told nothing of its end: a fork of that kind, and no program of
                       its own since; false: where that is not known */
};

int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret);
int proc_stat_read(const char *root, pid_t pid, struct proc_stat *ret); /* -ESRCH, -EACCES */

/* A zombie, or on the way out. */
bool proc_stat_ended(const struct proc_stat *s);

/* /proc/PID/status: cheap, never blocks the process. */
struct proc_status {
    double rss, anon, file, shmem, swap, vsize;
    double peak; /* of rss, since its program was started or it was forked */
    double threads;
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
 * An open process: three descriptors stay open (raise RLIMIT_NOFILE for hundreds of processes), and
 * everything is read through them, so that it can never meet another process that was given the
 * same pid. It stays the same through exec. One owner, one thread.
 */
struct proc;

/* -ESRCH: gone, a zombie, or another process; -EMFILE, -ENOMEM. */
int proc_open(const char *root, struct proc_id id, struct proc **ret);
struct proc *proc_free(struct proc *p); /* accepts NULL, returns NULL */

/*
 * The cheapest look there is. 1: what it maps or holds has another size than at the call before, or
 * that cannot be told; 0: it has not, or it has not even run since (1 us; statm takes three);
 * -ESRCH: it has ended. What the kernel takes from a process that sleeps is told when it wakes.
 */
int proc_has_changed(struct proc *p);

/* All four: -ESRCH: it has ended (a zombie too); -EACCES, -EPERM: not for us; -ENOSYS: the kernel
 * has no such file. */
int proc_read_stat(struct proc *p, struct proc_stat *ret);
int proc_read_status(struct proc *p, struct proc_status *ret);
int proc_read_rollup(struct proc *p, struct proc_rollup *ret);
int proc_read_fds(struct proc *p, double *ret_count);

/* The arguments, NUL-separated as in /proc/PID/cmdline (empty for kernel threads and zombies);
 * replaces what `ret` held, as the next does. */
int proc_read_arguments(struct proc *p, struct buf *ret);

/* At most so much can it have put into files so far: what it and the children that it has waited
 * for have written by whatever call, and a page for each of its own page faults. */
int proc_read_written(struct proc *p, double *ret_bytes);
int proc_io_parse(const char *text, size_t len, double *ret_written); /* /proc/PID/io */

/* The value of one variable of the environment it was started with. -ENOENT. */
int proc_read_variable(struct proc *p, const char *name, struct buf *ret);

/*
 * Adds the arguments as one line for people: quoted where needed, clean for a terminal, secrets
 * replaced by ***: values of telling options and variables (--token, *_KEY=), passwords in URLs,
 * cookies, well-known tokens wherever they stand. Judged word by word: --tokenizer and --max-tokens
 * stay. What an option of one letter means is the program's: mysql -pX is hidden, ssh -p 22 is not.
 */
void proc_add_command(struct buf *out, const char *arguments, size_t len);

/* The same for an argv, not quoted: `count` texts, each with a NUL behind it; replaces what `ret`
 * held. */
void proc_redact(const char *const *argv, size_t count, struct buf *ret);

/* ---- shared memory ---- */

/* A file of a tmpfs that a process maps or has open. */
struct proc_held {
    uint64_t inode;
    double bytes, size; /* what it takes, and how long it is; NAN: it is only mapped */
    double extent;      /* to where it is mapped; 0: it is only open */
};

typedef void proc_held_found(void *context, const struct proc_held *h);

/*
 * The files of `device`, mounted at `place`, that it holds, those without a name too. One that it
 * holds twice is found twice. `maps` may be false for one that is known to have touched no shared
 * memory. 0: what may be read was; -ESRCH.
 */
int proc_read_held(struct proc *p, dev_t device, const char *place, bool maps,
                   proc_held_found *found, void *context);

struct proc_held_hooks {
    void *context;
    bool (*skip)(void *context, pid_t pid);
    proc_held_found *found;
    /* As proc_read_written() says. */
    void (*wrote)(void *context, struct proc_id id, double bytes);
};

/* The same of all processes of the machine, ascending by pid, but for those that `skip` names and
 * those that are not for us. -errno. */
int proc_survey_held(const char *root, dev_t device, const char *place,
                     const struct proc_held_hooks *hooks);

/* ---- the tree ---- */

/*
 * The processes that descend from the roots, found by scanning. A scan lists the pids of the
 * machine (0.2 ms at 580) and reads `stat` of those it has not seen before only; what is known to
 * be foreign is looked at again from time to time, since pids are reused; members in every scan.
 * A member stays one when it is reparented, and leaves as a zombie; children of members are
 * members whatever session or group they are in.
 *
 * A process whose parent ended between two scans (a daemon: fork, setsid, fork) is an orphan when
 * the tree first sees it. It becomes a member if one of these holds:
 * - It came to a root: a child subreaper (the relay) that was added.
 * - The kernel reported its fork: see proc_tree_hear_forks().
 * - A process that is or was a member leads its session. A session can only be inherited.
 * - Such a process leads its group, and it began after the tree was made. Older ones are left out:
 *   a shell puts all of a pipeline into the group of its first process.
 * - An older member has the same memory layout, and no process outside the job that is as old. The
 *   kernel picks the layout at random with every exec, and shows it to whoever may trace both.
 * Without fork reports the tree misses an orphan in a session of its own that runs another program
 * than any member, and one in the session and group of a leader outside the job.
 *
 * One owner, one thread.
 */
struct proc_tree;

struct proc_member {
    struct proc_stat stat; /* as of the last scan */
    struct proc_id parent; /* when it joined; pid 0 for a root or where that was no member */
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
 * Follows `pid` and its descendants from now on. With `children_only` the process itself is no
 * member (the relay under `run`). -ESRCH.
 */
int proc_tree_add_root(struct proc_tree *t, pid_t pid, bool children_only);

/* Never a member, nor its descendants, unless one of them is a root: the watcher itself. */
void proc_tree_exclude(struct proc_tree *t, pid_t pid);
/* The same for one at a time, in place of the one before; 0: none. */
void proc_tree_exclude_one(struct proc_tree *t, pid_t pid);
/* The same for all whose thread has that name; the text must outlive the tree. Such a process is
 * forked in silence, and has the name of its parent until it comes to run: any that is silent is
 * taken for one. */
void proc_tree_exclude_name(struct proc_tree *t, const char *name);

/*
 * Has the kernel report every fork, so that orphans are found whatever they do. Reports are read
 * with every scan and by proc_tree_has_arrivals(). -ENOTSUP: before Linux 6.6 or in a container;
 * -errno: the tree does without.
 */
int proc_tree_hear_forks(struct proc_tree *t);

/* Finds who came and who left. The number of members, or -errno. */
int proc_tree_scan(struct proc_tree *t);

/* Whether a process descends from a member or a root as far as it shows: neither it nor its parents
 * need be known, since they may have come after the last scan. */
bool proc_tree_claims(struct proc_tree *t, pid_t pid);

/*
 * Whether a scan would find somebody who came since the last one; much cheaper than to look. Pids
 * are given in order, and the kernel tells the last (/proc/loadavg): only those in between can be
 * new, and only a child of a member or a root can be one. True where that cannot be told. Who left
 * is not noticed.
 */
bool proc_tree_has_arrivals(struct proc_tree *t);

/* Members in the order they joined; `index` below the last scan's number. */
struct proc_member *proc_tree_member(struct proc_tree *t, size_t index);

/* So many processes were members, those included that were met as zombies only: they came and went
 * between two scans. */
uint64_t proc_tree_total_members(const struct proc_tree *t);

/* -EMFILE or -ENFILE where that has kept a scan from a process, which then stays what it was, or
 * unknown; 0: never. */
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

/* What is known about one process of the tree; texts may be NULL. */
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
    bool counts_steps; /* says so itself, from inside */
};

struct role_finding {
    enum proc_role role;
    int rank;      /* -1: none */
    char why[120]; /* the evidence in words: "started by torchrun with RANK=3" */
};

/*
 * Judges a whole tree at once: who wraps, who trains, who helps. Pure. A wrapper is small, stable
 * and the parent of the real one (uv, torchrun, shells, env, time, accelerate, deepspeed, sudo,
 * numactl, ... by name; others because they started the ranks, or only wait for a far larger
 * child). The first below that are no wrappers train, unless small beside another; their forked
 * children are data workers; torch's compile workers and helpers are told by their arguments.
 * Somebody is always the trainer. Judge again as the job goes on: evidence grows.
 */
void roles_judge(const struct role_evidence *evidence, size_t count, struct role_finding *ret);

/*
 * Picks the process that `pattern` means (a part of the space-joined arguments; where that is in
 * none, a POSIX extended regular expression): the trainer, not a wrapper around it nor its
 * workers; never `self`, its ancestors, other tidemarks, or editors and pagers that only mention
 * it. Of several ranks of one launcher it is the launcher, with ROLE_WRAPPER, so that its tree is
 * the whole job. The caller owns *ret_list (free()): all that fit, the largest first.
 */
struct proc_match {
    struct proc_id id;
    enum proc_role role;
    double rss;
    char command[256]; /* redacted */
};

/* How many fit (*ret_count): 1 and ret_list[0] is it; 0; several; -EINVAL: bad pattern. */
int proc_find(const char *root, const char *pattern, pid_t self, struct proc_match **ret_list,
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

/* What a tmpfs (/dev/shm) holds and could hold; both absent where it has no limit. -ENOTSUP: it is
 * none; -errno. */
int proc_tmpfs_read(const char *path, double *ret_used, double *ret_size);

/*
 * The resident memory of every process of the machine: two surveys tell who grew (F10). About 2 ms
 * at 580 processes: every half minute is often enough.
 */
struct proc_survey;

int proc_survey_take(const char *root, struct proc_survey **ret);
struct proc_survey *proc_survey_free(struct proc_survey *s); /* accepts NULL, returns NULL */

struct proc_grower {
    struct proc_id id;
    double before, now; /* resident bytes; before: 0 if it is younger than the first survey */
    char comm[32];
};

/* The process that grew most from `a` to `b` and for which `skip` (may be NULL) is false. -ENOENT.
 */
int proc_survey_grower(const struct proc_survey *a, const struct proc_survey *b,
                       bool (*skip)(void *context, struct proc_id id, const char *comm),
                       void *context, struct proc_grower *ret);

/* ---- cgroups ---- */

enum cgroup_version { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

/* Everything absent where the hierarchy does not tell it. */
struct cgroup_memory {
    double current, limit; /* limit: the smallest of it and its ancestors */
    double swap_current, swap_limit;
    double anon, file, shmem, kernel, inactive_file;
    double working_set;           /* current - inactive_file: what cannot be reclaimed easily */
    double oom_events, oom_kills; /* since the cgroup was made; v1 tells of kills only */
    double pressure_some, pressure_full; /* avg10 of memory.pressure, in percent */
    double stall_seconds;                /* total of `some` */
};

/* The memory cgroup of a process, its folder kept open: the one it was in when it was opened. */
struct cgroup;

/*
 * `sys_root` is usually "" (for tests: a folder that holds sys/fs/cgroup). -ENOENT: in none whose
 * memory is counted, or not mounted here. v1, v2 and hybrid trees; a cgroup namespace or container
 * mount too. Where the leaf does not count memory, the nearest ancestor that does is opened.
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
