/* tests/unit/test_watch_still.c: an idle job is read rarely, and nothing is missed. */
#include "watch/watch.h"

#include "proc_children.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#define MB 1048576.0
#define BLOCK ((size_t) 64 << 20)
#define FILES 5

/* ---- a process that follows orders ---- */

static int orders[2], touches[2], replies[2]; /* to it, to its child, and back */
static char *block;

static void reply(pid_t pid)
{
    if (write(replies[1], &pid, sizeof pid) != sizeof pid)
        _exit(1);
}

/* Turns the pages shared with its parent into its own. */
static void touch_when_told(void)
{
    char order;
    reply(getpid());
    if (read(touches[0], &order, 1) != 1)
        _exit(1);
    memset(block, 2, BLOCK);
    reply(getpid());
}

static void open_files(void)
{
    for (int i = 0; i < FILES; i++)
        if (open("/dev/null", O_RDONLY) < 0)
            _exit(1);
}

static void *map_block(void)
{
    return mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void obey(void)
{
    char order;
    reply(getpid());
    while (read(orders[0], &order, 1) == 1) {
        if (order == 'f')
            open_files();
        else if (order == 'm')
            memset(block = map_block(), 1, BLOCK);
        if (order == 'c')
            child_start(touch_when_told); /* the child replies */
        else
            reply(getpid());
    }
    _exit(1);
}

static pid_t hear(void)
{
    pid_t pid = -1;
    return read(replies[0], &pid, sizeof pid) == sizeof pid ? pid : -1;
}

/* Returns the process that followed the order; for 'c' the child. */
static pid_t order(char what)
{
    return write(what == 't' ? touches[1] : orders[1], &what, 1) == 1 ? hear() : -1;
}

/* ---- watching it ---- */

struct job {
    pid_t pid;
    struct watch *watch;
    double seconds;
};

static bool job_begin(struct job *j)
{
    *j = (struct job){0};
    if (pipe(orders) < 0 || pipe(touches) < 0 || pipe(replies) < 0)
        return false;
    j->pid = child_start(obey);
    return hear() == j->pid;
}

static bool job_watch(struct job *j, const char *proc_root)
{
    struct watch_options options = {.proc_root = proc_root, .interval = 1, .no_gpu = true};
    return watch_new(&options, &j->watch) == 0 && watch_add_root(j->watch, j->pid, false) == 0;
}

static bool job_start(struct job *j)
{
    return job_begin(j) && job_watch(j, "/proc");
}

static void job_end(struct job *j)
{
    watch_free(j->watch);
    child_end(j->pid);
    for (int i = 0; i < 2; i++) {
        close(orders[i]);
        close(touches[i]);
        close(replies[i]);
    }
}

/* The clock is the test's own, so nobody waits. */
static void pass(struct job *j, int seconds)
{
    for (int i = 0; i < seconds; i++)
        watch_tick(j->watch, ++j->seconds);
}

static double total(struct job *j)
{
    struct view_status s;
    watch_status(j->watch, &s);
    return s.total;
}

/* Reads the balance sheet: the PSS in bytes, and how long reading it may have held up the job. */
static void look_at_sheet(struct job *j, double *ret_pss, double *ret_stall)
{
    struct view v;
    watch_view_init(j->watch, j->seconds, &v);
    *ret_pss = v.total.pss;
    *ret_stall = v.stall_seconds;
    view_release(&v);
}

TEST(still__memory_that_grows_is_seen_at_the_next_tick)
{
    struct job j;
    CHECK(job_start(&j));
    pass(&j, 300);
    double before = total(&j);
    pass(&j, 1);
    CHECK(total(&j) == before);
    CHECK(order('m') == j.pid);
    pass(&j, 1);
    CHECK_NEAR(total(&j) - before, (double) BLOCK, MB);
    job_end(&j);
}

TEST(still__descriptors_are_counted_again_within_half_a_minute)
{
    struct job j;
    struct view v;
    CHECK(job_start(&j));
    pass(&j, 300);
    CHECK(order('f') == j.pid);
    pass(&j, 31);
    watch_view_init(j.watch, j.seconds, &v);
    bool found = false;
    for (size_t i = 0; i < v.count; i++)
        if (strcmp(v.series[i].info.kind, "fds") == 0) {
            CHECK_NEAR(v.series[i].answer.max - v.series[i].answer.min, FILES, 0);
            found = true;
        }
    CHECK(found);
    view_release(&v);
    job_end(&j);
}

TEST(still__who_comes_and_who_goes_is_known_at_the_next_tick)
{
    struct job j;
    CHECK(job_start(&j));
    CHECK(order('m') == j.pid);
    pass(&j, 100);
    CHECK(watch_alive(j.watch) == 1);
    pid_t child = order('c');
    CHECK(child > 0);
    pass(&j, 1);
    CHECK(watch_alive(j.watch) == 2);
    pass(&j, 100);
    kill(child, SIGKILL);
    struct proc_stat stat;
    while (proc_stat_read("/proc", child, &stat) == 0 && !proc_stat_ended(&stat))
        usleep(1000);
    pass(&j, 1);
    CHECK(watch_alive(j.watch) == 1);
    job_end(&j);
}

TEST(still__what_one_alone_has_is_its_own_without_another_reading)
{
    struct job j;
    double pss, later, stall, stall_later;
    CHECK(job_start(&j));
    CHECK(order('m') == j.pid);
    pass(&j, 300);
    look_at_sheet(&j, &pss, &stall);
    CHECK(order('m') == j.pid);
    pass(&j, 300);
    look_at_sheet(&j, &later, &stall_later);
    CHECK_NEAR(later - pss, (double) BLOCK, BLOCK / 8.0); /* plus what AddressSanitizer adds */
#if !defined(__SANITIZE_ADDRESS__)                        /* it touches pages of files, too */
    CHECK(stall_later == stall);
#endif
    job_end(&j);
}

TEST(still__shares_are_read_again_only_when_pages_were_touched)
{
    struct job j;
    double pss, later, stall, stall_later;
    CHECK(job_start(&j));
    CHECK(order('m') == j.pid);
    pid_t child = order('c');
    CHECK(child > 0);
    pass(&j, 300);
    look_at_sheet(&j, &pss, &stall);
    CHECK(pss > (double) BLOCK && pss < 1.5 * (double) BLOCK);
    pass(&j, 300);
    look_at_sheet(&j, &later, &stall_later);
    CHECK(later == pss && stall_later == stall);
    /* No process grows because of this: it had those pages before. */
    CHECK(order('t') == child);
    pass(&j, 300);
    look_at_sheet(&j, &later, &stall_later);
    CHECK(later - pss > 0.9 * (double) BLOCK);
    CHECK(stall_later > stall);
    job_end(&j);
}

/* ---- a machine so busy that every reading of shares waits for a core ---- */

#define WAIT_MICROSECONDS 100000

static char busy_root[64];
static pid_t busy_pid;

static void busy_name(char ret[128], const char *file)
{
    snprintf(ret, 128, "%s/%d/%s", busy_root, (int) busy_pid, file);
}

/* Writes the file as the kernel would give it now. */
static void refresh(int fd, const char *real)
{
    char text[4096];
    int from = open(real, O_RDONLY);
    ssize_t n = from < 0 ? -1 : read(from, text, sizeof text);
    if (from >= 0)
        close(from);
    if (n > 0 && (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t) n, 0) != n))
        _exit(1);
}

/* A lease holds up anyone who opens the file, until the lease is returned. */
static void serve_late(void)
{
    char name[128], real[64];
    sigset_t breaks;
    int caught;
    busy_name(name, "smaps_rollup");
    snprintf(real, sizeof real, "/proc/%d/smaps_rollup", (int) busy_pid);
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    sigemptyset(&breaks);
    sigaddset(&breaks, SIGIO);
    sigprocmask(SIG_BLOCK, &breaks, NULL);
    refresh(fd, real);
    for (bool first = true;; first = false) {
        while (fcntl(fd, F_SETLEASE, F_WRLCK) < 0) { /* the last reader is still there */
            if (errno != EAGAIN)
                _exit(1);
            usleep(1000);
        }
        if (first)
            reply(getpid());
        sigwait(&breaks, &caught);
        usleep(WAIT_MICROSECONDS);
        refresh(fd, real);
        fcntl(fd, F_SETLEASE, F_UNLCK);
    }
}

/* Copies the process as /proc has it, except for its shares. Returns the process that serves
 * those; -1: it failed. */
static pid_t make_busy(pid_t pid)
{
    static const char *const files[] = {"stat",    "status", "statm", "cmdline",
                                        "environ", "task",   "fd",    "io"};
    char name[128], real[64];
    busy_pid = pid;
    snprintf(name, sizeof name, "%s/%d", busy_root, (int) pid);
    bool done = mkdir(name, 0700) == 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        busy_name(name, files[i]);
        snprintf(real, sizeof real, "/proc/%d/%s", (int) pid, files[i]);
        done = done && symlink(real, name) == 0;
    }
    pid_t server = done ? child_start(serve_late) : -1;
    return done && hear() == server ? server : -1;
}

/* Instrumented, a reading costs several times its processor time, of which the budget is. */
#ifdef __SANITIZE_ADDRESS__
#define IS_INSTRUMENTED true
#else
#define IS_INSTRUMENTED false
#endif

/* The budget limits the work of reading, not the waiting, so a young fork is still read again. */
TEST(still__what_a_fork_copies_is_read_on_a_busy_machine)
{
    struct job j;
    double pss, later, stall;
    if (IS_INSTRUMENTED)
        return;
    folder_start(busy_root);
    CHECK(job_begin(&j));
    pid_t server = make_busy(j.pid);
    CHECK(order('m') == j.pid);
    pid_t child = order('c');
    CHECK(child > 0);
    pid_t child_server = make_busy(child);
    CHECK(server > 0 && child_server > 0);
    CHECK(job_watch(&j, busy_root));
    pass(&j, 4);
    look_at_sheet(&j, &pss, &stall);
    CHECK(pss > (double) BLOCK && pss < 1.5 * (double) BLOCK);
    CHECK(stall > 1e-6 * WAIT_MICROSECONDS);
    CHECK(order('t') == child);
    pass(&j, 16);
    look_at_sheet(&j, &later, &stall);
    /* The child now has all of what was shared, and not half; its parent is read later. */
    CHECK(later - pss > 0.4 * (double) BLOCK);
    job_end(&j);
    child_end(child);
    child_end(server);
    child_end(child_server);
    folder_end(busy_root);
}
