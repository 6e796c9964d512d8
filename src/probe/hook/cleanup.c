/* probe/hook/cleanup.c: runs the source of tidemark.Cleanup inside the job. */
#include "probe/hook/cleanup.h"

#include "probe/cleanup_text.h"
#include "probe/hook/ring.h"

#include <stdlib.h>

/* While torch is being imported, modules that the source needs may be incomplete: try again. */
#define ATTEMPTS 20

static py_object *job; /* NULL: cleanup is not requested */

/* report(kind, device, is_count, value) */
static py_object *on_report(py_object *self, py_object *args)
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

static struct py_method report_function = {"report", on_report, PY_VARARGS, NULL};

static py_object *make_job(const char *setting)
{
    py_object *report = python_function(&report_function, NULL), *made = NULL;
    py_object *begin =
        report ? python_define(cleanup_text, report, report_function.name, "begin") : NULL;
    if (begin)
        made = py.PyObject_CallFunction(begin, "sO", setting, report);
    py.PyErr_Clear();
    python_drop(begin);
    python_drop(report);
    return made;
}

/* True: Cleanup is installed. */
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

/* The source keeps its own errors to itself. An exception comes from outside, such as
 * KeyboardInterrupt, and is passed on. */
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
