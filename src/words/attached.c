/* words/attached.c: attaching to a running process and detaching from it, as sentences. */
#include "words/attached.h"

#include <string.h>

#include <inttypes.h>

#define PROFILE "tidemark profile --pid %" PRId64

void attached_end(struct buf *out, const struct attached_process *e)
{
    if (e->ended) {
        buf_adds(out, "it has ended since");
    } else if (e->left) {
        buf_adds(out, "detached; only the idle probe library stays loaded");
    } else {
        buf_adds(out,
                 e->counted ? "no safe point came to detach at" : "no safe point came within ");
        if (!e->counted)
            units_add_duration(out, e->attached_seconds);
        buf_adds(out, ": its main thread is inside one long call. The probe and its thread stay in "
                      "the process until that call returns, then they detach by themselves");
    }
}

void attached_describe(struct buf *out, const struct attached_process *e)
{
    if (!e->python) {
        buf_addf(out, "%s: %s", e->process, e->why);
        return;
    }
    buf_addf(out, "%s (Python %s), paused for ", e->process, e->python);
    units_add_short_time(out, e->stopped_seconds);
    buf_addf(out, " in %.0f stop%s; ", e->stops, e->stops == 1 ? "" : "s");
    if (!e->counted && !e->ended && !e->left)
        buf_adds(out, "no objects were counted: ");
    attached_end(out, e);
}

void attached_announce(struct buf *out, const char *process, double paused_seconds, long user)
{
    buf_addf(out, "tidemark: attached to %s", process);
    if (user >= 0)
        buf_addf(out, " as user %ld, with that user's rights to files", user);
    buf_adds(out, " (paused ");
    units_add_short_time(out, paused_seconds);
    buf_adds(out, ")\n");
}

#define NOT_ATTACHED "could not attach"

void attached_announce_failure(struct buf *out, const char *process, int64_t pid, const char *why,
                               enum attached_remedy remedy)
{
    /* Most reasons begin with that themselves. */
    if (strncmp(why, NOT_ATTACHED, strlen(NOT_ATTACHED)) == 0)
        buf_addf(out, "tidemark: %s", why);
    else
        buf_addf(out, "tidemark: " NOT_ATTACHED " to %s. %s", process, why);
    if (remedy == REMEDY_RETRY)
        buf_addf(out, " tidemark tries again in a minute; or run " PROFILE, pid);
    else if (remedy == REMEDY_ROOT)
        buf_addf(out, " To find the holder, run sudo " PROFILE, pid);
    buf_addc(out, '\n');
}

void attached_announce_suspect(struct buf *out, const char *process, int64_t pid)
{
    buf_addf(out, "tidemark: %s grows. To find the holder, run " PROFILE "\n", process, pid);
}

void attached_announce_waiting(struct buf *out)
{
    buf_adds(out, "tidemark: waiting to attach: a process is inside a long call\n");
}
