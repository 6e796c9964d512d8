/* proc/tree.c: the processes that descend from the roots. */
#include "proc/fields.h"
#include "proc/file.h"
#include "proc/forks.h"
#include "proc/kin.h"
#include "proc/stat.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* After this many scans every known process has been read again. */
#define TREE_ROUND 16

/* With more new pids than this, a scan costs less than reading each. */
#define FEW_PIDS 256

/* How many generations of parents of a new process are read. */
#define TREE_DEPTH 32

enum entry_kind {
    ENTRY_NEW,     /* not read yet */
    ENTRY_FOREIGN, /* neither a member nor a descendant of one */
    ENTRY_SHUT,    /* excluded, or a descendant of an excluded process */
    ENTRY_ENDED,   /* a zombie: its pid may be reused at any time */
    ENTRY_MEMBER,
};

/* What is known about one pid. */
struct entry {
    pid_t pid;
    enum entry_kind kind;
    bool waited; /* its parent was not listed when it was first met */
    uint64_t start;
    struct proc_member *member; /* ENTRY_MEMBER */
};

struct root {
    struct proc_id id;
    pid_t session;
    bool children_only;
};

/* Ids of roots or excluded processes: a handful. */
struct roots {
    struct root *list;
    size_t count;
};

struct proc_tree {
    DIR *directory;
    int loadavg;    /* -1: its last pid cannot be trusted */
    pid_t last_pid; /* the last pid at the last search for new ones; 0: not known */
    pid_t sure_pid; /* the same, one search earlier: a process being forked then shows now */
    struct proc_tree_hooks hooks;
    struct roots roots, excluded;
    const char *excluded_name; /* NULL: none */
    pid_t excluded_one;        /* 0: none */
    bool knows_silent; /* the kernel shows exit signals here: it shows one for tidemark itself */
    struct pids pids;
    /* Ascending by pid; `spare` is the same storage from the scan before. */
    struct entry *entries, *spare;
    size_t count, capacity, spare_capacity;
    struct proc_member **members; /* in the order they joined */
    size_t member_count, member_capacity;
    unsigned scans;
    bool recheck_all; /* roots or exclusions are new: read every process again */
    bool unsettled;   /* some processes wait for the next scan */
    int forks;        /* from forks_open(); negative: no reports */
    struct kin kin;
    uint64_t began; /* clock ticks since boot */
    uint64_t total_members;
    int unread; /* as proc_tree_unread() returns it */
    struct buf text;
};

/*
 * Opens the file that shows the last pid in our namespace. It cannot be used where another file
 * system covers it (lxcfs), or where /proc belongs to another pid namespace.
 */
static int open_loadavg(int directory)
{
    struct statfs s;
    int fd = file_is_own_proc(directory) ? openat(directory, "loadavg", O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && (fstatfs(fd, &s) < 0 || s.f_type != PROC_SUPER_MAGIC)) {
        close(fd);
        return -1;
    }
    return fd;
}

static uint64_t ticks_now(void)
{
    struct timespec t;
    long hertz = sysconf(_SC_CLK_TCK);
    if (clock_gettime(CLOCK_BOOTTIME, &t) < 0)
        return UINT64_MAX;
    return (uint64_t) (t.tv_sec * hertz) + (uint64_t) (t.tv_nsec / (1000000000 / hertz));
}

int proc_tree_new(const char *root, const struct proc_tree_hooks *hooks, struct proc_tree **ret)
{
    struct proc_tree *t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    t->directory = opendir(root);
    if (!t->directory) {
        int r = -errno;
        free(t);
        return r;
    }
    t->loadavg = open_loadavg(dirfd(t->directory));
    t->forks = -1;
    t->began = ticks_now();
    if (hooks)
        t->hooks = *hooks;
    *ret = t;
    return 0;
}

struct proc_tree *proc_tree_free(struct proc_tree *t)
{
    if (!t)
        return NULL;
    for (size_t i = 0; i < t->member_count; i++)
        free(t->members[i]);
    free(t->members);
    free(t->entries);
    free(t->spare);
    free(t->roots.list);
    free(t->excluded.list);
    pids_release(&t->pids);
    kin_release(&t->kin);
    buf_release(&t->text);
    if (t->forks >= 0)
        close(t->forks);
    if (t->loadavg >= 0)
        close(t->loadavg);
    closedir(t->directory);
    free(t);
    return NULL;
}

/* ---- roots and exclusions ---- */

static int roots_add(struct roots *r, struct root root)
{
    struct root *list = realloc(r->list, (r->count + 1) * sizeof *list);
    if (!list)
        return -ENOMEM;
    r->list = list;
    r->list[r->count++] = root;
    return 0;
}

static const struct root *roots_find(const struct roots *r, struct proc_id id)
{
    for (size_t i = 0; i < r->count; i++) {
        if (proc_id_equal(r->list[i].id, id))
            return &r->list[i];
    }
    return NULL;
}

static int read_stat(struct proc_tree *t, pid_t pid, struct proc_stat *ret)
{
    int r = proc_stat_read_at(dirfd(t->directory), pid, &t->text, ret);
    if (error_lacks_files(-r))
        t->unread = r;
    return r;
}

int proc_tree_add_root(struct proc_tree *t, pid_t pid, bool children_only)
{
    struct proc_stat stat;
    int r = read_stat(t, pid, &stat);
    if (r < 0)
        return r;
    if (proc_stat_ended(&stat))
        return -ESRCH;
    r = roots_add(&t->roots, (struct root){stat.id, stat.session, children_only});
    if (r == 0)
        t->recheck_all = true;
    return r;
}

void proc_tree_exclude(struct proc_tree *t, pid_t pid)
{
    struct proc_stat stat;
    if (read_stat(t, pid, &stat) == 0 &&
        roots_add(&t->excluded, (struct root){stat.id, stat.session, false}) == 0)
        t->recheck_all = true;
}

void proc_tree_exclude_one(struct proc_tree *t, pid_t pid)
{
    t->excluded_one = pid;
}

/* ---- joining and leaving ---- */

static int reserve_member(struct proc_tree *t)
{
    if (t->member_count < t->member_capacity)
        return 0;
    size_t capacity = t->member_capacity ? t->member_capacity * 2 : 32;
    struct proc_member **members = realloc(t->members, capacity * sizeof *members);
    if (!members)
        return -ENOMEM;
    t->members = members;
    t->member_capacity = capacity;
    return 0;
}

static int join(struct proc_tree *t, struct entry *e, const struct proc_stat *stat,
                const struct entry *parent)
{
    struct proc_member *m = calloc(1, sizeof *m);
    if (!m || reserve_member(t) < 0) {
        free(m);
        return -ENOMEM;
    }
    m->stat = *stat;
    if (parent && parent->kind == ENTRY_MEMBER)
        m->parent = parent->member->stat.id;
    e->kind = ENTRY_MEMBER;
    e->member = m;
    t->members[t->member_count++] = m;
    t->total_members++;
    if (t->hooks.joined)
        t->hooks.joined(t->hooks.context, m);
    return 0;
}

static void leave(struct proc_tree *t, struct entry *e)
{
    struct proc_member *m = e->member;
    size_t i = 0;
    while (t->members[i] != m)
        i++;
    memmove(&t->members[i], &t->members[i + 1],
            (t->member_count - i - 1) * sizeof(struct proc_member *));
    t->member_count--;
    kin_add(&t->kin, e->pid, false, t->scans);
    if (t->hooks.left)
        t->hooks.left(t->hooks.context, m);
    free(m);
    e->member = NULL;
    e->kind = ENTRY_NEW;
}

/* ---- the list of all pids ---- */

static int reserve_spare(struct proc_tree *t)
{
    if (t->pids.count <= t->spare_capacity)
        return 0;
    struct entry *spare = realloc(t->spare, t->pids.capacity * sizeof *spare);
    if (!spare)
        return -ENOMEM;
    t->spare = spare;
    t->spare_capacity = t->pids.capacity;
    return 0;
}

static void swap_entries(struct proc_tree *t, size_t count)
{
    struct entry *entries = t->entries;
    size_t capacity = t->capacity;
    t->entries = t->spare;
    t->capacity = t->spare_capacity;
    t->spare = entries;
    t->spare_capacity = capacity;
    t->count = count;
}

/* Merges the listed pids with the known ones, and drops those no longer listed. -ENOMEM. */
static int list_pids(struct proc_tree *t)
{
    int r = pids_read(t->directory, &t->pids);
    if (r == 0)
        r = reserve_spare(t);
    if (r < 0)
        return r;
    size_t old = 0;
    for (size_t i = 0; i < t->pids.count; i++) {
        pid_t pid = t->pids.list[i];
        for (; old < t->count && t->entries[old].pid < pid; old++) {
            if (t->entries[old].member)
                leave(t, &t->entries[old]);
        }
        if (old < t->count && t->entries[old].pid == pid)
            t->spare[i] = t->entries[old++];
        else
            t->spare[i] = (struct entry){.pid = pid};
    }
    for (; old < t->count; old++) {
        if (t->entries[old].member)
            leave(t, &t->entries[old]);
    }
    swap_entries(t, t->pids.count);
    return 0;
}

static struct entry *find_entry(struct proc_tree *t, pid_t pid)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->entries[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->count && t->entries[low].pid == pid ? &t->entries[low] : NULL;
}

/* ---- reading processes ---- */

static bool is_excluded(const struct proc_tree *t, const struct proc_stat *stat)
{
    return roots_find(&t->excluded, stat->id) || stat->id.pid == t->excluded_one ||
           (t->excluded_name &&
            (strcmp(stat->comm, t->excluded_name) == 0 || (stat->is_silent && t->knows_silent)));
}

/* Renews the numbers of a member that is still the same process and has not ended. */
static void renew_member(struct proc_tree *t, struct entry *e)
{
    struct proc_stat stat;
    int r = read_stat(t, e->pid, &stat);
    if (error_lacks_files(-r))
        return; /* unreadable does not mean ended */
    bool same = r == 0 && stat.id.start == e->start;
    if (same && !proc_stat_ended(&stat) && !is_excluded(t, &stat)) {
        e->member->stat = stat;
        return;
    }
    leave(t, e);
    if (same && proc_stat_ended(&stat))
        e->kind = ENTRY_ENDED;
}

/* An entry whose pid may have been reused becomes new again. */
static void verify_known(struct proc_tree *t, struct entry *e)
{
    struct proc_stat stat;
    int r = read_stat(t, e->pid, &stat);
    if (!error_lacks_files(-r) && (r < 0 || stat.id.start != e->start))
        *e = (struct entry){.pid = e->pid};
}

static void review(struct proc_tree *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct entry *e = &t->entries[i];
        if (e->kind == ENTRY_MEMBER)
            renew_member(t, e);
        else if (e->kind == ENTRY_ENDED || (unsigned) e->pid % TREE_ROUND == t->scans % TREE_ROUND)
            verify_known(t, e);
        if (t->recheck_all && (e->kind == ENTRY_FOREIGN || e->kind == ENTRY_SHUT))
            e->kind = ENTRY_NEW;
    }
    t->recheck_all = false;
    t->scans++;
}

/* ---- orphans ---- */

/* What a new process is, as far as its parent is known by now. */
enum standing { STANDING_MEMBER, STANDING_SHUT, STANDING_FOREIGN, STANDING_OPEN };

static bool is_root_pid(const struct proc_tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->roots.count; i++)
        if (t->roots.list[i].id.pid == pid)
            return true;
    return false;
}

static bool is_member_pid(struct proc_tree *t, pid_t pid)
{
    const struct entry *e = find_entry(t, pid);
    return e && e->kind == ENTRY_MEMBER;
}

/* It belongs to the job, or did. See struct kin for why a pid is enough. */
static bool is_kin(struct proc_tree *t, pid_t pid)
{
    return is_member_pid(t, pid) || kin_find(&t->kin, pid);
}

static void on_fork(void *context, pid_t parent, pid_t child)
{
    struct proc_tree *t = context;
    if (is_kin(t, parent) || is_root_pid(t, parent))
        kin_add(&t->kin, child, true, t->scans);
    else
        kin_remove(&t->kin, child);
}

static void hear_forks(struct proc_tree *t)
{
    if (t->forks >= 0)
        forks_read(t->forks, on_fork, t);
}

static bool shares_image(const struct proc_stat *a, const struct proc_stat *b)
{
    return a->image_stack != 0 && a->image_stack == b->image_stack &&
           a->image_code == b->image_code;
}

/* An older member has the same memory layout. */
static bool has_elder_member(const struct proc_tree *t, const struct proc_stat *stat)
{
    for (size_t i = 0; i < t->member_count; i++) {
        const struct proc_stat *m = &t->members[i]->stat;
        if (m->id.start < stat->id.start && shares_image(stat, m))
            return true;
    }
    return false;
}

static bool is_elder(struct proc_id a, struct proc_id b)
{
    return a.start < b.start || (a.start == b.start && a.pid < b.pid);
}

/* Only members have this memory layout and are as old. Checking that means reading the rest of the
 * machine, but only where a member has the layout, which is rare. */
static enum standing standing_by_image(struct proc_tree *t, const struct proc_stat *stat)
{
    struct proc_stat other;
    enum standing found = STANDING_MEMBER;
    if (!has_elder_member(t, stat))
        return STANDING_FOREIGN;
    for (size_t i = 0; i < t->count; i++) {
        const struct entry *e = &t->entries[i];
        if (e->kind == ENTRY_MEMBER || e->pid == stat->id.pid || read_stat(t, e->pid, &other) < 0 ||
            !shares_image(stat, &other))
            continue;
        if (e->kind != ENTRY_NEW && other.id.start <= stat->id.start)
            return STANDING_FOREIGN;
        if (is_elder(other.id, stat->id))
            found = STANDING_OPEN; /* it may yet become a member */
    }
    return found;
}

/* Judges a process whose parent is unknown by where it came from: see proc.h. */
static enum standing standing_of_orphan(struct proc_tree *t, const struct proc_stat *stat)
{
    const struct kin_entry *known = kin_find(&t->kin, stat->id.pid);
    bool in_session = stat->session != stat->id.pid && is_kin(t, stat->session);
    bool in_group = stat->group != stat->id.pid && stat->id.start >= t->began;
    if ((known && known->is_new) || in_session || (in_group && is_kin(t, stat->group)))
        return STANDING_MEMBER;
    return standing_by_image(t, stat);
}

static struct kin_use use_of(void *context, pid_t pid)
{
    struct proc_tree *t = context;
    struct kin_use use = {.is_met = find_entry(t, pid) != NULL};
    for (size_t i = 0; i < t->member_count && !use.leads; i++) {
        const struct proc_stat *s = &t->members[i]->stat;
        use.leads = s->id.pid != pid && (s->session == pid || s->group == pid);
    }
    return use;
}

int proc_tree_hear_forks(struct proc_tree *t)
{
    if (t->loadavg < 0)
        return -ENOTSUP; /* pids of another namespace */
    t->forks = forks_open();
    return t->forks < 0 ? t->forks : 0;
}

/* ---- placing new processes ---- */

static enum standing standing(struct proc_tree *t, const struct proc_stat *stat,
                              const struct entry *parent)
{
    if (is_excluded(t, stat))
        return STANDING_SHUT;
    const struct root *root = roots_find(&t->roots, stat->id);
    if (root && !root->children_only)
        return STANDING_MEMBER;
    if (parent && (parent->kind == ENTRY_MEMBER ||
                   roots_find(&t->roots, (struct proc_id){parent->pid, parent->start})))
        return STANDING_MEMBER;
    if (parent && parent->kind == ENTRY_SHUT)
        return STANDING_SHUT;
    if (parent && parent->kind != ENTRY_FOREIGN)
        return STANDING_OPEN;
    return standing_of_orphan(t, stat);
}

/* A new process that was read, and waits for its parent to be placed. */
struct pending {
    struct entry *entry;
    struct proc_stat stat;
};

/*
 * True if the entry was placed. A zombie whose parent is a member came and went between two scans:
 * it is only counted.
 */
static bool place(struct proc_tree *t, struct pending *p, int *error)
{
    struct entry *e = p->entry, *parent = find_entry(t, p->stat.parent);
    enum standing s = standing(t, &p->stat, parent);
    if (s == STANDING_OPEN)
        return false;
    if (proc_stat_ended(&p->stat)) {
        e->kind = ENTRY_ENDED;
        if (s == STANDING_MEMBER) {
            t->total_members++;
            kin_add(&t->kin, e->pid, false, t->scans);
        }
    } else if (s == STANDING_MEMBER) {
        if (join(t, e, &p->stat, parent) < 0)
            *error = -ENOMEM;
    } else if (!parent && p->stat.parent > 0 && !e->waited) {
        /* The parent started after the reader had passed its pid: the next scan lists it. */
        e->waited = true;
    } else {
        e->kind = s == STANDING_SHUT ? ENTRY_SHUT : ENTRY_FOREIGN;
    }
    return true;
}

/* Places processes until nothing changes: parents need not come before children. */
static int place_all(struct proc_tree *t, struct pending *list, size_t count)
{
    int error = 0;
    for (size_t before = count + 1; count > 0 && count < before;) {
        before = count;
        count = 0;
        for (size_t i = 0; i < before; i++) {
            if (!place(t, &list[i], &error))
                list[count++] = list[i];
        }
    }
    return error;
}

/* Reads the new processes. Returns how many still exist. */
static size_t read_new(struct proc_tree *t, struct pending *list)
{
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct entry *e = &t->entries[i];
        if (e->kind != ENTRY_NEW || read_stat(t, e->pid, &list[count].stat) < 0)
            continue;
        e->start = list[count].stat.id.start;
        list[count++].entry = e;
    }
    return count;
}

static int settle_new(struct proc_tree *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        count += t->entries[i].kind == ENTRY_NEW;
    if (count == 0)
        return 0;
    struct pending *list = malloc(count * sizeof *list);
    if (!list)
        return -ENOMEM;
    int r = place_all(t, list, read_new(t, list));
    free(list);
    return r;
}

/* ---- the last pid ---- */

/* "0.20 0.18 0.12 1/80 11206". 0: not known. */
static pid_t last_pid(const struct proc_tree *t)
{
    char text[128];
    ssize_t n = t->loadavg < 0 ? -1 : pread(t->loadavg, text, sizeof text, 0);
    const char *blank = n > 0 ? memrchr(text, ' ', (size_t) n) : NULL;
    const char *s = blank ? blank + 1 : NULL;
    uint64_t pid;
    return s && scan_unsigned(&s, text + n, &pid) && pid <= INT_MAX ? (pid_t) pid : 0;
}

static bool is_session_of_job(const struct proc_tree *t, pid_t session)
{
    for (size_t i = 0; i < t->roots.count; i++)
        if (t->roots.list[i].session == session)
            return true;
    for (size_t i = 0; i < t->member_count; i++)
        if (t->members[i]->stat.session == session)
            return true;
    return false;
}

/*
 * A single call, because most new processes have already ended or belong to others. A process is in
 * the session of its parent, or in one that it or an ancestor started since.
 */
static bool may_be_of_job(struct proc_tree *t, pid_t pid)
{
    pid_t session = getsid(pid);
    if (session < 0)
        return errno != ESRCH;
    const struct entry *leader = find_entry(t, session);
    bool is_foreign = leader && (leader->kind == ENTRY_FOREIGN || leader->kind == ENTRY_SHUT);
    return !is_foreign || is_session_of_job(t, session);
}

/* Threads have pids too, and folders of their own. */
static bool is_thread(struct proc_tree *t, pid_t pid)
{
    char path[32];
    double group;
    static const struct field fields[] = {{"Tgid", 0}};
    snprintf(path, sizeof path, "%d/status", (int) pid);
    return file_read_at(dirfd(t->directory), path, &t->text) == 0 &&
           fields_parse(buf_text(&t->text), t->text.len, fields, 1, &group) == 1 &&
           group != (double) pid;
}

bool proc_tree_claims(struct proc_tree *t, pid_t pid)
{
    struct proc_stat stat;
    for (int i = 0; i < TREE_DEPTH; i++) {
        if (read_stat(t, pid, &stat) < 0 || stat.parent == 0 || is_excluded(t, &stat))
            return false;
        const struct entry *parent = find_entry(t, stat.parent);
        if (parent && parent->kind != ENTRY_NEW) {
            struct proc_id id = {parent->pid, parent->start};
            return parent->kind == ENTRY_MEMBER || roots_find(&t->roots, id) ||
                   (parent->kind == ENTRY_FOREIGN &&
                    standing_of_orphan(t, &stat) != STANDING_FOREIGN);
        }
        pid = stat.parent;
    }
    return true;
}

bool proc_tree_has_arrivals(struct proc_tree *t)
{
    pid_t last = last_pid(t), before = t->last_pid;
    hear_forks(t);
    if (last == 0 || before == 0 || last < before || last - t->sure_pid > FEW_PIDS ||
        t->recheck_all || t->unsettled)
        return true;
    for (pid_t pid = t->sure_pid + 1; pid <= last; pid++) {
        struct entry *known = find_entry(t, pid);
        /* The pid belonged to another process. */
        if (known && known->kind != ENTRY_MEMBER)
            *known = (struct entry){.pid = pid};
        if (may_be_of_job(t, pid) && proc_tree_claims(t, pid) && !is_thread(t, pid))
            return true;
    }
    t->sure_pid = before;
    t->last_pid = last;
    return false;
}

/* Pids handed out since then belong to other processes now. */
static void forget_given(struct proc_tree *t, pid_t last)
{
    bool wrapped = last < t->last_pid;
    for (size_t i = 0; i < t->count; i++) {
        struct entry *e = &t->entries[i];
        bool given = wrapped || (e->pid > t->last_pid && e->pid <= last);
        if (given && e->kind != ENTRY_MEMBER)
            *e = (struct entry){.pid = e->pid};
    }
}

static bool any_waits(const struct proc_tree *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->entries[i].kind == ENTRY_NEW && t->entries[i].waited)
            return true;
    return false;
}

void proc_tree_exclude_name(struct proc_tree *t, const char *name)
{
    struct proc_stat self;
    t->excluded_name = name;
    t->knows_silent = read_stat(t, getpid(), &self) == 0 && !self.is_silent;
}

int proc_tree_scan(struct proc_tree *t)
{
    pid_t last = last_pid(t);
    if (last > 0 && t->last_pid > 0)
        forget_given(t, last);
    int r = list_pids(t);
    if (r < 0)
        return r;
    review(t);
    /* After the listing, so that everyone listed has been reported. */
    hear_forks(t);
    r = settle_new(t);
    kin_prune(&t->kin, t->scans, use_of, t);
    t->sure_pid = t->last_pid = last;
    t->unsettled = any_waits(t);
    return r < 0 ? r : (int) t->member_count;
}

struct proc_member *proc_tree_member(struct proc_tree *t, size_t index)
{
    assert(index < t->member_count);
    return t->members[index];
}

uint64_t proc_tree_total_members(const struct proc_tree *t)
{
    return t->total_members;
}

int proc_tree_unread(const struct proc_tree *t)
{
    return t->unread;
}
