/* probe/holders/names.h: writes the step from a holder to what it holds as Python would. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_HOLDERS_NAMES_H
#define TIDEMARK_PROBE_HOLDERS_NAMES_H

#include "probe/base/python.h"

/*
 * May read attributes by PyObject_GenericGetDict(), which creates a missing __dict__: only in a
 * forked child, where the program does not notice. No code of the program runs. The GIL is held.
 */

/* Text appended to a buffer, and cut with "..." when that is full. */
struct names_text {
    char *bytes;
    size_t size, length;
    bool is_cut;
};

void names_begin(struct names_text *t, char *bytes, size_t size);
void names_add(struct names_text *t, const char *text);
/* Back to an earlier length; no effect if the text was cut. */
void names_take_back(struct names_text *t, size_t length);

enum names_step {
    NAMES_DICT,      /* nothing added: it is the object's __dict__, so the next step is a name */
    NAMES_ATTRIBUTE, /* .name */
    NAMES_ITEM,      /* [2], ["key"], [...] */
    NAMES_INSIDE,    /* .(type): held somewhere inside, by native code */
};

/* Adds the step from `owner` to `held`. `is_namespace`: the owner is the __dict__ of an object.
 * `is_any`: one of many, so no index or key is written. */
enum names_step names_add_step(struct names_text *t, py_object *owner, py_object *held,
                               bool is_namespace, bool is_any);

/* Is `held` a dict in which a torch module keeps its parts, parameters or buffers? A program writes
 * these as attributes of the module. */
bool names_is_part_table(py_object *owner, const py_object *held);

/* The name of a class without its module. */
const char *names_class(const py_object *type);

/* The key whose value in a dict is `held`, borrowed; NULL: none. */
py_object *names_key(py_object *dict, const py_object *held);

#endif
