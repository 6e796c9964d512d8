/* core/counters.c: torch's own counters, read by the probe on a budget of time. */
#include "core.h"
#include "probe/probe.h"

#include <dlfcn.h>
#include <errno.h>

/* Of the time of the training loop, at most; one reading that took long, because another thread had
 * torch's lock, does not blind us for longer than LONGEST_REST seconds. */
#define BUDGET 0.001
#define LONGEST_REST 0.5

static void (*probe_read)(tidemark_probe_emit *emit, void *context);

static void *find_probe(const char *path)
{
    /* Under `tidemark run` the process has it already. */
    void *found = dlsym(RTLD_DEFAULT, "tidemark_probe_read");
    if (found)
        return found;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, "tidemark_probe_read") : NULL;
}

PyObject *load_probe(PyObject *module, PyObject *path)
{
    (void) module;
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    void *found = find_probe(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    *(void **) &probe_read = found;
    return PyBool_FromLong(found != NULL);
}

/* What is only for the eye (how often the collector ran) is not for a verdict. */
static void hand_over(void *context, const char *kind, const char *device, int is_count,
                      int is_judged, double value)
{
    struct watcher *w = context;
    if (is_judged)
        tidemark_count(w->inner, kind, device && *device ? device : NULL,
                       is_count ? TIDEMARK_COUNT : TIDEMARK_BYTES, value);
}

void counters_read(struct watcher *w)
{
    if (!probe_read)
        return;
    double begin = seconds_now();
    if (begin < w->counters_after)
        return;
    probe_read(hand_over, w);
    double end = seconds_now(), rest = (end - begin) / BUDGET;
    w->counters_after = end + (rest < LONGEST_REST ? rest : LONGEST_REST);
}
