/* tests/unit/test_ending.c: how a watched command ended, in words. */
#include "words/ending.h"

#include "unit.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>

#define EXITED(status) ((status) << 8)

static char text[200];

static const char *said(struct ending_facts f)
{
    struct buf b = BUF_INIT;
    ending_words(&b, &f);
    snprintf(text, sizeof(text), "%s", buf_text(&b));
    buf_release(&b);
    return text;
}

static struct ending_facts ended(int status)
{
    return (struct ending_facts){.known = true,
                                 .status = status,
                                 .cgroup_kills = NAN,
                                 .cgroup_limit = NAN,
                                 .machine_kills = NAN};
}

TEST(ending__says_nothing_of_success)
{
    CHECK_TEXT(said(ended(0)), "");
    struct ending_facts unknown = ended(EXITED(3));
    unknown.known = false;
    CHECK_TEXT(said(unknown), "");
}

TEST(ending__names_status_and_signal)
{
    CHECK_TEXT(said(ended(EXITED(3))), "exited with status 3");
    CHECK_TEXT(said(ended(SIGTERM)), "ended by signal 15 (Terminated)");
}

TEST(ending__names_who_ended_it)
{
    struct ending_facts f = ended(SIGTERM);
    f.by = "stopped by tidemark after 8 s (--duration)";
    f.interrupted = true;
    CHECK_TEXT(said(f),
               "stopped by tidemark after 8 s (--duration); ended by signal 15 (Terminated)");
    f.known = false;
    CHECK_TEXT(said(f), "stopped by tidemark after 8 s (--duration)");
}

TEST(ending__knows_who_was_oom_killed)
{
    struct ending_facts f = ended(SIGKILL);
    CHECK_TEXT(said(f), "killed with SIGKILL");
    f.machine_kills = 0;
    CHECK_TEXT(said(f), "killed with SIGKILL, but not by the kernel's OOM killer");
    f.machine_kills = 1;
    CHECK_TEXT(said(f),
               "killed with SIGKILL; the kernel OOM-killed 1 process on this machine meanwhile");
    f.machine_kills = 2;
    CHECK_TEXT(said(f),
               "killed with SIGKILL; the kernel OOM-killed 2 processes on this machine meanwhile");
    f.cgroup_kills = 1;
    CHECK_TEXT(said(f), "OOM-killed by the kernel");
    f.cgroup_limit = 96.0 * 1024 * 1024;
    f.status = EXITED(128 + SIGKILL); /* a shell reports the signal this way */
    CHECK_TEXT(said(f), "OOM-killed by the kernel: its cgroup reached the limit of 96.0 MB");
    f.interrupted = true;
    CHECK_TEXT(said(f), "exited with status 137");
}
