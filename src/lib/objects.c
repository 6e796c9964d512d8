/* lib/objects.c: this process's censuses, and the holders they name. */
#include "lib/lib.h"
#include "lib/watcher.h"

#include <stdlib.h>
#include <unistd.h>

enum wire_wanted watcher_wanted(tidemark_watcher *w)
{
    return w ? wire_wanted(w->ring) : WIRE_CENSUS_NONE;
}

bool watcher_is_watched_outside(const tidemark_watcher *w)
{
    return w && w->watched_outside;
}

void watcher_own_shared(tidemark_watcher *w, size_t bytes)
{
    wire_own_shared(w->ring, bytes);
}

static int note_counter(tidemark_watcher *w, struct visit *v, void *context)
{
    const pid_t *pid = context;
    (void) v;
    wire_census_by(w->ring, *pid);
    watch_census_by(w->watch, *pid);
    return 0;
}

void watcher_census_by(tidemark_watcher *w, pid_t pid)
{
    (void) watcher_visit(w, note_counter, &pid);
}

static int report_step_at(tidemark_watcher *w, struct visit *v, void *context)
{
    const uint64_t *time = context;
    (void) v;
    watcher_report_step(w, *time);
    return 0;
}

void watcher_census_at(tidemark_watcher *w, uint64_t time)
{
    (void) watcher_visit(w, report_step_at, &time);
}

struct census_text {
    const char *text;
    size_t len;
};

static int take_census(tidemark_watcher *w, struct visit *v, void *context)
{
    const struct census_text *c = context;
    (void) v;
    if (!w->finished)
        watch_take_census(w->watch, getpid(), c->text, c->len);
    return 0;
}

void watcher_take_census(tidemark_watcher *w, const char *text, size_t len)
{
    struct census_text c = {text, len};
    (void) watcher_visit(w, take_census, &c);
}

/* Two lines: why, and fix where one is known. */
static void add_holder(struct buf *out, const struct finding *f)
{
    buf_adds(out, "why: ");
    finding_add_growth(out, f);
    buf_addc(out, '\n');
    if (f->advice)
        buf_addf(out, "fix: %s\n", f->advice);
}

static void add_holders(struct buf *out, const struct findings *f, unsigned most)
{
    for (size_t i = 0; i < f->count && most > 0; i++)
        if (f->findings[i].pid == getpid() && f->findings[i].holder) {
            add_holder(out, &f->findings[i]);
            most--;
        }
}

struct holders_wanted {
    unsigned most;
    char **ret;
};

static int write_holders(tidemark_watcher *w, struct visit *v, void *context)
{
    const struct holders_wanted *wanted = context;
    struct view view;
    struct buf text = BUF_INIT;
    answer_look(w, v, &view);
    add_holders(&text, &view.found, wanted->most);
    view_release(&view);
    return answer_hand_over(&text, wanted->ret);
}

int watcher_holders(tidemark_watcher *w, unsigned most, char **ret)
{
    struct holders_wanted wanted = {most, ret};
    return watcher_visit(w, write_holders, &wanted);
}
