/* probe/holders/names.h: how a program writes what one object holds of another. Private to probe/.
 */
#ifndef TIDEMARK_PROBE_HOLDERS_NAMES_H
#define TIDEMARK_PROBE_HOLDERS_NAMES_H

#include "probe/base/python.h"

/*
 * Attributes may be read by PyObject_GenericGetDict(), which makes the dict of an object that has
 * none yet: meant for a forked child, where nothing of it is seen by the program. No code of the
 * program runs. The GIL is held.
 */

/* A text that is built at the end of a buffer, and cut with "..." where that is full. */
struct names_text {
    char *bytes;
    size_t size, length;
    bool is_cut;
};

void names_begin(struct names_text *t, char *bytes, size_t size);
void names_add(struct names_text *t, const char *text);
/* To the length that it had; nothing where it was cut. */
void names_take_back(struct names_text *t, size_t length);

enum names_step {
    NAMES_DICT, /* nothing was added: it is the object's __dict__, and the next step is a name */
    NAMES_ATTRIBUTE, /* .name */
    NAMES_ITEM,      /* [2], ["key"], [...] */
    NAMES_INSIDE,    /* .(type): held somewhere inside, by code that is not Python's */
};

/* How `owner` holds `held`. `is_namespace`: the owner is the __dict__ of something. `is_any`: one
 * of many, which has no place to be named. */
enum names_step names_add_step(struct names_text *t, py_object *owner, py_object *held,
                               bool is_namespace, bool is_any);

/* Is `held` where a torch module keeps what is written as an attribute of it: its parts, parameters
 * and buffers? */
bool names_is_part_table(py_object *owner, const py_object *held);

/* The name of a class, without the modules that it lies in. */
const char *names_class(const py_object *type);

/* The key of `held` in a dict, borrowed; NULL: it is not a value there. */
py_object *names_key(py_object *dict, const py_object *held);

#endif
