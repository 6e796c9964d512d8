/* lib/objects.c: what the interpreter of this process holds, as it has found out itself. */
#include "lib/lib.h"
#include "lib/watcher.h"

#include <stdlib.h>
#include <unistd.h>

enum wire_wanted watcher_wanted(tidemark_watcher *w)
{
    return w ? wire_wanted(w->ring) : WIRE_CENSUS_NONE;
}

bool watcher_is_told_outside(const tidemark_watcher *w)
{
    return w && w->told_outside;
}

void watcher_own_shared(tidemark_watcher *w, size_t bytes)
{
    wire_own_shared(w->ring, bytes);
}

void watcher_census_by(tidemark_watcher *w, pid_t pid)
{
    struct visit v;
    if (visit_begin(w, &v) < 0)
        return;
    wire_census_by(w->ring, pid);
    watch_census_by(w->watch, pid);
    visit_end(w, &v, 0);
}

void watcher_census_at(tidemark_watcher *w, uint64_t time)
{
    struct visit v;
    if (visit_begin(w, &v) < 0)
        return;
    watcher_tell_step(w, time);
    visit_end(w, &v, 0);
}

void watcher_take_census(tidemark_watcher *w, const char *text, size_t len)
{
    struct visit v;
    if (visit_begin(w, &v) < 0)
        return;
    if (!w->finished)
        watch_take_census(w->watch, getpid(), text, len);
    visit_end(w, &v, 0);
}

static void add_holders(struct buf *out, const struct watch_found *f, unsigned most)
{
    for (size_t i = 0; i < f->count && most > 0; i++)
        if (f->findings[i].pid == getpid() && f->findings[i].holder) {
            buf_addf(out, "%s\n", f->findings[i].sentence);
            most--;
        }
}

int watcher_holders(tidemark_watcher *w, unsigned most, char **ret)
{
    struct visit v;
    struct watch_view view;
    struct buf text = BUF_INIT;
    int r = answer_look(w, &v, &view);
    if (r < 0)
        return r;
    add_holders(&text, &view.found, most);
    watch_view_release(&view);
    return visit_end(w, &v, answer_hand_over(&text, ret));
}
