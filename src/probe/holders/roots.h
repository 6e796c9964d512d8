/* probe/holders/roots.h: what holds objects and has a name of its own. Private to probe/. */
#ifndef TIDEMARK_PROBE_HOLDERS_ROOTS_H
#define TIDEMARK_PROBE_HOLDERS_ROOTS_H

#include "probe/base/frames.h"
#include "probe/base/python.h"

/* Where a way back from an object ends. The GIL is held, no code of the program runs. */
enum root_form {
    ROOT_NONE,
    ROOT_OURS,     /* tidemark's own: it counts as nothing */
    ROOT_VARIABLE, /* the object is the value of a variable of a running function */
    ROOT_MODULE,   /* it is the dict of a module */
    ROOT_CLASS,
    ROOT_FUNCTION,  /* by its closure, its defaults or its attributes */
    ROOT_CACHE,     /* functools.lru_cache */
    ROOT_GENERATOR, /* one that waits, or a coroutine */
    ROOT_THREAD,    /* a threading.Thread */
    ROOT_HANDLED,   /* an exception that is being handled */
    ROOT_CONTEXT,   /* the part of a contextvars.Context that has the value of a ContextVar */
};

struct root_module {
    const py_object *dict;
    const char *name, *file; /* borrowed; `file` may be NULL */
};

struct root {
    enum root_form form;
    unsigned cost;                     /* the lower, the sooner a person looks there */
    const struct frame_root *variable; /* of ROOT_VARIABLE */
    struct root_module module;         /* of ROOT_MODULE */
};

#define ROOTS_STEP_COST 16u     /* of one more attribute or index */
#define ROOTS_LIBRARY_COST 160u /* from here on it is not in the program's own files */

/* The file of the program itself: the interpreter forgets it when its last line has run, and what
 * is held then is still to be found. To be called before that. */
void roots_remember_main(void);

/* Looks at what there is now; before a search. False: no memory. */
bool roots_learn(void);

/* What the object is a root by. `is_start`: it is what is looked for, so that only a variable can
 * hold it. */
struct root roots_find(py_object *o, bool is_start);

/* The next variable of a running function after `last` (NULL: the first) whose value it is; NULL:
 * there is none. */
const struct frame_root *roots_next_variable(const py_object *o, const struct frame_root *last);
unsigned roots_variable_cost(const struct frame_root *variable);

/* Is there nothing to be gained by looking for what refers to it? */
bool roots_is_end(const struct root *root);

/* A value that a running function is at work with, certain or not; NULL: it is none. */
const struct frame_root *roots_temporary(const py_object *o);

/* Something that knows what others own, as an optimizer knows the parameters of a model: named only
 * where nothing else is. */
bool roots_is_bystander(const py_object *o);

/* A class whose objects refer weakly to what is in their `data`: a WeakValueDictionary, a WeakSet.
 */
bool roots_is_weak(const py_object *type);

/* A value that a function of tidemark's has. */
bool roots_is_ours(const py_object *o);

/* Is it the namespace of a module, or of code that was run without being imported? */
bool roots_is_namespace(py_object *dict);

/* The function behind a functools.lru_cache, borrowed; NULL: it is not known. */
py_object *roots_cached_function(py_object *cache);

/* The global of the program that has this value: its name and module, borrowed. NULL: none has. */
const struct root_module *roots_global_of(const py_object *value, const char **ret_name);

/* The file of the module that a class says it is from, borrowed; NULL: it is not known. */
const char *roots_class_file(const py_object *type);

#endif
