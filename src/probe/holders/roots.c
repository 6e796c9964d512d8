/* probe/holders/roots.c: finds the objects and variables with a name of their own. */
#include "probe/holders/roots.h"
#include "probe/base/pages.h"

#include "probe/base/code.h"
#include "probe/base/heap.h"
#include "probe/holders/names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define VARIABLES_MOST 32768u
#define MODULES_MOST 8192u
#define OURS_MOST 1024u
#define TABLE_BITS 16u /* at least twice as many slots as either list */

#define NOTHING UINT32_MAX

struct table {
    uint32_t places[1u << TABLE_BITS];
};

struct tables {
    struct frame_root variables[VARIABLES_MOST], temporaries[VARIABLES_MOST];
    struct root_module modules[MODULES_MOST];
    struct table by_value, by_dict;
    struct frame_root ours[OURS_MOST];
    size_t variable_count, temporary_count, module_count, ours_count;
    const py_object *thread_class, *optimizer_class, *weak_classes[2], *handled;
};

static struct tables *all;

/* ---- costs ---- */

enum {
    COST_MAIN = 4, /* a global of the main program */
    COST_MODULE = 8,
    COST_CACHE = 8,
    COST_SELF = 10, /* any other name says more */
    COST_UNNAMED = 32,
    COST_OTHER_THREAD = 4,
    COST_INNER = 8, /* the function that has had it longest is its owner */
    COST_OUTER_VARIABLE = 12,
    COST_HELD_BY_CODE = 24, /* a class, a function, a generator */
    COST_THREAD = 40,
    COST_STANDARD = 80, /* on top of a package's */
};

static unsigned owner_cost(enum code_owner owner)
{
    return owner == CODE_USER      ? 0
           : owner == CODE_PACKAGE ? ROOTS_LIBRARY_COST
                                   : ROOTS_LIBRARY_COST + COST_STANDARD;
}

unsigned roots_variable_cost(const struct frame_root *r)
{
    return owner_cost(code_owner(r->file)) + (r->is_outer ? COST_OUTER_VARIABLE : 0) +
           (strcmp(r->variable, "self") == 0 ? COST_SELF : 0) +
           (r->variable[0] ? 0 : COST_UNNAMED) + (r->is_main_thread ? 0 : COST_OTHER_THREAD) +
           (r->depth < COST_INNER ? COST_INNER - r->depth : 0);
}

/* ---- tables by address ---- */

static uint64_t first_place(const void *address)
{
    return ((uint64_t) (uintptr_t) address >> 4) * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS);
}

static uint64_t next_place(uint64_t place)
{
    return (place + 1) & ((1u << TABLE_BITS) - 1);
}

static void add_variable(uint32_t index)
{
    const struct frame_root *r = all->variables;
    uint64_t at = first_place(r[index].value);
    uint32_t *places = all->by_value.places;
    while (places[at] != NOTHING && r[places[at]].value != r[index].value)
        at = next_place(at);
    if (places[at] == NOTHING ||
        roots_variable_cost(&r[index]) < roots_variable_cost(&r[places[at]]))
        places[at] = index;
}

static const struct frame_root *variable_of(const py_object *o)
{
    const uint32_t *places = all->by_value.places;
    for (uint64_t at = first_place(o); places[at] != NOTHING; at = next_place(at))
        if (all->variables[places[at]].value == o)
            return &all->variables[places[at]];
    return NULL;
}

const struct frame_root *roots_next_variable(const py_object *o, const struct frame_root *last)
{
    for (size_t i = last ? (size_t) (last - all->variables) + 1 : 0; i < all->variable_count; i++)
        if (all->variables[i].value == o)
            return &all->variables[i];
    return NULL;
}

static void add_module(const struct root_module *module)
{
    uint64_t at = first_place(module->dict);
    uint32_t *places = all->by_dict.places;
    for (; places[at] != NOTHING; at = next_place(at))
        if (all->modules[places[at]].dict == module->dict)
            return;
    all->modules[all->module_count] = *module;
    places[at] = (uint32_t) all->module_count++;
}

static const struct root_module *module_of(const py_object *dict)
{
    const uint32_t *places = all->by_dict.places;
    for (uint64_t at = first_place(dict); places[at] != NOTHING; at = next_place(at))
        if (all->modules[places[at]].dict == dict)
            return &all->modules[places[at]];
    return NULL;
}

/* ---- learning ---- */

static py_object *dict_of_module(py_object *o)
{
    return o && heap_is_subtype(heap_type(o), py.PyModule_Type) ? py.PyModule_GetDict(o) : NULL;
}

static char main_file[4096]; /* "": not known */

void roots_remember_main(void)
{
    py_object *dict = dict_of_module(python_module("__main__"));
    const char *file = dict ? code_text(code_named(dict, "__file__")) : NULL;
    if (file)
        snprintf(main_file, sizeof(main_file), "%s", file);
}

static const char *file_of(py_object *dict, const char *name)
{
    const char *file = code_text(code_named(dict, "__file__"));
    return file || strcmp(name, "__main__") != 0 || !main_file[0] ? file : main_file;
}

static void learn_modules(void)
{
    py_object *modules = py.PyImport_GetModuleDict(), *key, *value;
    ptrdiff_t position = 0;
    while (modules && all->module_count < MODULES_MOST &&
           py.PyDict_Next(modules, &position, &key, &value)) {
        const char *name = code_text(key);
        py_object *dict = dict_of_module(value);
        if (name && dict)
            add_module(
                &(struct root_module){.dict = dict, .name = name, .file = file_of(dict, name)});
    }
}

static void learn_handled(void)
{
    py_object *type, *value, *traceback;
    py.PyErr_GetExcInfo(&type, &value, &traceback);
    all->handled = value != py.none ? value : NULL;
    python_drop(type);
    python_drop(value);
    python_drop(traceback);
}

static bool get_memory(void)
{
    if (all)
        return true;
    all = pages_map(NULL, sizeof(*all), MAP_PRIVATE);
    return all;
}

bool roots_learn(void)
{
    if (!get_memory())
        return false;
    code_learn();
    memset(&all->by_value, 0xff, sizeof(all->by_value)); /* NOTHING */
    memset(&all->by_dict, 0xff, sizeof(all->by_dict));
    all->module_count = 0;
    all->variable_count = frames_roots(all->variables, VARIABLES_MOST);
    for (uint32_t i = 0; i < all->variable_count; i++)
        add_variable(i);
    all->temporary_count = frames_temporaries(all->temporaries, VARIABLES_MOST);
    all->ours_count = frames_ours(all->ours, OURS_MOST);
    learn_modules();
    learn_handled();
    all->thread_class = code_class("threading", "Thread");
    all->optimizer_class = code_class("torch.optim.optimizer", "Optimizer");
    all->weak_classes[0] = code_class("weakref", "WeakValueDictionary");
    all->weak_classes[1] = code_class("_weakrefset", "WeakSet");
    return true;
}

const struct frame_root *roots_temporary(const py_object *o)
{
    const struct frame_root *found = NULL;
    for (size_t i = 0; i < all->temporary_count; i++)
        if (all->temporaries[i].value == o && (!found || all->temporaries[i].is_certain))
            found = &all->temporaries[i];
    return found;
}

bool roots_is_bystander(const py_object *o)
{
    return all->optimizer_class && heap_is_subtype(heap_type(o), all->optimizer_class);
}

bool roots_is_weak(const py_object *type)
{
    for (unsigned i = 0; i < sizeof(all->weak_classes) / sizeof(all->weak_classes[0]); i++)
        if (all->weak_classes[i] && heap_is_subtype(type, all->weak_classes[i]))
            return true;
    return false;
}

bool roots_is_ours(const py_object *o)
{
    for (size_t i = 0; i < all->ours_count; i++)
        if (all->ours[i].value == o)
            return true;
    return false;
}

/* ---- modules ---- */

#define FIRST_NAMES 16

/* Recognises the globals of code that was run without an import: they begin like those of a module.
 */
static bool is_namespace(py_object *dict, struct root_module *ret)
{
    ptrdiff_t position = 0;
    py_object *key, *value;
    bool has_builtins = false;
    *ret = (struct root_module){.dict = dict};
    for (int i = 0; i < FIRST_NAMES && py.PyDict_Next(dict, &position, &key, &value); i++) {
        const char *name = code_text(key);
        if (name && strcmp(name, "__builtins__") == 0)
            has_builtins = true;
        if (name && strcmp(name, "__name__") == 0)
            ret->name = code_text(value);
        if (name && strcmp(name, "__file__") == 0)
            ret->file = code_text(value);
    }
    return has_builtins && ret->name;
}

bool roots_is_namespace(py_object *dict)
{
    struct root_module module;
    return heap_type(dict) == py.PyDict_Type && is_namespace(dict, &module);
}

static bool is_ours(const struct root_module *m)
{
    return strncmp(m->name, "tidemark", 8) == 0 && (m->name[8] == '\0' || m->name[8] == '.');
}

static struct root module_root(const struct root_module *m)
{
    bool is_main = strcmp(m->name, "__main__") == 0;
    enum code_owner owner = is_main && !m->file ? CODE_USER : code_owner(m->file);
    return (struct root){.form = is_ours(m) || owner == CODE_OURS ? ROOT_OURS : ROOT_MODULE,
                         .cost = owner_cost(owner) + (is_main ? COST_MAIN : COST_MODULE),
                         .module = *m};
}

const struct root_module *roots_global_of(const py_object *value, const char **ret_name)
{
    for (size_t i = 0; i < all->module_count; i++) {
        const struct root_module *m = &all->modules[i];
        ptrdiff_t position = 0;
        py_object *key, *global;
        bool is_of_program = m->file && code_owner(m->file) == CODE_USER;
        while (is_of_program && py.PyDict_Next((py_object *) m->dict, &position, &key, &global))
            if (global == value && (*ret_name = code_text(key)))
                return m;
    }
    return NULL;
}

/* ---- code ---- */

static struct root code_root(enum root_form form, py_object *code, unsigned cost)
{
    enum code_owner owner = code_owner(code ? code_file(code) : NULL);
    return (struct root){.form = owner == CODE_OURS ? ROOT_OURS : form,
                         .cost = owner_cost(owner) + cost};
}

static bool is_function(const py_object *o)
{
    return o && heap_type(o) == py.PyFunction_Type;
}

static struct root cache_root(py_object *cache)
{
    py_object *function = roots_cached_function(cache);
    return code_root(ROOT_CACHE, function ? py.PyFunction_GetCode(function) : NULL, COST_CACHE);
}

py_object *roots_cached_function(py_object *cache)
{
    py_object *dict = py.PyObject_GenericGetDict(cache, NULL);
    py.PyErr_Clear();
    py_object *function = dict ? code_named(dict, "__wrapped__") : NULL;
    python_drop(dict);
    return is_function(function) ? function : NULL;
}

static struct root generator_root(py_object *generator)
{
    struct frame_root frame;
    const char *file = frames_waiting(generator, NULL, &frame) ? frame.file : NULL;
    enum code_owner owner = code_owner(file);
    return (struct root){.form = owner == CODE_OURS ? ROOT_OURS : ROOT_GENERATOR,
                         .cost = owner_cost(owner) + COST_HELD_BY_CODE};
}

const char *roots_class_file(const py_object *type)
{
    py_object *dict = heap_type_dict(type);
    const char *name = dict ? code_text(code_named(dict, "__module__")) : NULL;
    py_object *module = name ? dict_of_module(python_module(name)) : NULL;
    return module ? file_of(module, name) : NULL;
}

static bool is_of_main(const py_object *type)
{
    py_object *dict = heap_type_dict(type);
    const char *name = dict ? code_text(code_named(dict, "__module__")) : NULL;
    return name && strcmp(name, "__main__") == 0;
}

static struct root class_root(const py_object *type)
{
    enum code_owner owner = is_of_main(type) ? CODE_USER : code_owner(roots_class_file(type));
    return (struct root){.form = owner == CODE_OURS ? ROOT_OURS : ROOT_CLASS,
                         .cost = owner_cost(owner) + COST_HELD_BY_CODE};
}

/* ---- what an object is ---- */

static bool is_cache(const py_object *type)
{
    return strcmp(heap_type_name(type), "functools._lru_cache_wrapper") == 0;
}

/* A Context keeps its values in a tree of such nodes. */
static bool is_of_context(const py_object *type)
{
    const char *name = heap_type_name(type);
    return strcmp(name, "hamt_bitmap_node") == 0 || strcmp(name, "hamt_collision_node") == 0;
}

static struct root dict_root(py_object *dict)
{
    struct root_module namespace;
    const struct root_module *module = module_of(dict);
    if (!module && !is_namespace(dict, &namespace))
        return (struct root){.form = ROOT_NONE};
    return module_root(module ? module : &namespace);
}

/* The root that the object is by its type. */
static struct root own_root(py_object *o)
{
    const py_object *type = heap_type(o);
    if (type == py.PyDict_Type)
        return dict_root(o);
    if (heap_kind(o) == HEAP_TYPE)
        return class_root(o);
    if (type == py.PyFunction_Type)
        return code_root(ROOT_FUNCTION, py.PyFunction_GetCode(o), COST_HELD_BY_CODE);
    if (frames_is_generator(type))
        return generator_root(o);
    if (is_cache(type))
        return cache_root(o);
    if (is_of_context(type))
        return (struct root){.form = ROOT_CONTEXT, .cost = COST_HELD_BY_CODE};
    if (all->thread_class && heap_is_subtype(type, all->thread_class))
        return (struct root){.form = ROOT_THREAD, .cost = COST_THREAD};
    return (struct root){.form = ROOT_NONE};
}

/* The object's own name is better than that of any variable. */
static bool is_named_by_itself(enum root_form form)
{
    return form != ROOT_NONE && form != ROOT_THREAD && form != ROOT_HANDLED;
}

struct root roots_find(py_object *o, bool is_start)
{
    struct root own = {.form = ROOT_NONE};
    if (!is_start)
        own = own_root(o);
    if (o == all->handled)
        own = (struct root){.form = ROOT_HANDLED, .cost = COST_HELD_BY_CODE};
    const struct frame_root *variable = is_named_by_itself(own.form) ? NULL : variable_of(o);
    if (!variable || (own.form != ROOT_NONE && own.cost <= roots_variable_cost(variable)))
        return own;
    return (struct root){
        .form = ROOT_VARIABLE, .cost = roots_variable_cost(variable), .variable = variable};
}

bool roots_is_end(const struct root *root)
{
    if (root->form == ROOT_VARIABLE) /* a library's variable may also be one of the program */
        return root->cost < ROOTS_LIBRARY_COST;
    return is_named_by_itself(root->form);
}
