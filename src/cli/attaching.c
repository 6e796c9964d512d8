/*
 * cli/attaching.c: decides which processes of a watched job to attach to, and announces the
 * results. It waits only at the end.
 */
#include "cli/attaching.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define DETACH_SECONDS 3.0

struct attaching {
    struct attaching_options options;
    struct visit *visit;
    size_t attached, failed;
    pid_t named[VISIT_MOST]; /* whose command was announced */
    size_t named_count;
};

struct attaching *attaching_new(const struct attaching_options *o)
{
    struct attaching *e = calloc(1, sizeof(*e));
    if (!e)
        base_out_of_memory();
    e->options = *o;
    e->visit = visit_new(o->patience);
    return e;
}

struct attaching *attaching_free(struct attaching *e)
{
    if (!e)
        return NULL;
    visit_free(e->visit);
    free(e);
    return NULL;
}

/* Releases the line. */
static void announce(struct attaching *e, struct buf *line)
{
    e->options.announce(e->options.context, buf_text(line));
    buf_release(line);
}

/* One line per process, however often tidemark tries. */
static bool is_named(struct attaching *e, pid_t pid)
{
    for (size_t i = 0; i < e->named_count; i++)
        if (e->named[i] == pid)
            return true;
    if (e->named_count < VISIT_MOST)
        e->named[e->named_count++] = pid;
    return false;
}

/* With --no-inspect only the user attaches: this announces the command. */
static void name_suspects(struct attaching *e, struct watch *w)
{
    pid_t pids[VISIT_MOST];
    size_t count = watch_worth_attaching(w, false, pids, VISIT_MOST);
    for (size_t i = 0; i < count; i++) {
        struct buf name = BUF_INIT, line = BUF_INIT;
        if (is_named(e, pids[i]))
            continue;
        watch_name_process(w, pids[i], &name);
        attached_announce_suspect(&line, buf_text(&name), pids[i]);
        announce(e, &line);
        buf_release(&name);
    }
}

/* Whether a later try may succeed. */
static bool passes(int error)
{
    return error == -ETIMEDOUT || error == -EAGAIN || error == -EBUSY;
}

/* Only watch suggests profile: a profile already waited longer, and would fail for the same
 * reason. */
static enum attached_remedy remedy_of(const struct attaching *e, int error)
{
    if (e->options.all)
        return REMEDY_NONE;
    return passes(error) ? REMEDY_RETRY : error == -EPERM ? REMEDY_ROOT : REMEDY_NONE;
}

static void note_failure(struct attaching *e, struct watch *w, pid_t pid, const char *why,
                         int error)
{
    struct buf name = BUF_INIT, line = BUF_INIT;
    watch_note_entry(w, &(struct watch_entry){.pid = pid, .why = why, .passes = passes(error)});
    e->failed++;
    watch_name_process(w, pid, &name);
    attached_announce_failure(&line, buf_text(&name), pid, why, remedy_of(e, error));
    announce(e, &line);
    buf_release(&name);
}

static void note(struct attaching *e, struct watch *w, const struct visit_result *r)
{
    struct buf name = BUF_INIT, line = BUF_INIT;
    if (r->error < 0) {
        note_failure(e, w, r->pid, r->why, r->error);
        return;
    }
    watch_note_entry(w, &(struct watch_entry){.pid = r->pid,
                                              .python = r->python,
                                              .stopped = r->stopped,
                                              .longest_stop = r->longest_stop,
                                              .stops = r->stops});
    e->attached++;
    watch_name_process(w, r->pid, &name);
    attached_announce(&line, buf_text(&name), r->stopped, r->uid != geteuid() ? (long) r->uid : -1);
    announce(e, &line);
    buf_release(&name);
}

static void begin(struct attaching *e, struct watch *w)
{
    pid_t pids[VISIT_MOST];
    struct buf why = BUF_INIT;
    size_t count = watch_worth_attaching(w, e->options.all, pids, VISIT_MOST);
    if (count == 0)
        return;
    int r = visit_prepare(e->visit, pids[0], &why);
    if (r == 0 && watch_use_rings(w, visit_folder(e->visit)) < 0)
        buf_adds(&why, "The rings could not be created.");
    else if (r == 0 && visit_enter(e->visit, pids, count) < 0)
        buf_adds(&why, "The thread that attaches could not be started.");
    if (why.len > 0)
        note_failure(e, w, pids[0], buf_text(&why), r);
    buf_release(&why);
}

void attaching_tick(struct attaching *e, struct watch *w)
{
    struct visit_result r;
    if (e->options.only_names) {
        name_suspects(e, w);
        return;
    }
    if (visit_has_to_wait(e->visit)) {
        struct buf line = BUF_INIT;
        attached_announce_waiting(&line);
        announce(e, &line);
    }
    while (visit_next(e->visit, &r))
        note(e, w, &r);
    if (!visit_is_busy(e->visit))
        begin(e, w);
}

size_t attaching_count(const struct attaching *e)
{
    return e->attached;
}

bool attaching_is_refused(const struct attaching *e)
{
    return e->attached == 0 && e->failed > 0 && !visit_is_busy(e->visit);
}

void attaching_end(struct attaching *e, struct watch *w)
{
    struct visit_result r;
    visit_cancel(e->visit);
    while (visit_await(e->visit, &r))
        note(e, w, &r);
    watch_detach(w, DETACH_SECONDS);
}
