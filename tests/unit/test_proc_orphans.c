/* tests/unit/test_proc_orphans.c: processes whose parent ended between two scans, with real ones.
 */
#include "proc_children.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#define ROLE "TIDEMARK_TEST_JOB"

static int news[2];

static void tell(pid_t pid)
{
    if (write(news[1], &pid, sizeof pid) != sizeof pid)
        _exit(1);
}

static pid_t hear(void)
{
    pid_t pid = -1;
    return read(news[0], &pid, sizeof pid) == sizeof pid ? pid : -1;
}

/* ---- a job that starts orphans ---- */

enum orphan_kind { ORPHAN_PLAIN, ORPHAN_DAEMON, ORPHAN_OF_A_ZOMBIE, ORPHAN_PROGRAM };

static const int numbers[] = {SIGUSR1, SIGUSR2, SIGWINCH, SIGURG};

#define KINDS (sizeof numbers / sizeof numbers[0])

/* Starts a child on SIGUSR1, which is blocked. */
static _Noreturn void be_orphan(enum orphan_kind kind)
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    alarm(60);
    tell(getpid());
    if (kind == ORPHAN_PROGRAM)
        execl("/bin/sleep", "sleep", "60", (char *) NULL);
    for (;;) {
        sigwait(&set, &number);
        tell(child_start(NULL));
    }
}

/* Reports once the parent of the orphan is gone, or a zombie. */
static void start_orphan(enum orphan_kind kind)
{
    siginfo_t info;
    pid_t middle = fork();
    if (middle == 0) {
        if (kind != ORPHAN_PLAIN)
            setsid();
        if (fork() == 0)
            be_orphan(kind);
        _exit(0);
    }
    waitid(P_PID, (id_t) middle, &info, WEXITED | (kind == ORPHAN_OF_A_ZOMBIE ? WNOWAIT : 0));
    tell(getpid());
}

static _Noreturn void serve(void)
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    for (unsigned i = 0; i < KINDS; i++)
        sigaddset(&set, numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tell(getpid());
    for (;;) {
        sigwait(&set, &number);
        for (unsigned i = 0; i < KINDS; i++)
            if (numbers[i] == number)
                start_orphan((enum orphan_kind) i);
    }
}

/* Before the cases: this program, started again as a job. */
__attribute__((constructor)) static void begin_as_job(void)
{
    if (!getenv(ROLE))
        return;
    news[1] = STDOUT_FILENO;
    serve();
}

enum job_kind {
    JOB_FORK,    /* in our session and group, with our memory layout */
    JOB_LEADER,  /* the leader of a session */
    JOB_GROUP,   /* the leader of a group */
    JOB_PROGRAM, /* a program of its own, in our session and group */
};

static pid_t job_start(enum job_kind kind)
{
    if (pipe2(news, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (kind == JOB_LEADER)
            setsid();
        if (kind == JOB_GROUP)
            setpgid(0, 0);
        if (kind != JOB_PROGRAM)
            serve();
        setenv(ROLE, "1", 1);
        dup2(news[1], STDOUT_FILENO);
        execl("/proc/self/exe", "job", (char *) NULL);
        _exit(1);
    }
    return hear() == pid ? pid : -1;
}

static void job_end(pid_t job)
{
    child_end(job);
    close(news[0]);
    close(news[1]);
}

/* Processes that started in the same tick of the kernel's clock have the same age. */
static void wait_a_tick(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
}

/* Returns its pid once its parent has ended. */
static pid_t orphan_start(pid_t job, enum orphan_kind kind)
{
    wait_a_tick();
    kill(job, numbers[kind]);
    pid_t a = hear(), b = hear();
    return a == job ? b : a;
}

static bool is_member(struct proc_tree *t, pid_t pid)
{
    int count = proc_tree_scan(t);
    for (int i = 0; i < count; i++)
        if (proc_tree_member(t, (size_t) i)->stat.id.pid == pid)
            return true;
    return false;
}

static struct proc_tree *tree_of(pid_t job)
{
    struct proc_tree *t = NULL;
    if (proc_tree_new("/proc", NULL, &t) < 0 || proc_tree_add_root(t, job, false) < 0)
        abort();
    proc_tree_scan(t);
    return t;
}

/* Whether an orphan that such a job starts between two scans is noticed and found. */
static bool finds(enum job_kind job_kind, enum orphan_kind kind, bool hears)
{
    pid_t job = job_start(job_kind);
    struct proc_tree *t = tree_of(job);
    if (hears && proc_tree_hear_forks(t) < 0)
        abort();
    pid_t orphan = orphan_start(job, kind);
    bool found = proc_tree_has_arrivals(t) && is_member(t, orphan) && is_member(t, orphan);
    kill(orphan, SIGKILL);
    job_end(job);
    proc_tree_free(t);
    return found;
}

/* ---- cases ---- */

TEST(orphans__in_the_session_of_a_member_are_found)
{
    CHECK(finds(JOB_LEADER, ORPHAN_PLAIN, false));
}

TEST(orphans__in_the_group_of_a_member_are_found)
{
    CHECK(finds(JOB_GROUP, ORPHAN_PLAIN, false));
}

/* The orphan's parent led its session and still exists as a zombie. */
TEST(orphans__in_the_session_of_a_child_that_ended_are_found)
{
    CHECK(finds(JOB_FORK, ORPHAN_OF_A_ZOMBIE, false));
}

/* The daemon has an unknown session and the member's memory layout. */
TEST(orphans__with_the_memory_layout_of_a_member_are_found)
{
    CHECK(finds(JOB_PROGRAM, ORPHAN_DAEMON, false));
}

/* It has the job's memory layout, but so do we, who are outside the job: it may be ours. */
TEST(orphans__with_the_memory_layout_of_a_stranger_are_not_claimed)
{
    CHECK(!finds(JOB_FORK, ORPHAN_DAEMON, false));
}

TEST(orphans__are_found_where_forks_are_reported)
{
    struct proc_tree *t = NULL;
    CHECK(proc_tree_new("/proc", NULL, &t) == 0);
    int r = proc_tree_hear_forks(t);
    proc_tree_free(t);
    if (r < 0)
        return; /* unavailable on this kernel, or to this user */
    CHECK(finds(JOB_FORK, ORPHAN_PLAIN, true));
    CHECK(finds(JOB_FORK, ORPHAN_DAEMON, true));
    CHECK(finds(JOB_FORK, ORPHAN_PROGRAM, true));
    CHECK(finds(JOB_PROGRAM, ORPHAN_PROGRAM, true));
}

/* Orphans of a process that shares session, group and layout with the job. */
TEST(orphans__of_strangers_are_not_claimed)
{
    pid_t stranger = job_start(JOB_FORK);
    int of_stranger[2] = {news[0], news[1]};
    pid_t job = job_start(JOB_FORK);
    int of_job[2] = {news[0], news[1]};
    struct proc_tree *t = tree_of(job);
    (void) proc_tree_hear_forks(t);
    for (unsigned i = 0; i < KINDS; i++) {
        memcpy(news, of_stranger, sizeof news);
        pid_t orphan = orphan_start(stranger, (enum orphan_kind) i);
        bool claimed = is_member(t, orphan) || is_member(t, orphan);
        kill(orphan, SIGKILL);
        CHECK(!claimed);
    }
    CHECK(proc_tree_scan(t) == 1);
    memcpy(news, of_job, sizeof news);
    job_end(job);
    memcpy(news, of_stranger, sizeof news);
    job_end(stranger);
    proc_tree_free(t);
}

/* A group whose leader is older than the tree may be a pipeline of the shell. */
TEST(orphans__of_a_group_are_not_claimed_where_they_are_older)
{
    pid_t job = job_start(JOB_GROUP), orphan = orphan_start(job, ORPHAN_PLAIN);
    wait_a_tick();
    struct proc_tree *t = tree_of(job);
    CHECK(!is_member(t, orphan));
    kill(orphan, SIGKILL);
    job_end(job);
    proc_tree_free(t);
}

/* The job's own process ends, then its orphan starts another one. */
TEST(orphans__that_were_found_stay_with_all_they_start)
{
    pid_t job = job_start(JOB_LEADER), orphan = orphan_start(job, ORPHAN_PLAIN);
    wait_a_tick();
    struct proc_tree *t = tree_of(job);
    CHECK(is_member(t, orphan)); /* by its session, whatever its age */
    child_end(job);
    CHECK(is_member(t, orphan) && proc_tree_scan(t) == 1);
    kill(orphan, SIGUSR1);
    pid_t child = hear();
    CHECK(is_member(t, child) && is_member(t, orphan) && proc_tree_scan(t) == 2);
    kill(orphan, SIGKILL);
    close(news[0]);
    close(news[1]);
    proc_tree_free(t);
}
