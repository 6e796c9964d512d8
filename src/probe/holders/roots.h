/* probe/holders/roots.h: objects and variables with a name of their own, where a path begins.
 * Private to probe/. */
#ifndef TIDEMARK_PROBE_HOLDERS_ROOTS_H
#define TIDEMARK_PROBE_HOLDERS_ROOTS_H

#include "probe/base/frames.h"
#include "probe/base/python.h"

/* The kinds of roots. The GIL is held, no code of the program runs. */
enum root_form {
    ROOT_NONE,
    ROOT_OURS,     /* tidemark's own: ignored */
    ROOT_VARIABLE, /* the value of a variable of a running function */
    ROOT_MODULE,   /* the dict of a module */
    ROOT_CLASS,
    ROOT_FUNCTION,  /* by its closure, its defaults or its attributes */
    ROOT_CACHE,     /* functools.lru_cache */
    ROOT_GENERATOR, /* a suspended one, or a coroutine */
    ROOT_THREAD,    /* a threading.Thread */
    ROOT_HANDLED,   /* the exception being handled */
    ROOT_CONTEXT,   /* the part of a contextvars.Context with the value of a ContextVar */
};

struct root_module {
    const py_object *dict;
    const char *name, *file; /* borrowed; `file` may be NULL */
};

struct root {
    enum root_form form;
    unsigned cost;                     /* lower: a reader looks there sooner */
    const struct frame_root *variable; /* for ROOT_VARIABLE */
    struct root_module module;         /* for ROOT_MODULE */
};

#define ROOTS_STEP_COST 16u     /* per attribute or index */
#define ROOTS_LIBRARY_COST 160u /* from here on: outside the program's own files */

/* Stores the file of the main program. The interpreter forgets it after the last line, while its
 * objects still exist, so call this earlier. */
void roots_remember_main(void);

/* Learns the current roots; call it before a search. False: no memory. */
bool roots_learn(void);

/* The root that an object is. `is_start`: it is one of the objects searched for, so only a variable
 * can hold it. */
struct root roots_find(py_object *o, bool is_start);

/* The next variable of a running function after `last` (NULL: the first) with this value; NULL:
 * none. */
const struct frame_root *roots_next_variable(const py_object *o, const struct frame_root *last);
unsigned roots_variable_cost(const struct frame_root *variable);

/* True: its referrers need not be searched for. */
bool roots_is_end(const struct root *root);

/* The stack slot of a running function with this value, certain or not; NULL: none. */
const struct frame_root *roots_temporary(const py_object *o);

/* Something that refers to what others own, as an optimizer refers to the parameters of a model.
 * Named only if there is no other holder. */
bool roots_is_bystander(const py_object *o);

/* A class that holds the content of its `data` weakly: a WeakValueDictionary, a WeakSet. */
bool roots_is_weak(const py_object *type);

/* True: a function of tidemark's holds it. */
bool roots_is_ours(const py_object *o);

/* Is it the namespace of a module, or of code that was run without an import? */
bool roots_is_namespace(py_object *dict);

/* The function behind a functools.lru_cache, borrowed; NULL: unknown. */
py_object *roots_cached_function(py_object *cache);

/* The global of the program with this value: its name and module, borrowed. NULL: none. */
const struct root_module *roots_global_of(const py_object *value, const char **ret_name);

/* The file of the module that a class names as its own, borrowed; NULL: unknown. */
const char *roots_class_file(const py_object *type);

#endif
