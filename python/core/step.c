/* core/step.c: Watcher.step(), the work at every training step. */
#include "core.h"

#include <errno.h>
#include <math.h>
#include <time.h>

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* ---- calling the derived class ---- */

int call_hook(struct watcher *w, const char *method, PyObject *argument)
{
    PyObject *answer = PyObject_CallMethod((PyObject *) w, method, "O", argument);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

int deliver_leaks(struct watcher *w)
{
    if (!w->leaks)
        return 0;
    PyObject *leaks = w->leaks;
    w->leaks = NULL;
    int r = call_hook(w, "_on_leaks", leaks);
    Py_DECREF(leaks);
    return r;
}

/* An exception while reading a value concerns the program only if it means to end it. */
static int announce_unreadable(struct watcher *w)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (error && traceback)
        PyException_SetTraceback(error, traceback);
    int r = call_hook(w, "_on_unreadable", error ? error : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return r;
}

/* ---- the value of a loss ---- */

static PyObject *name_item, *name_is_cpu;

int step_init(void)
{
    name_item = PyUnicode_InternFromString("item");
    name_is_cpu = PyUnicode_InternFromString("is_cpu");
    return name_item && name_is_cpu ? 0 : -1;
}

/* Reads a loss. 1: *ret is its value; 0: not known at this step; -1: exception. */

static int read_number(struct watcher *w, PyObject *loss, double *ret)
{
    double value = PyFloat_AsDouble(loss);
    if (value == -1.0 && PyErr_Occurred())
        return announce_unreadable(w);
    *ret = value;
    return 1;
}

static int read_item(struct watcher *w, PyObject *loss, double *ret)
{
    PyObject *item = PyObject_CallMethodObjArgs(loss, name_item, NULL);
    if (!item)
        return announce_unreadable(w);
    int r = read_number(w, item, ret);
    Py_DECREF(item);
    return r;
}

/* Adds a known value to the others. */
static int keep(struct watcher *w, int known, const double *value)
{
    if (known == 1)
        losses_add(&w->losses, *value);
    return known;
}

static bool is_due(const struct watcher *w, long long every)
{
    return every > 0 && (w->step + 1) % every == 0;
}

/* The derived class requests the value, and may return one requested earlier. */
static int read_rarely(struct watcher *w, PyObject *loss, double *ret)
{
    if (!is_due(w, w->sync_interval))
        return 0;
    PyObject *known = PyObject_CallMethod((PyObject *) w, "_fetch", "O", loss);
    if (!known)
        return announce_unreadable(w);
    int r = known == Py_None ? 0 : read_number(w, known, ret);
    Py_DECREF(known);
    return keep(w, r, ret);
}

static int read_tensor(struct watcher *w, PyObject *loss, double *ret)
{
    if (w->reads_rarely && !is_due(w, w->sync_interval) && !is_due(w, w->print_every))
        return 0;
    PyObject *is_cpu = PyObject_GetAttr(loss, name_is_cpu);
    if (!is_cpu)
        return announce_unreadable(w);
    int on_cpu = is_cpu == Py_True;
    Py_DECREF(is_cpu);
    if (!on_cpu)
        return read_rarely(w, loss, ret);
    int r = read_item(w, loss, ret);
    if (w->reads_rarely)
        return keep(w, r, ret);
    if (r == 1)
        losses_collect(&w->losses, *ret);
    return r;
}

/* Asks the derived class once how a type is read. */
static int learn_type(struct watcher *w, PyObject *loss)
{
    PyObject *answer = PyObject_CallMethod((PyObject *) w, "_reading", "O", loss);
    if (!answer)
        return -1;
    long reading = PyLong_AsLong(answer);
    Py_DECREF(answer);
    if (reading == -1 && PyErr_Occurred())
        return -1;
    PyObject *old = w->loss_type;
    w->loss_type = PyObject_Type(loss);
    w->loss_reading = (int) reading;
    Py_XDECREF(old);
    return 0;
}

static int read_object(struct watcher *w, PyObject *loss, double *ret)
{
    if ((PyObject *) Py_TYPE(loss) != w->loss_type && learn_type(w, loss) < 0)
        return -1;
    switch ((enum reading) w->loss_reading) {
    case READING_TENSOR:
        return read_tensor(w, loss, ret);
    case READING_RARELY:
        return read_rarely(w, loss, ret);
    case READING_ITEM:
        return keep(w, read_item(w, loss, ret), ret);
    case READING_FLOAT:
        break;
    }
    return keep(w, read_number(w, loss, ret), ret);
}

static int read_loss(struct watcher *w, PyObject *loss, double *ret)
{
    if (!PyFloat_Check(loss) && !PyLong_Check(loss))
        return read_object(w, loss, ret);
    return keep(w, read_number(w, loss, ret), ret);
}

/* ---- the step ---- */

static PyObject *the_loss(PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    bool right = nargs + named == 1;
    if (right && named == 1)
        right = PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "loss") == 0;
    if (!right) {
        PyErr_SetString(PyExc_TypeError, "step() takes one argument: step(loss) or step(loss=...)");
        return NULL;
    }
    return args[0];
}

static int print_line(struct watcher *w, PyObject *loss)
{
    double seconds = seconds_now() - w->line_begin;
    PyObject *answer = PyObject_CallMethod((PyObject *) w, "_on_line", "Od", loss, seconds);
    Py_XDECREF(answer);
    return answer ? 0 : -1;
}

/* A line shows the time of its own step, so the clock is read at the end of the step before. */
static int end_of_step(struct watcher *w, PyObject *loss)
{
    if (w->print_every == 0)
        return 0;
    int r = w->step % w->print_every == 0 ? print_line(w, loss) : 0;
    if (is_due(w, w->print_every))
        w->line_begin = seconds_now();
    return r;
}

PyObject *watcher_step(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    struct watcher *w = (struct watcher *) self;
    PyObject *loss = the_loss(args, nargs, names);
    if (!loss || !is_made(w))
        return NULL;
    if (w->closed)
        return PyObject_CallMethod(self, "_on_closed", NULL);
    double value = NAN;
    int known = read_loss(w, loss, &value);
    if (known < 0)
        return NULL;
    w->step++;
    int moment = tidemark_step(w->inner, value);
    if (moment == -ECHILD)
        Py_RETURN_NONE;
    if (moment == 1) {
        counters_read(w);
        if (inspect_step(w) < 0)
            return NULL;
    }
    if (known && !isfinite(value) && call_hook(w, "_on_not_finite", loss) < 0)
        return NULL;
    if (deliver_leaks(w) < 0 || end_of_step(w, loss) < 0)
        return NULL;
    Py_RETURN_NONE;
}
