/* probe/hook/cleanup.c: the text of tidemark.Cleanup, run inside the job. */
#include "probe/hook/cleanup.h"

#include "probe/cleanup_text.h"
#include "probe/hook/ring.h"

#include <stdlib.h>

/* While torch imports itself, what the text needs may be half imported: it is tried again. */
#define ATTEMPTS 20

static py_object *job; /* NULL: nothing is asked for */

/* tell(kind, device, is_count, value) */
static py_object *on_tell(py_object *self, py_object *args)
{
    (void) self;
    py_object *item[4];
    for (int i = 0; i < 4; i++)
        if (!(item[i] = py.PyTuple_GetItem(args, i)))
            return NULL;
    const char *kind = python_text(item[0]), *device = python_text(item[1]);
    double value = py.PyFloat_AsDouble(item[3]);
    if (py.PyErr_Occurred())
        return NULL;
    if (kind && device)
        ring_counter(kind, device, py.PyObject_IsTrue(item[2]) == 1, value);
    py.Py_IncRef(py.none);
    return py.none;
}

static struct py_method tell_function = {"tell", on_tell, PY_VARARGS, NULL};

static py_object *make_job(const char *setting)
{
    py_object *tell = python_function(&tell_function, NULL), *made = NULL;
    py_object *begin = tell ? python_define(cleanup_text, tell, tell_function.name, "begin") : NULL;
    if (begin)
        made = py.PyObject_CallFunction(begin, "sO", setting, tell);
    py.PyErr_Clear();
    python_drop(begin);
    python_drop(tell);
    return made;
}

/* True: the answer was yes. */
static bool install(void)
{
    py_object *answer = py.PyObject_CallMethod(job, "install", NULL);
    bool installed = answer && py.PyObject_IsTrue(answer) == 1;
    py.PyErr_Clear();
    python_drop(answer);
    return installed;
}

bool cleanup_hook(void)
{
    static int attempts;
    const char *setting = getenv(CLEANUP_VARIABLE);
    if (!setting || attempts == ATTEMPTS)
        return true;
    if (!job)
        job = make_job(setting);
    if (!job)
        attempts++;
    return job && install();
}

/* What goes wrong in the text it keeps to itself: what it raises came from outside, and goes on. */
static bool is_done(py_object *result)
{
    python_drop(result);
    return result != NULL;
}

bool cleanup_stepped(py_object *optimizer, bool is_counted)
{
    if (!job)
        return true;
    return is_done(py.PyObject_CallMethod(job, "stepped", "Oi", optimizer, (int) is_counted));
}

bool cleanup_batch_taken(void)
{
    return !job || is_done(py.PyObject_CallMethod(job, "batch_taken", NULL));
}
