/* probe/census/tensors.c: reads facts of tensors by the learned layout. */
#include "probe/census/tensors.h"
#include "probe/base/pages.h"

#include "probe/base/heap.h"
#include "probe/base/peek.h"
#include "probe/census/tensor_layout.h"

#include <stdio.h>
#include <string.h>

#define ATTEMPTS 3         /* to learn, if torch is there but its layout was not understood */
#define DIMS_MOST 4096     /* with more it is not a tensor */
#define EDGES_MOST 1000000 /* per node */

static struct tensor_layout layout;
static bool is_known;
static const char *why = "torch is not imported";

bool tensors_learn(void)
{
    static bool is_learning; /* torch lets other threads run meanwhile */
    static int attempts;
    if (is_known || is_learning || attempts == ATTEMPTS)
        return is_known;
    is_learning = true;
    bool is_final = false;
    why = tensor_layout_learn(&layout, &is_final);
    attempts += is_final;
    is_known = !why;
    is_learning = false;
    return is_known;
}

const char *tensors_why(void)
{
    return why;
}

/* ---- reading ---- */

static const void *pointer(uint64_t address)
{
    return (const void *) (uintptr_t) address; /* NOLINT(performance-no-int-to-ptr) */
}

static uint64_t word_at(uint64_t address, unsigned offset)
{
    uint64_t value;
    memcpy(&value, (const char *) pointer(address) + offset, sizeof(value));
    return value;
}

static int byte_at(uint64_t address, unsigned offset)
{
    return ((const signed char *) pointer(address))[offset];
}

bool tensors_is_type(const py_object *type)
{
    return is_known && (type == layout.usual_type || heap_is_subtype(type, layout.tensor_type));
}

bool tensors_is(const py_object *o)
{
    return tensors_is_type(heap_type(o));
}

static bool is_parameter(const struct tensor_layout *l, const py_object *o)
{
    const py_object *type = heap_type(o);
    return type != l->usual_type && heap_is_subtype(type, l->parameter_type);
}

/* False: these are not sizes. *ret_elements saturates at 64 bits. */
static bool read_shape(const struct tensor_layout *l, uint64_t impl, struct tensor_facts *f,
                       uint64_t *ret_elements)
{
    uint64_t dims = word_at(impl, l->dims), sizes = impl + l->sizes, elements = 1;
    if (dims > DIMS_MOST)
        return false;
    if (dims > (uint64_t) l->inline_most)
        sizes = word_at(impl, l->sizes);
    if (!peek_is_pointer(sizes))
        return false;
    for (unsigned i = 0; i < dims; i++) {
        int64_t size = (int64_t) word_at(sizes, i * (unsigned) sizeof(int64_t));
        if (size < 0)
            return false;
        if (i < TENSOR_SHAPE_MOST)
            f->shape[i] = size;
        if (__builtin_mul_overflow(elements, (uint64_t) size, &elements))
            elements = UINT64_MAX;
    }
    f->dims = (int) dims;
    *ret_elements = elements;
    return true;
}

static bool read_storage(const struct tensor_layout *l, uint64_t impl, struct tensor_facts *f)
{
    uint64_t storage = word_at(impl, l->storage);
    if (storage == 0)
        return true;
    if (!peek_is_pointer(storage))
        return false;
    f->data = pointer(word_at(storage, l->data));
    if (!f->data)
        return true;
    f->storage = pointer(storage);
    f->storage_bytes = word_at(storage, l->bytes);
    return f->storage_bytes <= SIZE_MAX / 2;
}

static bool read_autograd(const struct tensor_layout *l, uint64_t impl, struct tensor_facts *f)
{
    uint64_t autograd = word_at(impl, l->autograd);
    if (autograd == 0)
        return true;
    if (!peek_is_pointer(autograd))
        return false;
    uint64_t grad = word_at(autograd, l->grad);
    f->grad = grad == l->no_grad ? NULL : pointer(grad);
    f->node = pointer(word_at(autograd, l->node));
    f->requires_grad = f->node || byte_at(autograd, l->requires_grad) != 0;
    return true;
}

/* Returns the bytes per element. */
static unsigned read_dtype(const struct tensor_layout *l, uint64_t impl, struct tensor_facts *f)
{
    int code = byte_at(impl, l->dtype);
    bool is_there = code >= 0 && code < TENSOR_DTYPES && l->dtypes[code].name[0];
    f->dtype = is_there ? l->dtypes[code].name : "unknown";
    return is_there ? l->dtypes[code].bytes : 1;
}

static size_t shown_bytes(uint64_t elements, unsigned element_bytes, size_t storage_bytes)
{
    size_t shown;
    if (__builtin_mul_overflow(elements, element_bytes, &shown) || shown > storage_bytes)
        return storage_bytes;
    return shown;
}

static bool read_impl(const struct tensor_layout *l, uint64_t impl, struct tensor_facts *ret)
{
    uint64_t elements;
    if (!peek_is_pointer(impl))
        return false;
    /* Filled in place: a copy at the end would cost a quarter of the whole. */
    memset(ret, 0, sizeof(*ret));
    unsigned element_bytes = read_dtype(l, impl, ret);
    if (!read_shape(l, impl, ret, &elements) || !read_storage(l, impl, ret) ||
        !read_autograd(l, impl, ret))
        return false;
    ret->impl = pointer(impl);
    ret->view_bytes = shown_bytes(elements, element_bytes, ret->storage_bytes);
    ret->device_type = byte_at(impl, l->device_type);
    ret->device_index = byte_at(impl, l->device_index);
    return true;
}

bool tensor_layout_read(const struct tensor_layout *l, const py_object *o, struct tensor_facts *ret)
{
    if (!read_impl(l, word_at((uint64_t) (uintptr_t) o, l->impl), ret))
        return false;
    ret->is_parameter = is_parameter(l, o);
    return true;
}

bool tensors_read_memory(const py_object *o, struct tensor_facts *ret)
{
    uint64_t impl = is_known ? word_at((uint64_t) (uintptr_t) o, layout.impl) : 0;
    memset(ret, 0, sizeof(*ret));
    return peek_is_pointer(impl) && read_storage(&layout, impl, ret) &&
           read_autograd(&layout, impl, ret);
}

bool tensors_read_impl(const void *impl, struct tensor_facts *ret)
{
    return is_known && read_impl(&layout, (uint64_t) (uintptr_t) impl, ret);
}

#define PEEKED_BYTES 512u /* beyond all offsets */

bool tensors_peek_storage(const struct peek *p, const void *impl, struct tensor_facts *ret)
{
    char copy[PEEKED_BYTES] = {0}, storage[PEEKED_BYTES] = {0};
    const struct tensor_layout *l = &layout;
    uint64_t address;
    if (!is_known || peek_read(p, (uint64_t) (uintptr_t) impl, copy, sizeof(copy)) == 0)
        return false;
    *ret = (struct tensor_facts){.impl = impl,
                                 .dtype = "unknown",
                                 .device_type = (signed char) copy[l->device_type],
                                 .device_index = (signed char) copy[l->device_index]};
    memcpy(&address, copy + l->storage, sizeof(address));
    if (!peek_is_pointer(address) || peek_read(p, address, storage, sizeof(storage)) == 0)
        return address == 0;
    memcpy(&ret->storage_bytes, storage + l->bytes, sizeof(ret->storage_bytes));
    memcpy(&ret->data, storage + l->data, sizeof(ret->data));
    ret->storage = pointer(address);
    return ret->storage_bytes <= SIZE_MAX / 2;
}

bool tensors_read(const py_object *o, struct tensor_facts *ret)
{
    return tensors_is(o) && tensor_layout_read(&layout, o, ret);
}

const char *tensors_device_name(int type, int index, char buf[TENSOR_DEVICE_NAME])
{
    const char *name = type >= 0 && type < TENSOR_DEVICES ? layout.devices[type] : "";
    if (!*name)
        snprintf(buf, TENSOR_DEVICE_NAME, "device %d", type);
    else if (index < 0)
        snprintf(buf, TENSOR_DEVICE_NAME, "%s", name);
    else
        snprintf(buf, TENSOR_DEVICE_NAME, "%s:%d", name, index);
    return buf;
}

/* ---- graphs ---- */

bool tensor_layout_edges(const struct tensor_layout *l, uint64_t node, tensor_node_visitor *visit,
                         void *context)
{
    uint64_t begin = word_at(node, l->edges), end = word_at(node, l->edges + sizeof(void *));
    if (begin == end)
        return true;
    if (!peek_is_pointer(begin) || end < begin || (end - begin) % l->edge_size != 0 ||
        (end - begin) / l->edge_size > EDGES_MOST)
        return true;
    for (uint64_t edge = begin; edge < end; edge += l->edge_size) {
        uint64_t to = word_at(edge, 0);
        if (peek_is_pointer(to) && !visit(to, context))
            return false;
    }
    return true;
}

/*
 * Nodes in the order they were met (those from `visited` on are still to be visited), and a hash
 * table of them with four slots per node. A slot counts if it has the number of this walk. Both are
 * one mapping; the first is kept for the next walk, larger ones are unmapped.
 */
struct slot {
    uint64_t node, walk;
};

struct walk {
    uint64_t *nodes;
    struct slot *slots;
    size_t room; /* for nodes: a power of two */
    size_t count, visited, most;
    uint64_t number;
};

#define FIRST_ROOM 1024u
#define SLOTS_A_NODE 4u

static size_t walk_size(size_t room)
{
    return room * (sizeof(uint64_t) + SLOTS_A_NODE * sizeof(struct slot));
}

static bool walk_map(struct walk *w, size_t room)
{
    void *memory = pages_map(NULL, walk_size(room), MAP_PRIVATE);
    if (!memory)
        return false;
    w->slots = memory;
    w->nodes = (uint64_t *) (w->slots + room * SLOTS_A_NODE);
    w->room = room;
    return true;
}

static void walk_unmap(const struct walk *w)
{
    pages_unmap(w->slots, walk_size(w->room));
}

/* The node's slot, or the free slot where it belongs. */
static struct slot *walk_slot(const struct walk *w, uint64_t node)
{
    size_t last = w->room * SLOTS_A_NODE - 1;
    size_t i = (size_t) (node * UINT64_C(0x9E3779B97F4A7C15) >> 20) & last;
    while (w->slots[i].walk == w->number && w->slots[i].node != node)
        i = (i + 1) & last;
    return &w->slots[i];
}

static void walk_add(struct walk *w, struct slot *slot, uint64_t node)
{
    *slot = (struct slot){node, w->number};
    w->nodes[w->count++] = node;
}

static bool walk_grow(struct walk *w)
{
    struct walk larger = *w;
    if (!walk_map(&larger, w->room * 2))
        return false;
    larger.count = 0;
    for (size_t i = 0; i < w->count; i++)
        walk_add(&larger, walk_slot(&larger, w->nodes[i]), w->nodes[i]);
    if (w->room > FIRST_ROOM)
        walk_unmap(w);
    *w = larger;
    return true;
}

/* False: the limit is reached, or memory is exhausted. */
static bool walk_meet(uint64_t node, void *context)
{
    struct walk *w = context;
    struct slot *slot = walk_slot(w, node);
    if (slot->walk == w->number)
        return true;
    if (w->count == w->most)
        return false;
    if (w->count == w->room) {
        if (!walk_grow(w))
            return false;
        slot = walk_slot(w, node);
    }
    walk_add(w, slot, node);
    return true;
}

#define GATHERS UINT64_MAX /* the number of nodes that accumulate gradients */

/* The ages of visited nodes. The first number is 0, which counts as 1. */
static struct tensors_age age_of(const struct walk *w)
{
    struct tensors_age age = {0, 0};
    for (size_t i = 0; layout.number && i < w->visited; i++) {
        uint64_t number = word_at(w->nodes[i], layout.number);
        if (number == GATHERS)
            continue;
        number += number == 0;
        age.oldest = age.oldest == 0 || number < age.oldest ? number : age.oldest;
        age.newest = number > age.newest ? number : age.newest;
    }
    return age;
}

size_t tensors_graph(const void *node, size_t most, struct tensors_age *ret_age)
{
    *ret_age = (struct tensors_age){0, 0};
    static struct walk kept;
    static uint64_t number;
    if (!is_known || layout.edge_size == 0 || !peek_is_pointer((uint64_t) (uintptr_t) node))
        return 0;
    if (kept.room == 0 && !walk_map(&kept, FIRST_ROOM))
        return 0;
    struct walk w = kept;
    w.most = most;
    w.number = ++number;
    bool goes_on = walk_meet((uint64_t) (uintptr_t) node, &w);
    while (goes_on && w.visited < w.count)
        goes_on = tensor_layout_edges(&layout, w.nodes[w.visited++], walk_meet, &w);
    *ret_age = age_of(&w);
    if (w.room > FIRST_ROOM)
        walk_unmap(&w);
    return w.count;
}
