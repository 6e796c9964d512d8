/*
 * probe/census/tensor_layout.c: learns torch's memory layout from sample tensors.
 *
 * An offset is accepted if it alone holds the known value in every sample. At the end further
 * samples are read by the learned layout, and must come out as they were made.
 */
#include "probe/census/tensor_layout.h"

#include "probe/base/heap.h"
#include "probe/base/peek.h"
#include "probe/base/places.h"
#include "probe/census/tensor_samples.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory blocks ---- */

#define WORD (unsigned) sizeof(uint64_t)
#define BLOCK_MOST 256u

/* How much of each block is searched: more than any version has needed. */
#define HEAD_BYTES 16u /* of a Python object: its reference count and type */
#define OBJECT_BYTES 64u
#define IMPL_BYTES 256u
#define STORAGE_BYTES 128u
#define AUTOGRAD_BYTES 256u
#define NODE_BYTES 256u

struct block {
    unsigned char bytes[BLOCK_MOST];
    unsigned size;
};

static struct block block_at(const struct peek *p, uint64_t address, unsigned size)
{
    struct block b = {.size = 0};
    b.size = (unsigned) peek_read(p, address, b.bytes, size) / WORD * WORD;
    return b;
}

static struct block object_at(const struct peek *p, const py_object *o)
{
    return block_at(p, (uint64_t) (uintptr_t) o, OBJECT_BYTES);
}

static uint64_t word(const struct block *b, unsigned offset)
{
    uint64_t value;
    memcpy(&value, b->bytes + offset, sizeof(value));
    return value;
}

/* A set of words of a block: bit i is the word at i * WORD. */
typedef uint64_t word_set;
#define ALL_WORDS UINT64_MAX

static word_set bit_of(unsigned offset)
{
    return UINT64_C(1) << offset / WORD;
}

/* Where `count` words are stored in a row. */
static word_set words_equal(const struct block *b, const void *values, unsigned count)
{
    word_set set = 0;
    for (unsigned at = 0; at + count * WORD <= b->size; at += WORD)
        if (memcmp(b->bytes + at, values, (size_t) count * WORD) == 0)
            set |= bit_of(at);
    return set;
}

static bool only_one(word_set set, unsigned *ret_offset)
{
    if (__builtin_popcountll(set) != 1)
        return false;
    *ret_offset = (unsigned) __builtin_ctzll(set) * WORD;
    return true;
}

static bool first_one(word_set set, unsigned *ret_offset)
{
    return set != 0 && only_one(set & -set, ret_offset);
}

/* ---- samples ---- */

/* No dtype twice: each is identified by its code. */
static const struct sample_kind kinds[] = {
    {"float64", 5, {3, 5, 7, 11, 13}},
    {"float32", 2, {19, 23}},
    {"int16", 3, {29, 31, 37}},
    {"uint8", 1, {17}},
    {"int64", 4, {3, 7, 5, 2}},
    {"bfloat16", 6, {2, 3, 5, 7, 2, 3}},
    {"complex64", 7, {3, 2, 2, 5, 2, 3, 7}},
    {"bool", 8, {2, 1, 3, 2, 5, 2, 3, 1}},
    {"float16", 0, {0}},
    {"int32", 2, {43, 41}},
};

/* Not used before the layout is complete. */
static const struct sample_kind further_kinds[] = {
    {"float32", 4, {4, 9, 1, 6}},  {"complex128", 1, {33}},
    {"int8", 5, {2, 12, 3, 2, 8}}, {"float64", 8, {1, 2, 3, 1, 2, 4, 1, 6}},
    {"uint8", 2, {5, 0}},
};

#define COUNT(array) (unsigned) (sizeof(array) / sizeof((array)[0]))
#define KINDS COUNT(kinds)
#define LEAVES 3u
#define SUMS 4u

struct study {
    struct peek peek;
    struct sampler sampler;
    struct tensor_layout *layout;
    struct sample plain[KINDS + 1]; /* the last one uses the memory of a Python object */
    struct block impl[KINDS + 1];
    struct sample leaf[LEAVES], grad[LEAVES], sum[SUMS];
    py_object *node[SUMS]; /* the Python objects of the nodes that made the sums */
    unsigned node_pointer; /* offset of the node's address in such an object */
};

static bool make_plain(struct study *s)
{
    for (unsigned i = 0; i < KINDS; i++)
        if (!sample_plain(&s->sampler, &kinds[i], &s->plain[i]))
            return false;
    if (!sample_of_buffer(&s->sampler, &s->plain[KINDS]))
        return false;
    for (unsigned i = 0; i <= KINDS; i++)
        s->impl[i] = block_at(&s->peek, s->plain[i].impl, IMPL_BYTES);
    return true;
}

static void release_samples(struct sample *samples, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        sample_release(&samples[i]);
}

static void release_all(struct study *s)
{
    for (unsigned i = 0; i < SUMS; i++)
        python_drop(s->node[i]);
    release_samples(s->sum, SUMS);
    release_samples(s->grad, LEAVES);
    release_samples(s->leaf, LEAVES);
    release_samples(s->plain, KINDS + 1);
}

/* ---- the tensor and its storage ---- */

/* Checks the type, then finds the address of the impl. */
static bool learn_object(struct study *s)
{
    word_set impl = ALL_WORDS;
    for (unsigned i = 0; i <= KINDS; i++) {
        struct block object = object_at(&s->peek, s->plain[i].tensor);
        py_object *type = py.PyObject_Type(s->plain[i].tensor);
        python_drop(type);
        if (heap_type(s->plain[i].tensor) != type || !heap_is_subtype(type, s->layout->tensor_type))
            return false;
        impl &= words_equal(&object, &s->plain[i].impl, 1);
    }
    return only_one(impl, &s->layout->impl);
}

static bool learn_storage(struct study *s)
{
    word_set storage = ALL_WORDS, bytes = ALL_WORDS, data = ALL_WORDS;
    for (unsigned i = 0; i <= KINDS; i++) {
        const struct sample *sample = &s->plain[i];
        struct block body = block_at(&s->peek, sample->storage, STORAGE_BYTES);
        storage &= words_equal(&s->impl[i], &sample->storage, 1);
        bytes &= words_equal(&body, &sample->bytes, 1);
        data &= words_equal(&body, &sample->data, 1);
    }
    return only_one(storage, &s->layout->storage) && only_one(bytes, &s->layout->bytes) &&
           only_one(data, &s->layout->data);
}

/* ---- sizes ---- */

static bool is_inline(const struct study *s, unsigned i)
{
    word_set found = words_equal(&s->impl[i], s->plain[i].shape, (unsigned) s->plain[i].dims);
    return (found & bit_of(s->layout->sizes)) != 0;
}

static bool is_behind_pointer(const struct study *s, unsigned i)
{
    unsigned dims = (unsigned) s->plain[i].dims;
    struct block sizes =
        block_at(&s->peek, word(&s->impl[i], s->layout->sizes), TENSOR_SHAPE_MOST * WORD);
    return (words_equal(&sizes, s->plain[i].shape, dims) & bit_of(0)) != 0;
}

/* Few sizes are stored in the impl itself, more of them behind a pointer. */
static bool learn_where_many_are(struct study *s)
{
    int most = 0, fewest_behind = TENSOR_SHAPE_MOST + 1;
    for (unsigned i = 0; i <= KINDS; i++) {
        int dims = s->plain[i].dims;
        if (dims == 0)
            continue;
        if (is_inline(s, i))
            most = dims > most ? dims : most;
        else if (is_behind_pointer(s, i))
            fewest_behind = dims < fewest_behind ? dims : fewest_behind;
        else
            return false;
    }
    s->layout->inline_most = most;
    return most > 0 && fewest_behind == most + 1;
}

static bool learn_sizes(struct study *s)
{
    word_set count = ALL_WORDS, sizes = ALL_WORDS;
    for (unsigned i = 0; i <= KINDS; i++) {
        uint64_t dims = (uint64_t) s->plain[i].dims;
        count &= words_equal(&s->impl[i], &dims, 1);
        if (dims > 0 && dims <= 3)
            sizes &= words_equal(&s->impl[i], s->plain[i].shape, (unsigned) dims);
    }
    return only_one(count, &s->layout->dims) && only_one(sizes, &s->layout->sizes) &&
           learn_where_many_are(s);
}

/* ---- element types ---- */

static struct block dtype_object(const struct study *s, const char *name)
{
    py_object *dtype = python_attribute(s->sampler.torch, name);
    struct block b = {.size = 0};
    if (dtype)
        b = object_at(&s->peek, dtype);
    python_drop(dtype);
    return b;
}

/* Is it the same byte in the impl and in the Python object of the dtype, and different for each
 * dtype? */
static bool is_code(const struct study *s, const struct block *dtypes, unsigned in_impl,
                    unsigned in_dtype)
{
    bool is_taken[256] = {false};
    for (unsigned i = 0; i < KINDS; i++) {
        if (in_impl >= s->impl[i].size || in_dtype >= dtypes[i].size)
            return false;
        unsigned char code = dtypes[i].bytes[in_dtype];
        if (s->impl[i].bytes[in_impl] != code || is_taken[code])
            return false;
        is_taken[code] = true;
    }
    return true;
}

static bool find_code(struct study *s, unsigned *ret_in_dtype)
{
    struct block dtypes[KINDS];
    unsigned found = 0;
    for (unsigned i = 0; i < KINDS; i++)
        dtypes[i] = dtype_object(s, s->plain[i].dtype);
    for (unsigned in_impl = 0; in_impl < IMPL_BYTES; in_impl++)
        for (unsigned in_dtype = HEAD_BYTES; in_dtype < OBJECT_BYTES; in_dtype++)
            if (is_code(s, dtypes, in_impl, in_dtype)) {
                s->layout->dtype = in_impl;
                *ret_in_dtype = in_dtype;
                found++;
            }
    return found == 1;
}

/* Older versions lack `itemsize`, but the name has the bits: 32 in "complex32", less than a byte in
 * "quint4x2". */
static unsigned char element_bytes(py_object *dtype, const char *name)
{
    py_object *said = python_attribute(dtype, "itemsize");
    long bytes = said ? py.PyLong_AsLong(said) : 0;
    py.PyErr_Clear();
    python_drop(said);
    if (bytes <= 0)
        bytes = strtol(name + strcspn(name, "0123456789"), NULL, 10) / 8;
    return (unsigned char) (bytes > 0 && bytes < 256 ? bytes : 1);
}

static void note_dtype(struct study *s, py_object *dtype, unsigned in_dtype)
{
    static const char prefix[] = "torch.";
    struct block object = object_at(&s->peek, dtype);
    unsigned code = in_dtype < object.size ? object.bytes[in_dtype] : TENSOR_DTYPES;
    py_object *repr = py.PyObject_Repr(dtype);
    const char *name = repr ? python_text(repr) : NULL;
    py.PyErr_Clear();
    if (name && code < TENSOR_DTYPES && strncmp(name, prefix, strlen(prefix)) == 0) {
        struct tensor_dtype *d = &s->layout->dtypes[code];
        strncpy(d->name, name + strlen(prefix), sizeof(d->name) - 1);
        d->bytes = element_bytes(dtype, d->name);
    }
    python_drop(repr);
}

/* Some dtypes cannot be used without a warning, so the rest is read from the dtype objects. */
static bool learn_dtypes(struct study *s)
{
    unsigned in_dtype;
    if (!find_code(s, &in_dtype))
        return false;
    py_object *names = python_attribute(s->sampler.torch, "__dict__");
    py_object *example = python_attribute(s->sampler.torch, kinds[0].dtype);
    py_object *type = example ? py.PyObject_Type(example) : NULL, *key, *value;
    bool complete = names && type;
    for (ptrdiff_t at = 0; complete && py.PyDict_Next(names, &at, &key, &value);)
        if (python_is(value, type))
            note_dtype(s, value, in_dtype);
    python_drop(type);
    python_drop(example);
    python_drop(names);
    return complete;
}

/* ---- devices ---- */

/* The memory and the type name of torch.device(name). This touches no device. */
static struct block device_object(const struct study *s, const char *name, char ret_type[16])
{
    struct block b = {.size = 0};
    py_object *device = py.PyObject_CallMethod(s->sampler.torch, "device", "s", name);
    py.PyErr_Clear();
    py_object *type = device ? python_attribute(device, "type") : NULL;
    const char *text = type ? python_text(type) : NULL;
    if (text) {
        b = object_at(&s->peek, device);
        memset(ret_type, 0, 16);
        strncpy(ret_type, text, 15);
    }
    python_drop(type);
    python_drop(device);
    return b;
}

/* In a device's Python object, the byte of the type precedes the byte of the index. */
static bool find_device_bytes(const struct study *s, unsigned *ret_type)
{
    static const char *const names[] = {"cuda:3", "cuda:5", "cuda:6", "cpu", "meta"};
    static const unsigned char indexes[] = {3, 5, 6, 0xff, 0xff};
    struct block b[COUNT(names)];
    char type[16];
    unsigned found = 0;
    for (unsigned i = 0; i < COUNT(names); i++)
        if ((b[i] = device_object(s, names[i], type)).size < HEAD_BYTES + WORD)
            return false;
    for (unsigned at = HEAD_BYTES; at + 1 < HEAD_BYTES + WORD; at++) {
        unsigned right = 0;
        for (unsigned i = 0; i < COUNT(names); i++)
            right += b[i].bytes[at + 1] == indexes[i];
        if (right < COUNT(names) || b[0].bytes[at] != b[1].bytes[at] ||
            b[0].bytes[at] != b[2].bytes[at] || b[0].bytes[at] == b[3].bytes[at] ||
            b[4].bytes[at] == b[3].bytes[at])
            continue;
        *ret_type = at;
        found++;
    }
    return found == 1;
}

/* Only names that cause no warning. */
static bool note_devices(struct study *s, unsigned type_at)
{
    static const char *const names[] = {"cpu", "cuda", "meta",          "mps",  "xpu",
                                        "hpu", "xla",  "ipu",           "maia", "ort",
                                        "ve",  "lazy", "privateuseone", "mtia"};
    unsigned known = 0;
    for (unsigned i = 0; i < COUNT(names); i++) {
        char type[16];
        struct block b = device_object(s, names[i], type);
        if (b.size <= type_at || b.bytes[type_at] >= TENSOR_DEVICES)
            continue;
        memcpy(s->layout->devices[b.bytes[type_at]], type, sizeof(type));
        known++;
    }
    return known > 0;
}

/* Keeps the offsets where the impl has the two bytes of a device. */
static void keep_device_places(bool places[IMPL_BYTES], const struct block *impl,
                               const unsigned char device[2])
{
    for (unsigned at = 0; at < IMPL_BYTES; at++)
        if (at + 1 >= impl->size || memcmp(impl->bytes + at, device, 2) != 0)
            places[at] = false;
}

static bool only_place(const bool places[IMPL_BYTES], unsigned *ret)
{
    unsigned found = 0;
    for (unsigned at = 0; at < IMPL_BYTES; at++)
        if (places[at]) {
            *ret = at;
            found++;
        }
    return found == 1;
}

static bool keep_meta_places(const struct study *s, bool places[IMPL_BYTES], unsigned type_at)
{
    char type[16];
    struct block meta = device_object(s, "meta", type);
    for (unsigned i = 0; i < 3; i++) {
        struct sample sample;
        if (!sample_meta(&s->sampler, &kinds[i], &sample))
            return false;
        struct block impl = block_at(&s->peek, sample.impl, IMPL_BYTES);
        keep_device_places(places, &impl, meta.bytes + type_at);
        sample_release(&sample);
    }
    return true;
}

static bool learn_devices(struct study *s)
{
    bool places[IMPL_BYTES];
    char type[16];
    unsigned type_at;
    if (!find_device_bytes(s, &type_at) || !note_devices(s, type_at))
        return false;
    memset(places, true, sizeof(places));
    struct block cpu = device_object(s, "cpu", type);
    for (unsigned i = 0; i <= KINDS; i++)
        keep_device_places(places, &s->impl[i], cpu.bytes + type_at);
    if (!keep_meta_places(s, places, type_at) || !only_place(places, &s->layout->device_type))
        return false;
    s->layout->device_index = s->layout->device_type + 1;
    return true;
}

/* ---- autograd ---- */

static struct block autograd_of(const struct study *s, const struct sample *sample)
{
    struct block impl = block_at(&s->peek, sample->impl, IMPL_BYTES);
    uint64_t at = s->layout->autograd < impl.size ? word(&impl, s->layout->autograd) : 0;
    return block_at(&s->peek, at, AUTOGRAD_BYTES);
}

/*
 * The word that becomes a pointer when requires_grad is set. The block may be followed in memory by
 * one allocated for the same purpose, here and below, so the first match counts.
 */
static bool learn_autograd(struct study *s)
{
    static const struct sample_kind kind = {"float32", 2, {3, 5}};
    word_set appeared = ALL_WORDS;
    for (unsigned i = 0; i < LEAVES; i++) {
        word_set here = 0;
        if (!sample_plain(&s->sampler, &kind, &s->leaf[i]))
            return false;
        struct block before = block_at(&s->peek, s->leaf[i].impl, IMPL_BYTES);
        if (!sample_set_requires_grad(&s->leaf[i], true))
            return false;
        struct block after = block_at(&s->peek, s->leaf[i].impl, IMPL_BYTES);
        for (unsigned at = 0; at < before.size && at < after.size; at += WORD)
            if (word(&before, at) == 0 && peek_is_pointer(word(&after, at)))
                here |= bit_of(at);
        appeared &= here;
    }
    return first_one(appeared, &s->layout->autograd);
}

/* The byte that changes from 1 to 0 with requires_grad. */
static bool learn_requires_grad(struct study *s)
{
    bool places[AUTOGRAD_BYTES];
    memset(places, true, sizeof(places));
    for (unsigned i = 0; i < LEAVES; i++) {
        struct block on = autograd_of(s, &s->leaf[i]);
        if (!sample_set_requires_grad(&s->leaf[i], false))
            return false;
        struct block off = autograd_of(s, &s->leaf[i]);
        if (!sample_set_requires_grad(&s->leaf[i], true))
            return false;
        for (unsigned at = 0; at < AUTOGRAD_BYTES; at++)
            if (at >= on.size || at >= off.size || on.bytes[at] != 1 || off.bytes[at] != 0)
                places[at] = false;
    }
    unsigned first = 0;
    while (first < AUTOGRAD_BYTES && !places[first])
        first++;
    s->layout->requires_grad = first;
    return first < AUTOGRAD_BYTES;
}

static bool learn_grad(struct study *s)
{
    struct block before[LEAVES];
    word_set grad = ALL_WORDS;
    for (unsigned i = 0; i < LEAVES; i++) {
        static const struct sample_kind kind = {"float32", 2, {3, 5}};
        before[i] = autograd_of(s, &s->leaf[i]);
        if (!sample_plain(&s->sampler, &kind, &s->grad[i]) ||
            !sample_set_grad(&s->leaf[i], &s->grad[i]))
            return false;
        struct block after = autograd_of(s, &s->leaf[i]);
        grad &= words_equal(&after, &s->grad[i].impl, 1);
    }
    if (!first_one(grad, &s->layout->grad))
        return false;
    s->layout->no_grad = word(&before[0], s->layout->grad);
    for (unsigned i = 1; i < LEAVES; i++)
        if (word(&before[i], s->layout->grad) != s->layout->no_grad)
            return false;
    return true;
}

/* ---- the graph ---- */

/* a + b, (a + b) + c, both joined with a, and a plus a tensor without gradient. */
static bool make_sums(struct study *s)
{
    struct sample *leaf = s->leaf, *sum = s->sum;
    const struct sample *const parts[] = {&sum[0], &sum[1], &leaf[0]};
    bool made = sample_sum(&s->sampler, &leaf[0], &leaf[1], &sum[0]) &&
                sample_sum(&s->sampler, &sum[0], &leaf[2], &sum[1]) &&
                sample_joined(&s->sampler, parts, COUNT(parts), &sum[2]) &&
                sample_sum(&s->sampler, &leaf[0], &s->grad[0], &sum[3]);
    for (unsigned i = 0; i < SUMS && made; i++)
        made = (s->node[i] = sample_node(&sum[i])) != NULL;
    return made;
}

/* Words of AutogradMeta that are 0 in leaves, which no node made. */
static word_set empty_in_leaves(const struct study *s)
{
    uint64_t zero = 0;
    word_set set = ALL_WORDS;
    for (unsigned i = 0; i < LEAVES; i++) {
        struct block autograd = autograd_of(s, &s->leaf[i]);
        set &= words_equal(&autograd, &zero, 1);
    }
    return set;
}

/* Words of AutogradMeta that equal word `at` of the Python object of the node. */
static word_set equal_in_sums(const struct study *s, unsigned at)
{
    word_set set = ALL_WORDS;
    for (unsigned i = 0; i < SUMS; i++) {
        struct block autograd = autograd_of(s, &s->sum[i]),
                     object = object_at(&s->peek, s->node[i]);
        uint64_t value = at < object.size ? word(&object, at) : 0;
        set &= peek_is_pointer(value) ? words_equal(&autograd, &value, 1) : 0;
    }
    return set;
}

/* For a shared_ptr the second word matches too; the first is the node's address. */
static bool learn_node(struct study *s)
{
    if (!make_sums(s))
        return false;
    word_set empty = empty_in_leaves(s);
    for (unsigned at = HEAD_BYTES; at < OBJECT_BYTES; at += WORD)
        if (first_one(empty & equal_in_sums(s, at), &s->layout->node)) {
            s->node_pointer = at;
            return true;
        }
    return false;
}

static uint64_t node_address(const struct study *s, const py_object *node)
{
    struct block object = object_at(&s->peek, node);
    return s->node_pointer < object.size ? word(&object, s->node_pointer) : 0;
}

#define EDGES 3

/* Does the node have a vector of such edges at `at`, and do they lead to `to`? */
static bool leads_to(const struct study *s, const struct block *node, unsigned at, unsigned size,
                     const uint64_t *to, unsigned count)
{
    uint64_t begin = word(node, at), end = word(node, at + WORD);
    if (!peek_is_pointer(begin) || end - begin != (uint64_t) size * count)
        return false;
    struct block edges = block_at(&s->peek, begin, size * count);
    if (edges.size != size * count)
        return false;
    for (unsigned i = 0; i < count; i++)
        if (word(&edges, i * size) != to[i])
            return false;
    return true;
}

/* -1: unknown. */
static int next_addresses(const struct study *s, py_object *node, uint64_t to[EDGES])
{
    py_object *next[EDGES];
    int count = sample_next_nodes(node, next, EDGES);
    for (int i = 0; i < count; i++) {
        to[i] = next[i] ? node_address(s, next[i]) : 0;
        python_drop(next[i]);
    }
    return count;
}

/* Where edges of that size match in the node that made the sum. */
static word_set edge_places(const struct study *s, unsigned sum, unsigned size)
{
    uint64_t to[EDGES];
    int count = next_addresses(s, s->node[sum], to);
    struct block node = block_at(&s->peek, node_address(s, s->node[sum]), NODE_BYTES);
    word_set set = 0;
    for (unsigned at = 0; count > 0 && at + WORD < node.size; at += WORD)
        if (leads_to(s, &node, at, size, to, (unsigned) count))
            set |= bit_of(at);
    return set;
}

/* Without edges, nodes are not counted; everything else still works. */
static void learn_edges(struct study *s)
{
    for (unsigned size = 2 * WORD; size <= 4 * WORD; size += WORD) {
        word_set set = ALL_WORDS;
        for (unsigned i = 0; i < SUMS; i++)
            set &= edge_places(s, i, size);
        if (only_one(set, &s->layout->edges)) {
            s->layout->edge_size = size;
            return;
        }
    }
}

#define NUMBERS_APART 8u /* at most, between successive sums */

/* Words of the nodes that increase slightly from sum to sum. */
static word_set numbered_in_sums(const struct study *s)
{
    word_set set = ALL_WORDS;
    for (unsigned i = 1; i < SUMS; i++) {
        struct block before = block_at(&s->peek, node_address(s, s->node[i - 1]), NODE_BYTES),
                     node = block_at(&s->peek, node_address(s, s->node[i]), NODE_BYTES);
        word_set more = 0;
        for (unsigned at = 0; at < node.size && at < before.size; at += WORD) {
            uint64_t apart = word(&node, at) - word(&before, at);
            more |= apart >= 1 && apart <= NUMBERS_APART ? bit_of(at) : 0;
        }
        set &= more;
    }
    return set;
}

/* Without numbers, the age of a graph is unknown; everything else still works. */
static void learn_number(struct study *s)
{
    if (!only_one(numbered_in_sums(s), &s->layout->number))
        s->layout->number = 0;
}

/* ---- verification ---- */

static bool agrees(const struct study *s, const struct sample *sample, const char *device)
{
    struct tensor_facts f;
    if (!tensor_layout_read(s->layout, sample->tensor, &f) || f.is_parameter)
        return false;
    return (uint64_t) (uintptr_t) f.impl == sample->impl &&
           (uint64_t) (uintptr_t) f.storage == (sample->data ? sample->storage : 0) &&
           f.storage_bytes == (sample->data ? sample->bytes : 0) && f.dims == sample->dims &&
           memcmp(f.shape, sample->shape, (unsigned) f.dims * sizeof(f.shape[0])) == 0 &&
           strcmp(f.dtype, sample->dtype) == 0 &&
           strcmp(s->layout->devices[f.device_type], device) == 0 && f.device_index == -1;
}

static bool has_gradients(const struct study *s, const struct sample *sample, bool requires_grad,
                          const struct sample *grad, uint64_t node)
{
    struct tensor_facts f;
    return tensor_layout_read(s->layout, sample->tensor, &f) && f.requires_grad == requires_grad &&
           (uint64_t) (uintptr_t) f.grad == (grad ? grad->impl : 0) &&
           (uint64_t) (uintptr_t) f.node == node;
}

static bool proves_plain(const struct study *s, const struct sample_kind *kind)
{
    struct sample plain, view, meta;
    if (!sample_plain(&s->sampler, kind, &plain))
        return false;
    bool right = agrees(s, &plain, "cpu") && has_gradients(s, &plain, false, NULL, 0);
    if (right && sample_view(&plain, &view)) {
        right = agrees(s, &view, "cpu") && view.storage == plain.storage;
        sample_release(&view);
    }
    if (right && (right = sample_meta(&s->sampler, kind, &meta))) {
        right = agrees(s, &meta, "meta");
        sample_release(&meta);
    }
    sample_release(&plain);
    return right;
}

static bool prove(struct study *s)
{
    for (unsigned i = 0; i < KINDS; i++)
        if (!proves_plain(s, &kinds[i]))
            return false;
    for (unsigned i = 0; i < COUNT(further_kinds); i++)
        if (!proves_plain(s, &further_kinds[i]))
            return false;
    for (unsigned i = 0; i < LEAVES; i++)
        if (!has_gradients(s, &s->leaf[i], true, &s->grad[i], 0))
            return false;
    for (unsigned i = 0; i < SUMS; i++)
        if (!has_gradients(s, &s->sum[i], true, NULL, node_address(s, s->node[i])))
            return false;
    return true;
}

/* ---- the whole ---- */

struct part {
    bool (*learn)(struct study *s);
    const char *why; /* the reason if it fails */
};

static const char *learn_parts(struct study *s)
{
    static const struct part parts[] = {
        {make_plain, "torch does not make plain tensors"},
        {learn_object, "torch's objects are not understood"},
        {learn_storage, "torch's storages are not understood"},
        {learn_sizes, "the sizes of tensors are not found"},
        {learn_dtypes, "the types of elements are not found"},
        {learn_devices, "the devices of tensors are not found"},
        {learn_autograd, "what autograd adds to tensors is not found"},
        {learn_requires_grad, "which tensors need gradients is not found"},
        {learn_grad, "gradients are not found"},
        {learn_node, "what made a tensor is not found"},
    };
    for (unsigned i = 0; i < COUNT(parts); i++)
        if (!parts[i].learn(s))
            return parts[i].why;
    learn_edges(s);
    learn_number(s);
    return prove(s) ? NULL : "tensors do not come out as they were made";
}

static const char *study_torch(struct study *s, bool *ret_is_final)
{
    const char *why = sampler_init(&s->sampler);
    if (why)
        return why;
    s->layout->tensor_type = s->sampler.tensor_type;
    s->layout->usual_type = s->sampler.usual_type;
    s->layout->parameter_type = s->sampler.parameter_type;
    why = learn_parts(s);
    *ret_is_final = why != NULL;
    release_all(s);
    sampler_release(&s->sampler);
    return why;
}

const char *tensor_layout_learn(struct tensor_layout *ret_layout, bool *ret_is_final)
{
    struct study *s = places_map(sizeof(*s)); /* not from the heap, which is the program's */
    const char *why = "no memory is left";
    py_object *type, *value, *traceback;
    py.PyErr_Fetch(&type, &value, &traceback);
    memset(ret_layout, 0, sizeof(*ret_layout));
    *ret_is_final = false;
    if (s && peek_init(&s->peek)) {
        s->layout = ret_layout;
        why = study_torch(s, ret_is_final);
        peek_release(&s->peek);
    }
    places_unmap(s, sizeof(*s));
    py.PyErr_Restore(type, value, traceback);
    return why;
}
