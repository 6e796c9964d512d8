/* core/core.h: what the files of the extension module _core share. */
#ifndef TIDEMARK_PYTHON_CORE_H
#define TIDEMARK_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <tidemark.h>

/*
 * The values of the loss that are known on the host: the last `size` of them. Values of tensors
 * join as the mean of `group` steps, as TrainWatch does it; `sum` and `summed` collect the next.
 */
struct losses {
    double *values;
    Py_ssize_t size, count, next;
    Py_ssize_t group;
    double sum;
    Py_ssize_t summed;
    double last; /* the latest of all; NAN: none is known */
};

int losses_init(struct losses *l, Py_ssize_t size, Py_ssize_t group);
void losses_release(struct losses *l);
void losses_add(struct losses *l, double value);
/* A tensor's value of one step. */
void losses_collect(struct losses *l, double value);
/* What has been collected joins now, though the group is not full. */
void losses_flush(struct losses *l);
/* A new list, oldest first. */
PyObject *losses_list(const struct losses *l);

/*
 * What tidemark.Watcher is derived from: the counting and looking at every step. What happens now
 * and then is asked of methods of the derived class: _on_line(), _on_leaks(), _on_not_finite(),
 * _on_unreadable(), _on_closed(), _on_census(), _reading(), _fetch(). The GIL guards every field.
 */
struct watcher {
    PyObject_HEAD tidemark_watcher *inner; /* NULL: could not be opened */
    bool closed;
    bool reads_rarely;     /* a tensor on the CPU too: every sync_interval steps, and for a line */
    long long step;        /* steps made, with those before the start */
    long long print_every; /* 0: no lines */
    long long sync_interval;
    double line_begin; /* end of the step before the next line, in seconds */
    struct losses losses;
    PyObject *loss_type;   /* of the last loss that was no number, and how it is read */
    int loss_reading;      /* enum reading */
    PyObject *leaks;       /* verdicts that are not delivered yet: a list */
    double counters_after; /* the time from which counters may be read again */
    bool awaits_holders;   /* a leak was told, and not who holds it */
    bool has_census;       /* there is another one since */
    int searches_left;     /* that are made then, whatever they cost ... */
    double search_after;   /* ... the next from this time on */
};

/* How the value of a loss is got, by its type. The numbers are known to Python. */
enum reading {
    READING_FLOAT,  /* float(loss) at every step */
    READING_ITEM,   /* loss.item() at every step: a NumPy array */
    READING_TENSOR, /* torch: loss.item() at every step on the CPU, else now and then */
    READING_RARELY, /* now and then: it may wait for a device */
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
/* Calls the derived class's method with what `leaks` holds. -1: an exception is set. */
int deliver_leaks(struct watcher *w);
/* Calls a method of the derived class and forgets its answer. -1: an exception is set. */
int call_hook(struct watcher *w, const char *method, PyObject *argument);

/* ---- the probe ---- */

/* _core.load_probe(path): True where it is there. */
PyObject *load_probe(PyObject *module, PyObject *path);
/* A function of the probe; NULL: it is not there. */
void *probe_function(const char *name);

/* ---- what a program asks about its own objects: texts as wire/census.h describes them ---- */

/* _core.census(tracked): True: only what the collector tracks */
PyObject *ask_census(PyObject *module, PyObject *tracked);
/* _core.Growth: begin(), and end(), which gives the texts of both censuses. NULL: an exception. */
PyObject *growth_type(void);
/* _core.holders(object) */
PyObject *ask_holders(PyObject *module, PyObject *object);

/* ---- what the interpreter holds, while it is watched ---- */

/* Once the probe has been found. */
void inspect_init(void);
/* Counts where the time has paid for it. -1: an exception is set. */
int inspect_step(struct watcher *w);
/* Before the last look, and then another watcher of the process may do it. */
void inspect_end(struct watcher *w);
void inspect_forget(struct watcher *w);
/* Watcher._holders(may_search): sentences that name who holds what grows, a line each; "". */
PyObject *inspect_holders(PyObject *self, PyObject *may_search);

/* ---- torch's counters ---- */

/* Once the probe has been found. */
void counters_init(void);
/* Reads them where the budget of time allows it and hands them to the watcher. */
void counters_read(struct watcher *w);

#endif
