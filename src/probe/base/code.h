/* probe/base/code.h: names and files of functions, and who owns the code. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_CODE_H
#define TIDEMARK_PROBE_BASE_CODE_H

#include "probe/base/python.h"

/* Everything here needs the GIL and runs no code of the program. */

/* Who owns a file. A reader of a report looks in their own files first. */
enum code_owner {
    CODE_USER,
    CODE_PACKAGE,  /* installed: site-packages, dist-packages */
    CODE_STANDARD, /* Python's own library, and code without a file */
    CODE_OURS,     /* tidemark's: never shown */
};

/* Finds the folders of Python and tidemark again; call it before a series of questions. */
void code_learn(void);

/* `file` may be NULL. */
enum code_owner code_owner(const char *file);

/* Borrowed from the code object; "": none. The function's name has its class (since Python 3.11),
 * but not the enclosing function. */
const char *code_file(py_object *code);
const char *code_function(py_object *code);
int code_first_line(py_object *code);

/* The name as the function object has it, borrowed: with its class in every version. */
const char *code_function_name(py_object *function);

/* A qualified name without the enclosing functions, part of the same text. Needs no GIL. */
const char *code_within_function(const char *name);

/* The value of `name` in an exact dict, borrowed. A linear search, so that no __eq__ of the program
 * runs. NULL: not among the first 4096 entries. */
py_object *code_named(py_object *dict, const char *name);

/* A class of an imported module; borrowed, only for comparing addresses. NULL: there is none. */
const py_object *code_class(const char *module, const char *name);

/* The UTF-8 of an exact str, borrowed; NULL: it is something else. */
const char *code_text(py_object *o);

#endif
