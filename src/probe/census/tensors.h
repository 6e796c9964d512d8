/*
 * probe/census/tensors.h: facts of torch's tensors, read from memory. Private to probe/.
 *
 * The layout is learned once, from sample tensors: there is no table of versions. Facts that could
 * not be verified are not reported. Only tensors_learn() calls torch or the program; no reference
 * is taken, and no memory comes from malloc(). The GIL is held throughout. What torch's own threads
 * may change meanwhile (gradients, graphs) is read before or after.
 */
#ifndef TIDEMARK_PROBE_CENSUS_TENSORS_H
#define TIDEMARK_PROBE_CENSUS_TENSORS_H

#include "probe/base/peek.h"
#include "probe/base/python.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TENSOR_SHAPE_MOST 8
#define TENSOR_DEVICE_NAME 24

/*
 * The facts are those in memory. A tensor of a class that overrides them (FakeTensor, DTensor,
 * NestedTensor) may report another device or shape.
 */
struct tensor_facts {
    const void *impl;     /* torch's TensorImpl */
    const void *storage;  /* NULL: no memory (meta, sparse, wrappers, empty tensors) */
    const void *data;     /* address of its bytes, on whatever device */
    size_t storage_bytes; /* of the whole storage, however small the view */
    size_t view_bytes;    /* of its elements; never more than storage_bytes (expand()) */
    int device_type;      /* torch's numbers: 0 cpu, 1 cuda, ... */
    int device_index;     /* -1: none */
    const char *dtype;    /* "float32"; "unknown" if torch has no name for it; static */
    int dims;
    int64_t shape[TENSOR_SHAPE_MOST]; /* the first ones if there are more */
    bool requires_grad; /* late for a view of a tensor that got requires_grad afterwards */
    const void *node;   /* its grad_fn; NULL: none */
    const void *grad;   /* impl of its .grad; NULL: none */
    bool is_parameter;  /* of torch.nn.Parameter or a class derived from it */
};

/*
 * Learns the layout; later calls cost nothing. Makes and drops a few tensors of at most 120 KB on
 * the CPU, unnoticed by modes and signal handlers of the program. False: never possible, or not
 * now: torch is not (completely) imported, or tensors are special here (a dispatch mode, inference
 * mode, a trace). Python's error state is unchanged.
 */
bool tensors_learn(void);

/* The reason for the last failure of tensors_learn(), in words; NULL: none. Static. */
const char *tensors_why(void);

/* Is it a tensor, by its type? Cheap enough to ask for every object of a heap. */
bool tensors_is(const py_object *o);
bool tensors_is_type(const py_object *type);

/* False: not a tensor, or its memory does not look like one; then *ret is undefined. */
bool tensors_read(const py_object *o, struct tensor_facts *ret);
/* The same for a TensorImpl, such as a gradient; is_parameter is false. */
bool tensors_read_impl(const void *impl, struct tensor_facts *ret);
/* Storage and autograd facts alone, the others are zero: at a third of the cost. `o` is a tensor.
 */
bool tensors_read_memory(const py_object *o, struct tensor_facts *ret);
/* Storage and device of a TensorImpl that may have been freed; the other facts are zero. */
bool tensors_peek_storage(const struct peek *p, const void *impl, struct tensor_facts *ret);

/* "cpu", "cuda:0", "meta"; "device 7" if torch has no name for it. */
const char *tensors_device_name(int type, int index, char buf[TENSOR_DEVICE_NAME]);

/* Sequence numbers of the first and the last node of a graph, without nodes that accumulate
 * gradients; oldest 0: not known. */
struct tensors_age {
    uint64_t oldest, newest;
};

/* The number of nodes in the graph of a node, including itself and nodes that accumulate gradients,
 * each once; at most `most`. 0: none, or the layout of edges is unknown. */
size_t tensors_graph(const void *node, size_t most, struct tensors_age *ret_age);

#endif
