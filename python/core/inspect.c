/* core/inspect.c: counts the interpreter's objects with the probe, at the watcher's steps. */
#include "core.h"
#include "lib/lib.h"
#include "probe/probe.h"

#include <string.h>
#include <time.h>

#define HOLDERS_NAMED 2u

/* A forked child does the search. Its result is awaited only when a leak is announced to a person,
 * and no longer than this. */
#define SEARCH_SECONDS 3.0
#define POLL_NANOSECONDS 5000000

/* Growth needs three censuses. If a leak is announced before that, some more are taken soon,
 * because the reader is waiting. */
#define SEARCHES_MOST 5
#define SEARCH_SPACING 0.25 /* seconds */

static void (*probe_step)(const struct tidemark_probe_listener *l);
static int (*probe_search)(const struct tidemark_probe_listener *l, int begin);

/* All points of growth are from one place in the step: that of the first watcher of the process,
 * until it is closed. */
static struct watcher *inspecting;

void inspect_init(void)
{
    *(void **) &probe_step = probe_function("tidemark_probe_step");
    *(void **) &probe_search = probe_function("tidemark_probe_search");
}

/* ---- what the probe reports ---- */

static void take_time(void *context, uint64_t time)
{
    watcher_census_at(((struct watcher *) context)->inner, time);
}

/* The number of objects is only displayed. */
static void take_count(void *context, uint64_t time, const char *kind, const char *device,
                       bool is_count, bool is_judged, double value)
{
    (void) time;
    if (is_judged)
        tidemark_count(((struct watcher *) context)->inner, kind, *device ? device : NULL,
                       is_count ? TIDEMARK_COUNT : TIDEMARK_BYTES, value);
}

static void take_report(void *context, const char *text, size_t len)
{
    struct watcher *w = context;
    watcher_take_census(w->inner, text, len);
    w->has_census = true;
}

static void take_shared(void *context, size_t bytes)
{
    watcher_own_shared(((struct watcher *) context)->inner, bytes);
}

static void take_child(void *context, pid_t child)
{
    watcher_census_by(((struct watcher *) context)->inner, child);
}

static struct tidemark_probe_listener listener_of(struct watcher *w, enum wire_wanted wanted)
{
    return (struct tidemark_probe_listener){
        .context = w,
        .wanted = wanted,
        .taken = take_time,
        .count = take_count,
        .report = take_report,
        .watches_itself = true,
        .shared = take_shared,
        .under_way = take_child,
    };
}

/* ---- at the steps ---- */

void inspect_forget(struct watcher *w)
{
    if (inspecting == w)
        inspecting = NULL;
}

/* False: another watcher of the process does it. */
static bool is_ours_to_inspect(struct watcher *w)
{
    if (!inspecting && !w->closed)
        inspecting = w;
    return probe_step && w->inner && inspecting == w;
}

/* The probe counts for the outside watcher; we read its results. */
static void count_for_outside(struct watcher *w)
{
    probe_step(NULL);
    if (!w->awaits_holders || seconds_now() < w->search_after)
        return;
    w->has_census = true;
    w->search_after = seconds_now() + SEARCH_SPACING;
}

static void count_objects(struct watcher *w)
{
    if (!is_ours_to_inspect(w))
        return;
    if (watcher_is_watched_outside(w->inner)) {
        count_for_outside(w);
        return;
    }
    bool is_urgent = w->awaits_holders && w->searches_left > 0 && seconds_now() >= w->search_after;
    struct tidemark_probe_listener l =
        listener_of(w, is_urgent ? WIRE_CENSUS_HOLDERS : watcher_wanted(w->inner));
    if (!is_urgent) {
        probe_step(&l);
    } else if (!probe_search(&l, 0)) {
        probe_search(&l, 1);
        w->searches_left--;
        w->search_after = seconds_now() + SEARCH_SPACING;
    }
}

int inspect_step(struct watcher *w)
{
    w->has_census = false;
    count_objects(w);
    return w->has_census && w->awaits_holders ? call_hook(w, "_on_census", Py_None) : 0;
}

/* ---- holders of a leak ---- */

static bool is_known(struct watcher *w)
{
    char *text = NULL;
    if (watcher_holders(w->inner, 1, &text) < 0)
        return false;
    bool known = text[0] != '\0';
    tidemark_free(text);
    return known;
}

static void search(struct watcher *w)
{
    struct tidemark_probe_listener l = listener_of(w, WIRE_CENSUS_HOLDERS);
    double until = seconds_now() + SEARCH_SECONDS;
    int at_work = probe_search(&l, 1);
    while (at_work && seconds_now() < until) {
        Py_BEGIN_ALLOW_THREADS nanosleep(&(struct timespec){.tv_nsec = POLL_NANOSECONDS}, NULL);
        Py_END_ALLOW_THREADS at_work = probe_search(&l, 0);
    }
}

static void search_unless_known(struct watcher *w)
{
    if (is_ours_to_inspect(w) && !watcher_is_watched_outside(w->inner) && !is_known(w))
        search(w);
}

void inspect_end(struct watcher *w)
{
    if (watcher_wanted(w->inner) == WIRE_CENSUS_HOLDERS)
        search_unless_known(w);
    inspect_forget(w);
}

PyObject *inspect_holders(PyObject *self, PyObject *may_search)
{
    struct watcher *w = (struct watcher *) self;
    char *text = NULL;
    if (may_search == Py_True)
        search_unless_known(w);
    if (watcher_holders(w->inner, HOLDERS_NAMED, &text) < 0)
        return PyUnicode_FromString("");
    PyObject *answer = PyUnicode_DecodeUTF8(text, (Py_ssize_t) strlen(text), "replace");
    bool awaits = text[0] == '\0' && (w->awaits_holders || may_search == Py_True);
    if (awaits && !w->awaits_holders)
        w->searches_left = SEARCHES_MOST;
    w->awaits_holders = awaits;
    tidemark_free(text);
    return answer;
}
