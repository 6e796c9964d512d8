/* probe/base/heap.c: walks the collector's lists and reads objects by their layout. */
#include "probe/base/heap.h"

#include "probe/base/pieces.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* ---- layouts unchanged since 3.9 ---- */

struct head { /* PyGC_Head, before every tracked object */
    uintptr_t next, prev;
};

#define HEAD_FLAGS ((uintptr_t) 3) /* in `prev` */

struct generation {
    struct head head;
    int threshold, count;
};

typedef int traverse(py_object *o, heap_edge_visitor *visit, void *context);

struct object { /* PyVarObject */
    ptrdiff_t references;
    struct type *type;
    ptrdiff_t size;
};

struct type { /* PyTypeObject, to its method resolution order */
    struct object base;
    const char *name;
    ptrdiff_t basic_size, item_size;
    void (*free)(py_object *o); /* tp_dealloc */
    void *slots_a[14];
    unsigned long flags;
    const char *doc;
    traverse *traverse;
    void *slots_b[8];
    struct type *parent;
    py_object *dict;
    void *slots_c[7];
    int (*is_collected)(py_object *o); /* NULL: all of them */
    py_object *bases, *mro;
};

_Static_assert(offsetof(struct type, flags) == 168, "PyTypeObject.tp_flags");
_Static_assert(offsetof(struct type, traverse) == 184, "PyTypeObject.tp_traverse");
_Static_assert(offsetof(struct type, parent) == 256, "PyTypeObject.tp_base");
_Static_assert(offsetof(struct type, mro) == 344, "PyTypeObject.tp_mro");

enum type_flag {
    FLAG_ON_HEAP = 1ul << 9,
    FLAG_COLLECTED = 1ul << 14,
    FLAG_INT = 1ul << 24,
    FLAG_LIST = 1ul << 25,
    FLAG_TUPLE = 1ul << 26,
    FLAG_BYTES = 1ul << 27,
    FLAG_TEXT = 1ul << 28,
    FLAG_DICT = 1ul << 29,
    FLAG_EXCEPTION = 1ul << 30,
    FLAG_TYPE = 1ul << 31,
};

#define FLAGS_OF_KINDS                                                                             \
    (FLAG_INT | FLAG_LIST | FLAG_TUPLE | FLAG_BYTES | FLAG_TEXT | FLAG_DICT | FLAG_EXCEPTION |     \
     FLAG_TYPE)

struct list {
    struct object base;
    py_object **items;
    ptrdiff_t allocated;
};

struct set {
    py_object *base[2];
    ptrdiff_t fill, used, mask;
    void *table;
    ptrdiff_t hash, finger;
    void *small_table[1];
};

struct byte_array {
    struct object base;
    ptrdiff_t allocated;
};

struct array { /* PyArrayObject of numpy */
    py_object *base[2];
    char *data;
    int dimensions;
    ptrdiff_t *shape, *strides;
    py_object *owner; /* the object that owns the memory; NULL: this array does */
    py_object *dtype;
    int flags;
};

struct numbers { /* arrayobject of the module `array` */
    struct object base;
    void *items;
    ptrdiff_t allocated;
    const struct {
        char code;
        int size;
    } * kind;
};

struct array_type { /* PyArray_Descr */
    py_object *base[2];
    py_object *scalar;
    char kind, code;
};

#define ARRAY_C_ORDER 1
#define ARRAY_FORTRAN_ORDER 2

/* ---- learned facts ---- */

typedef int visit_callback(py_object *o, void *context);
typedef void visit_objects(visit_callback *callback, void *context);
typedef ptrdiff_t dict_size(const py_object *dict);
typedef py_object *type_dict(const py_object *type);

static struct {
    struct generation *generations; /* three, the youngest first; NULL: use `visit_objects` */
    struct generation *frozen;      /* objects set aside by gc.freeze() */
    visit_objects *visit_objects;   /* since 3.12 */
    dict_size *dict_size;           /* NULL: not exported */
    type_dict *type_dict;           /* since 3.12, a new reference */
    const struct type *set, *frozen_set, *byte_array, *deque;
    size_t deque_most;        /* offset of maxlen in a deque; 0: not known */
    const struct type *cache; /* of functools.lru_cache */
    size_t cache_most;
    const struct type *bytes_file, *text_file; /* io.BytesIO, io.StringIO */
    size_t bytes_file_at, text_file_at;        /* offset of their length */
    const struct type *numbers;                /* array.array; NULL: not imported, or not known */
    size_t text_head;                          /* of an ASCII str */
    uintptr_t code_begin, code_end;            /* the mapping of the interpreter's own functions */
} known;

static const struct object *as_object(const py_object *o)
{
    return (const struct object *) o;
}

static struct head *head_of(const py_object *o)
{
    return (struct head *) o - 1;
}

static struct head *before(const struct head *h)
{
    return (struct head *) (h->prev & ~HEAD_FLAGS); /* NOLINT(performance-no-int-to-ptr) */
}

static struct head *after(const struct head *h)
{
    return (struct head *) (h->next & ~HEAD_FLAGS); /* NOLINT(performance-no-int-to-ptr) */
}

static void *symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* ---- finding the collector's lists ---- */

/* How far to search in the interpreter's state: less than its size in any version. */
#define STATE_BYTES_OLD 4096u /* to 3.11 */
#define STATE_BYTES 65536u

/* The list in the interpreter's state whose last object is `newest`. */
static struct generation *find_youngest(const py_object *newest, size_t most_bytes)
{
    char *state = py.PyInterpreterState_Get();
    const struct head *h = head_of(newest);
    for (size_t at = 0; state && at + 4 * sizeof(struct generation) < most_bytes;
         at += sizeof(uintptr_t)) {
        struct generation *g = (struct generation *) (state + at);
        if (before(&g->head) == h && after(h) == &g->head)
            return g;
    }
    return NULL;
}

static bool is_list(const struct head *h)
{
    return h->next && h->prev && before(after(h)) == h && after(before(h)) == h;
}

/* Up to 3.13 a pointer to the first list lies between the three generations and the frozen objects.
 */
static bool take_lists(struct generation *youngest)
{
    struct generation *frozen =
        (struct generation *) ((char *) (youngest + 3) + sizeof(struct generation *));
    if (!is_list(&youngest[1].head) || !is_list(&youngest[2].head) || !is_list(&frozen->head))
        return false;
    known.generations = youngest;
    known.frozen = frozen;
    return true;
}

static bool find_lists(int minor)
{
    py_object *newest = py.PyList_New(0);
    struct generation *youngest =
        newest ? find_youngest(newest, minor <= 11 ? STATE_BYTES_OLD : STATE_BYTES) : NULL;
    bool found = youngest && take_lists(youngest);
    python_drop(newest);
    return found;
}

/* ---- learning ---- */

/* To find the offset of the limit, make a deque with an unlikely limit and search for the number in
 * its memory. */
#define UNLIKELY 0x5a17e5

/* The type of that object, and the offset of the limit in it. */
static const struct type *learn_limit(py_object *one, size_t *ret_at)
{
    if (!one)
        return NULL;
    const struct type *type = as_object(one)->type;
    for (ptrdiff_t at = sizeof(struct object); at < type->basic_size; at += 8)
        if (*(ptrdiff_t *) ((char *) one + at) == UNLIKELY)
            *ret_at = (size_t) at;
    return type;
}

static void learn_deque(void)
{
    py_object *module = python_module("_collections"); /* written in C */
    py_object *type = module ? python_attribute(module, "deque") : NULL;
    py_object *one = type ? py.PyObject_CallFunction(type, "((i)i)", 1, UNLIKELY) : NULL;
    known.deque = learn_limit(one, &known.deque_most);
    py.PyErr_Clear();
    python_drop(one);
    python_drop(type);
}

static void learn_cache(void)
{
    py_object *module = python_module("_functools"); /* in C: runs no line of Python */
    py_object *type = module ? python_attribute(module, "_lru_cache_wrapper") : NULL;
    py_object *one = type ? py.PyObject_CallFunction(type, "OiiO", type, UNLIKELY, 0, type) : NULL;
    known.cache = learn_limit(one, &known.cache_most);
    py.PyErr_Clear();
    python_drop(one);
    python_drop(type);
}

/* To find the offset of the length, make a file with an unlikely length and search for the number.
 */
#define UNLIKELY_LENGTH 3571

static const struct type *learn_file(const char *name, py_object *content, size_t *ret_at)
{
    py_object *module = python_module("_io"); /* written in C */
    py_object *type = module ? python_attribute(module, name) : NULL;
    py_object *one = type && content ? py.PyObject_CallFunction(type, "O", content) : NULL;
    const struct type *found = NULL;
    for (size_t at = sizeof(struct object); one && !found; at += sizeof(ptrdiff_t)) {
        if (at + sizeof(ptrdiff_t) > (size_t) as_object(one)->type->basic_size)
            break;
        if (*(ptrdiff_t *) ((char *) one + at) == UNLIKELY_LENGTH) {
            found = as_object(one)->type;
            *ret_at = at;
        }
    }
    py.PyErr_Clear();
    python_drop(one);
    python_drop(type);
    python_drop(content);
    return found;
}

static void learn_files(void)
{
    char text[UNLIKELY_LENGTH + 1];
    memset(text, 'x', UNLIKELY_LENGTH);
    text[UNLIKELY_LENGTH] = '\0';
    known.bytes_file = learn_file(
        "BytesIO", py.PyByteArray_FromStringAndSize(text, UNLIKELY_LENGTH), &known.bytes_file_at);
    known.text_file = learn_file("StringIO", py.PyUnicode_FromString(text), &known.text_file_at);
}

/* Make an array with a known item and length, and check that both are where this layout says. */
static void learn_numbers(void)
{
    py_object *module = python_module("array");
    py_object *type = module ? python_attribute(module, "array") : NULL;
    py_object *one = type ? py.PyObject_CallFunction(type, "s(i)", "d", UNLIKELY) : NULL;
    const struct numbers *n = (const struct numbers *) one;
    if (n && n->base.size == 1 && n->allocated >= 1 && n->allocated < 64 &&
        *(const double *) n->items == UNLIKELY && n->kind->code == 'd' &&
        n->kind->size == (int) sizeof(double))
        known.numbers = n->base.type;
    py.PyErr_Clear();
    python_drop(one);
    python_drop(type);
}

static void learn_texts(void)
{
    py_object *text = py.PyUnicode_FromString("x");
    const char *bytes = text ? python_text(text) : NULL;
    if (bytes)
        known.text_head = (size_t) (bytes - (const char *) text);
    python_drop(text);
}

/* The address range of the mapped file that contains the function. */
static int learn_code_of(struct dl_phdr_info *file, size_t size, void *context)
{
    uintptr_t begin = UINTPTR_MAX, end = 0, function = *(const uintptr_t *) context;
    (void) size;
    for (unsigned i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        uintptr_t from = file->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        begin = from < begin ? from : begin;
        end = from + part->p_memsz > end ? from + part->p_memsz : end;
    }
    if (function < begin || function >= end)
        return 0;
    known.code_begin = begin;
    known.code_end = end;
    return 1;
}

static void learn_code(void)
{
    uintptr_t function = (uintptr_t) symbol("PyObject_GC_Del");
    dl_iterate_phdr(learn_code_of, &function);
}

static bool learn(void)
{
    int minor = python_minor_version();
    void *address = symbol("PyUnstable_GC_VisitObjects");
    memcpy(&known.visit_objects, &address, sizeof(address));
    address = symbol("_PyDict_SizeOf");
    memcpy(&known.dict_size, &address, sizeof(address));
    address = symbol("PyType_GetDict");
    memcpy(&known.type_dict, &address, sizeof(address));
    known.set = symbol("PySet_Type");
    known.frozen_set = symbol("PyFrozenSet_Type");
    known.byte_array = symbol("PyByteArray_Type");
    learn_deque();
    learn_cache();
    learn_files();
    learn_texts();
    learn_code();
    bool by_lists = minor >= 9 && minor <= 13 && find_lists(minor);
    if (by_lists && known.text_file)
        pieces_learn((py_object *) known.text_file, (size_t) known.text_file->basic_size);
    return by_lists || (known.visit_objects && minor <= 14);
}

bool heap_learn(void)
{
    static enum { UNKNOWN, LEARNT, IMPOSSIBLE } state = UNKNOWN;
    if (state == UNKNOWN)
        state = python_find() && learn() ? LEARNT : IMPOSSIBLE;
    if (state == LEARNT && !known.deque)
        learn_deque(); /* `collections` was imported later */
    if (state == LEARNT && !known.cache)
        learn_cache();
    if (state == LEARNT && !known.numbers)
        learn_numbers();
    return state == LEARNT;
}

/* ---- walking ---- */

static bool visit_list(const struct head *list, heap_visitor *visit, void *context)
{
    for (const struct head *h = after(list), *next; h != list; h = next) {
        next = after(h);
        __builtin_prefetch(next);
        if (!visit((py_object *) (h + 1), context))
            return false;
    }
    return true;
}

struct visit {
    heap_visitor *visit;
    void *context;
};

static int visit_one(py_object *o, void *context)
{
    const struct visit *v = context;
    return v->visit(o, v->context);
}

void heap_visit(heap_visitor *visit, void *context)
{
    if (!known.generations) {
        known.visit_objects(visit_one, &(struct visit){visit, context});
        return;
    }
    if (!visit_list(&known.frozen->head, visit, context))
        return;
    for (int i = 2; i >= 0; i--)
        if (!visit_list(&known.generations[i].head, visit, context))
            return;
}

static bool visit_list_back(const struct head *list, heap_visitor *visit, void *context)
{
    for (const struct head *h = before(list); h != list; h = before(h))
        if (!visit((py_object *) (h + 1), context))
            return false;
    return true;
}

void heap_visit_back(heap_visitor *visit, void *context)
{
    if (!known.generations) {
        heap_visit(visit, context);
        return;
    }
    for (int i = 0; i < 3; i++)
        if (!visit_list_back(&known.generations[i].head, visit, context))
            return;
    visit_list_back(&known.frozen->head, visit, context);
}

/* A type may opt out of collection (tp_is_gc); traversing such an object would crash. */
bool heap_has_edges(const py_object *o)
{
    const struct type *t = as_object(o)->type;
    return t->traverse && (!t->is_collected || t->is_collected((py_object *) o));
}

void heap_edges(py_object *o, heap_edge_visitor *visit, void *context)
{
    if (heap_has_edges(o))
        as_object(o)->type->traverse(o, visit, context);
    if (as_object(o)->type == known.text_file) /* its tp_traverse omits its lists */
        pieces_visit(o, visit, context);
}

/* ---- what an object is ---- */

py_object *heap_type(const py_object *o)
{
    return (py_object *) as_object(o)->type;
}

const char *heap_type_name(const py_object *type)
{
    return ((const struct type *) type)->name;
}

bool heap_is_foreign(const py_object *type)
{
    for (const struct type *t = (const struct type *) type; t && known.code_end > 0;
         t = t->parent) {
        uintptr_t code = (uintptr_t) t->free;
        if (code < known.code_begin || code >= known.code_end)
            return true;
    }
    return false;
}

/* numpy.void is a number by its base classes, but it is a record and may hold objects. */
bool heap_is_scalar(const py_object *type)
{
    for (const struct type *t = (const struct type *) type; t; t = t->parent) {
        if (t->flags & FLAG_ON_HEAP || strcmp(t->name, "numpy.void") == 0)
            return false;
        if (strcmp(t->name, "numpy.generic") == 0 || strncmp(t->name, "datetime.", 9) == 0 ||
            strcmp(t->name, "decimal.Decimal") == 0)
            return true;
    }
    return false;
}

bool heap_is_builtin(const py_object *type)
{
    return !(((const struct type *) type)->flags & FLAG_ON_HEAP);
}

/* "weakref" or "weakref.ReferenceType", depending on the version. */
bool heap_is_weak_reference(const py_object *type)
{
    for (const struct type *t = (const struct type *) type; t; t = t->parent)
        if (!(t->flags & FLAG_ON_HEAP) && strncmp(t->name, "weakref", 7) == 0)
            return true;
    return false;
}

bool heap_is_subtype(const py_object *type, const py_object *base)
{
    const py_object *mro = ((const struct type *) type)->mro;
    for (const struct type *t = (const struct type *) type; t; t = t->parent)
        if ((const py_object *) t == base)
            return true;
    ptrdiff_t count = mro ? as_object(mro)->size : 0;
    for (ptrdiff_t i = 0; i < count; i++)
        if (((py_object *const *) ((const struct object *) mro + 1))[i] == base)
            return true;
    return false;
}

py_object *heap_type_dict(const py_object *type)
{
    if (!known.type_dict)
        return ((const struct type *) type)->dict;
    py_object *dict = known.type_dict(type);
    python_drop(dict); /* the type holds it */
    return dict;
}

py_object *heap_type_order(const py_object *type)
{
    return ((const struct type *) type)->mro;
}

bool heap_is_tracked(const py_object *o)
{
    return (as_object(o)->type->flags & FLAG_COLLECTED) && head_of(o)->next != 0;
}

ptrdiff_t heap_references(const py_object *o)
{
    return as_object(o)->references;
}

/* Only numpy's own type: a class of the program with this name would be a heap type. */
static bool is_array(const struct type *t)
{
    return t->basic_size >= (ptrdiff_t) sizeof(struct array) && !(t->flags & FLAG_ON_HEAP) &&
           strcmp(t->name, "numpy.ndarray") == 0;
}

static enum heap_kind kind_by_flags(unsigned long flags)
{
    return flags & FLAG_LIST        ? HEAP_LIST
           : flags & FLAG_TUPLE     ? HEAP_TUPLE
           : flags & FLAG_DICT      ? HEAP_DICT
           : flags & FLAG_TEXT      ? HEAP_TEXT
           : flags & FLAG_BYTES     ? HEAP_BYTES
           : flags & FLAG_INT       ? HEAP_INT
           : flags & FLAG_EXCEPTION ? HEAP_EXCEPTION
                                    : HEAP_TYPE;
}

enum heap_kind heap_kind_of_type(const py_object *type)
{
    const struct type *t = (const struct type *) type;
    if (t->flags & FLAGS_OF_KINDS)
        return kind_by_flags(t->flags);
    for (; t; t = t->parent) {
        if (t == known.set || t == known.frozen_set)
            return HEAP_SET;
        if (t == known.deque)
            return HEAP_DEQUE;
        if (t == known.byte_array)
            return HEAP_BYTEARRAY;
        if (t == known.bytes_file || t == known.text_file)
            return HEAP_MEMORY_FILE;
        if (t == known.numbers)
            return HEAP_NUMBERS;
        if (is_array(t))
            return HEAP_ARRAY;
    }
    return HEAP_OTHER;
}

enum heap_kind heap_kind(const py_object *o)
{
    return heap_kind_of_type(heap_type(o));
}

bool heap_is_dict(const py_object *o)
{
    return as_object(o)->type->flags & FLAG_DICT;
}

ptrdiff_t heap_length_as(const py_object *o, enum heap_kind kind)
{
    switch (kind) {
    case HEAP_LIST:
    case HEAP_TUPLE:
    case HEAP_DICT: /* ma_used lies where other types have ob_size */
    case HEAP_DEQUE:
        return as_object(o)->size;
    case HEAP_SET:
        return ((const struct set *) o)->used;
    default:
        return -1;
    }
}

ptrdiff_t heap_length(const py_object *o)
{
    return heap_length_as(o, heap_kind(o));
}

ptrdiff_t heap_most(const py_object *o)
{
    if (!known.deque_most || heap_kind(o) != HEAP_DEQUE)
        return -1;
    ptrdiff_t most;
    memcpy(&most, (const char *) o + known.deque_most, sizeof(most));
    return most;
}

/* Finds the lru_cache that stores its results in this dict. */
struct cache_search {
    const py_object *dict;
    ptrdiff_t most;
    bool is_found;
};

static int is_that_dict(py_object *o, void *context)
{
    struct cache_search *s = context;
    s->is_found = o == s->dict;
    return s->is_found;
}

static bool find_cache(py_object *o, void *context)
{
    struct cache_search *s = context;
    if (as_object(o)->type != known.cache)
        return true;
    heap_edges(o, is_that_dict, s);
    if (s->is_found)
        memcpy(&s->most, (const char *) o + known.cache_most, sizeof(s->most));
    return !s->is_found;
}

ptrdiff_t heap_most_of_cache(const py_object *dict)
{
    struct cache_search s = {.dict = dict, .most = -1};
    if (known.cache && known.cache_most)
        heap_visit(find_cache, &s);
    return s.most;
}

/* ---- arrays ---- */

/* The number of contiguous elements; 0: not contiguous. */
static size_t array_length(const struct array *a)
{
    size_t length = 1;
    if (a->dimensions < 0 || !(a->flags & (ARRAY_C_ORDER | ARRAY_FORTRAN_ORDER)))
        return 0;
    for (int i = 0; i < a->dimensions; i++)
        length *= a->shape[i] > 0 ? (size_t) a->shape[i] : 0;
    return length;
}

py_object *heap_array_owner(const py_object *o)
{
    return heap_kind(o) == HEAP_ARRAY ? ((const struct array *) o)->owner : NULL;
}

py_object *heap_array_memory(py_object *o)
{
    for (py_object *owner; (owner = heap_array_owner(o)) && heap_kind(owner) == HEAP_ARRAY;)
        o = owner;
    return o;
}

size_t heap_array_objects(const py_object *o, py_object *const **ret_objects)
{
    const struct array *a = (const struct array *) o;
    if (heap_kind(o) != HEAP_ARRAY || a->owner || !a->dtype ||
        (uintptr_t) a->data % sizeof(py_object *) != 0)
        return 0;
    const struct array_type *t = (const struct array_type *) a->dtype;
    if (t->kind != 'O' || t->code != 'O')
        return 0;
    *ret_objects = (py_object *const *) (const void *) a->data;
    return array_length(a);
}

/* ---- sizes ---- */

#define DEQUE_BLOCK_ITEMS 64u
#define DEQUE_BLOCK_BYTES 528u
#define DICT_ENTRY_BYTES 40u /* including its share of the index table, half empty */
#define WIDE_TEXT_HEAD 16u   /* bytes beyond the header of an ASCII str */
#define TEXT_STATE 32u       /* offset of the bit field */

static size_t text_size(const py_object *o)
{
    unsigned state;
    memcpy(&state, (const char *) o + TEXT_STATE, sizeof(state));
    bool ascii = state >> 6 & 1;
    unsigned width = state >> 2 & 7;
    size_t length = (size_t) as_object(o)->size;
    if (ascii || (width != 1 && width != 2 && width != 4))
        return known.text_head + length + 1;
    return known.text_head + WIDE_TEXT_HEAD + (length + 1) * width;
}

static size_t dict_table_size(const py_object *o)
{
    if (!known.dict_size)
        return (size_t) as_object(o)->size * DICT_ENTRY_BYTES;
    ptrdiff_t all = known.dict_size(o), own = as_object(o)->type->basic_size;
    return all > own ? (size_t) (all - own) : 0;
}

static size_t set_table_size(const py_object *o)
{
    const struct set *s = (const struct set *) o;
    return s->table == s->small_table ? 0 : (size_t) (s->mask + 1) * 2 * sizeof(void *);
}

static size_t array_size(const py_object *o)
{
    const struct array *a = (const struct array *) o;
    if (a->owner || a->dimensions <= 0)
        return 0;
    int outer = a->flags & ARRAY_C_ORDER ? 0 : a->dimensions - 1;
    bool whole = a->flags & (ARRAY_C_ORDER | ARRAY_FORTRAN_ORDER);
    for (int i = 0; i < a->dimensions; i++)
        if (a->shape[i] <= 0)
            return 0;
    return whole ? (size_t) (a->shape[outer] * a->strides[outer]) : 0;
}

/* For StringIO the number of characters: most take one byte each. */
static size_t file_size(const py_object *o)
{
    bool is_text = heap_is_subtype(heap_type(o), (const py_object *) known.text_file);
    return (size_t) * (const ptrdiff_t *) ((const char *) o +
                                           (is_text ? known.text_file_at : known.bytes_file_at));
}

/* Bytes outside the object itself. */
static size_t table_size(const py_object *o, enum heap_kind kind)
{
    switch (kind) {
    case HEAP_LIST:
        return (size_t) ((const struct list *) o)->allocated * sizeof(py_object *);
    case HEAP_TUPLE:
        return (size_t) as_object(o)->size * sizeof(py_object *);
    case HEAP_BYTES:
        return (size_t) as_object(o)->size;
    case HEAP_DICT:
        return dict_table_size(o);
    case HEAP_SET:
        return set_table_size(o);
    case HEAP_DEQUE:
        return ((size_t) as_object(o)->size / DEQUE_BLOCK_ITEMS + 1) * DEQUE_BLOCK_BYTES;
    case HEAP_BYTEARRAY:
        return (size_t) ((const struct byte_array *) o)->allocated;
    case HEAP_ARRAY:
        return array_size(o);
    case HEAP_MEMORY_FILE:
        return file_size(o);
    case HEAP_NUMBERS:
        return (size_t) ((const struct numbers *) o)->allocated *
               (size_t) ((const struct numbers *) o)->kind->size;
    default:
        return 0;
    }
}

size_t heap_size(const py_object *o)
{
    return heap_size_as(o, heap_kind(o));
}

size_t heap_size_as(const py_object *o, enum heap_kind kind)
{
    const struct type *t = as_object(o)->type;
    if (kind == HEAP_TEXT)
        return text_size(o);
    size_t own = (size_t) t->basic_size + (t->flags & FLAG_COLLECTED ? sizeof(struct head) : 0);
    return own + table_size(o, kind);
}
