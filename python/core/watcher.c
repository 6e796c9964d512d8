/* core/watcher.c: the type _core.Watcher, and the module. */
#include "core.h"
#include "lib/lib.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Exists in every CPython since 3.7, but the headers show it to the limited API only from 3.10 on.
 * */
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif

/* ---- values for Python ---- */

PyObject *number_or_none(double value)
{
    if (isnan(value))
        Py_RETURN_NONE;
    return PyFloat_FromDouble(value);
}

static const char *answer_name(enum tidemark_answer answer)
{
    switch (answer) {
    case TIDEMARK_NO_LEAK:
        return "no_leak";
    case TIDEMARK_LEAK:
        return "leak";
    case TIDEMARK_INCONCLUSIVE:
        break;
    }
    return "inconclusive";
}

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

/* In the order of tidemark.Verdict. */
PyObject *verdict_tuple(const struct tidemark_verdict *v)
{
    return Py_BuildValue("(szNzzNNNNNNs)", answer_name(v->answer), text_or_null(v->severity),
                         number_or_none(v->confidence), text_or_null(v->kind),
                         text_or_null(v->device), number_or_none(v->rate),
                         number_or_none(v->rate_upper), number_or_none(v->needs_steps),
                         number_or_none(v->limit_step), number_or_none(v->suspect_step),
                         number_or_none(v->alarm_step), v->summary);
}

static PyObject *failure(int code)
{
    errno = -code;
    return PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *none_or_failure(int r)
{
    if (r < 0)
        return failure(r);
    Py_RETURN_NONE;
}

/* ---- life ---- */

static int init(PyObject *self, PyObject *args, PyObject *names)
{
    static char *keywords[] = {"window", "print_every", "sync_interval", "start_step", NULL};
    struct watcher *w = (struct watcher *) self;
    Py_ssize_t window;
    long long print_every, sync_interval, start_step;
    if (!PyArg_ParseTupleAndKeywords(args, names, "nLLL", keywords, &window, &print_every,
                                     &sync_interval, &start_step))
        return -1;
    if (w->losses.values) {
        PyErr_SetString(PyExc_RuntimeError, "Watcher.__init__() may be called only once");
        return -1;
    }
    if (losses_init(&w->losses, window, (Py_ssize_t) sync_interval) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    w->print_every = print_every;
    w->sync_interval = sync_interval;
    w->step = start_step;
    w->line_begin = seconds_now();
    return 0;
}

bool is_made(const struct watcher *w)
{
    if (!w->losses.values)
        PyErr_SetString(PyExc_RuntimeError, "Watcher.__init__() has not been called");
    return w->losses.values != NULL;
}

static void keep_leak(void *context, const struct tidemark_verdict *v)
{
    struct watcher *w = context;
    PyObject *verdict = verdict_tuple(v);
    if (!w->leaks)
        w->leaks = PyList_New(0);
    if (!verdict || !w->leaks || PyList_Append(w->leaks, verdict) < 0)
        PyErr_Clear();
    Py_XDECREF(verdict);
}

static PyObject *open_inner(PyObject *self, PyObject *args)
{
    struct watcher *w = (struct watcher *) self;
    struct tidemark_options o = {.size = sizeof(o)};
    PyObject *run_file = NULL;
    if (!PyArg_ParseTuple(args, "O&ddddp", PyUnicode_FSConverter, &run_file, &o.start_step,
                          &o.plan_steps, &o.horizon, &o.epoch, &o.no_gpu))
        return NULL;
    if (PyBytes_Size(run_file) > 0)
        o.run_file = PyBytes_AsString(run_file);
    int r = w->inner ? -EALREADY : tidemark_open(&o, &w->inner);
    if (r == 0)
        watcher_on_any_leak(w->inner, keep_leak, w);
    Py_DECREF(run_file);
    return none_or_failure(r);
}

/* The answers stay available. */
static PyObject *finish(PyObject *self, PyObject *unused)
{
    (void) unused;
    struct watcher *w = (struct watcher *) self;
    if (!w->closed)
        inspect_end(w);
    w->closed = true;
    int r = tidemark_finish(w->inner);
    return deliver_leaks(w) < 0 ? NULL : none_or_failure(r);
}

static void dealloc(PyObject *self)
{
    struct watcher *w = (struct watcher *) self;
    PyTypeObject *type = Py_TYPE(self);
    inspect_forget(w);
    tidemark_on_leak(w->inner, NULL, NULL);
    tidemark_close(w->inner);
    losses_release(&w->losses);
    Py_CLEAR(w->loss_type);
    Py_CLEAR(w->leaks);
    freefunc release = (freefunc) PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *) type);
}

/* ---- methods ---- */

/* False in a forked child, which has no watcher. */
static PyObject *epoch_end(PyObject *self, PyObject *unused)
{
    (void) unused;
    struct watcher *w = (struct watcher *) self;
    losses_flush(&w->losses);
    int r = tidemark_epoch_end(w->inner);
    if (deliver_leaks(w) < 0)
        return NULL;
    return PyBool_FromLong(r != -ECHILD);
}

static PyObject *count(PyObject *self, PyObject *args)
{
    struct watcher *w = (struct watcher *) self;
    const char *name, *device;
    int is_count;
    double value;
    if (!PyArg_ParseTuple(args, "szpd", &name, &device, &is_count, &value))
        return NULL;
    return none_or_failure(
        tidemark_count(w->inner, name, device, is_count ? TIDEMARK_COUNT : TIDEMARK_BYTES, value));
}

static PyObject *change_phase(PyObject *self, PyObject *args,
                              int (*change)(tidemark_watcher *, const char *))
{
    struct watcher *w = (struct watcher *) self;
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name))
        return NULL;
    int r = change(w->inner, name);
    if (r == 0)
        counters_read(w);
    return deliver_leaks(w) < 0 ? NULL : none_or_failure(r);
}

static PyObject *phase_begin(PyObject *self, PyObject *args)
{
    return change_phase(self, args, tidemark_phase_begin);
}

static PyObject *phase_end(PyObject *self, PyObject *args)
{
    return change_phase(self, args, tidemark_phase_end);
}

static PyObject *judge(PyObject *self, PyObject *args)
{
    struct watcher *w = (struct watcher *) self;
    const char *kind, *device;
    if (!PyArg_ParseTuple(args, "zz", &kind, &device))
        return NULL;
    struct tidemark_verdict v = {.size = sizeof(v)};
    int r = kind ? tidemark_judge_series(w->inner, kind, device, &v) : tidemark_judge(w->inner, &v);
    return r < 0 ? failure(r) : verdict_tuple(&v);
}

static PyObject *text_of(struct watcher *w, int (*write)(tidemark_watcher *, char **))
{
    char *text = NULL;
    int r = write(w->inner, &text);
    if (r < 0)
        return failure(r);
    PyObject *answer = PyUnicode_DecodeUTF8(text, (Py_ssize_t) strlen(text), "replace");
    tidemark_free(text);
    return answer;
}

static PyObject *json(PyObject *self, PyObject *unused)
{
    (void) unused;
    return text_of((struct watcher *) self, tidemark_json);
}

static PyObject *report(PyObject *self, PyObject *unused)
{
    (void) unused;
    return text_of((struct watcher *) self, tidemark_report);
}

/* In the order of tidemark._watcher.Now. */
static PyObject *look(PyObject *self, PyObject *unused)
{
    (void) unused;
    struct tidemark_now now = {.size = sizeof(now)};
    int r = tidemark_look(((struct watcher *) self)->inner, &now);
    if (r < 0)
        return failure(r);
    return Py_BuildValue("(NNNN)", number_or_none(now.host_bytes), number_or_none(now.system_used),
                         number_or_none(now.cpu_used), number_or_none(now.gpu_used));
}

static PyObject *known_losses(PyObject *self, PyObject *unused)
{
    (void) unused;
    struct watcher *w = (struct watcher *) self;
    return is_made(w) ? losses_list(&w->losses) : NULL;
}

/* .item() finds its code and data evicted from the processor's caches: tens of microseconds at
 * every step. */
static PyObject *read_rarely(PyObject *self, PyObject *unused)
{
    (void) unused;
    ((struct watcher *) self)->reads_rarely = true;
    Py_RETURN_NONE;
}

static PyObject *add_loss(PyObject *self, PyObject *value)
{
    struct watcher *w = (struct watcher *) self;
    double number = PyFloat_AsDouble(value);
    if ((number == -1.0 && PyErr_Occurred()) || !is_made(w))
        return NULL;
    losses_add(&w->losses, number);
    Py_RETURN_NONE;
}

static PyObject *get_step(PyObject *self, void *unused)
{
    (void) unused;
    return PyLong_FromLongLong(((struct watcher *) self)->step);
}

static PyObject *get_last_loss(PyObject *self, void *unused)
{
    (void) unused;
    return PyFloat_FromDouble(((struct watcher *) self)->losses.last);
}

static PyObject *get_closed(PyObject *self, void *unused)
{
    (void) unused;
    return PyBool_FromLong(((struct watcher *) self)->closed);
}

static PyGetSetDef properties[] = {
    {"step_count", get_step, NULL, "Steps so far, including start_step.", NULL},
    {"closed", get_closed, NULL, "Whether close() has been called.", NULL},
    {"_last_loss", get_last_loss, NULL, NULL, NULL},
    {0},
};

static PyMethodDef methods[] = {
    {"step", (PyCFunction) (void (*)(void)) watcher_step, METH_FASTCALL | METH_KEYWORDS,
     "step(loss)\n--\n\n"
     "Counts one training step.\n\n"
     "loss: a number, or a tensor or array of one value. A tensor on a device is read every\n"
     "sync_interval steps, without waiting for the device.\n\n"
     ">>> w.step(loss)              # a tensor: no .item() is needed\n"
     ">>> w.step(loss=loss.item())  # a number\n"},
    {"_open", open_inner, METH_VARARGS, NULL},
    {"_finish", finish, METH_NOARGS, NULL},
    {"_epoch_end", epoch_end, METH_NOARGS, NULL},
    {"_count", count, METH_VARARGS, NULL},
    {"_phase_begin", phase_begin, METH_VARARGS, NULL},
    {"_phase_end", phase_end, METH_VARARGS, NULL},
    {"_judge", judge, METH_VARARGS, NULL},
    {"_json", json, METH_NOARGS, NULL},
    {"_report", report, METH_NOARGS, NULL},
    {"_look", look, METH_NOARGS, NULL},
    {"_holders", inspect_holders, METH_O, NULL},
    {"_losses", known_losses, METH_NOARGS, NULL},
    {"_add_loss", add_loss, METH_O, NULL},
    {"_read_rarely", read_rarely, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_init, init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec watcher_spec = {.name = "tidemark._core.Watcher",
                                   .basicsize = sizeof(struct watcher),
                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                   .slots = slots};

/* ---- the module ---- */

static PyMethodDef functions[] = {
    {"load_probe", load_probe, METH_O, NULL},
    {"census", ask_census, METH_O, NULL},
    {"holders", ask_holders, METH_O, NULL},
    {0},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_core", .m_size = -1,
                                    .m_methods = functions};

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *m = PyModule_Create(&module);
    PyObject *type = PyType_FromSpec(&watcher_spec), *growth = growth_type();
    PyObject *version = PyUnicode_FromString(tidemark_version());
    if (!m || !type || !growth || !version || step_init() < 0 ||
        PyModule_AddObject(m, "Watcher", type) < 0 || PyModule_AddObject(m, "Growth", growth) < 0 ||
        PyModule_AddObject(m, "version", version) < 0)
        Py_CLEAR(m);
    return m;
}
