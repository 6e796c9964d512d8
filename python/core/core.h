/* core/core.h: shared by the files of the extension module _core. */
#ifndef TIDEMARK_PYTHON_CORE_H
#define TIDEMARK_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <tidemark.h>

/*
 * The last `size` loss values known on the host. Values of tensors enter as the mean of `group`
 * steps, as in TrainWatch; `sum` and `summed` collect the next group.
 */
struct losses {
    double *values;
    Py_ssize_t size, count, next;
    Py_ssize_t group;
    double sum;
    Py_ssize_t summed;
    double last; /* the latest value; NAN: none is known */
};

int losses_init(struct losses *l, Py_ssize_t size, Py_ssize_t group);
void losses_release(struct losses *l);
void losses_add(struct losses *l, double value);
/* Collects a tensor's value of one step. */
void losses_collect(struct losses *l, double value);
/* Enters the collected values, even if the group is not full. */
void losses_flush(struct losses *l);
/* A new list, oldest first. */
PyObject *losses_list(const struct losses *l);

/*
 * The base of tidemark.Watcher: counts and reads at every step. For rarer work it calls methods of
 * the derived class: _on_line(), _on_leaks(), _on_not_finite(), _on_unreadable(), _on_closed(),
 * _on_census(), _reading(), _fetch(). The GIL guards every field.
 */
struct watcher {
    PyObject_HEAD tidemark_watcher *inner; /* NULL: it could not be opened */
    bool closed;
    bool reads_rarely;     /* read CPU tensors too only every sync_interval steps, and for a line */
    long long step;        /* steps so far, including start_step */
    long long print_every; /* 0: no lines */
    long long sync_interval;
    double line_begin; /* end of the step before the next line, in seconds */
    struct losses losses;
    PyObject *loss_type;   /* type of the last loss that was not a number */
    int loss_reading;      /* enum reading: how that type is read */
    PyObject *leaks;       /* undelivered verdicts: a list */
    double counters_after; /* counters may be read again from this time on */
    bool awaits_holders;   /* a leak was announced without its holder */
    bool has_census;       /* there is a newer census */
    int searches_left;     /* searches still due then, whatever they cost ... */
    double search_after;   /* ... the next from this time on */
};

/* How the value of a loss is read, by its type. Python uses the same numbers. */
enum reading {
    READING_FLOAT,  /* float(loss) at every step */
    READING_ITEM,   /* loss.item() at every step: a NumPy array */
    READING_TENSOR, /* torch: loss.item() at every step on the CPU, else rarely */
    READING_RARELY, /* rarely: it may wait for a device */
};

/* Once, before any step. -1: an exception is set. */
int step_init(void);
/* Watcher.step(loss), called as METH_FASTCALL | METH_KEYWORDS. */
PyObject *watcher_step(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);

/* False, with an exception: a derived class has not called __init__(). */
bool is_made(const struct watcher *w);
double seconds_now(void);
PyObject *verdict_tuple(const struct tidemark_verdict *v);
/* None for NAN. */
PyObject *number_or_none(double value);
/* Calls the derived class's method with the verdicts in `leaks`. -1: an exception is set. */
int deliver_leaks(struct watcher *w);
/* Calls a method of the derived class and drops its result. -1: an exception is set. */
int call_hook(struct watcher *w, const char *method, PyObject *argument);

/* ---- the probe ---- */

/* _core.load_probe(path): True if it is loaded. */
PyObject *load_probe(PyObject *module, PyObject *path);
/* A function of the probe; NULL: not loaded. */
void *probe_function(const char *name);

/* ---- a program's own objects: texts as wire/census.h describes them ---- */

/* _core.census(tracked): True: only objects that the collector tracks. */
PyObject *ask_census(PyObject *module, PyObject *tracked);
/* _core.Growth: begin(), and end(), which returns the texts of both censuses. NULL: an exception.
 * */
PyObject *growth_type(void);
/* _core.holders(object) */
PyObject *ask_holders(PyObject *module, PyObject *object);

/* ---- the interpreter's objects, while it is watched ---- */

/* Call once the probe has been found. */
void inspect_init(void);
/* Counts if its share of the time allows it. -1: an exception is set. */
int inspect_step(struct watcher *w);
/* Call before the last sample; another watcher of the process may then take over. */
void inspect_end(struct watcher *w);
void inspect_forget(struct watcher *w);
/* Watcher._holders(may_search): one line per holder of the growth; may be "". */
PyObject *inspect_holders(PyObject *self, PyObject *may_search);

/* ---- torch's counters ---- */

/* Call once the probe has been found. */
void counters_init(void);
/* Reads them if the time budget allows it and passes them to the watcher. */
void counters_read(struct watcher *w);

#endif
