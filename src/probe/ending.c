/* probe/ending.c: a function of ours among those of `atexit`, which is written in C. */
#include "probe/ending.h"

#include "probe/python.h"

#include <stddef.h>

static void (*heard)(void);

/* ended() */
static py_object *on_end(py_object *self, py_object *args)
{
    (void) self;
    (void) args;
    heard();
    py.Py_IncRef(py.none);
    return py.none;
}

static struct py_method end_function = {"ended", on_end, PY_VARARGS, NULL};

bool ending_hear(void (*ended)(void))
{
    py_object *module = python_module("atexit");
    py_object *function = module ? python_function(&end_function, NULL) : NULL;
    heard = ended;
    py_object *done = function ? py.PyObject_CallMethod(module, "register", "O", function) : NULL;
    py.PyErr_Clear();
    python_drop(done);
    python_drop(function);
    return done != NULL;
}
