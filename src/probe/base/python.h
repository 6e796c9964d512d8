/* probe/base/python.h: the functions of CPython that the probe uses. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_PYTHON_H
#define TIDEMARK_PROBE_BASE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

/* All of these belong to CPython's stable interface and do not depend on its version. */
typedef struct py_object py_object; /* PyObject */
typedef py_object *py_function(py_object *self, py_object *args);
typedef int py_audit_hook(const char *event, py_object *args, void *context);

struct py_method { /* PyMethodDef */
    const char *name;
    py_function *call;
    int flags;
    const char *doc;
};

struct py_allocator { /* PyMemAllocatorEx */
    void *context;
    void *(*malloc)(void *context, size_t size);
    void *(*calloc)(void *context, size_t count, size_t size);
    void *(*realloc)(void *context, void *address, size_t size);
    void (*free)(void *context, void *address);
};

#define PY_VARARGS 1  /* METH_VARARGS */
#define PY_KEYWORDS 2 /* METH_KEYWORDS: the third argument is a dict or NULL */

/* Every function, as documented by CPython. */
#define PY_FUNCTIONS(X)                                                                            \
    X(int, PySys_AddAuditHook, (py_audit_hook * hook, void *context))                              \
    X(const char *, Py_GetVersion, (void) )                                                        \
    X(int, Py_IsInitialized, (void) )                                                              \
    X(int, Py_AddPendingCall, (int (*function)(void *context), void *context))                     \
    X(void, Py_IncRef, (py_object * o))                                                            \
    X(void, Py_DecRef, (py_object * o))                                                            \
    X(py_object *, PyImport_GetModuleDict, (void) )                                                \
    X(py_object *, PyDict_GetItemString, (py_object * dict, const char *key))                      \
    X(ptrdiff_t, PyDict_Size, (py_object * dict))                                                  \
    X(int, PyDict_Next,                                                                            \
      (py_object * dict, ptrdiff_t * position, py_object * *key, py_object * *value))              \
    X(py_object *, PyList_New, (ptrdiff_t size))                                                   \
    X(py_object *, PyList_GetItem, (py_object * list, ptrdiff_t index))                            \
    X(int, PyList_Append, (py_object * list, py_object * o))                                       \
    X(ptrdiff_t, PyList_Size, (py_object * list))                                                  \
    X(ptrdiff_t, PySet_Size, (py_object * set))                                                    \
    X(py_object *, PyObject_Type, (py_object * o))                                                 \
    X(py_object *, PyObject_Repr, (py_object * o))                                                 \
    X(py_object *, PyObject_GenericGetDict, (py_object * o, void *context))                        \
    X(py_object *, PyObject_GenericGetAttr, (py_object * o, py_object * name))                     \
    X(py_object *, PyUnicode_FromString, (const char *text))                                       \
    X(py_object *, PyTuple_GetItem, (py_object * tuple, ptrdiff_t index))                          \
    X(ptrdiff_t, PyTuple_Size, (py_object * tuple))                                                \
    X(py_object *, PyTuple_GetSlice, (py_object * tuple, ptrdiff_t begin, ptrdiff_t end))          \
    X(py_object *, PyObject_GetAttrString, (py_object * o, const char *name))                      \
    X(int, PyObject_SetAttrString, (py_object * o, const char *name, py_object *value))            \
    X(py_object *, PyObject_CallObject, (py_object * callable, py_object * args))                  \
    X(py_object *, PyObject_CallFunction, (py_object * callable, const char *format, ...))         \
    X(py_object *, PyObject_CallMethod,                                                            \
      (py_object * o, const char *name, const char *format, ...))                                  \
    X(py_object *, PyObject_Call, (py_object * callable, py_object * args, py_object * named))     \
    X(py_object *, Py_BuildValue, (const char *format, ...))                                       \
    X(py_object *, PyObject_GetIter, (py_object * o))                                              \
    X(py_object *, PyIter_Next, (py_object * iterator))                                            \
    X(py_object *, PySequence_GetItem, (py_object * o, ptrdiff_t index))                           \
    X(ptrdiff_t, PyObject_Size, (py_object * o))                                                   \
    X(int, PyObject_IsTrue, (py_object * o))                                                       \
    X(const char *, PyUnicode_AsUTF8AndSize, (py_object * text, ptrdiff_t * size))                 \
    X(long, PyLong_AsLong, (py_object * number))                                                   \
    X(unsigned long long, PyLong_AsUnsignedLongLong, (py_object * number))                         \
    X(py_object *, PyBool_FromLong, (long value))                                                  \
    X(py_object *, PyByteArray_FromStringAndSize, (const char *bytes, ptrdiff_t size))             \
    X(double, PyFloat_AsDouble, (py_object * number))                                              \
    X(py_object *, PyNumber_Float, (py_object * number))                                           \
    X(py_object *, PyCFunction_NewEx,                                                              \
      (struct py_method * method, py_object * self, py_object * module))                           \
    X(py_object *, PyCFunction_GetSelf, (py_object * function))                                    \
    X(py_object *, PyInstanceMethod_New, (py_object * function))                                   \
    X(py_object *, PyWeakref_NewRef, (py_object * o, py_object * callback))                        \
    X(py_object *, Py_CompileString, (const char *text, const char *file, int start))              \
    X(py_object *, PyEval_EvalCode, (py_object * code, py_object * globals, py_object * locals))   \
    X(py_object *, PyDict_New, (void) )                                                            \
    X(int, PyDict_SetItemString, (py_object * dict, const char *key, py_object *value))            \
    X(py_object *, PyEval_GetBuiltins, (void) )                                                    \
    X(py_object *, PyEval_GetFrame, (void) )                                                       \
    X(void *, PyThreadState_Get, (void) )                                                          \
    X(void *, PyEval_SaveThread, (void) )                                                          \
    X(void, PyEval_RestoreThread, (void *thread))                                                  \
    X(int, PyGILState_Ensure, (void) )                                                             \
    X(void *, PyGILState_GetThisThreadState, (void) )                                              \
    X(void, PyGILState_Release, (int state))                                                       \
    X(void *, PyInterpreterState_Get, (void) )                                                     \
    X(void *, PyInterpreterState_ThreadHead, (void *interpreter))                                  \
    X(void *, PyThreadState_Next, (void *thread))                                                  \
    X(int, PyCode_Addr2Line, (py_object * code, int instruction))                                  \
    X(void *, PyMem_Malloc, (size_t size))                                                         \
    X(void *, PyObject_Malloc, (size_t size))                                                      \
    X(void, PyMem_GetAllocator, (int domain, struct py_allocator *allocator))                      \
    X(void, PyMem_SetAllocator, (int domain, struct py_allocator *allocator))                      \
    X(py_object *, PyFunction_GetCode, (py_object * function))                                     \
    X(py_object *, PyFunction_GetDefaults, (py_object * function))                                 \
    X(py_object *, PyFunction_GetKwDefaults, (py_object * function))                               \
    X(py_object *, PyFunction_GetClosure, (py_object * function))                                  \
    X(py_object *, PyModule_GetDict, (py_object * module))                                         \
    X(void, PyErr_GetExcInfo, (py_object * *type, py_object * *value, py_object * *traceback))     \
    X(py_object *, PyErr_Occurred, (void) )                                                        \
    X(int, PyErr_CheckSignals, (void) )                                                            \
    X(void, PyErr_Clear, (void) )                                                                  \
    X(int, PyErr_ExceptionMatches, (py_object * type))                                             \
    X(void, PyErr_Fetch, (py_object * *type, py_object * *value, py_object * *traceback))          \
    X(void, PyErr_Restore, (py_object * type, py_object * value, py_object * traceback))

/* Types for exact comparison: only objects of exactly such a type are read by its layout. */
#define PY_TYPES(X)                                                                                \
    X(PyList_Type)                                                                                 \
    X(PyTuple_Type)                                                                                \
    X(PyDict_Type)                                                                                 \
    X(PySet_Type)                                                                                  \
    X(PyUnicode_Type)                                                                              \
    X(PyBytes_Type)                                                                                \
    X(PyLong_Type)                                                                                 \
    X(PyFloat_Type)                                                                                \
    X(PyModule_Type)                                                                               \
    X(PyType_Type)                                                                                 \
    X(PyCode_Type)                                                                                 \
    X(PyFunction_Type)                                                                             \
    X(PyCell_Type)                                                                                 \
    X(PyFrame_Type)                                                                                \
    X(PyGen_Type)                                                                                  \
    X(PyCoro_Type)                                                                                 \
    X(PyAsyncGen_Type)                                                                             \
    X(PyTraceBack_Type)                                                                            \
    X(PyMemberDescr_Type)                                                                          \
    X(PyMethod_Type)

struct python {
#define X(type, name, arguments) type(*name) arguments; /* NOLINT(bugprone-macro-parentheses) */
    PY_FUNCTIONS(X)
#undef X
#define X(name) py_object *name;
    PY_TYPES(X)
#undef X
    py_object *none;            /* borrowed: &_Py_NoneStruct */
    py_object **stop_iteration; /* &PyExc_StopIteration */
    py_object **exception;      /* &PyExc_Exception */
    /* PyThreadState_GetUnchecked(), of the thread that has the GIL; since 3.12 NULL in all others.
     * NULL: not in this interpreter. */
    void *(*current_thread)(void);
};

extern struct python py;

/* True: this process contains a Python, and `py` is complete. */
bool python_find(void);

/* 11 for Python 3.11; 0: not Python 3. */
int python_minor_version(void);

/* The interpreter runs, and the calling thread has its GIL. Allocates nothing and takes no lock.
 * False before python_find(). */
bool python_has_gil(void);

/* The offset of a member of the objects of a type written in C, such as "co_name" of code objects;
 * -1: there is none. The GIL is held. */
ptrdiff_t python_member_offset(py_object *type, const char *name);

/* ---- shorthand; each leaves no error behind, and NULL means "none" ---- */

/* Drops a reference. Accepts NULL. */
void python_drop(py_object *o);

/* An imported module; borrowed. */
py_object *python_module(const char *name);

/* A new reference. */
py_object *python_attribute(py_object *o, const char *name);

/* Is its type exactly this one, not a derived one? */
bool python_is(py_object *o, const py_object *type);

/* The object's own __dict__, without asking its class: a new reference. */
py_object *python_instance_dict(py_object *o);

/* The UTF-8 of a str, valid as long as the object. */
const char *python_text(py_object *o);

/* The number at o[key1][key2]...; `keys` ends with NULL. NAN: there is none. */
double python_number_at(py_object *o, const char *const *keys);

/* Makes a Python function from ours. It receives `self` (NULL is fine) as its first argument. */
py_object *python_function(struct py_method *method, py_object *self);

/* Runs Python source in a namespace of its own, where `given` is called `name`. Returns the value
 * of `wanted` there, a new reference. */
py_object *python_define(const char *text, py_object *given, const char *name, const char *wanted);

/* A method of a class that the probe has replaced. Our function receives the original as `self` and
 * keeps it alive for callers that still use it after the method was restored. */
struct python_replaced {
    py_object *type, *ours; /* owned; NULL: nothing is replaced */
};

/* False: the method is unchanged. */
bool python_replace_method(py_object *type, struct py_method *method, struct python_replaced *ret);

/* Restores the original. False: somebody has replaced our method by another one, which stays. */
bool python_restore_method(struct python_replaced *r, const struct py_method *method);

#endif
