/* probe/census/callers.c: searches a library's container for functions of the program. */
#include "probe/census/callers.h"

#include "probe/base/code.h"
#include "probe/base/heap.h"

#include <stdio.h>

#define REFERENCES_MOST 256u /* references followed from one item */
#define DEPTH_MOST 3u
#define NEWEST 16

struct search {
    struct caller *caller;
    unsigned references, depth;
};

static bool is_of_the_language(const py_object *o)
{
    const py_object *type = heap_type(o);
    return heap_kind(o) == HEAP_TYPE || type == py.PyModule_Type || type == py.PyCode_Type ||
           type == py.PyFrame_Type;
}

static bool take_function(struct search *s, py_object *function)
{
    py_object *code = py.PyFunction_GetCode(function);
    const char *file = code ? code_file(code) : "";
    if (code_owner(file) != CODE_USER)
        return false;
    snprintf(s->caller->file, sizeof(s->caller->file), "%s", file);
    s->caller->line = code_first_line(code);
    return true;
}

static int search_from(py_object *o, void *context)
{
    struct search *s = context;
    if (++s->references > REFERENCES_MOST)
        return 1;
    if (heap_type(o) == py.PyFunction_Type)
        return take_function(s, o);
    if (s->depth == DEPTH_MOST || is_of_the_language(o))
        return 0;
    s->depth++;
    heap_edges(o, search_from, s);
    s->depth--;
    return s->caller->file[0] != '\0';
}

static void search_item(struct caller *ret, py_object *o)
{
    struct search s = {.caller = ret};
    if (!ret->file[0])
        search_from(o, &s);
}

static void search_newest(struct caller *ret, py_object *o)
{
    ptrdiff_t length = heap_length(o), at = length > NEWEST ? length - NEWEST : 0;
    py_object *key, *value;
    if (heap_kind(o) == HEAP_DICT)
        while (py.PyDict_Next(o, &at, &key, &value)) {
            search_item(ret, value);
            search_item(ret, key);
        }
    else if (heap_kind(o) == HEAP_LIST)
        for (; at < length; at++)
            search_item(ret, py.PyList_GetItem(o, at));
    else
        search_item(ret, o);
}

static void take_main_file(struct caller *ret)
{
    py_object *main = python_module("__main__"); /* borrowed */
    const char *file = main ? code_text(code_named(py.PyModule_GetDict(main), "__file__")) : NULL;
    if (file && code_owner(file) == CODE_USER)
        snprintf(ret->file, sizeof(ret->file), "%s", file);
}

void callers_find(py_object *const *objects, size_t count, struct caller *ret)
{
    *ret = (struct caller){.line = 0};
    for (size_t i = 0; i < count; i++)
        search_newest(ret, objects[i]);
    if (!ret->file[0])
        take_main_file(ret);
}
