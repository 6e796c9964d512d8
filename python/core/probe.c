/* core/probe.c: loads the probe, and asks it about the program's own objects. */
#include "probe/probe.h"
#include "core.h"

#include <dlfcn.h>
#include <errno.h>

static void *library = RTLD_DEFAULT;

void *probe_function(const char *name)
{
    return dlsym(library, name);
}

PyObject *load_probe(PyObject *module, PyObject *path)
{
    (void) module;
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    /* Under `tidemark run` the process has it already. */
    if (!probe_function("tidemark_probe_read"))
        library = dlopen(PyBytes_AsString(bytes), RTLD_NOW | RTLD_LOCAL);
    Py_DECREF(bytes);
    counters_init();
    inspect_init();
    return PyBool_FromLong(probe_function("tidemark_probe_read") != NULL);
}

/* ---- asking ---- */

static void keep_text(void *context, const char *text, size_t len)
{
    *(PyObject **) context = PyUnicode_DecodeUTF8(text, (Py_ssize_t) len, "replace");
}

static PyObject *cannot(int code)
{
    if (!PyErr_Occurred())
        PyErr_SetString(code == -ENOMEM ? PyExc_MemoryError : PyExc_NotImplementedError,
                        code == -ENOMEM ? "not enough memory to count the objects of this process"
                                        : "cannot count the objects of this interpreter: only "
                                          "CPython 3.9 to 3.13 with the GIL is supported");
    return NULL;
}

PyObject *ask_census(PyObject *module, PyObject *tracked)
{
    int (*census)(int, tidemark_probe_take *, void *) = NULL;
    PyObject *text = NULL;
    (void) module;
    *(void **) &census = probe_function("tidemark_probe_census");
    int r = census ? census(tracked == Py_True, keep_text, &text) : -ENOSYS;
    return r < 0 || !text ? cannot(r) : text;
}

/* ---- growth ---- */

/* Allocated before its first census, so that the second one does not see it as new. */
struct growth {
    PyObject_HEAD struct tidemark_probe_growth *inner; /* NULL: not begun, or ended */
    PyObject *before;                                  /* the text of the first census */
    bool has_begun;
};

static PyObject *growth_begin(PyObject *self, PyObject *unused)
{
    int (*begin)(tidemark_probe_take *, void *, struct tidemark_probe_growth **) = NULL;
    struct growth *g = (struct growth *) self;
    (void) unused;
    if (g->has_begun) {
        PyErr_SetString(PyExc_RuntimeError, "a growth() works for one block only: create another");
        return NULL;
    }
    g->has_begun = true;
    *(void **) &begin = probe_function("tidemark_probe_growth_begin");
    int r = begin ? begin(keep_text, &g->before, &g->inner) : -ENOSYS;
    if (r < 0 || !g->before)
        return cannot(r);
    Py_RETURN_NONE;
}

static PyObject *growth_end(PyObject *self, PyObject *unused)
{
    int (*end)(struct tidemark_probe_growth *, tidemark_probe_take *, void *) = NULL;
    struct growth *g = (struct growth *) self;
    struct tidemark_probe_growth *inner = g->inner;
    PyObject *after = NULL;
    (void) unused;
    if (!inner) {
        PyErr_SetString(PyExc_RuntimeError, "the block of this growth() has not begun");
        return NULL;
    }
    g->inner = NULL;
    *(void **) &end = probe_function("tidemark_probe_growth_end");
    int r = end(inner, keep_text, &after);
    if (r < 0 || !after)
        return cannot(r);
    PyObject *pair = PyTuple_Pack(2, g->before, after);
    Py_DECREF(after);
    return pair;
}

static void growth_dealloc(PyObject *self)
{
    void (*drop)(struct tidemark_probe_growth *) = NULL;
    struct growth *g = (struct growth *) self;
    PyTypeObject *type = Py_TYPE(self);
    *(void **) &drop = probe_function("tidemark_probe_growth_drop");
    if (drop)
        drop(g->inner);
    Py_XDECREF(g->before);
    freefunc release = (freefunc) PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *) type);
}

static PyMethodDef growth_methods[] = {
    {"begin", growth_begin, METH_NOARGS, NULL},
    {"end", growth_end, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot growth_slots[] = {
    {Py_tp_dealloc, growth_dealloc},
    {Py_tp_methods, growth_methods},
    {0, NULL},
};

static PyType_Spec growth_spec = {.name = "tidemark._core.Growth",
                                  .basicsize = sizeof(struct growth),
                                  .flags = Py_TPFLAGS_DEFAULT,
                                  .slots = growth_slots};

PyObject *growth_type(void)
{
    return PyType_FromSpec(&growth_spec);
}

/* ---- holders ---- */

PyObject *ask_holders(PyObject *module, PyObject *object)
{
    int (*holders)(void *, tidemark_probe_take *, void *) = NULL;
    PyObject *text = NULL;
    (void) module;
    *(void **) &holders = probe_function("tidemark_probe_holders");
    int r = holders ? holders(object, keep_text, &text) : -ENOSYS;
    return r < 0 || !text ? cannot(r) : text;
}
