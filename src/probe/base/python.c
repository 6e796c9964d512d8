/* probe/base/python.c: finds the interpreter of this process and calls it. */
#include "probe/base/python.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct python py;

/* For data and functions: POSIX allows dlsym() to return either. */
static bool find(const char *name, void *ret)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(ret, &address, sizeof(address));
    return address != NULL;
}

bool python_find(void)
{
    static enum { UNKNOWN, FOUND, MISSING } state = UNKNOWN;
    if (state != UNKNOWN)
        return state == FOUND;
    bool all = true;
#define X(type, name, arguments) all = all && find(#name, &py.name);
    PY_FUNCTIONS(X)
#undef X
#define X(name) all = all && find(#name, &py.name);
    PY_TYPES(X)
#undef X
    all = all && find("_Py_NoneStruct", &py.none);
    all = all && find("PyExc_StopIteration", &py.stop_iteration);
    all = all && find("PyExc_Exception", &py.exception);
    if (!find("PyThreadState_GetUnchecked", &py.current_thread)) /* since 3.13 */
        find("_PyThreadState_UncheckedGet", &py.current_thread);
    /* All of this relies on the GIL. */
    all = all && !strstr(py.Py_GetVersion(), "free-threading");
    if (!all)
        py.current_thread = NULL; /* python_has_gil() relies on the others */
    state = all ? FOUND : MISSING;
    return all;
}

int python_minor_version(void)
{
    const char *version = py.Py_GetVersion(); /* "3.11.2 (main, ..." */
    return strncmp(version, "3.", 2) == 0 ? atoi(version + 2) : 0;
}

bool python_has_gil(void)
{
    if (!py.current_thread || !py.Py_IsInitialized())
        return false;
    const void *current = py.current_thread();
    return current && current == py.PyGILState_GetThisThreadState();
}

ptrdiff_t python_member_offset(py_object *type, const char *name)
{
    const struct {
        const char *name;
        int type;
        ptrdiff_t offset;
    } * member; /* PyMemberDef */
    py_object *descriptor = python_attribute(type, name);
    bool is_member = descriptor && python_is(descriptor, py.PyMemberDescr_Type);
    if (is_member) /* PyMemberDescrObject.d_member */
        memcpy(&member, (const char *) descriptor + 5 * sizeof(void *), sizeof(member));
    python_drop(descriptor); /* the type holds it */
    return is_member ? member->offset : -1;
}

void python_drop(py_object *o)
{
    if (o)
        py.Py_DecRef(o);
}

py_object *python_module(const char *name)
{
    py_object *modules = py.PyImport_GetModuleDict();
    return modules ? py.PyDict_GetItemString(modules, name) : NULL;
}

py_object *python_attribute(py_object *o, const char *name)
{
    py_object *value = py.PyObject_GetAttrString(o, name);
    if (!value)
        py.PyErr_Clear();
    return value;
}

bool python_is(py_object *o, const py_object *type)
{
    py_object *own = py.PyObject_Type(o);
    python_drop(own);
    return own == type;
}

py_object *python_instance_dict(py_object *o)
{
    bool has_one = !python_is(o, py.PyType_Type) && !python_is(o, py.PyModule_Type);
    py_object *dict = has_one ? py.PyObject_GenericGetDict(o, NULL) : NULL;
    if (!dict)
        py.PyErr_Clear();
    return dict;
}

const char *python_text(py_object *o)
{
    const char *text = py.PyUnicode_AsUTF8AndSize(o, NULL);
    if (!text)
        py.PyErr_Clear();
    return text;
}

double python_number_at(py_object *o, const char *const *keys)
{
    for (; o && *keys; keys++)
        o = py.PyDict_GetItemString(o, *keys);
    if (!o)
        return NAN;
    double value = py.PyFloat_AsDouble(o);
    if (py.PyErr_Occurred()) {
        py.PyErr_Clear();
        return NAN;
    }
    return value;
}

py_object *python_function(struct py_method *method, py_object *self)
{
    py_object *function = py.PyCFunction_NewEx(method, self, NULL);
    if (!function)
        py.PyErr_Clear();
    return function;
}

#define FILE_INPUT 257 /* Py_file_input */

py_object *python_define(const char *text, py_object *given, const char *name, const char *wanted)
{
    py_object *globals = py.PyDict_New(), *result = NULL;
    py_object *code = globals ? py.Py_CompileString(text, "<tidemark>", FILE_INPUT) : NULL;
    if (code && py.PyDict_SetItemString(globals, name, given) == 0 &&
        py.PyDict_SetItemString(globals, "__builtins__", py.PyEval_GetBuiltins()) == 0) {
        py_object *none = py.PyEval_EvalCode(code, globals, globals);
        py_object *found = none ? py.PyDict_GetItemString(globals, wanted) : NULL;
        if (found) {
            py.Py_IncRef(found);
            result = found;
        }
        if (none)
            py.Py_DecRef(none);
    }
    py.PyErr_Clear();
    python_drop(code);
    python_drop(globals);
    return result;
}

/* As the class stores it. Reading an attribute of the class would unbind a method that another
 * probe put there. An inherited method is read as an attribute. */
static py_object *method_of(py_object *type, const char *name)
{
    py_object *own = python_attribute(type, "__dict__");
    py_object *method = own ? py.PyObject_CallMethod(own, "get", "s", name) : NULL;
    py.PyErr_Clear();
    python_drop(own);
    if (method && method != py.none)
        return method;
    python_drop(method);
    return python_attribute(type, name);
}

bool python_replace_method(py_object *type, struct py_method *method, struct python_replaced *ret)
{
    py_object *original = method_of(type, method->name);
    py_object *function = original ? python_function(method, original) : NULL;
    py_object *bound = function ? py.PyInstanceMethod_New(function) : NULL;
    bool replaced = bound && py.PyObject_SetAttrString(type, method->name, bound) == 0;
    py.PyErr_Clear();
    python_drop(bound);
    python_drop(original);
    if (!replaced) {
        python_drop(function);
        return false;
    }
    py.Py_IncRef(type);
    *ret = (struct python_replaced){type, function};
    return true;
}

bool python_restore_method(struct python_replaced *r, const struct py_method *method)
{
    if (!r->type)
        return true;
    py_object *now = python_attribute(r->type, method->name);
    python_drop(now); /* the class holds it */
    py_object *original = now == r->ours ? py.PyCFunction_GetSelf(r->ours) : NULL;
    if (!original || py.PyObject_SetAttrString(r->type, method->name, original) < 0) {
        py.PyErr_Clear();
        return false;
    }
    python_drop(r->ours);
    python_drop(r->type);
    *r = (struct python_replaced){NULL, NULL};
    return true;
}
