/* probe/base/code.c: names and files of functions, and who owns the code. */
#include "probe/base/code.h"

#include "probe/base/heap.h"

#include <string.h>

#define ENTRIES_MOST 4096

#define FOLDER_MOST 1024u

static struct {
    char standard[FOLDER_MOST], ours[FOLDER_MOST]; /* with the trailing slash; "": not known */
} folders;

const char *code_text(py_object *o)
{
    return o && heap_type(o) == py.PyUnicode_Type ? python_text(o) : NULL;
}

py_object *code_named(py_object *dict, const char *name)
{
    ptrdiff_t position = 0;
    py_object *key, *value;
    for (int i = 0; i < ENTRIES_MOST && py.PyDict_Next(dict, &position, &key, &value); i++) {
        const char *text = code_text(key);
        if (text && strcmp(text, name) == 0)
            return value;
    }
    return NULL;
}

/* ---- owners ---- */

static void folder_of(const char *module_name, char folder[FOLDER_MOST])
{
    py_object *module = python_module(module_name);
    bool is_module = module && heap_is_subtype(heap_type(module), py.PyModule_Type);
    const char *file =
        is_module ? code_text(code_named(py.PyModule_GetDict(module), "__file__")) : NULL;
    const char *slash = file ? strrchr(file, '/') : NULL;
    size_t length = slash ? (size_t) (slash - file) + 1 : 0;
    if (length >= FOLDER_MOST)
        length = 0;
    memcpy(folder, file ? file : "", length);
    folder[length] = '\0';
}

void code_learn(void)
{
    folder_of("os", folders.standard);
    folder_of("tidemark", folders.ours);
}

static bool lies_in(const char *file, const char *folder)
{
    return folder[0] && strncmp(file, folder, strlen(folder)) == 0;
}

enum code_owner code_owner(const char *file)
{
    if (!file || !file[0] || strncmp(file, "<frozen ", 8) == 0)
        return CODE_STANDARD;
    if (lies_in(file, folders.ours) || strcmp(file, "<tidemark>") == 0)
        return CODE_OURS;
    if (strstr(file, "/site-packages/") || strstr(file, "/dist-packages/"))
        return CODE_PACKAGE;
    return lies_in(file, folders.standard) ? CODE_STANDARD : CODE_USER;
}

/* ---- names ---- */

/* A field of a code object or a function. Their types are Python's own and cannot be subclassed, so
 * no code of the program runs. Borrowed: the object holds the value. */
static py_object *field(py_object *o, const char *name)
{
    py_object *key = py.PyUnicode_FromString(name);
    py_object *value = key ? py.PyObject_GenericGetAttr(o, key) : NULL;
    py.PyErr_Clear();
    python_drop(key);
    python_drop(value);
    return value;
}

const char *code_within_function(const char *name)
{
    static const char locals[] = "<locals>.";
    for (const char *at; (at = strstr(name, locals));)
        name = at + sizeof(locals) - 1;
    return name;
}

const char *code_file(py_object *code)
{
    const char *text = code_text(field(code, "co_filename"));
    return text ? text : "";
}

const char *code_function(py_object *code)
{
    const char *text = code_text(field(code, "co_qualname"));
    if (!text)
        text = code_text(field(code, "co_name"));
    return text ? code_within_function(text) : "";
}

int code_first_line(py_object *code)
{
    py_object *key = py.PyUnicode_FromString("co_firstlineno");
    py_object *number = key ? py.PyObject_GenericGetAttr(code, key) : NULL;
    long line = number ? py.PyLong_AsLong(number) : 0;
    py.PyErr_Clear();
    python_drop(key);
    python_drop(number);
    return (int) line;
}

const char *code_function_name(py_object *function)
{
    const char *text = code_text(field(function, "__qualname__"));
    return text ? code_within_function(text) : code_function(py.PyFunction_GetCode(function));
}

const py_object *code_class(const char *module, const char *name)
{
    py_object *m = python_module(module);
    bool is_module = m && heap_is_subtype(heap_type(m), py.PyModule_Type);
    return is_module ? code_named(py.PyModule_GetDict(m), name) : NULL;
}
