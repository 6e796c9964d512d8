/* probe/hook/dataset.c: the parts of a dataset that its data workers would copy. Every call holds
 * the GIL. */
#include "probe/hook/dataset.h"

#include <string.h>

/* Objects are sampled at PLACES places of a list, SIDE_BY_SIDE neighbours each. Neighbours share
 * pages, and examining an object writes to its page. */
#define PLACES 8u
#define SIDE_BY_SIDE 8u
#define SAMPLED (PLACES * SIDE_BY_SIDE)

/* Limits for the inside of one object: items sampled, and depth. */
#define INNER_SAMPLED 16u
#define DEPTH_MOST 4u
#define WEIGHED_MOST 2048u

/* A dataset may contain others. Limits: objects examined, and depth. */
#define OWNERS_MOST 64u
#define OWNERS_DEPTH 3u

/* Smaller attributes are not worth reporting. */
#define LEAST_BYTES (4.0 * 1024 * 1024)

/* ---- written bytes of one object ---- */

#define PAGE 4096.0
#define ALIGNMENT 16.0

/* Separate memory of an object (the slots of a list, the table of a dict, the numbers of an array)
 * is not written when it is used. So these are the sizes of the objects alone, with the collector's
 * header. */
#define LIST_BYTES 64.0
#define DICT_BYTES 64.0
#define SET_BYTES 224.0
#define NUMBER_BYTES 32.0
#define OTHER_BYTES 96.0 /* the array object; measured: 103 */
/* Reference counts of a tensor are in its C++ objects too, with its few numbers between them on the
 * heap. Measured with torch 1.13 and 2: 520 to 970 bytes for 4 to 100 numbers. */
#define TENSOR_BYTES 640.0
#define TUPLE_BYTES 40.0
#define SLOT_BYTES 8.0

static double text_bytes(py_object *text)
{
    py_object *sys = python_module("sys");
    py_object *size = sys ? py.PyObject_CallMethod(sys, "getsizeof", "O", text) : NULL;
    double bytes = size ? (double) py.PyLong_AsLong(size) : OTHER_BYTES;
    python_drop(size);
    py.PyErr_Clear();
    return bytes;
}

/* The name of its class, a new reference. Read through `type`, since a metaclass may run code of
 * the program. */
static py_object *class_name(py_object *o)
{
    py_object *type = py.PyObject_Type(o), *key = py.PyUnicode_FromString("__name__");
    py_object *name = type && key ? py.PyObject_GenericGetAttr(type, key) : NULL;
    python_drop(key);
    python_drop(type);
    py.PyErr_Clear();
    return name;
}

static bool is_tensor(py_object *o)
{
    py_object *name = class_name(o);
    const char *text = name ? python_text(name) : NULL;
    bool is = text && strcmp(text, "Tensor") == 0;
    python_drop(name);
    return is;
}

static double plain_bytes(py_object *o)
{
    if (python_is(o, py.PyUnicode_Type) || python_is(o, py.PyBytes_Type))
        return text_bytes(o);
    if (python_is(o, py.PyTuple_Type))
        return TUPLE_BYTES + SLOT_BYTES * (double) py.PyTuple_Size(o);
    if (python_is(o, py.PyLong_Type) || python_is(o, py.PyFloat_Type))
        return NUMBER_BYTES;
    return python_is(o, py.PyList_Type)   ? LIST_BYTES
           : python_is(o, py.PyDict_Type) ? DICT_BYTES
           : python_is(o, py.PySet_Type)  ? SET_BYTES
           : is_tensor(o)                 ? TENSOR_BYTES
                                          : OTHER_BYTES;
}

/* The reference count is at the beginning: for a large object, one page is written. */
static double written_bytes(py_object *o)
{
    double bytes = plain_bytes(o);
    bytes += ALIGNMENT - 1;
    bytes -= (double) ((unsigned long long) bytes % (unsigned long long) ALIGNMENT);
    return bytes < PAGE ? bytes : PAGE;
}

/* ---- samples ---- */

/* Weighed objects. An object met twice in such a small sample is shared by many, such as a key or a
 * small number. It exists once for all of them, so it counts as 0. */
struct scale {
    struct {
        const py_object *object;
        double bytes;
    } weighed[WEIGHED_MOST];
    unsigned count;
};

/* True: the object is new. */
static bool weigh(struct scale *s, py_object *o, double weight)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->weighed[i].object == o) {
            s->weighed[i].bytes = 0;
            return false;
        }
    if (s->count == WEIGHED_MOST)
        return false;
    s->weighed[s->count].object = o;
    s->weighed[s->count++].bytes = weight * written_bytes(o);
    return true;
}

static void weigh_inside(struct scale *s, py_object *o, double weight, unsigned most,
                         unsigned depth);

/* Holds a reference meanwhile: our allocations may start a collection, which may run any code. */
static void weigh_all(struct scale *s, py_object *o, double weight, unsigned depth)
{
    if (!o)
        return;
    py.Py_IncRef(o);
    if (weigh(s, o, weight))
        weigh_inside(s, o, weight, INNER_SAMPLED, depth + 1);
    py.Py_DecRef(o);
}

typedef py_object *item_at(py_object *sequence, ptrdiff_t index);

static void weigh_sequence(struct scale *s, py_object *o, ptrdiff_t size, item_at *item,
                           double weight, unsigned most, unsigned depth)
{
    ptrdiff_t sampled = size < (ptrdiff_t) most ? size : (ptrdiff_t) most;
    ptrdiff_t groups = sampled / (ptrdiff_t) SIDE_BY_SIDE;
    for (ptrdiff_t i = 0; i < sampled; i++) {
        ptrdiff_t group = i / (ptrdiff_t) SIDE_BY_SIDE, within = i % (ptrdiff_t) SIDE_BY_SIDE;
        ptrdiff_t index = sampled == size ? i : group * (size / groups) + within;
        weigh_all(s, item(o, index), weight * (double) size / (double) sampled, depth);
    }
}

static void weigh_dict(struct scale *s, py_object *o, double weight, unsigned most, unsigned depth)
{
    ptrdiff_t size = py.PyDict_Size(o), position = 0;
    ptrdiff_t sampled = size < (ptrdiff_t) most ? size : (ptrdiff_t) most;
    double each = weight * (double) size / (double) sampled;
    py_object *key, *value;
    for (ptrdiff_t i = 0; i < sampled && py.PyDict_Next(o, &position, &key, &value); i++) {
        py.Py_IncRef(key);
        py.Py_IncRef(value);
        weigh_all(s, key, each, depth);
        weigh_all(s, value, each, depth);
        py.Py_DecRef(key);
        py.Py_DecRef(value);
    }
}

static void weigh_set(struct scale *s, py_object *o, double weight, unsigned most, unsigned depth)
{
    ptrdiff_t size = py.PySet_Size(o);
    ptrdiff_t sampled = size < (ptrdiff_t) most ? size : (ptrdiff_t) most;
    py_object *iterator = py.PyObject_GetIter(o), *item;
    for (ptrdiff_t i = 0; iterator && i < sampled && (item = py.PyIter_Next(iterator)); i++) {
        weigh_all(s, item, weight * (double) size / (double) sampled, depth);
        python_drop(item);
    }
    python_drop(iterator);
}

/* Weighs a sample of at most `most` items of exact lists, tuples, dicts and sets. */
static void weigh_inside(struct scale *s, py_object *o, double weight, unsigned most,
                         unsigned depth)
{
    if (depth > DEPTH_MOST)
        return;
    if (python_is(o, py.PyList_Type))
        weigh_sequence(s, o, py.PyList_Size(o), py.PyList_GetItem, weight, most, depth);
    else if (python_is(o, py.PyTuple_Type))
        weigh_sequence(s, o, py.PyTuple_Size(o), py.PyTuple_GetItem, weight, most, depth);
    else if (python_is(o, py.PyDict_Type))
        weigh_dict(s, o, weight, most, depth);
    else if (python_is(o, py.PySet_Type))
        weigh_set(s, o, weight, most, depth);
}

static double bytes_inside(py_object *o)
{
    static struct scale s; /* too large for a stack; the GIL is held */
    double bytes = 0;
    s.count = 0;
    weigh_inside(&s, o, 1, SAMPLED, 0);
    for (unsigned i = 0; i < s.count; i++)
        bytes += s.weighed[i].bytes;
    return bytes;
}

/* ---- the attributes ---- */

struct walk {
    dataset_found *found;
    unsigned owners;
};

static const char *container_name(py_object *o)
{
    return python_is(o, py.PyList_Type)    ? "list"
           : python_is(o, py.PyDict_Type)  ? "dict"
           : python_is(o, py.PyTuple_Type) ? "tuple"
           : python_is(o, py.PySet_Type)   ? "set"
                                           : NULL;
}

static void report_container(struct walk *w, py_object *owner, const char *name, py_object *o)
{
    double bytes = bytes_inside(o);
    if (bytes < LEAST_BYTES)
        return;
    py_object *class = class_name(owner);
    const char *text = class ? python_text(class) : NULL;
    w->found(container_name(o), text ? text : "", name, bytes);
    python_drop(class);
}

static void walk_owner(struct walk *w, py_object *owner, unsigned depth);

/* ConcatDataset and similar classes of torch keep a list of datasets. */
static void walk_list(struct walk *w, py_object *list, unsigned depth)
{
    for (ptrdiff_t i = 0; i < py.PyList_Size(list) && w->owners < OWNERS_MOST; i++) {
        py_object *one = py.PyList_GetItem(list, i);
        py.Py_IncRef(one);
        walk_owner(w, one, depth);
        py.Py_DecRef(one);
    }
}

static void walk_attribute(struct walk *w, py_object *owner, const char *name, py_object *o,
                           unsigned depth)
{
    py.Py_IncRef(o);
    if (container_name(o))
        report_container(w, owner, name, o);
    if (python_is(o, py.PyList_Type) && strcmp(name, "datasets") == 0)
        walk_list(w, o, depth);
    else
        walk_owner(w, o, depth);
    py.Py_DecRef(o);
}

static void walk_owner(struct walk *w, py_object *owner, unsigned depth)
{
    if (depth > OWNERS_DEPTH || w->owners == OWNERS_MOST)
        return;
    py_object *dict = python_instance_dict(owner), *key, *value;
    if (!dict)
        return;
    w->owners++;
    ptrdiff_t position = 0;
    while (python_is(dict, py.PyDict_Type) && py.PyDict_Next(dict, &position, &key, &value)) {
        py.Py_IncRef(key);
        const char *name = python_is(key, py.PyUnicode_Type) ? python_text(key) : NULL;
        if (name)
            walk_attribute(w, owner, name, value, depth + 1);
        py.Py_DecRef(key);
    }
    python_drop(dict);
}

py_object *dataset_of(py_object *iterator)
{
    py_object *dict = python_instance_dict(iterator), *dataset = NULL;
    py_object *workers = dict ? py.PyDict_GetItemString(dict, "_num_workers") : NULL;
    if (workers && python_is(workers, py.PyLong_Type) && py.PyLong_AsLong(workers) > 0)
        dataset = py.PyDict_GetItemString(dict, "_dataset");
    py.PyErr_Clear();
    python_drop(dict);
    return dataset; /* the iterator holds it */
}

void dataset_weigh(py_object *iterator, dataset_found *found)
{
    struct walk w = {.found = found};
    py_object *dataset = dataset_of(iterator);
    if (dataset)
        walk_owner(&w, dataset, 0);
}
