/* attach/permission.c: whether the kernel lets us attach to a process and, if not, what to ask for.
 * */
#include "attach/permission.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

static bool has_capability(const struct status *s)
{
    return s->capabilities >> CAP_SYS_PTRACE & 1;
}

/* The kernel compares our effective id with the target's real, effective and saved id. */
static bool are_all(const long ids[4], long id)
{
    return ids[0] == id && ids[1] == id && ids[2] == id;
}

static bool is_same_user(const struct status *self, const struct status *target)
{
    return are_all(target->uid, self->uid[1]) && are_all(target->gid, self->gid[1]);
}

static void ask_for_capability(const struct permission *p, struct buf *why)
{
    buf_adds(why, p->in_container ? "start this container with --cap-add SYS_PTRACE, or run "
                                    "tidemark on its host as root"
                                  : "run tidemark as root (sudo), or with the capability "
                                    "CAP_SYS_PTRACE");
}

static void explain_yama(const struct permission *p, struct buf *why)
{
    if (p->yama >= 3) {
        buf_addf(
            why,
            "this machine lets nobody attach until its next reboot (kernel.yama.ptrace_scope is "
            "%d). Start the job with `tidemark run` instead.",
            p->yama);
        return;
    }
    buf_addf(why, "kernel.yama.ptrace_scope is %d, which protects %s. To attach, ", p->yama,
             p->yama == 2 ? "every process" : "processes that this shell did not start");
    ask_for_capability(p, why);
    if (p->yama == 1)
        buf_adds(why, "; or set it to 0 temporarily: sudo sysctl kernel.yama.ptrace_scope=0");
    buf_adds(why, ".");
}

/* A set-user-id program, or one that has dropped its rights for a while. */
static void explain_mixed(const struct permission *p, const char *what, const long ids[4],
                          struct buf *why)
{
    buf_addf(why,
             "its %s ids differ (real %ld, effective %ld, saved %ld), so the kernel protects it "
             "from its own user. To attach, ",
             what, ids[0], ids[1], ids[2]);
    ask_for_capability(p, why);
    buf_adds(why, ".");
}

static void explain_ids(const struct permission *p, struct buf *why)
{
    const struct status *self = p->self, *target = p->target;
    bool mixed_users = !are_all(target->uid, target->uid[0]);
    if (mixed_users || !are_all(target->gid, target->gid[0])) {
        explain_mixed(p, mixed_users ? "user" : "group", mixed_users ? target->uid : target->gid,
                      why);
        return;
    }
    bool other_user = target->uid[0] != self->uid[1];
    if (other_user)
        buf_addf(why, "it belongs to user %ld, and you are user %ld. To attach, ", target->uid[0],
                 self->uid[1]);
    else
        buf_addf(why,
                 "it is yours, but its group is %ld and yours is %ld, and the kernel requires both "
                 "to match. To attach, ",
                 target->gid[0], self->gid[1]);
    ask_for_capability(p, why);
    buf_adds(why, other_user ? "; or run tidemark as that user."
                             : "; or run tidemark with that group (sg GROUP -c 'tidemark ...').");
}

void permission_explain(const struct permission *p, struct buf *why)
{
    buf_addf(why, "could not attach to process %d (%s): ", (int) p->pid, p->target->name);
    if (!is_same_user(p->self, p->target) && !has_capability(p->self)) {
        explain_ids(p, why);
    } else if (p->yama >= 3 || (p->yama > 0 && !has_capability(p->self))) {
        explain_yama(p, why);
    } else if (p->not_dumpable && !has_capability(p->self)) {
        buf_adds(why, "it protects itself from its own user (prctl PR_SET_DUMPABLE, or a program "
                      "with extra rights). To attach, ");
        ask_for_capability(p, why);
        buf_adds(why, ".");
    } else {
        buf_adds(why, "a security rule of this machine (SELinux, AppArmor, a user namespace) "
                      "forbids it. To attach, ");
        ask_for_capability(p, why);
        buf_adds(why, ", in the namespace the process was started in.");
    }
}

static int read_yama(void)
{
    char text[16] = "";
    int fd = open(YAMA, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? atoi(text) : -1;
}

static void explain(pid_t pid, const struct status *target, struct buf *why)
{
    struct status self = {0};
    struct stat owner;
    char path[64], text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n < 0 ? 0 : n] = '\0';
    status_parse(text, &self);
    snprintf(path, sizeof path, "/proc/%d", (int) pid);
    struct permission p = {.self = &self, .target = target, .pid = pid, .yama = read_yama()};
    p.not_dumpable = stat(path, &owner) == 0 && (long) owner.st_uid != target->uid[1];
    p.in_container = self.depth > 1 || access("/.dockerenv", F_OK) == 0 ||
                     access("/run/.containerenv", F_OK) == 0;
    permission_explain(&p, why);
}

/* Opening this file takes exactly the right that tracing takes, and changes nothing. */
int permission_check(pid_t pid, const struct status *target, struct buf *why)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int) pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return 0;
    }
    /* Only these two are a refusal; too many open files, for example, is not. */
    if (errno != EACCES && errno != EPERM) {
        int error = errno;
        buf_addf(why, "%s cannot be opened: %s.", path, error_words(error));
        return -error;
    }
    explain(pid, target, why);
    return -EPERM;
}
