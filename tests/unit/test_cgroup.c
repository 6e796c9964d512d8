/* tests/unit/test_cgroup.c: memory cgroups, v1, v2 and hybrid, on the host and in containers. */
#include "proc_children.h"
#include "unit.h"

#include <errno.h>

static struct cgroup_memory absent(void)
{
    struct cgroup_memory m;
    double *values = (double *) &m;
    for (size_t i = 0; i < sizeof m / sizeof *values; i++)
        values[i] = -7;
    return m;
}

TEST(cgroup__reads_stat_of_v2)
{
    static const char text[] = "anon 100\nfile 200\nkernel 30\nkernel_stack 5\nshmem 40\n"
                               "inactive_anon 7\ninactive_file 50\n";
    struct cgroup_memory m = absent();
    CHECK(cgroup_stat_parse(text, strlen(text), &m) == 0);
    CHECK(m.anon == 100 && m.file == 200 && m.kernel == 30 && m.shmem == 40);
    CHECK(m.inactive_file == 50);
    CHECK(m.current == -7 && m.limit == -7);
}

TEST(cgroup__reads_totals_of_v1)
{
    static const char text[] = "cache 1\nrss 2\nshmem 3\ninactive_file 4\n"
                               "total_cache 10\ntotal_rss 20\ntotal_shmem 30\n"
                               "total_inactive_file 40\n";
    struct cgroup_memory m = absent();
    CHECK(cgroup_stat_parse(text, strlen(text), &m) == 0);
    CHECK(m.file == 10 && m.anon == 20 && m.shmem == 30 && m.inactive_file == 40);
    CHECK(isnan(m.kernel));
    /* Without a hierarchy there are no totals. */
    CHECK(cgroup_stat_parse(text, 13, &m) == 0);
    CHECK(m.file == 1 && m.anon == 2);
    CHECK(cgroup_stat_parse("slab 5\n", 7, &m) == -EINVAL);
    CHECK(m.file == 1);
}

TEST(cgroup__reads_events)
{
    struct cgroup_memory m = absent();
    static const char v2[] = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n";
    static const char v1[] = "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n";
    CHECK(cgroup_events_parse(v2, strlen(v2), &m) == 0);
    CHECK(m.oom_events == 3 && m.oom_kills == 2);
    CHECK(cgroup_events_parse(v1, strlen(v1), &m) == 0);
    CHECK(isnan(m.oom_events) && m.oom_kills == 5);
    CHECK(cgroup_events_parse("", 0, &m) == -EINVAL);
    CHECK(m.oom_kills == 5);
}

TEST(cgroup__reads_pressure)
{
    struct cgroup_memory m = absent();
    static const char text[] = "some avg10=1.25 avg60=2.00 avg300=3.00 total=1500000\n"
                               "full avg10=0.50 avg60=0.00 avg300=0.00 total=7\n";
    CHECK(cgroup_pressure_parse(text, strlen(text), &m) == 0);
    CHECK(m.pressure_some == 1.25 && m.pressure_full == 0.5);
    CHECK_NEAR(m.stall_seconds, 1.5, 1e-12);
    CHECK(cgroup_pressure_parse("some", 4, &m) == -EINVAL);
    CHECK(cgroup_pressure_parse("some avg10=x\n", 13, &m) == -EINVAL);
    CHECK(m.pressure_some == 1.25);
}

TEST(cgroup__finds_the_memory_hierarchy)
{
    static const struct {
        const char *text;
        enum cgroup_version version;
        const char *path;
    } cases[] = {
        {"0::/user.slice/a b\n", CGROUP_V2, "/user.slice/a b"},
        {"9:name=systemd:/x\n4:memory:/a\n0::/u\n", CGROUP_V1, "/a"},
        {"0::/u\n4:cpu,memory:/b:c\n", CGROUP_V1, "/b:c"},
        {"0::/../..\n", CGROUP_V2, "/../.."},
        {"5:memoryx,xmemory:/a\n0::/\n", CGROUP_V2, "/"},
    };
    struct buf path = BUF_INIT;
    enum cgroup_version version = CGROUP_NONE;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(cgroup_of_process_parse(cases[i].text, strlen(cases[i].text), &version, &path) == 0);
        CHECK(version == cases[i].version);
        CHECK_TEXT(buf_text(&path), cases[i].path);
    }
    static const char *none[] = {"", "\n", "3:cpu:/a\n", "0::\n", "0::relative\n", "memory\n"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CHECK(cgroup_of_process_parse(none[i], strlen(none[i]), &version, &path) == -EINVAL);
    CHECK_TEXT(buf_text(&path), "/");
    buf_release(&path);
}

#define MOUNT_V2(root, point) "30 23 0:26 " root " " point " rw shared:4 - cgroup2 cgroup2 rw\n"
#define MOUNT_V1(root, point, what) "35 31 0:32 " root " " point " rw - cgroup cgroup rw," what "\n"

/* Creates a folder with proc/5/cgroup and proc/self/mountinfo; the test writes the rest. */
static void world_start(char root[64], const char *cgroup, const char *mounts)
{
    folder_start(root);
    folder_write(root, "proc/5/cgroup", cgroup);
    folder_write(root, "proc/self/mountinfo", mounts);
}

static int world_open(const char *root, struct cgroup **ret)
{
    char proc[128];
    snprintf(proc, sizeof proc, "%s/proc", root);
    return cgroup_open(proc, root, 5, ret);
}

TEST(cgroup__of_v2_has_the_smallest_limit_above_it)
{
    char root[64];
    world_start(root, "0::/a/b/c\n", MOUNT_V2("/", "/sys/fs/cgroup"));
    folder_write(root, "sys/fs/cgroup/memory.stat", "anon 1\n");
    folder_write(root, "sys/fs/cgroup/a/memory.max", "5000\n");
    folder_write(root, "sys/fs/cgroup/a/b/memory.max", "3000\n");
    folder_write(root, "sys/fs/cgroup/a/b/memory.swap.max", "77\n");
    folder_write(root, "sys/fs/cgroup/a/b/c/memory.max", "max\n");
    folder_write(root, "sys/fs/cgroup/a/b/c/memory.current", "1000\n");
    folder_write(root, "sys/fs/cgroup/a/b/c/memory.swap.current", "20\n");
    folder_write(root, "sys/fs/cgroup/a/b/c/memory.swap.max", "max\n");
    folder_write(root, "sys/fs/cgroup/a/b/c/memory.stat", "anon 600\ninactive_file 300\n");
    folder_write(root, "sys/fs/cgroup/a/b/c/memory.events", "oom 1\noom_kill 1\n");
    folder_write(root, "sys/fs/cgroup/a/b/c/memory.pressure",
                 "some avg10=4.00 avg60=0.00 avg300=0.00 total=2000000\n");
    /* Another file system is above the mount. */
    folder_write(root, "sys/fs/memory.max", "1\n");
    struct cgroup *c;
    struct cgroup_memory m;
    CHECK(world_open(root, &c) == 0);
    CHECK(cgroup_version(c) == CGROUP_V2);
    CHECK_TEXT(cgroup_path(c), "/a/b/c");
    CHECK(cgroup_read(c, &m) == 0);
    CHECK(m.current == 1000 && m.limit == 3000);
    CHECK(m.swap_current == 20 && m.swap_limit == 77);
    CHECK(m.anon == 600 && m.working_set == 700);
    CHECK(m.oom_events == 1 && m.oom_kills == 1);
    CHECK(m.pressure_some == 4 && isnan(m.pressure_full) && m.stall_seconds == 2);
    CHECK(isnan(m.shmem) && isnan(m.kernel));
    /* Limits can be set while a job runs. */
    folder_write(root, "sys/fs/cgroup/a/memory.max", "2500\n");
    CHECK(cgroup_read(c, &m) == 0);
    CHECK(m.limit == 2500);
    /* In a container the top of the mount has a limit as well. */
    folder_write(root, "sys/fs/cgroup/memory.max", "2000\n");
    CHECK(cgroup_read(c, &m) == 0);
    CHECK(m.limit == 2000);
    char gone[128];
    snprintf(gone, sizeof gone, "%s/sys/fs/cgroup/a", root);
    folder_end(gone);
    CHECK(cgroup_read(c, &m) == -ENODEV);
    CHECK(m.limit == 2000);
    CHECK(!cgroup_free(c));
    folder_end(root);
}

TEST(cgroup__that_does_not_count_is_counted_above)
{
    char root[64];
    world_start(root, "0::/user.slice/leaf\n", MOUNT_V2("/", "/sys/fs/cgroup"));
    folder_write(root, "sys/fs/cgroup/user.slice/memory.current", "55\n");
    folder_write(root, "sys/fs/cgroup/user.slice/memory.max", "99\n");
    folder_write(root, "sys/fs/cgroup/user.slice/leaf/cgroup.procs", "5\n");
    struct cgroup *c;
    struct cgroup_memory m;
    CHECK(world_open(root, &c) == 0);
    CHECK(cgroup_read(c, &m) == 0);
    CHECK(m.current == 55 && m.limit == 99);
    CHECK(isnan(m.working_set));
    cgroup_free(c);
    folder_end(root);
}

TEST(cgroup__of_v1_takes_memory_and_swap_apart)
{
    char root[64];
    world_start(root, "4:memory:/job\n1:cpu:/other\n0::/\n",
                MOUNT_V1("/", "/sys/fs/cgroup/cpu", "cpu")
                    MOUNT_V1("/", "/sys/fs/cgroup/mem\\040ory", "memory")
                        MOUNT_V2("/", "/sys/fs/cgroup/unified"));
    folder_write(root, "sys/fs/cgroup/mem ory/memory.limit_in_bytes", "9223372036854771712\n");
    folder_write(root, "sys/fs/cgroup/mem ory/job/memory.limit_in_bytes", "5000\n");
    folder_write(root, "sys/fs/cgroup/mem ory/job/memory.usage_in_bytes", "1000\n");
    folder_write(root, "sys/fs/cgroup/mem ory/job/memory.memsw.usage_in_bytes", "1200\n");
    folder_write(root, "sys/fs/cgroup/mem ory/job/memory.memsw.limit_in_bytes", "7000\n");
    folder_write(root, "sys/fs/cgroup/mem ory/job/memory.kmem.usage_in_bytes", "30\n");
    folder_write(root, "sys/fs/cgroup/mem ory/job/memory.oom_control",
                 "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    folder_write(root, "sys/fs/cgroup/mem ory/job/memory.stat",
                 "rss 1\nhierarchical_memory_limit 4000\nhierarchical_memsw_limit "
                 "9223372036854771712\ntotal_rss 500\ntotal_inactive_file 100\n");
    struct cgroup *c;
    struct cgroup_memory m;
    CHECK(world_open(root, &c) == 0);
    CHECK(cgroup_version(c) == CGROUP_V1);
    CHECK(cgroup_read(c, &m) == 0);
    CHECK(m.current == 1000 && m.limit == 4000);
    CHECK(m.swap_current == 200 && m.swap_limit == 3000);
    CHECK(m.anon == 500 && m.working_set == 900 && m.kernel == 30);
    CHECK(m.oom_kills == 4 && isnan(m.oom_events) && isnan(m.pressure_some));
    cgroup_free(c);
    folder_end(root);
}

TEST(cgroup__without_limits_has_none)
{
    char root[64];
    world_start(root, "4:memory:/\n", MOUNT_V1("/", "/sys/fs/cgroup/memory", "memory"));
    folder_write(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    folder_write(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
    struct cgroup *c;
    struct cgroup_memory m;
    CHECK(world_open(root, &c) == 0);
    CHECK(cgroup_read(c, &m) == 0);
    CHECK(m.current == 1000);
    CHECK(isnan(m.limit) && isnan(m.swap_limit) && isnan(m.swap_current) && isnan(m.anon));
    cgroup_free(c);
    folder_end(root);
}

TEST(cgroup__in_a_container_is_found)
{
    static const struct {
        const char *cgroup, *mounts, *folder;
    } cases[] = {
        /* a namespace of its own */
        {"0::/\n", MOUNT_V2("/", "/sys/fs/cgroup"), "sys/fs/cgroup"},
        /* the mount begins at the container's cgroup */
        {"0::/docker/ab\n", MOUNT_V2("/docker/ab", "/sys/fs/cgroup"), "sys/fs/cgroup"},
        {"0::/docker/ab/sub\n", MOUNT_V2("/docker/ab", "/sys/fs/cgroup"), "sys/fs/cgroup/sub"},
        /* above the namespace */
        {"0::/../..\n", MOUNT_V2("/../..", "/sys/fs/cgroup"), "sys/fs/cgroup"},
        {"0::/../../x\n", MOUNT_V2("/../..", "/sys/fs/cgroup"), "sys/fs/cgroup/x"},
        /* the host's names, which the mount does not show: its top is ours */
        {"0::/kubepods/pod1\n", MOUNT_V2("/", "/sys/fs/cgroup"), "sys/fs/cgroup"},
        {"0::/../other\n", MOUNT_V2("/", "/sys/fs/cgroup"), "sys/fs/cgroup"},
        {"0::/dockers\n", MOUNT_V2("/docker", "/sys/fs/cgroup"), "sys/fs/cgroup"},
        /* mounted over */
        {"0::/\n", MOUNT_V2("/", "/old") MOUNT_V2("/", "/new"), "new"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char root[64], path[128];
        world_start(root, cases[i].cgroup, cases[i].mounts);
        snprintf(path, sizeof path, "%s/memory.current", cases[i].folder);
        folder_write(root, path, "1234\n");
        struct cgroup *c;
        struct cgroup_memory m;
        if (world_open(root, &c) < 0)
            UNIT_FAIL("%s", cases[i].cgroup);
        CHECK(cgroup_read(c, &m) == 0);
        CHECK(m.current == 1234);
        cgroup_free(c);
        folder_end(root);
    }
}

TEST(cgroup__that_is_not_there_is_said_so)
{
    static const char *worlds[][2] = {
        {"3:cpu:/\n", MOUNT_V2("/", "/sys/fs/cgroup")},
        {"4:memory:/\n", MOUNT_V2("/", "/sys/fs/cgroup")},
        {"0::/\n", MOUNT_V1("/", "/sys/fs/cgroup", "memory")},
        {"0::/\n", "garbage\n- - -\n"},
        {"0::/a\n", MOUNT_V2("/", "/sys/fs/cgroup")},
    };
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        char root[64];
        world_start(root, worlds[i][0], worlds[i][1]);
        folder_write(root, "sys/fs/cgroup/a/cgroup.procs", "");
        struct cgroup *c = NULL;
        CHECK(world_open(root, &c) == -ENOENT);
        CHECK(!c);
        folder_end(root);
    }
}

TEST(cgroup__of_this_machine_makes_sense)
{
    struct cgroup *c;
    struct cgroup_memory m;
    int r = cgroup_open("/proc", "", getpid(), &c);
    if (r == -ENOENT)
        return;
    CHECK(r == 0);
    CHECK(cgroup_path(c)[0] == '/');
    CHECK(cgroup_read(c, &m) == 0);
    CHECK(m.current > 0 && m.anon >= 0);
    CHECK(m.working_set <= m.current);
    CHECK(isnan(m.limit) || m.limit > m.working_set / 2);
    cgroup_free(c);
}
