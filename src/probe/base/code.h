/* probe/base/code.h: functions and files by their names, and whose they are. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_CODE_H
#define TIDEMARK_PROBE_BASE_CODE_H

#include "probe/base/python.h"

/* Everything here wants the GIL and runs no code of the program. */

/* Whose it is: who reads a report looks in their own files first. */
enum code_owner {
    CODE_USER,
    CODE_PACKAGE,  /* installed: site-packages, dist-packages */
    CODE_STANDARD, /* Python's own library, and what has no file */
    CODE_OURS,     /* tidemark's: never shown */
};

/* Looks anew where Python and tidemark lie; before a series of questions. */
void code_learn(void);

/* `file` may be NULL. */
enum code_owner code_owner(const char *file);

/* Texts of a code object, borrowed from it; "" where there is none. The function is named with its
 * class where Python knows it (since 3.11), without the function that it was defined in. */
const char *code_file(py_object *code);
const char *code_function(py_object *code);
int code_first_line(py_object *code);

/* The same name as a function itself has it, borrowed: with its class in every version. */
const char *code_function_name(py_object *function);

/* What is called `name` in an exact dict, borrowed: found by looking, so that no key of the
 * program's is compared. NULL: not among its first thousands. */
py_object *code_named(py_object *dict, const char *name);

/* A class of a module that has been imported; borrowed, and only compared with. NULL: there is
 * none. */
const py_object *code_class(const char *module, const char *name);

/* A text that is exactly one, else NULL; borrowed. */
const char *code_text(py_object *o);

#endif
