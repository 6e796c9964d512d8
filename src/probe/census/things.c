/* probe/census/things.c: describes an object: its kind, its type, and a tensor's facts. */
#include "probe/census/things.h"

#include "probe/base/code.h"
#include "probe/base/heap.h"

#include <stdio.h>
#include <string.h>

void things_type_name(const py_object *type, char *ret, size_t size)
{
    const char *module = NULL, *name = heap_type_name(type);
    py_object *dict = heap_type_dict(type);
    if (dict)
        module = code_text(code_named(dict, "__module__"));
    bool is_plain = !module || strchr(name, '.') || strcmp(module, "builtins") == 0 ||
                    strcmp(module, "__main__") == 0;
    snprintf(ret, size, "%s%s%s", is_plain ? "" : module, is_plain ? "" : ".", name);
}

/* ---- kinds ---- */

/* The kind of a built-in type; WIRE_THING_OTHER: not one of these. */
static enum wire_thing_kind kind_of_builtin(const py_object *type)
{
    static const struct {
        const char *name;
        enum wire_thing_kind kind;
    } types[] = {
        {"NoneType", WIRE_THING_NONE},
        {"int", WIRE_THING_NUMBER},
        {"float", WIRE_THING_NUMBER},
        {"bool", WIRE_THING_NUMBER},
        {"complex", WIRE_THING_NUMBER},
        {"str", WIRE_THING_TEXT},
        {"bytes", WIRE_THING_BYTES},
        {"bytearray", WIRE_THING_BYTES},
        {"list", WIRE_THING_LIST},
        {"tuple", WIRE_THING_TUPLE},
        {"dict", WIRE_THING_DICT},
        {"set", WIRE_THING_SET},
        {"frozenset", WIRE_THING_SET},
        {"function", WIRE_THING_FUNCTION},
        {"method", WIRE_THING_FUNCTION},
        {"method-wrapper", WIRE_THING_FUNCTION},
        {"builtin_function_or_method", WIRE_THING_FUNCTION},
        {"cell", WIRE_THING_LANGUAGE},
        {"getset_descriptor", WIRE_THING_LANGUAGE},
        {"method_descriptor", WIRE_THING_LANGUAGE},
    };
    const char *name = heap_is_builtin(type) ? heap_type_name(type) : "";
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].kind;
    return WIRE_THING_OTHER;
}

static enum wire_thing_kind kind_by_ancestors(const py_object *type)
{
    switch (heap_kind_of_type(type)) {
    case HEAP_LIST:
    case HEAP_TUPLE:
    case HEAP_DICT:
    case HEAP_SET:
    case HEAP_DEQUE:
        return WIRE_THING_CONTAINER;
    case HEAP_ARRAY:
        return WIRE_THING_ARRAY;
    case HEAP_TYPE:
        return WIRE_THING_LANGUAGE;
    default:
        break;
    }
    return heap_is_weak_reference(type) ? WIRE_THING_LANGUAGE
           : heap_is_scalar(type)       ? WIRE_THING_SCALAR
           : heap_is_foreign(type)      ? WIRE_THING_EXTENSION
                                        : WIRE_THING_OBJECT;
}

static enum wire_thing_kind kind_of(const py_object *type)
{
    enum wire_thing_kind kind = kind_of_builtin(type);
    if (kind != WIRE_THING_OTHER)
        return kind;
    return tensors_is_type(type) ? WIRE_THING_TENSOR : kind_by_ancestors(type);
}

/* ---- the description ---- */

void things_describe(const py_object *o, struct thing *ret)
{
    ret->kind = kind_of(heap_type(o));
    ret->is_read = ret->kind == WIRE_THING_TENSOR && tensors_read(o, &ret->facts);
    things_type_name(heap_type(o), ret->type, sizeof(ret->type));
}

static bool are_tensors_alike(const struct tensor_facts *a, const struct tensor_facts *b)
{
    int dims = a->dims < TENSOR_SHAPE_MOST ? a->dims : TENSOR_SHAPE_MOST;
    return strcmp(a->dtype, b->dtype) == 0 && a->dims == b->dims &&
           memcmp(a->shape, b->shape, (size_t) dims * sizeof(a->shape[0])) == 0 &&
           a->device_type == b->device_type && a->device_index == b->device_index;
}

bool things_are_alike(const struct thing *a, const struct thing *b)
{
    if (a->is_read || b->is_read)
        return a->is_read && b->is_read && are_tensors_alike(&a->facts, &b->facts);
    return a->kind == b->kind && strcmp(a->type, b->type) == 0;
}
