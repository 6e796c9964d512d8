/* tests/unit/test_proc_process.c: one process: its identity, memory, arguments and environment. */
#include "proc_children.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

static const char stat_line[] =
    "20380 (cat) R 20378 20377 18270 0 -1 4194304 103 0 0 0 7 5 0 0 20 0 1 0 1178564 3133440 390 "
    "18446744073709551615 94589184454656 94589184474537 140728437093472 0 0 0 0\n";

TEST(stat__reads_the_line)
{
    struct proc_stat s;
    CHECK(proc_stat_parse(stat_line, strlen(stat_line), &s) == 0);
    CHECK(s.id.pid == 20380);
    CHECK(s.id.start == 1178564);
    CHECK(s.parent == 20378 && s.group == 20377 && s.session == 18270);
    CHECK(s.state == 'R');
    CHECK_TEXT(s.comm, "cat");
    CHECK(s.cpu_ticks == 12);
    CHECK(s.rss == 390.0 * (double) sysconf(_SC_PAGESIZE));
}

TEST(stat__takes_any_name)
{
    static const char rest[] = ") S 1 2 3 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 77 4096 1\n";
    static const char *names[][2] = {
        {"a) R 9 (b", "a) R 9 (b"},
        {"line\nend\x1b[31m", "line?end?[31m"},
        {"", ""},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"bad\xff", "bad?"},
        {"a kernel thread may have a far longer name", "a kernel thread may have a far "},
        {"thirty bytes and a character \xc3\xa9\xc3\xa9", "thirty bytes and a character \xc3\xa9"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char line[256];
        struct proc_stat s;
        snprintf(line, sizeof line, "5 (%s%s", names[i][0], rest);
        CHECK(proc_stat_parse(line, strlen(line), &s) == 0);
        CHECK_TEXT(s.comm, names[i][1]);
        CHECK(s.id.start == 77);
    }
}

TEST(stat__refuses_what_is_cut_or_wrong)
{
    struct proc_stat s = {.id = {-7, 0}};
    size_t start_end = (size_t) (strstr(stat_line, "390 ") - stat_line);
    for (size_t len = 0; len < start_end; len++)
        CHECK(proc_stat_parse(stat_line, len, &s) == -EINVAL);
    static const char *wrong[] = {
        "x (a) S 1 2 3 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 77 4096 1",
        "0 (a) S 1 2 3 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 77 4096 1",
        "5 a) S 1 2 3 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 77 4096 1",
        "5 (a) S 1 2 3 0 -1 0 x 0 0 0 1 1 0 0 20 0 1 0 77 4096 1",
        "5 (a) S 1 2 3 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 99999999999999999999999 4096 1",
        "5 (a) S 99999999999 2 3 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 77 4096 1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(proc_stat_parse(wrong[i], strlen(wrong[i]), &s) == -EINVAL);
    CHECK(s.id.pid == -7);
}

TEST(status__reads_kilobytes_and_counts)
{
    static const char text[] =
        "Name:\tVmRSS:\nUid:\t1000\t1000\t1000\t1000\nVmSize:\t    3060 kB\n"
        "VmHWM:\t    2000 kB\nVmRSS:\t    1736 kB\nRssAnon:\t     112 kB\nRssFile:\t    1624 kB\n"
        "RssShmem:\t       0 kB\nVmSwap:\t       8 kB\nThreads:\t17\n";
    struct proc_status s;
    CHECK(proc_status_parse(text, strlen(text), &s) == 0);
    CHECK(s.rss == 1736 * 1024.0 && s.anon == 112 * 1024.0 && s.file == 1624 * 1024.0);
    CHECK(s.shmem == 0 && s.swap == 8192 && s.vsize == 3060 * 1024.0);
    CHECK(s.peak == 2000 * 1024.0 && s.threads == 17);
    CHECK(s.uid == 1000);
}

TEST(status__leaves_absent_what_is_not_told)
{
    static const char text[] = "Name:\tx\nVmRSS:\t 10 kB\nThreads:\n";
    struct proc_status s;
    CHECK(proc_status_parse(text, strlen(text), &s) == 0);
    CHECK(s.rss == 10240);
    CHECK(isnan(s.anon) && isnan(s.swap) && isnan(s.threads));
    CHECK(s.uid == -1);
    CHECK(proc_status_parse("Name:\tx\n", 8, &s) == -EINVAL);
    CHECK(proc_status_parse("", 0, &s) == -EINVAL);
    CHECK(s.rss == 10240);
}

static const char rollup[] =
    "560742bd1000-7ffde480c000 ---p 00000000 00:00 0                          [rollup]\n"
    "Rss:                1736 kB\nPss:                 277 kB\nPss_Dirty:           112 kB\n"
    "Pss_Anon:            112 kB\nPss_File:            165 kB\nPss_Shmem:             3 kB\n"
    "Private_Clean:        48 kB\nPrivate_Dirty:       112 kB\nSwap:                  9 kB\n"
    "SwapPss:               2 kB\n";

TEST(rollup__reads_shares_and_private_bytes)
{
    struct proc_rollup s;
    CHECK(proc_rollup_parse(rollup, strlen(rollup), &s) == 0);
    CHECK(s.rss == 1736 * 1024.0 && s.pss == 277 * 1024.0);
    CHECK(s.pss_anon == 112 * 1024.0 && s.pss_file == 165 * 1024.0 && s.pss_shmem == 3072);
    CHECK(s.private_bytes == 160 * 1024.0);
    CHECK(s.swap_pss == 2048);
}

TEST(rollup__is_nothing_without_its_totals)
{
    struct proc_rollup s = {.rss = -7};
    CHECK(proc_rollup_parse("Rss: 17 kB\n", 11, &s) == -EINVAL);
    CHECK(s.rss == -7);
    /* Linux before 5.0 does not report the shares by kind. */
    CHECK(proc_rollup_parse("Rss: 17 kB\nPss: 16 kB\n", 22, &s) == 0);
    CHECK(s.pss == 16384);
    CHECK(isnan(s.pss_anon) && isnan(s.private_bytes));
}

TEST(process__tells_its_memory)
{
    size_t bytes = 32 << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    struct proc *p;
    CHECK(proc_open("/proc", child_id(getpid()), &p) == 0);
    struct proc_status before, after;
    struct proc_rollup shares_before, shares_after;
    CHECK(proc_read_status(p, &before) == 0);
    CHECK(proc_read_rollup(p, &shares_before) == 0);
    memset(memory, 1, bytes);
    CHECK(proc_read_status(p, &after) == 0);
    CHECK(proc_read_rollup(p, &shares_after) == 0);
    CHECK_NEAR(after.anon - before.anon, (double) bytes, 0x1p20);
    CHECK_NEAR(after.rss - before.rss, (double) bytes, 0x1p20);
    CHECK_NEAR(shares_after.private_bytes - shares_before.private_bytes, (double) bytes, 0x1p20);
    CHECK_NEAR(shares_after.pss_anon - shares_before.pss_anon, (double) bytes, 0x1p20);
    CHECK(after.threads >= 1 && after.uid == (int64_t) getuid());
    munmap(memory, bytes);
    CHECK(!proc_free(p));
}

TEST(process__tells_at_once_whether_its_sizes_have_changed)
{
    size_t bytes = 32 << 20;
    struct proc *p;
    CHECK(proc_open("/proc", child_id(getpid()), &p) == 0);
    CHECK(proc_has_changed(p) == 1);
    CHECK(proc_has_changed(p) == 0);
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK(proc_has_changed(p) == 1);
    memset(memory, 1, bytes);
    CHECK(proc_has_changed(p) == 1);
    munmap(memory, bytes);
    CHECK(proc_has_changed(p) == 1);
    CHECK(!proc_free(p));
}

TEST(process__tells_at_once_that_it_has_ended)
{
    struct proc *p;
    pid_t pid = child_start(NULL);
    CHECK(proc_open("/proc", child_id(pid), &p) == 0);
    CHECK(proc_has_changed(p) == 1);
    child_make_zombie(pid);
    CHECK(proc_has_changed(p) == -ESRCH);
    waitpid(pid, NULL, 0);
    CHECK(proc_has_changed(p) == -ESRCH);
    CHECK(!proc_free(p));
}

static int ready_pipe[2];

static void child_say_ready(void)
{
    if (write(ready_pipe[1], "", 1) != 1)
        _exit(1);
}

static bool child_is_ready(void)
{
    char byte;
    return read(ready_pipe[0], &byte, 1) == 1;
}

static volatile char shared_page[2 * 4096];

static void touch_when_told(void)
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    child_say_ready();
    sigwait(&set, &number);
    shared_page[4096] = 2;
    child_say_ready();
}

TEST(process__a_page_that_turns_private_is_a_fault_and_no_change_of_size)
{
    CHECK(pipe(ready_pipe) == 0);
    memset((char *) shared_page, 1, sizeof(shared_page));
    struct proc *p;
    struct proc_stat before, after;
    pid_t pid = child_start(touch_when_told);
    CHECK(child_is_ready());
    CHECK(proc_open("/proc", child_id(pid), &p) == 0);
    CHECK(proc_read_stat(p, &before) == 0);
    kill(pid, SIGUSR1);
    CHECK(child_is_ready());
    CHECK(proc_read_stat(p, &after) == 0);
    CHECK(after.faults > before.faults);
    proc_free(p);
    child_end(pid);
}

TEST(process__counts_open_descriptors)
{
    struct proc *p;
    pid_t pid = child_start(NULL);
    CHECK(proc_open("/proc", child_id(pid), &p) == 0);
    double mine = 0, first = 0, second = 0;
    CHECK(proc_read_fds(p, &first) == 0);
    CHECK(proc_read_fds(p, &second) == 0);
    CHECK(first >= 1 && first == second);
    proc_free(p);
    child_end(pid);

    CHECK(proc_open("/proc", child_id(getpid()), &p) == 0);
    CHECK(proc_read_fds(p, &mine) == 0);
    CHECK(proc_read_fds(p, &mine) == 0);
    int extra[2];
    CHECK(pipe(extra) == 0);
    CHECK(proc_read_fds(p, &first) == 0);
    CHECK(first == mine + 2);
    close(extra[0]);
    close(extra[1]);
    proc_free(p);
}

TEST(process__is_not_another_with_the_same_pid)
{
    pid_t pid = child_start(NULL);
    struct proc_id id = child_id(pid);
    CHECK(id.pid == pid);
    struct proc *p = NULL;
    id.start++;
    CHECK(proc_open("/proc", id, &p) == -ESRCH);
    CHECK(!p);
    child_end(pid);
}

TEST(process__has_ended_once_it_is_a_zombie)
{
    pid_t pid = child_start(NULL);
    struct proc_id id = child_id(pid);
    struct proc *p, *again = NULL;
    struct proc_status status = {.rss = -7};
    struct proc_rollup shares = {.rss = -7};
    struct buf text = BUF_INIT;
    double fds = -7;
    CHECK(proc_open("/proc", id, &p) == 0);
    CHECK(proc_read_fds(p, &fds) == 0);
    for (int reaped = 0; reaped < 2; reaped++) {
        if (reaped)
            waitpid(pid, NULL, 0);
        else
            child_make_zombie(pid);
        CHECK(proc_read_status(p, &status) == -ESRCH);
        CHECK(proc_read_rollup(p, &shares) == -ESRCH);
        CHECK(proc_open("/proc", id, &again) == -ESRCH);
    }
    CHECK(proc_read_fds(p, &fds) == -ESRCH);
    CHECK(proc_read_arguments(p, &text) == -ESRCH);
    CHECK(proc_read_variable(p, "PATH", &text) == -ESRCH);
    CHECK(status.rss == -7 && shares.rss == -7);
    struct proc_stat stat;
    CHECK(proc_stat_read("/proc", pid, &stat) == -ESRCH);
    proc_free(p);
}

static void exec_sleep(void)
{
    usleep(100 * 1000);
    execl("/bin/sleep", "sleep", "7777", (char *) NULL);
}

TEST(process__stays_open_through_exec)
{
    pid_t pid = child_start(exec_sleep);
    struct proc *p;
    struct buf arguments = BUF_INIT;
    struct proc_rollup shares;
    struct proc_status status;
    CHECK(proc_open("/proc", child_id(pid), &p) == 0);
    CHECK(proc_read_rollup(p, &shares) == 0);
    for (int i = 0; i < 500; i++) {
        CHECK(proc_read_arguments(p, &arguments) == 0);
        if (arguments.len == strlen("sleep") + 6)
            break;
        usleep(10 * 1000);
    }
    CHECK(arguments.len == 11 && memcmp(arguments.text, "sleep\0007777\0", 11) == 0);
    CHECK(proc_read_rollup(p, &shares) == 0);
    CHECK(proc_read_status(p, &status) == 0);
    buf_release(&arguments);
    proc_free(p);
    child_end(pid);
}

TEST(process__tells_the_environment_it_was_started_with)
{
    pid_t pid = fork();
    if (pid == 0) {
        char *const env[] = {"RANK=3", "NAME_RANK=4", "EMPTY=", NULL};
        execle("/bin/sleep", "sleep", "7777", (char *) NULL, env);
        _exit(1);
    }
    struct proc *p;
    struct buf value = BUF_INIT;
    CHECK(proc_open("/proc", child_id(pid), &p) == 0);
    for (int i = 0; i < 500 && strcmp(buf_text(&value), "3") != 0; i++) {
        if (proc_read_variable(p, "RANK", &value) < 0)
            usleep(10 * 1000);
    }
    CHECK_TEXT(buf_text(&value), "3");
    CHECK(proc_read_variable(p, "EMPTY", &value) == 0);
    CHECK_TEXT(buf_text(&value), "");
    CHECK(proc_read_variable(p, "RAN", &value) == -ENOENT);
    CHECK(proc_read_variable(p, "LOCAL_RANK", &value) == -ENOENT);
    buf_release(&value);
    proc_free(p);
    child_end(pid);
}

TEST(process__says_what_an_old_kernel_lacks)
{
    char root[64];
    folder_start(root);
    folder_write(root, "5/stat", "5 (a) S 1 2 3 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 77 4096 1\n");
    folder_write(root, "5/status", "VmSize:\t 20 kB\nVmRSS:\t 10 kB\n");
    folder_write(root, "5/fd/0", "");
    folder_write(root, "5/fd/17", "");
    struct proc *p;
    CHECK(proc_open(root, (struct proc_id){5, 77}, &p) == 0);
    struct proc_rollup shares;
    struct proc_status status;
    double fds;
    CHECK(proc_read_status(p, &status) == 0);
    CHECK(status.rss == 10240 && isnan(status.anon));
    CHECK(proc_read_rollup(p, &shares) == -ENOSYS);
    /* The kernel is not asked again. */
    folder_write(root, "5/smaps_rollup", rollup);
    CHECK(proc_read_rollup(p, &shares) == -ENOSYS);
    /* The size of this folder is not a count, so the entries are counted. */
    for (int i = 0; i < 3; i++) {
        CHECK(proc_read_fds(p, &fds) == 0);
        CHECK(fds == 2);
    }
    /* Kernel threads have no memory of their own. */
    folder_write(root, "5/status", "Name:\tkworker\nThreads:\t1\n");
    CHECK(proc_read_status(p, &status) == -ESRCH);
    proc_free(p);
    folder_end(root);
}

static void drop_rights(void)
{
    if (setgid(65534) < 0 || setuid(65534) < 0)
        _exit(9);
}

TEST(process__of_somebody_else_keeps_its_secrets)
{
    if (getuid() != 0)
        return;
    pid_t other = child_start(NULL);
    struct proc_id id = child_id(other);
    pid_t pid = fork();
    if (pid == 0) {
        drop_rights();
        struct proc *p;
        struct proc_status status;
        struct proc_rollup shares;
        struct buf text = BUF_INIT;
        double fds;
        bool ok = proc_open("/proc", id, &p) == 0 && proc_read_status(p, &status) == 0 &&
                  proc_read_rollup(p, &shares) == -EACCES &&
                  proc_read_rollup(p, &shares) == -EACCES && proc_read_fds(p, &fds) == -EACCES &&
                  proc_read_variable(p, "PATH", &text) == -EACCES &&
                  proc_read_arguments(p, &text) == 0 && status.rss > 0;
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    child_end(other);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
