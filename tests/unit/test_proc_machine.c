/* tests/unit/test_proc_machine.c: the memory of the machine, and which process on it grew. */
#include "proc_children.h"
#include "unit.h"

#include <errno.h>
#include <sys/mman.h>

TEST(meminfo__reads_what_is_told)
{
    static const char text[] = "MemTotal:       24674516 kB\nMemFree:        10 kB\n"
                               "MemAvailable:   23000000 kB\nBuffers:  3 kB\nCached:   4 kB\n"
                               "SwapCached:            0 kB\nSwapTotal:    6 kB\nSwapFree: 5 kB\n"
                               "Shmem:     7 kB\nShmemHugePages:        9 kB\n";
    struct proc_meminfo m;
    CHECK(proc_meminfo_parse(text, strlen(text), &m) == 0);
    CHECK(m.total == 24674516 * 1024.0 && m.available == 23000000 * 1024.0);
    CHECK(m.free == 10240 && m.buffers == 3072 && m.cached == 4096);
    CHECK(m.swap_total == 6144 && m.swap_free == 5120 && m.shmem == 7168);
}

TEST(meminfo__is_nothing_without_a_total)
{
    struct proc_meminfo m = {.total = -7};
    CHECK(proc_meminfo_parse("MemFree: 5 kB\n", 14, &m) == -EINVAL);
    CHECK(m.total == -7);
    CHECK(proc_meminfo_parse("MemTotal: 5 kB", 14, &m) == 0);
    CHECK(m.total == 5120 && isnan(m.available));
}

TEST(meminfo__of_this_machine_makes_sense)
{
    struct proc_meminfo m;
    CHECK(proc_meminfo_read("/proc", &m) == 0);
    CHECK(m.total > 0x1p26 && m.available > 0 && m.available <= m.total);
    CHECK(proc_meminfo_read("/nonexistent", &m) == -ENOENT);
}

TEST(cpu__idle_and_waiting_are_not_busy)
{
    static const char text[] = "cpu  10 20 30 400 50 6 7 8 9 10\ncpu0 1 2 3 4\n";
    static const char old[] = "cpu 1 2 3 4\n";
    struct proc_cpu c = {.busy = -7};
    CHECK(proc_cpu_parse(text, strlen(text), &c) == 0);
    CHECK(c.busy == 81 && c.total == 531);
    CHECK(proc_cpu_parse(old, strlen(old), &c) == 0);
    CHECK(c.busy == 6 && c.total == 10);
}

TEST(cpu__is_nothing_else)
{
    struct proc_cpu c = {.busy = -7};
    static const char *const wrong[] = {"",          "cpu",         "cpu ",
                                        "cpu 1 2 3", "cpu 1 x 3 4", "cpu0 1 2 3 4"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(proc_cpu_parse(wrong[i], strlen(wrong[i]), &c) == -EINVAL);
    CHECK(c.busy == -7);
    CHECK(proc_cpu_read("/proc", &c) == 0 && c.busy > 0 && c.busy < c.total);
    CHECK(proc_cpu_read("/nonexistent", &c) == -ENOENT);
}

TEST(tmpfs__tells_what_it_holds)
{
    double used = -1, size = -1, after = -1;
    if (proc_tmpfs_read("/dev/shm", &used, &size) == -ENOTSUP)
        return;
    CHECK(used >= 0 && size > 0 && used <= size);
    char name[] = "/dev/shm/tidemark-test-XXXXXX";
    int fd = mkstemp(name);
    CHECK(fd >= 0);
    unlink(name);
    static char block[4 << 20];
    memset(block, 1, sizeof block);
    CHECK(write(fd, block, sizeof block) == sizeof block);
    CHECK(proc_tmpfs_read("/dev/shm", &after, &size) == 0);
    close(fd);
    CHECK_NEAR(after - used, sizeof block, 0x1p20);
}

TEST(tmpfs__is_nothing_else)
{
    double used = -1, size = -1;
    CHECK(proc_tmpfs_read("/proc", &used, &size) == -ENOTSUP);
    CHECK(proc_tmpfs_read("/nonexistent", &used, &size) == -ENOENT);
    CHECK(used == -1 && size == -1);
}

static void fake(const char *root, int pid, unsigned start, int pages, const char *comm)
{
    char path[32], line[128];
    snprintf(path, sizeof path, "%d/stat", pid);
    snprintf(line, sizeof line, "%d (%s) S 1 2 3 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 %u 4096 %d\n", pid,
             comm, start, pages);
    folder_write(root, path, line);
}

static bool is_skipped(void *context, struct proc_id id, const char *comm)
{
    return comm[0] && id.pid == *(pid_t *) context;
}

TEST(survey__says_who_grew_most)
{
    char root[64];
    folder_start(root);
    struct proc_survey *a, *b;
    double page = (double) sysconf(_SC_PAGESIZE);
    fake(root, 5, 10, 100, "steady");
    fake(root, 6, 11, 1000, "shrinks");
    fake(root, 7, 12, 50, "grows");
    fake(root, 8, 13, 900, "reused");
    CHECK(proc_survey_take(root, &a) == 0);
    fake(root, 6, 11, 10, "shrinks");
    fake(root, 7, 12, 450, "grows");
    fake(root, 8, 99, 500, "another");
    fake(root, 9, 98, 60, "new");
    CHECK(proc_survey_take(root, &b) == 0);
    struct proc_grower g;
    CHECK(proc_survey_grower(a, b, NULL, NULL, &g) == 0);
    CHECK(g.id.pid == 8 && g.id.start == 99);
    CHECK(g.before == 0 && g.now == 500 * page);
    CHECK_TEXT(g.comm, "another");
    pid_t skipped = 8;
    CHECK(proc_survey_grower(a, b, is_skipped, &skipped, &g) == 0);
    CHECK(g.id.pid == 7 && g.before == 50 * page && g.now == 450 * page);
    CHECK(proc_survey_grower(b, b, NULL, NULL, &g) == -ENOENT);
    CHECK(!proc_survey_free(a));
    CHECK(!proc_survey_free(b));
    folder_end(root);
}

static void take_memory(void)
{
    usleep(200 * 1000);
    size_t bytes = 256 << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        memset(memory, 1, bytes);
}

TEST(survey__of_this_machine_finds_a_grower)
{
    pid_t pid = child_start(take_memory);
    struct proc_survey *a, *b;
    struct proc_grower g = {.now = 0};
    CHECK(proc_survey_take("/proc", &a) == 0);
    for (int i = 0; i < 100 && !(g.id.pid == pid && g.now > 0x1p27); i++) {
        usleep(50 * 1000);
        CHECK(proc_survey_take("/proc", &b) == 0);
        if (proc_survey_grower(a, b, NULL, NULL, &g) < 0)
            g.now = 0;
        proc_survey_free(b);
    }
    child_end(pid);
    proc_survey_free(a);
    CHECK(g.id.pid == pid);
    CHECK(g.before < 0x1p25);
}
