/* probe/holders/names.c: writes the step from a holder to what it holds as Python would. */
#include "probe/holders/names.h"

#include "probe/base/code.h"
#include "probe/base/frames.h"
#include "probe/base/heap.h"

#include <stdio.h>
#include <string.h>

#define KEY_MOST 48u /* bytes shown of a key or a name */

/* ---- texts ---- */

static const char ellipsis[] = "...";

void names_begin(struct names_text *t, char *bytes, size_t size)
{
    *t = (struct names_text){.bytes = bytes, .size = size};
    bytes[0] = '\0';
}

static bool is_within_character(char c)
{
    return ((unsigned char) c & 0xc0) == 0x80;
}

/* How many bytes fit into `most` without cutting a character. */
static size_t whole_characters(const char *text, size_t most)
{
    size_t length = strnlen(text, most + 1);
    if (length <= most)
        return length;
    while (most > 0 && is_within_character(text[most]))
        most--;
    return most;
}

static void append(struct names_text *t, const char *text, size_t length)
{
    memcpy(t->bytes + t->length, text, length);
    t->length += length;
    t->bytes[t->length] = '\0';
}

void names_add(struct names_text *t, const char *text)
{
    if (t->is_cut)
        return;
    size_t room = t->size - t->length - 1, length = strlen(text);
    if (length + sizeof(ellipsis) <= room) {
        append(t, text, length);
        return;
    }
    t->is_cut = true;
    if (room >= sizeof(ellipsis)) {
        append(t, text, whole_characters(text, room - sizeof(ellipsis)));
        append(t, ellipsis, sizeof(ellipsis) - 1);
    }
}

void names_take_back(struct names_text *t, size_t length)
{
    if (t->is_cut)
        return;
    t->length = length;
    t->bytes[length] = '\0';
}

/* Adds a key or a name. Long ones are truncated on their own, so that the rest stays visible. */
static void add_short(struct names_text *t, const char *text)
{
    char shown[KEY_MOST + sizeof(ellipsis)];
    size_t length = whole_characters(text, KEY_MOST);
    memcpy(shown, text, length);
    memcpy(shown + length, ellipsis, sizeof(ellipsis));
    if (!text[length])
        shown[length] = '\0';
    names_add(t, shown);
}

/* ---- classes ---- */

const char *names_class(const py_object *type)
{
    const char *name = heap_type_name(type), *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Offset of PyMemberDescrObject.d_member, and what it points to: name, type, offset. */
#define DESCRIPTOR_MEMBER 40
struct member {
    const char *name;
    int type;
    ptrdiff_t offset;
};
enum { MEMBER_OBJECT = 6, MEMBER_SLOT = 16 };

/* The name of the slot that this descriptor describes, if `owner` holds `held` in it. */
static const char *slot_with(py_object *descriptor, const py_object *owner, const py_object *held)
{
    const struct member *m;
    const py_object *value;
    if (heap_type(descriptor) != py.PyMemberDescr_Type)
        return NULL;
    memcpy(&m, (const char *) descriptor + DESCRIPTOR_MEMBER, sizeof(m));
    if (m->type != MEMBER_OBJECT && m->type != MEMBER_SLOT)
        return NULL;
    memcpy(&value, (const char *) owner + m->offset, sizeof(value));
    return value == held ? m->name : NULL;
}

static const char *slot_of_class(const py_object *class, const py_object *owner,
                                 const py_object *held)
{
    py_object *dict = heap_type_dict(class), *key, *value;
    ptrdiff_t position = 0;
    while (dict && py.PyDict_Next(dict, &position, &key, &value)) {
        const char *name = slot_with(value, owner, held);
        if (name)
            return name;
    }
    return NULL;
}

static const char *slot_of(const py_object *owner, const py_object *held)
{
    py_object *order = heap_type_order(heap_type(owner));
    ptrdiff_t count = order ? py.PyTuple_Size(order) : 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        const char *name = slot_of_class(py.PyTuple_GetItem(order, i), owner, held);
        if (name)
            return name;
    }
    return NULL;
}

/* ---- dicts ---- */

py_object *names_key(py_object *dict, const py_object *held)
{
    ptrdiff_t position = 0;
    py_object *key, *value;
    while (py.PyDict_Next(dict, &position, &key, &value))
        if (value == held)
            return key;
    return NULL;
}

/* Borrowed: the object holds it. */
static py_object *dict_of(py_object *o)
{
    if (heap_kind(o) == HEAP_TYPE)
        return heap_type_dict(o);
    py_object *dict = py.PyObject_GenericGetDict(o, NULL);
    py.PyErr_Clear();
    python_drop(dict);
    return dict && heap_kind(dict) == HEAP_DICT ? dict : NULL;
}

/* The attribute of `owner` whose value is `held`, borrowed from its class or dict; NULL: none. */
static const char *attribute_of(py_object *owner, const py_object *held)
{
    py_object *dict = dict_of(owner);
    const char *name = dict ? code_text(names_key(dict, held)) : NULL;
    return name ? name : slot_of(owner, held);
}

static void add_key(struct names_text *t, py_object *key)
{
    char number[32];
    const char *text = code_text(key);
    if (text) {
        names_add(t, "[\"");
        add_short(t, text);
        names_add(t, "\"]");
        return;
    }
    long value = key && heap_type(key) == py.PyLong_Type ? py.PyLong_AsLong(key) : -1;
    if (!key || heap_type(key) != py.PyLong_Type || py.PyErr_Occurred()) {
        py.PyErr_Clear();
        names_add(t, "[...]");
        return;
    }
    snprintf(number, sizeof(number), "[%ld]", value);
    names_add(t, number);
}

static void add_attribute(struct names_text *t, const char *name)
{
    names_add(t, ".");
    add_short(t, name);
}

/* ---- lists and tuples ---- */

static ptrdiff_t index_of(py_object *owner, const py_object *held, enum heap_kind kind)
{
    ptrdiff_t count = heap_length(owner);
    for (ptrdiff_t i = 0; i < count; i++)
        if ((kind == HEAP_LIST ? py.PyList_GetItem(owner, i) : py.PyTuple_GetItem(owner, i)) ==
            held)
            return i;
    return -1;
}

/* The field names of a namedtuple; NULL: a plain tuple. */
static py_object *field_names(const py_object *type)
{
    py_object *order = heap_type_order(type);
    ptrdiff_t count = order && type != py.PyTuple_Type ? py.PyTuple_Size(order) : 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        py_object *dict = heap_type_dict(py.PyTuple_GetItem(order, i));
        py_object *fields = dict ? code_named(dict, "_fields") : NULL;
        if (fields)
            return heap_type(fields) == py.PyTuple_Type ? fields : NULL;
    }
    return NULL;
}

static enum names_step add_index(struct names_text *t, const py_object *owner, ptrdiff_t index)
{
    char number[32];
    py_object *fields = field_names(heap_type(owner));
    const char *name = fields && index < py.PyTuple_Size(fields)
                           ? code_text(py.PyTuple_GetItem(fields, index))
                           : NULL;
    if (name) {
        add_attribute(t, name);
        return NAMES_ATTRIBUTE;
    }
    snprintf(number, sizeof(number), "[%td]", index);
    names_add(t, number);
    return NAMES_ITEM;
}

/* ---- steps ---- */

static bool is_container(enum heap_kind kind)
{
    return kind == HEAP_LIST || kind == HEAP_TUPLE || kind == HEAP_DICT || kind == HEAP_SET ||
           kind == HEAP_DEQUE;
}

/* Adds an index or a key. False: `owner` is no such container, or the place is not found. */
static bool add_item(struct names_text *t, py_object *owner, py_object *held,
                     enum names_step *ret_step)
{
    enum heap_kind kind = heap_kind(owner);
    if (kind == HEAP_LIST || kind == HEAP_TUPLE) {
        ptrdiff_t index = index_of(owner, held, kind);
        if (index >= 0)
            *ret_step = add_index(t, owner, index);
        return index >= 0;
    }
    py_object *key = kind == HEAP_DICT ? names_key(owner, held) : NULL;
    if (key)
        add_key(t, key);
    *ret_step = NAMES_ITEM;
    return key;
}

static bool add_variable(struct names_text *t, py_object *frame, const py_object *held)
{
    struct frame_root found;
    if (heap_type(frame) != py.PyFrame_Type || !frames_waiting(frame, held, &found) ||
        !found.variable[0])
        return false;
    names_add(t, ".f_locals[\"");
    add_short(t, found.variable);
    names_add(t, "\"]");
    return true;
}

/* A tensor keeps its hooks in C++. */
static bool are_hooks(const py_object *owner, const py_object *held)
{
    const py_object *tensor = code_class("torch", "Tensor");
    return tensor && heap_is_subtype(heap_type(owner), tensor) &&
           strcmp(heap_type_name(heap_type(held)), "collections.OrderedDict") == 0;
}

/* For a step without a name. */
static enum names_step add_inside(struct names_text *t, py_object *owner, const py_object *held)
{
    if (is_container(heap_kind(owner))) {
        names_add(t, "[...]");
        return NAMES_ITEM;
    }
    if (are_hooks(owner, held)) {
        add_attribute(t, "_backward_hooks");
        return NAMES_ATTRIBUTE;
    }
    if (add_variable(t, owner, held))
        return NAMES_ITEM;
    names_add(t, ".(");
    add_short(t, names_class(heap_type(owner)));
    names_add(t, ")");
    return NAMES_INSIDE;
}

/* The parts of a torch.nn.Sequential are named "0", "1". */
static void add_part_number(struct names_text *t, const char *number)
{
    names_add(t, "[");
    names_add(t, number);
    names_add(t, "]");
}

static enum names_step add_in_namespace(struct names_text *t, py_object *dict, py_object *held)
{
    const char *name = code_text(names_key(dict, held));
    if (!name && heap_kind(held) == HEAP_DICT)
        return NAMES_DICT; /* one thread's dict */
    if (name && name[0] && strspn(name, "0123456789") == strlen(name))
        add_part_number(t, name);
    else
        add_attribute(t, name ? name : "(...)");
    return NAMES_ATTRIBUTE;
}

/* A threading.local keeps its attributes in a dict of dicts, one per thread. */
static bool is_of_threads(py_object *owner, py_object *held)
{
    return heap_kind(held) == HEAP_DICT &&
           strcmp(heap_type_name(heap_type(owner)), "_thread._local") == 0;
}

static bool is_torch_module(const py_object *type)
{
    py_object *order = heap_type_order(type);
    ptrdiff_t count = order ? py.PyTuple_Size(order) : 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        py_object *class = py.PyTuple_GetItem(order, i), *dict = heap_type_dict(class);
        if (strcmp(names_class(class), "Module") != 0 || !dict)
            continue;
        const char *module = code_text(code_named(dict, "__module__"));
        if (module && strcmp(module, "torch.nn.modules.module") == 0)
            return true;
    }
    return false;
}

bool names_is_part_table(py_object *owner, const py_object *held)
{
    static const char *const tables[] = {"_modules", "_parameters", "_buffers"};
    if (heap_kind(held) != HEAP_DICT || !is_torch_module(heap_type(owner)))
        return false;
    const char *name = attribute_of(owner, held);
    for (int i = 0; name && i < 3; i++)
        if (strcmp(name, tables[i]) == 0)
            return true;
    return false;
}

enum names_step names_add_step(struct names_text *t, py_object *owner, py_object *held,
                               bool is_namespace, bool is_any)
{
    enum names_step step;
    if (is_namespace)
        return add_in_namespace(t, owner, held);
    if (is_any && is_container(heap_kind(owner))) {
        names_add(t, "[...]");
        return NAMES_ITEM;
    }
    if (add_item(t, owner, held, &step))
        return step;
    if (dict_of(owner) == held || is_of_threads(owner, held))
        return NAMES_DICT;
    const char *name = attribute_of(owner, held);
    if (!name)
        return add_inside(t, owner, held);
    add_attribute(t, name);
    return NAMES_ATTRIBUTE;
}
