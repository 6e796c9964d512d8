/* words/ending.c: how a watched command ended, in words. */
#include "words/ending.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* A shell reports the signal as an exit status. */
static bool was_killed(int status)
{
    return (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
           (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGKILL);
}

static void killed_words(struct buf *out, const struct ending_facts *f)
{
    if (f->cgroup_kills > 0) {
        buf_adds(out, "OOM-killed by the kernel");
        if (isfinite(f->cgroup_limit)) {
            buf_adds(out, ": its cgroup reached the limit of ");
            units_add_bytes(out, f->cgroup_limit);
        }
        return;
    }
    buf_adds(out, "killed with SIGKILL");
    if (f->machine_kills > 0)
        buf_addf(out, "; the kernel OOM-killed %.0f process%s on this machine meanwhile",
                 f->machine_kills, f->machine_kills == 1 ? "" : "es");
    else if (isfinite(f->machine_kills))
        buf_adds(out, ", but not by the kernel's OOM killer");
}

void ending_words(struct buf *out, const struct ending_facts *f)
{
    if (f->known && !f->interrupted && was_killed(f->status)) {
        killed_words(out, f);
        return;
    }
    buf_adds(out, f->by ? f->by : "");
    const char *separator = f->by ? "; " : "";
    if (f->known && WIFSIGNALED(f->status))
        buf_addf(out, "%sended by signal %d (%s)", separator, WTERMSIG(f->status),
                 strsignal(WTERMSIG(f->status)));
    else if (f->known && WEXITSTATUS(f->status) != 0)
        buf_addf(out, "%sexited with status %d", separator, WEXITSTATUS(f->status));
}
