/* tests/unit/test_attach_maps.c: what the kernel reports about a process to attach to. */
#include "unit.h"

#include "attach/permission.h"
#include "attach/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/sysmacros.h>

/* ---- maps ---- */

static int next(const char *text, size_t *position, struct maps_entry *m)
{
    return maps_next(text, strlen(text), position, m);
}

static bool is_path(const struct maps_entry *m, const char *path)
{
    return m->path_len == strlen(path) && memcmp(m->path, path, m->path_len) == 0;
}

TEST(maps__reads_a_line_of_the_kernel)
{
    struct maps_entry m;
    size_t at = 0;
    const char *text = "7f8b75000000-7f8b75087000 r-xp 00028000 fe:00 1234567    /lib/libc.so.6\n";
    CHECK(next(text, &at, &m) == 1 && m.start == 0x7f8b75000000 && m.end == 0x7f8b75087000);
    CHECK(m.read && !m.write && m.execute && m.private && m.offset == 0x28000);
    CHECK(m.device == makedev(0xfe, 0) && m.inode == 1234567 && is_path(&m, "/lib/libc.so.6"));
    CHECK(next(text, &at, &m) == 0);
}

TEST(maps__knows_files_that_are_gone_and_names_with_spaces)
{
    struct maps_entry m;
    size_t at = 0;
    const char *text = "1000-2000 r--p 0 00:01 5 /a b/libpython3.9.so (deleted)\n"
                       "2000-3000 rw-s 0 00:01 0 \n"
                       "3000-4000 r--p 0 00:01 0 [vdso]";
    CHECK(next(text, &at, &m) == 1 && is_path(&m, "/a b/libpython3.9.so"));
    CHECK(maps_is_named(&m, "libpython") && !maps_is_named(&m, "libc"));
    CHECK(next(text, &at, &m) == 1 && is_path(&m, "") && !m.private && m.write);
    CHECK(next(text, &at, &m) == 1 && is_path(&m, "[vdso]") && !maps_is_named(&m, ""));
    CHECK(next(text, &at, &m) == 0);
}

TEST(maps__passes_over_what_is_no_line)
{
    struct maps_entry m;
    size_t at = 0;
    const char *text = "nonsense\n2000-1000 r--p 0 00:01 5 /x\n10000000000000000-2 r--p 0 0:0 0\n"
                       "1000-2000 r-\n\n1000-2000 r--p 0 00:01 7 /y\n";
    CHECK(next(text, &at, &m) == 1 && m.inode == 7);
    CHECK(next(text, &at, &m) == 0);
}

/* ---- status ---- */

TEST(status__reads_what_decides)
{
    struct status s;
    status_parse("Name:\tpython3\nState:\tT (stopped)\nPPid:\t12\nTracerPid:\t99\n"
                 "Uid:\t1000\t1001\t1002\t1003\nGid:\t5\t6\t7\t8\nNSpid:\t4711\t12\t1\n"
                 "SigCgt:\t0000000180000002\nCapEff:\t0000000000080000\nSeccomp:\t2\n"
                 "Seccomp_filters:\t3\n",
                 &s);
    CHECK_TEXT(s.name, "python3");
    CHECK(s.state == 'T' && s.parent == 12 && s.tracer == 99 && s.own_pid == 1 && s.depth == 3);
    CHECK(s.uid[0] == 1000 && s.uid[3] == 1003 && s.gid[1] == 6);
    CHECK(s.caught == 0x180000002 && s.capabilities == 0x80000 && s.seccomp == 2 && s.filters == 3);
}

TEST(status__leaves_absent_what_is_not_told)
{
    struct status s;
    status_parse("Name:\tx\x1b[31m\nno colon\n:\nState:", &s);
    CHECK_TEXT(s.name, "x?[31m");
    CHECK(s.filters == -1 && s.uid[0] == -1 && s.tracer == 0 && s.seccomp == 0 && s.state == 0);
}

TEST(status__finds_the_start_behind_any_name)
{
    const char *stat = "7 (a) b) c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 9 8 7 "
                       "1000 2000 3000 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 5000 6000 7000 1 2 3 4 0";
    CHECK(status_start_time(stat) == 123456);
    CHECK(status_start_time("7 (x) S 1") == 0 && status_start_time("") == 0);
    char other[256];
    snprintf(other, sizeof other, "%s", stat);
    CHECK(status_program(stat) == status_program(other));
    memcpy(strstr(other, "3000"), "3001", 4); /* another stack means another program */
    CHECK(status_program(stat) != status_program(other));
}

/* ---- refusals in words ---- */

static struct status user(long id)
{
    return (struct status){.name = "python3", .uid = {id, id, id, id}, .gid = {id, id, id, id}};
}

static bool says(const struct permission *p, const char *words)
{
    struct buf why = BUF_INIT;
    permission_explain(p, &why);
    bool found = strstr(buf_text(&why), words);
    if (!found)
        printf("  %s\n", buf_text(&why));
    buf_release(&why);
    return found;
}

TEST(permission__names_the_other_user)
{
    struct status self = user(1000), target = user(1001);
    struct permission p = {.self = &self, .target = &target, .pid = 7, .yama = 1};
    CHECK(says(&p, "belongs to user 1001, and you are user 1000"));
    CHECK(says(&p, "CAP_SYS_PTRACE"));
    p.in_container = true;
    CHECK(says(&p, "--cap-add SYS_PTRACE"));
}

/* The user is the same, so the text must not speak of another user. */
TEST(permission__names_the_other_group)
{
    struct status self = user(1002), target = user(1002);
    target.gid[0] = target.gid[1] = target.gid[2] = 50;
    struct permission p = {.self = &self, .target = &target, .pid = 7, .yama = 0};
    CHECK(!says(&p, "belongs to user"));
    CHECK(says(&p, "its group is 50 and yours is 1002"));
    CHECK(says(&p, "or run tidemark with that group"));
    CHECK(!says(&p, "as that user"));
}

TEST(permission__names_ids_that_differ_in_the_process)
{
    struct status self = user(1002), target = user(1002);
    struct permission p = {.self = &self, .target = &target, .pid = 7, .yama = 0};
    target.uid[2] = 0;
    CHECK(says(&p, "its user ids differ (real 1002, effective 1002, saved 0)"));
    CHECK(!says(&p, "as that user"));
    target = user(1002);
    target.gid[1] = 50;
    CHECK(says(&p, "its group ids differ (real 1002, effective 50, saved 1002)"));
}

TEST(permission__names_the_exact_setting_of_yama)
{
    struct status self = user(1000), target = user(1000);
    struct permission p = {.self = &self, .target = &target, .pid = 7, .yama = 1};
    CHECK(says(&p, "sudo sysctl kernel.yama.ptrace_scope=0"));
    p.yama = 2;
    CHECK(says(&p, "kernel.yama.ptrace_scope is 2, which protects every process"));
    p.yama = 3;
    self.capabilities = ~0ull;
    CHECK(says(&p, "Start the job with `tidemark run` instead"));
}

TEST(permission__knows_a_process_that_closed_itself)
{
    struct status self = user(1000), target = user(1000);
    struct permission p = {
        .self = &self, .target = &target, .pid = 7, .yama = -1, .not_dumpable = true};
    CHECK(says(&p, "PR_SET_DUMPABLE"));
    p.not_dumpable = false;
    CHECK(says(&p, "a security rule of this machine"));
    CHECK(says(&p, "could not attach to process 7 (python3): "));
}
