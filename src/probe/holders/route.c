/* probe/holders/route.c: writes the path from a root to an object. */
#include "probe/holders/route.h"

#include "probe/base/code.h"
#include "probe/base/heap.h"
#include "probe/holders/names.h"

#include <string.h>

static const char unnamed[] = "(unnamed)";

/* A path in progress. */
struct words {
    const struct route *route;
    struct holder *holder;
    struct names_text path;
    unsigned at;                   /* the object that the path has reached */
    const py_object *attribute_of; /* the class of the last owner of an attribute */
    py_object *namespace_of;       /* set if the path has reached the __dict__ of this object */
    bool has_forked;               /* from here on it is the path to one of many */
    bool is_inside;                /* the last step had no name */
    size_t link, link_length;      /* the last attribute in the path, without its star */
};

static void write_text(char *field, size_t size, const char *text)
{
    struct names_text t;
    names_begin(&t, field, size);
    names_add(&t, text);
}

static void write_function(struct holder *h, const char *text)
{
    write_text(h->function, sizeof(h->function), text);
}

static void write_file(struct holder *h, const char *text)
{
    write_text(h->file, sizeof(h->file), text ? text : "");
}

static void write_frame(struct holder *h, const struct frame_root *f)
{
    write_function(h, f->function);
    write_file(h, f->file);
    h->line = f->line;
}

static void write_code(struct holder *h, py_object *function)
{
    py_object *code = py.PyFunction_GetCode(function);
    write_function(h, code_function_name(function));
    write_file(h, code_file(code));
    h->line = code_first_line(code);
}

static py_object *object_at(const struct words *w, unsigned index)
{
    return index < w->route->count ? w->route->objects[index] : NULL;
}

/* ---- roots ---- */

static bool begin_variable(struct words *w)
{
    const struct frame_root *variable = w->route->root->variable;
    w->holder->kind = variable->is_outer ? WIRE_HOLDER_CLOSURE : WIRE_HOLDER_LOCAL;
    write_frame(w->holder, variable);
    names_add(&w->path, variable->variable[0] ? variable->variable : unnamed);
    return true;
}

static bool begin_module(struct words *w)
{
    const struct root_module *module = &w->route->root->module;
    py_object *held = object_at(w, 1);
    const char *name = held ? code_text(names_key(w->route->objects[0], held)) : NULL;
    if (!name)
        return false;
    w->holder->kind = WIRE_HOLDER_GLOBAL;
    write_file(w->holder, module->file);
    if (strcmp(module->name, "__main__") != 0) {
        names_add(&w->path, module->name);
        names_add(&w->path, ".");
    }
    names_add(&w->path, name);
    w->at = 1;
    return true;
}

static int class_line(const py_object *type)
{
    py_object *dict = heap_type_dict(type); /* only since 3.13 */
    py_object *line = dict ? code_named(dict, "__firstlineno__") : NULL;
    return line && heap_type(line) == py.PyLong_Type ? (int) py.PyLong_AsLong(line) : 0;
}

static bool begin_class(struct words *w)
{
    const py_object *type = w->route->objects[0];
    w->holder->kind = WIRE_HOLDER_CLASS;
    write_file(w->holder, roots_class_file(type));
    w->holder->line = class_line(type);
    names_add(&w->path, names_class(type));
    return true;
}

/* A tuple of variable names of a function's code, a new reference. */
static py_object *names_in(py_object *function, const char *which)
{
    return python_attribute(py.PyFunction_GetCode(function), which);
}

static ptrdiff_t index_in(py_object *tuple, const py_object *o)
{
    for (ptrdiff_t i = 0; o && i < py.PyTuple_Size(tuple); i++)
        if (py.PyTuple_GetItem(tuple, i) == o)
            return i;
    return -1;
}

static bool add_name(struct words *w, py_object *names, ptrdiff_t index)
{
    bool is_there = names && index >= 0 && index < py.PyTuple_Size(names);
    const char *name = is_there ? code_text(py.PyTuple_GetItem(names, index)) : NULL;
    if (name)
        names_add(&w->path, name);
    python_drop(names);
    return name;
}

static bool begin_closure(struct words *w, py_object *function, py_object *closure)
{
    w->holder->kind = WIRE_HOLDER_CLOSURE;
    w->at = 3; /* function, closure, cell, value */
    return w->at < w->route->count &&
           add_name(w, names_in(function, "co_freevars"), index_in(closure, object_at(w, 2)));
}

static long argument_count(py_object *function)
{
    py_object *number = python_attribute(py.PyFunction_GetCode(function), "co_argcount");
    long count = number ? py.PyLong_AsLong(number) : 0;
    python_drop(number);
    return count;
}

static bool begin_default(struct words *w, py_object *function, py_object *defaults)
{
    w->holder->kind = WIRE_HOLDER_DEFAULT;
    w->at = 2;
    ptrdiff_t index = index_in(defaults, object_at(w, 2));
    return index >= 0 && add_name(w, names_in(function, "co_varnames"),
                                  argument_count(function) - py.PyTuple_Size(defaults) + index);
}

static bool begin_keyword_default(struct words *w, py_object *defaults)
{
    w->holder->kind = WIRE_HOLDER_DEFAULT;
    w->at = 2;
    const char *name = object_at(w, 2) ? code_text(names_key(defaults, object_at(w, 2))) : NULL;
    names_add(&w->path, name ? name : "");
    return name;
}

static bool begin_function(struct words *w)
{
    py_object *function = w->route->objects[0], *held = object_at(w, 1);
    write_code(w->holder, function);
    if (held && held == py.PyFunction_GetClosure(function))
        return begin_closure(w, function, held);
    if (held && held == py.PyFunction_GetDefaults(function))
        return begin_default(w, function, held);
    if (held && held == py.PyFunction_GetKwDefaults(function))
        return begin_keyword_default(w, held);
    w->holder->kind = WIRE_HOLDER_ATTRIBUTE;
    names_add(&w->path, w->holder->function);
    return true;
}

static bool begin_cache(struct words *w)
{
    py_object *function = roots_cached_function(w->route->objects[0]);
    w->holder->kind = WIRE_HOLDER_LRU_CACHE;
    if (!function)
        return false;
    write_code(w->holder, function);
    names_add(&w->path, w->holder->function);
    w->at = w->route->count - 1; /* the arguments of the cached call do not matter */
    return true;
}

static bool begin_generator(struct words *w)
{
    struct frame_root frame;
    unsigned held = 1;
    if (object_at(w, 1) && heap_type(object_at(w, 1)) == py.PyFrame_Type)
        held = 2; /* up to 3.10 its frame lies between */
    if (!object_at(w, held) || !frames_waiting(w->route->objects[0], object_at(w, held), &frame))
        return false;
    w->holder->kind = WIRE_HOLDER_GENERATOR;
    write_frame(w->holder, &frame);
    names_add(&w->path, frame.variable[0] ? frame.variable : unnamed);
    w->at = held;
    if (frame.value && frame.value != object_at(w, held))
        w->at++; /* through a cell */
    return true;
}

/* ---- threads ---- */

/* An attribute from the object's own __dict__, borrowed; its class is not asked. */
static py_object *own_attribute(py_object *o, const char *name)
{
    py_object *dict = python_instance_dict(o);
    bool is_dict = dict && heap_type(dict) == py.PyDict_Type;
    py_object *value = is_dict ? code_named(dict, name) : NULL;
    python_drop(dict);
    return value;
}

static bool begin_thread(struct words *w)
{
    py_object *thread = w->route->objects[0], *target = own_attribute(thread, "_target");
    const char *name = code_text(own_attribute(thread, "_name"));
    w->holder->kind = WIRE_HOLDER_THREAD;
    if (target && heap_type(target) == py.PyFunction_Type)
        write_code(w->holder, target);
    names_add(&w->path, name ? name : unnamed);
    return true;
}

/* ---- contexts ---- */

struct pair_search {
    const py_object *held;
    py_object *variable; /* NULL: not found */
    bool was_held;
};

/* A node visits its values, each before its key. */
static int look_for_variable(py_object *o, void *context)
{
    struct pair_search *s = context;
    const char *type = strrchr(heap_type_name(heap_type(o)), '.');
    type = type ? type + 1 : heap_type_name(heap_type(o));
    if (s->was_held && strcmp(type, "ContextVar") == 0)
        s->variable = o;
    s->was_held = o == s->held;
    return s->variable != NULL;
}

/* By the global that is the ContextVar; else by the name that it was given. */
static bool begin_context(struct words *w)
{
    struct pair_search s = {.held = object_at(w, 1)};
    const char *name = NULL;
    heap_edges((py_object *) w->route->objects[0], look_for_variable, &s);
    if (!s.variable)
        return false;
    const struct root_module *module = roots_global_of(s.variable, &name);
    py_object *given = name ? NULL : python_attribute(s.variable, "name");
    name = given ? code_text(given) : name;
    w->holder->kind = WIRE_HOLDER_GLOBAL;
    write_file(w->holder, module ? module->file : NULL);
    names_add(&w->path, name ? name : unnamed);
    python_drop(given);
    w->at = 1;
    return true;
}

static bool begin(struct words *w)
{
    switch (w->route->root->form) {
    case ROOT_VARIABLE:
        return begin_variable(w);
    case ROOT_MODULE:
        return begin_module(w);
    case ROOT_CLASS:
        return begin_class(w);
    case ROOT_FUNCTION:
        return begin_function(w);
    case ROOT_CACHE:
        return begin_cache(w);
    case ROOT_GENERATOR:
        return begin_generator(w);
    case ROOT_THREAD:
        return begin_thread(w);
    case ROOT_CONTEXT:
        return begin_context(w);
    case ROOT_HANDLED:
        w->holder->kind = WIRE_HOLDER_EXCEPTION;
        return true;
    default:
        return false;
    }
}

/* ---- the steps of a path ---- */

static bool is_traceback_of(const py_object *owner, const py_object *held)
{
    return heap_kind(owner) == HEAP_EXCEPTION && heap_type(held) == py.PyTraceBack_Type;
}

/* The object whose attributes are in the dict that the path has reached; NULL: it is a plain dict.
 */
static py_object *owner_of_namespace(const py_object *o, py_object *namespace_of, py_object *held,
                                     enum names_step step)
{
    py_object *owner = namespace_of ? namespace_of : (py_object *) o;
    if (step == NAMES_DICT)
        return owner;
    return step == NAMES_ATTRIBUTE && names_is_part_table(owner, held) ? owner : NULL;
}

static void add_star(struct words *w)
{
    if (w->path.length > 0 && w->path.bytes[w->path.length - 1] != '*')
        names_add(&w->path, "*");
}

/* If the attribute added after `before` repeats the one before it, writes a star instead. */
static void merge_links(struct words *w, size_t before)
{
    size_t length = w->path.length - before;
    const char *path = w->path.bytes;
    if (length == w->link_length && memcmp(path + before, path + w->link, length) == 0) {
        names_take_back(&w->path, before);
        add_star(w);
    } else {
        w->link = before;
        w->link_length = length;
    }
}

/* Adds one step. Returns where to cut the path if nothing follows: for one of many, the container
 * is named. */
static size_t step_on(struct words *w, py_object *owner, py_object *held, bool is_last)
{
    size_t before = w->path.length;
    py_object *namespace_of = w->namespace_of;
    w->has_forked = w->has_forked || (w->route->is_fork[w->at] && !namespace_of);
    bool is_any = w->has_forked && !namespace_of;
    enum names_step step = names_add_step(&w->path, owner, held, namespace_of, is_any);
    if (step == NAMES_INSIDE && w->is_inside)
        names_take_back(&w->path, before); /* still inside the same object, as a reader sees it */
    w->is_inside = step == NAMES_INSIDE;
    if (step == NAMES_ATTRIBUTE) {
        w->attribute_of = heap_type(namespace_of ? namespace_of : owner);
        merge_links(w, before);
    }
    w->namespace_of = owner_of_namespace(owner, namespace_of, held, step);
    if (!is_last && w->namespace_of && step == NAMES_ATTRIBUTE) {
        names_take_back(&w->path, before); /* the part tables of a module are not written */
        w->link_length = 0;
    }
    return is_any && step == NAMES_ITEM ? before : w->path.length;
}

static void go_on(struct words *w)
{
    const struct route *r = w->route;
    size_t end = w->path.length;
    for (; w->at + 1 < r->count; w->at++) {
        py_object *owner = r->objects[w->at], *held = r->objects[w->at + 1];
        if (r->is_chain[w->at]) {
            if (!w->is_inside)
                add_star(w);
            end = w->path.length;
            continue;
        }
        if (is_traceback_of(owner, held)) {
            w->holder->kind = WIRE_HOLDER_EXCEPTION;
            break;
        }
        end = step_on(w, owner, held, w->at + 2 == r->count);
    }
    names_take_back(&w->path, end);
}

/* The class of a library is not where the program adds to it, so the holder keeps its own file. */
static void write_owner(struct words *w)
{
    bool is_free = w->holder->kind == WIRE_HOLDER_LOCAL || w->holder->kind == WIRE_HOLDER_GLOBAL;
    if (!w->attribute_of || !is_free)
        return;
    const char *file = roots_class_file(w->attribute_of);
    w->holder->kind = WIRE_HOLDER_ATTRIBUTE;
    write_function(w->holder, names_class(w->attribute_of));
    if (!file || (code_owner(file) != CODE_USER && code_owner(w->holder->file) == CODE_USER))
        return;
    write_file(w->holder, file);
    w->holder->line = class_line(w->attribute_of);
}

bool route_describe(const struct route *r, struct holder *ret)
{
    struct words w = {.route = r, .holder = ret};
    memset(ret, 0, sizeof(*ret));
    names_begin(&w.path, ret->path, sizeof(ret->path));
    if (!begin(&w))
        return false;
    go_on(&w);
    ret->is_weak = w.attribute_of && roots_is_weak(w.attribute_of);
    write_owner(&w);
    return true;
}

void route_describe_temporary(const struct frame_root *temporary, struct holder *ret)
{
    ret->kind = WIRE_HOLDER_LOCAL;
    write_frame(ret, temporary);
    write_text(ret->path, sizeof(ret->path), unnamed);
}
