/* probe/base/ending.c: registers one function with `atexit`, which is written in C. */
#include "probe/base/ending.h"

#include "probe/base/python.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#define LISTENERS 3

static void (*listeners[LISTENERS])(void);
static py_object *registered; /* the function registered with `atexit`; NULL: none */

/* ended(): `atexit` keeps it alive until it has called all of its functions. */
static py_object *on_end(py_object *self, py_object *args)
{
    (void) self;
    (void) args;
    python_drop(registered);
    registered = NULL;
    for (unsigned i = 0; i < LISTENERS; i++) {
        void (*ended)(void) = listeners[i];
        listeners[i] = NULL;
        if (ended)
            ended();
    }
    py.Py_IncRef(py.none);
    return py.none;
}

static struct py_method end_function = {"ended", on_end, PY_VARARGS, NULL};

/* True: the call succeeded. */
static bool ask_module(const char *method, py_object *function)
{
    py_object *module = python_module("atexit");
    py_object *done = module ? py.PyObject_CallMethod(module, method, "O", function) : NULL;
    py.PyErr_Clear();
    python_drop(done);
    return done != NULL;
}

static bool is_registered(void)
{
    if (registered)
        return true;
    py_object *function = python_function(&end_function, NULL);
    if (function && ask_module("register", function))
        registered = function;
    else
        python_drop(function);
    return registered != NULL;
}

bool ending_register(void (*ended)(void))
{
    for (unsigned i = 0; i < LISTENERS; i++)
        if (!listeners[i] && is_registered()) {
            listeners[i] = ended;
            return true;
        }
    return false;
}

void ending_unregister(void (*ended)(void))
{
    bool is_needed = false;
    for (unsigned i = 0; i < LISTENERS; i++) {
        if (listeners[i] == ended)
            listeners[i] = NULL;
        is_needed = is_needed || listeners[i];
    }
    if (is_needed || !registered)
        return;
    ask_module("unregister", registered);
    python_drop(registered);
    registered = NULL;
}

/* An import runs some lines of Python. Signals are blocked meanwhile: a handler of the program
 * could run between these lines, and an exception it raises would be lost here. */
void ending_import(void)
{
    sigset_t all, before;
    py_object *bootstrap = python_module("_frozen_importlib");
    if (python_module("atexit") || !bootstrap)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    py_object *importer = python_attribute(bootstrap, "BuiltinImporter");
    py_object *spec =
        importer ? py.PyObject_CallMethod(importer, "find_spec", "s", "atexit") : NULL;
    py_object *module =
        spec && spec != py.none ? py.PyObject_CallMethod(bootstrap, "_load", "O", spec) : NULL;
    py.PyErr_Clear();
    python_drop(module);
    python_drop(spec);
    python_drop(importer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
