/* tests/unit/test_proc_tree.c: which processes belong to the job, with real and made-up ones. */
#include "proc_children.h"
#include "unit.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

/* What the hooks received. */
struct told {
    int joined, left;
    pid_t last_joined, last_left;
    void *last_user;
};

static void on_joined(void *context, struct proc_member *m)
{
    struct told *told = context;
    told->joined++;
    told->last_joined = m->stat.id.pid;
    m->user = m;
}

static void on_left(void *context, struct proc_member *m)
{
    struct told *told = context;
    told->left++;
    told->last_left = m->stat.id.pid;
    told->last_user = m->user == m ? m : NULL;
}

static struct proc_tree *tree_start(const char *root, struct told *told)
{
    *told = (struct told){.joined = 0};
    struct proc_tree *t = NULL;
    struct proc_tree_hooks hooks = {told, on_joined, on_left};
    proc_tree_new(root, &hooks, &t);
    return t;
}

static const struct proc_member *member_of(struct proc_tree *t, int count, pid_t pid)
{
    for (int i = 0; i < count; i++) {
        const struct proc_member *m = proc_tree_member(t, (size_t) i);
        if (m->stat.id.pid == pid)
            return m;
    }
    return NULL;
}

/* Scans until there are `count` members, for at most five seconds. */
static int scan_until(struct proc_tree *t, int count)
{
    int r = proc_tree_scan(t);
    for (int i = 0; i < 500 && r >= 0 && r != count; i++) {
        usleep(10 * 1000);
        r = proc_tree_scan(t);
    }
    return r;
}

static int pipe_out[2];

static void tell(pid_t pid)
{
    if (write(pipe_out[1], &pid, sizeof pid) != sizeof pid)
        _exit(1);
}

static pid_t hear(void)
{
    pid_t pid = -1;
    return read(pipe_out[0], &pid, sizeof pid) == sizeof pid ? pid : -1;
}

static void start_grandchild(void)
{
    pid_t pid = child_start(NULL);
    tell(pid);
}

TEST(tree__follows_children_and_their_children)
{
    CHECK(pipe(pipe_out) == 0);
    pid_t child = child_start(start_grandchild), grandchild = hear();
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(proc_tree_add_root(t, child, false) == 0);
    CHECK(proc_tree_scan(t) == 2);
    CHECK(told.joined == 2 && told.left == 0);
    const struct proc_member *m = member_of(t, 2, grandchild);
    CHECK(m && m->parent.pid == child && m->stat.parent == child);
    CHECK(proc_tree_member(t, 0)->stat.id.pid == child);
    CHECK(proc_tree_member(t, 0)->parent.pid == 0);
    CHECK(proc_id_equal(m->parent, proc_tree_member(t, 0)->stat.id));
    CHECK(proc_tree_scan(t) == 2);
    CHECK(told.joined == 2);
    child_end(child);
    CHECK(scan_until(t, 0) == 0);
    CHECK(told.left == 2);
    CHECK(told.last_user);
    CHECK(proc_tree_total_members(t) == 2);
    CHECK(!proc_tree_free(t));
}

TEST(tree__leaves_the_relay_out_and_takes_its_children)
{
    CHECK(pipe(pipe_out) == 0);
    pid_t relay = child_start(start_grandchild), child = hear();
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(proc_tree_add_root(t, relay, true) == 0);
    CHECK(proc_tree_scan(t) == 1);
    CHECK(proc_tree_member(t, 0)->stat.id.pid == child);
    CHECK(proc_tree_member(t, 0)->parent.pid == 0);
    child_end(relay);
    CHECK(scan_until(t, 0) == 0);
    proc_tree_free(t);
}

static void start_daemon(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t middle = fork();
    if (middle == 0) {
        setsid();
        pid_t daemon = fork();
        if (daemon == 0) {
            setsid();
            alarm(60);
            tell(getpid());
            for (;;)
                pause();
        }
        _exit(0);
    }
    waitpid(middle, NULL, 0);
    tell(getpid());
}

TEST(tree__finds_a_daemon_under_the_reaper_of_orphans)
{
    CHECK(pipe(pipe_out) == 0);
    pid_t relay = child_start(start_daemon), a = hear(), b = hear();
    pid_t daemon = a == relay ? b : a;
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(proc_tree_add_root(t, relay, true) == 0);
    CHECK(proc_tree_scan(t) == 1);
    CHECK(told.last_joined == daemon);
    kill(daemon, SIGKILL);
    CHECK(scan_until(t, 0) == 0);
    child_end(relay);
    proc_tree_free(t);
}

TEST(tree__keeps_who_is_reparented)
{
    CHECK(pipe(pipe_out) == 0);
    /* Our orphans are reparented to us, and not to a reaper outside this test. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t child = fork();
    if (child == 0) {
        pid_t orphan = fork();
        alarm(60);
        if (orphan > 0)
            tell(orphan);
        for (;;)
            pause();
    }
    pid_t orphan = hear();
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(proc_tree_add_root(t, child, false) == 0);
    CHECK(proc_tree_scan(t) == 2);
    child_end(child);
    CHECK(proc_tree_scan(t) == 1);
    CHECK(told.last_left == child && told.left == 1);
    CHECK(proc_tree_member(t, 0)->stat.id.pid == orphan);
    CHECK(proc_tree_member(t, 0)->stat.parent == getpid());
    CHECK(proc_tree_member(t, 0)->parent.pid == child);
    child_end(orphan);
    CHECK(proc_tree_scan(t) == 0);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    proc_tree_free(t);
}

TEST(tree__takes_a_zombie_for_gone_and_counts_it_once)
{
    pid_t child = child_start(NULL);
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(proc_tree_add_root(t, getpid(), true) == 0);
    CHECK(proc_tree_scan(t) == 1);
    child_make_zombie(child);
    CHECK(proc_tree_scan(t) == 0);
    CHECK(told.left == 1 && told.last_left == child);
    CHECK(proc_tree_scan(t) == 0);
    CHECK(proc_tree_total_members(t) == 1);
    waitpid(child, NULL, 0);

    pid_t brief = child_start(NULL);
    child_make_zombie(brief);
    CHECK(proc_tree_scan(t) == 0);
    CHECK(proc_tree_scan(t) == 0);
    CHECK(told.joined == 1);
    CHECK(proc_tree_total_members(t) == 2);
    CHECK(proc_tree_add_root(t, brief, false) == -ESRCH);
    waitpid(brief, NULL, 0);
    CHECK(proc_tree_add_root(t, brief, false) == -ESRCH);
    proc_tree_free(t);
}

TEST(tree__never_takes_the_watcher_nor_its_children)
{
    CHECK(pipe(pipe_out) == 0);
    pid_t watcher = child_start(start_grandchild), tool = hear(), job = child_start(NULL);
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(proc_tree_add_root(t, getpid(), true) == 0);
    CHECK(proc_tree_scan(t) == 3);
    proc_tree_exclude(t, watcher);
    CHECK(proc_tree_scan(t) == 2);
    CHECK(told.last_left == watcher);
    CHECK(!member_of(t, 2, watcher) && member_of(t, 2, job));
    proc_tree_free(t);

    t = tree_start("/proc", &told);
    proc_tree_exclude(t, watcher);
    CHECK(proc_tree_add_root(t, getpid(), true) == 0);
    CHECK(proc_tree_scan(t) == 1);
    CHECK(proc_tree_member(t, 0)->stat.id.pid == job);
    /* An explicit root is followed, even below an excluded process. */
    CHECK(proc_tree_add_root(t, tool, false) == 0);
    CHECK(proc_tree_scan(t) == 2);
    proc_tree_free(t);
    child_end(watcher);
    child_end(job);
}

/* Forks as the probe does to count: the child has its parent's name until it first runs. */
static void start_silent_child(void)
{
    long pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    tell((pid_t) pid);
}

TEST(tree__a_silent_fork_is_no_part_of_the_job)
{
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(pipe(pipe_out) == 0);
    pid_t pid = child_start(start_silent_child), silent = hear();
    proc_tree_exclude_name(t, "counts-for-another");
    CHECK(proc_tree_add_root(t, pid, false) == 0);
    CHECK(scan_until(t, 1) == 1);
    CHECK(told.joined == 1 && told.last_joined == pid);
    CHECK(!member_of(t, 1, silent));
    kill(silent, SIGKILL);
    child_end(pid);
    proc_tree_free(t);
    close(pipe_out[0]);
    close(pipe_out[1]);
}

TEST(tree__takes_a_second_root_later)
{
    pid_t first = child_start(NULL), second = child_start(NULL);
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(proc_tree_add_root(t, second, false) == 0);
    CHECK(proc_tree_scan(t) == 1);
    CHECK(proc_tree_add_root(t, first, false) == 0);
    CHECK(proc_tree_scan(t) == 2);
    CHECK(proc_tree_member(t, 0)->stat.id.pid == second);
    CHECK(proc_tree_member(t, 1)->stat.id.pid == first);
    child_end(first);
    child_end(second);
    CHECK(proc_tree_scan(t) == 0);
    proc_tree_free(t);
}

static void fake(const char *root, int pid, int parent, char state, unsigned start)
{
    char path[32], line[128];
    snprintf(path, sizeof path, "%d/stat", pid);
    snprintf(line, sizeof line, "%d (p) %c %d 2 3 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 %u 4096 1\n", pid,
             state, parent, start);
    folder_write(root, path, line);
}

static void fake_end(const char *root, int pid)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%d", root, pid);
    folder_end(path);
}

TEST(tree__minds_no_order_of_pids)
{
    char root[64];
    struct told told;
    folder_start(root);
    /* After pids wrap around, children come before their parents. */
    fake(root, 9000, 1, 'S', 100);
    fake(root, 500, 9000, 'S', 200);
    fake(root, 400, 500, 'S', 300);
    fake(root, 300, 400, 'S', 400);
    fake(root, 1, 0, 'S', 1);
    fake(root, 200, 1, 'S', 50);
    folder_write(root, "self/stat", "");
    folder_write(root, "12x/stat", "");
    struct proc_tree *t = tree_start(root, &told);
    CHECK(proc_tree_add_root(t, 9000, false) == 0);
    CHECK(proc_tree_scan(t) == 4);
    CHECK(!member_of(t, 4, 200));
    CHECK(proc_tree_member(t, 3)->stat.id.pid == 300);
    CHECK(proc_tree_member(t, 3)->parent.pid == 400);
    proc_tree_free(t);
    folder_end(root);
}

TEST(tree__notices_a_pid_that_was_reused)
{
    char root[64];
    struct told told;
    folder_start(root);
    fake(root, 10, 1, 'S', 100);
    fake(root, 11, 10, 'S', 200);
    struct proc_tree *t = tree_start(root, &told);
    CHECK(proc_tree_add_root(t, 10, false) == 0);
    CHECK(proc_tree_scan(t) == 2);
    /* A member's pid goes to a stranger, then to a child again. */
    fake(root, 11, 1, 'S', 300);
    CHECK(proc_tree_scan(t) == 1);
    CHECK(told.left == 1 && told.last_left == 11);
    fake(root, 11, 10, 'S', 400);
    int r = 1, scans = 0;
    for (; r == 1 && scans < 32; scans++)
        r = proc_tree_scan(t);
    CHECK(r == 2 && scans <= 17);
    CHECK(told.joined == 3);
    /* The root's own pid in another process is not a root. */
    fake(root, 10, 1, 'S', 500);
    CHECK(proc_tree_scan(t) == 1);
    CHECK(told.last_left == 10);
    proc_tree_free(t);
    folder_end(root);
}

TEST(tree__waits_for_a_parent_the_list_did_not_have_yet)
{
    char root[64];
    struct told told;
    folder_start(root);
    fake(root, 10, 1, 'S', 100);
    fake(root, 12, 11, 'S', 300);
    struct proc_tree *t = tree_start(root, &told);
    CHECK(proc_tree_add_root(t, 10, false) == 0);
    CHECK(proc_tree_scan(t) == 1);
    fake(root, 11, 10, 'S', 200);
    CHECK(proc_tree_scan(t) == 3);
    CHECK(member_of(t, 3, 12)->parent.pid == 11);
    proc_tree_free(t);
    folder_end(root);
}

TEST(tree__survives_who_vanishes_between_list_and_look)
{
    char root[64];
    struct told told;
    folder_start(root);
    fake(root, 10, 1, 'S', 100);
    fake(root, 11, 10, 'S', 200);
    folder_write(root, "13/cmdline", "");
    folder_write(root, "14/stat", "14 (cut");
    struct proc_tree *t = tree_start(root, &told);
    CHECK(proc_tree_add_root(t, 10, false) == 0);
    CHECK(proc_tree_add_root(t, 13, false) == -ESRCH);
    CHECK(proc_tree_scan(t) == 2);
    folder_write(root, "11/stat", "");
    CHECK(proc_tree_scan(t) == 1);
    CHECK(told.last_left == 11);
    fake(root, 11, 10, 'S', 300);
    CHECK(proc_tree_scan(t) == 2);
    fake_end(root, 11);
    fake_end(root, 10);
    CHECK(proc_tree_scan(t) == 0);
    CHECK(proc_tree_total_members(t) == 3);
    proc_tree_free(t);
    folder_end(root);
}

static bool is_member(struct proc_tree *t, pid_t pid, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (proc_tree_member(t, i)->stat.id.pid == pid)
            return true;
    return false;
}

TEST(tree__holds_500_processes)
{
    enum { COUNT = 500 };
    static pid_t pids[COUNT];
    for (int i = 0; i < COUNT; i++)
        pids[i] = child_start(NULL);
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(proc_tree_add_root(t, getpid(), true) == 0);
    CHECK(proc_tree_scan(t) == COUNT);
    for (int i = 0; i < COUNT; i += 2)
        child_end(pids[i]);
    CHECK(proc_tree_scan(t) == COUNT / 2);
    CHECK(is_member(t, pids[1], COUNT / 2) && !is_member(t, pids[0], COUNT / 2));
    for (int i = 1; i < COUNT; i += 2)
        child_end(pids[i]);
    CHECK(proc_tree_scan(t) == 0);
    CHECK(told.joined == COUNT && told.left == COUNT);
    proc_tree_free(t);
}

TEST(tree__says_where_there_is_no_proc)
{
    struct proc_tree *t = NULL;
    CHECK(proc_tree_new("/nonexistent", NULL, &t) == -ENOENT);
    CHECK(!t);
    CHECK(!proc_tree_free(NULL));
}

/* ---- whether there are new processes ---- */

static void start_on_signal(void)
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    tell(getpid());
    for (;;) {
        sigwait(&set, &number);
        pid_t pid = child_start(NULL);
        if (number == SIGUSR2)
            child_end(pid);
        tell(pid);
    }
}

/* Whether no arrival is reported after a scan and whatever `happens`. Pids may wrap around at
 * that moment, or the machine may start hundreds of processes, so it tries several times. */
static bool is_quiet(struct proc_tree *t, pid_t starter, int happens)
{
    for (int i = 0; i < 20; i++) {
        proc_tree_scan(t);
        if (happens)
            kill(starter, happens);
        if (happens && hear() <= 0)
            return false;
        if (!proc_tree_has_arrivals(t))
            return true;
    }
    return false;
}

TEST(tree__that_nobody_came_is_known_without_a_scan)
{
    CHECK(pipe(pipe_out) == 0);
    pid_t child = child_start(start_on_signal);
    CHECK(hear() == child);
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(proc_tree_has_arrivals(t));
    CHECK(proc_tree_add_root(t, child, false) == 0);
    CHECK(proc_tree_scan(t) == 1);
    CHECK(is_quiet(t, child, 0));
    kill(child, SIGUSR1);
    CHECK(hear() > 0);
    CHECK(proc_tree_has_arrivals(t));
    CHECK(proc_tree_has_arrivals(t));
    CHECK(proc_tree_scan(t) == 2);
    CHECK(is_quiet(t, child, 0));
    CHECK(is_quiet(t, child, SIGUSR2)); /* came and went */
    child_end(child);
    CHECK(scan_until(t, 0) == 0);
    CHECK(!proc_tree_free(t));
}

static void become_leader_of_a_session(void)
{
    setsid();
    start_on_signal();
}

static void start_in_another_session(void)
{
    pid_t pid = child_start(become_leader_of_a_session);
    (void) pid;
}

TEST(tree__somebody_new_in_another_session_is_somebody_new)
{
    CHECK(pipe(pipe_out) == 0);
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    pid_t child = child_start(NULL);
    CHECK(proc_tree_add_root(t, getpid(), true) == 0);
    CHECK(scan_until(t, 1) == 1);
    pid_t other = child_start(start_in_another_session);
    pid_t leader = hear();
    CHECK(leader > 0);
    CHECK(proc_tree_has_arrivals(t));
    CHECK(scan_until(t, 3) == 3);
    kill(leader, SIGUSR1);
    CHECK(hear() > 0);
    CHECK(proc_tree_has_arrivals(t));
    CHECK(scan_until(t, 4) == 4);
    child_end(other);
    child_end(child);
    CHECK(scan_until(t, 0) == 0);
    CHECK(!proc_tree_free(t));
}

TEST(tree__somebody_elses_process_is_nobody_new)
{
    CHECK(pipe(pipe_out) == 0);
    pid_t child = child_start(NULL), foreign = child_start(start_on_signal);
    CHECK(hear() == foreign);
    struct told told;
    struct proc_tree *t = tree_start("/proc", &told);
    CHECK(proc_tree_add_root(t, child, false) == 0);
    CHECK(proc_tree_scan(t) == 1);
    CHECK(is_quiet(t, foreign, SIGUSR1));
    child_end(foreign);
    child_end(child);
    CHECK(!proc_tree_free(t));
}

TEST(tree__where_the_last_pid_is_not_told_somebody_may_be_new)
{
    char folder[] = "/tmp/tidemark-tree-XXXXXX";
    CHECK(mkdtemp(folder));
    struct told told;
    struct proc_tree *t = tree_start(folder, &told);
    CHECK(proc_tree_scan(t) == 0);
    CHECK(proc_tree_has_arrivals(t));
    CHECK(!proc_tree_free(t));
    rmdir(folder);
}
