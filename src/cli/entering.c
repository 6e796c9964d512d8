/* cli/entering.c: processes of a watched job are entered when that is worth it. */
#include "cli/entering.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define LEAVE_SECONDS 3.0

struct entering {
    struct entering_options options;
    struct visit *visit;
    size_t entered, failed;
    pid_t named[VISIT_MOST]; /* of which it was said what to type */
    size_t named_count;
};

struct entering *entering_new(const struct entering_options *o)
{
    struct entering *e = calloc(1, sizeof(*e));
    if (!e)
        base_out_of_memory();
    e->options = *o;
    e->visit = visit_new(o->patience);
    return e;
}

struct entering *entering_free(struct entering *e)
{
    if (!e)
        return NULL;
    visit_free(e->visit);
    free(e);
    return NULL;
}

/* Once for each: a second try is not worth a second line. */
static bool is_named(struct entering *e, pid_t pid)
{
    for (size_t i = 0; i < e->named_count; i++)
        if (e->named[i] == pid)
            return true;
    if (e->named_count < VISIT_MOST)
        e->named[e->named_count++] = pid;
    return false;
}

/* Where nobody enters, whoever reads it may. */
static void name_suspects(struct entering *e, struct watch *w)
{
    pid_t pids[VISIT_MOST];
    size_t count = watch_worth_attaching(w, false, pids, VISIT_MOST);
    for (size_t i = 0; i < count; i++) {
        struct buf line = BUF_INIT;
        if (is_named(e, pids[i]))
            continue;
        buf_adds(&line, "tidemark: ");
        watch_name_process(w, pids[i], &line);
        buf_addf(&line, " grows. What holds it is named by: tidemark profile --pid %d\n",
                 (int) pids[i]);
        e->options.tell(e->options.context, buf_text(&line));
        buf_release(&line);
    }
}

/* It may be otherwise later. */
static bool passes(int error)
{
    return error == -ETIMEDOUT || error == -EAGAIN || error == -EBUSY;
}

/* Of what watch could not do: a profile waits for longer, and is said no for the same reasons. */
static void add_what_to_type(const struct entering *e, struct buf *line, pid_t pid, int error)
{
    if (!e->options.all && passes(error))
        buf_addf(line, " It is tried again in a minute; or: tidemark profile --pid %d", (int) pid);
    else if (!e->options.all && error == -EPERM)
        buf_addf(line, " What holds its growth is named by: sudo tidemark profile --pid %d",
                 (int) pid);
}

static void note_failure(struct entering *e, struct watch *w, pid_t pid, const char *why, int error)
{
    struct buf line = BUF_INIT;
    watch_note_entry(w, &(struct watch_entry){.pid = pid, .why = why, .passes = passes(error)});
    e->failed++;
    buf_adds(&line, "tidemark: ");
    watch_name_process(w, pid, &line);
    buf_addf(&line, " cannot be attached to. %s", why);
    add_what_to_type(e, &line, pid, error);
    buf_addc(&line, '\n');
    e->options.tell(e->options.context, buf_text(&line));
    buf_release(&line);
}

static void note(struct entering *e, struct watch *w, const struct visit_result *r)
{
    if (r->error < 0) {
        note_failure(e, w, r->pid, r->why, r->error);
        return;
    }
    watch_note_entry(w, &(struct watch_entry){.pid = r->pid,
                                              .python = r->python,
                                              .stopped = r->stopped,
                                              .longest_stop = r->longest_stop,
                                              .stops = r->stops});
    e->entered++;
    struct buf line = BUF_INIT;
    buf_adds(&line, "tidemark: attached to ");
    watch_name_process(w, r->pid, &line);
    if (r->uid != geteuid())
        buf_addf(&line, " as user %u, with that user's rights to files", (unsigned) r->uid);
    buf_adds(&line, " (paused ");
    units_add_short_time(&line, r->stopped);
    buf_adds(&line, ")\n");
    e->options.tell(e->options.context, buf_text(&line));
    buf_release(&line);
}

static void begin(struct entering *e, struct watch *w)
{
    pid_t pids[VISIT_MOST];
    struct buf why = BUF_INIT;
    size_t count = watch_worth_attaching(w, e->options.all, pids, VISIT_MOST);
    if (count == 0)
        return;
    int r = visit_prepare(e->visit, pids[0], &why);
    if (r == 0 && watch_use_rings(w, visit_folder(e->visit)) < 0)
        buf_adds(&why, "No rings can be made for it.");
    else if (r == 0 && visit_enter(e->visit, pids, count) < 0)
        buf_adds(&why, "No thread can be started for it.");
    if (why.len > 0)
        note_failure(e, w, pids[0], buf_text(&why), r);
    buf_release(&why);
}

void entering_tick(struct entering *e, struct watch *w)
{
    struct visit_result r;
    if (e->options.stays_out) {
        name_suspects(e, w);
        return;
    }
    if (visit_has_to_wait(e->visit))
        e->options.tell(e->options.context, "tidemark: waiting to attach: a process is inside a "
                                            "long call\n");
    while (visit_next(e->visit, &r))
        note(e, w, &r);
    if (!visit_is_busy(e->visit))
        begin(e, w);
}

size_t entering_count(const struct entering *e)
{
    return e->entered;
}

bool entering_is_refused(const struct entering *e)
{
    return e->entered == 0 && e->failed > 0 && !visit_is_busy(e->visit);
}

void entering_end(struct entering *e, struct watch *w)
{
    struct visit_result r;
    visit_cancel(e->visit);
    while (visit_await(e->visit, &r))
        note(e, w, &r);
    watch_detach(w, LEAVE_SECONDS);
}
