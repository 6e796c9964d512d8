/* probe/census/tensors.h: facts of torch's tensors, read from memory. Private to probe/.
 *
 * Where they lie is learnt once, from tensors made for it: there is no table of versions. What
 * could not be made sure of is not told. Nothing of torch or of the program is called but by
 * tensors_learn(), no reference is taken, no memory comes from malloc(). The GIL is held
 * throughout; what torch's own threads change meanwhile (gradients, graphs) is read before or
 * after.
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
 * It is what lies in memory that is told. A tensor of a class that answers for itself (FakeTensor,
 * DTensor, NestedTensor) may say otherwise of its device or shape.
 */
struct tensor_facts {
    const void *impl;     /* torch's own object behind it */
    const void *storage;  /* NULL: it holds no memory (meta, sparse, wrappers, empty ones) */
    const void *data;     /* where its bytes are, on whatever device */
    size_t storage_bytes; /* all of the storage, however little of it is shown */
    size_t view_bytes;    /* elements shown; never more than storage_bytes (expand()) */
    int device_type;      /* torch's numbers: 0 cpu, 1 cuda, ... */
    int device_index;     /* -1: none */
    const char *dtype;    /* "float32"; "unknown" for what torch has no name for; static */
    int dims;
    int64_t shape[TENSOR_SHAPE_MOST]; /* of more dimensions the first */
    bool requires_grad; /* a view of what came to need gradients later: from its next use on */
    const void *node;   /* what made it (grad_fn); NULL: nothing */
    const void *grad;   /* impl of its .grad; NULL: none */
    bool is_parameter;  /* of torch.nn.Parameter or a class derived from it */
};

/*
 * Learns where things lie; once it has, it is free. A few tensors of at most 120 KB on the CPU are
 * made and dropped; neither modes of the program nor its signal handlers see them. False: not now
 * (torch is not or half imported, or somewhere where tensors are not plain: a dispatch mode,
 * inference mode, a trace; worth trying again), or not at all. No error is left behind or lost.
 */
bool tensors_learn(void);

/* Why tensors_learn() was last false, in words; NULL: it was not. Static. */
const char *tensors_why(void);

/* Is it a tensor, by its type? Cheap enough for every object of a heap. */
bool tensors_is(const py_object *o);
bool tensors_is_type(const py_object *type);

/* False: o is no tensor, or does not look like one; then *ret is undefined. */
bool tensors_read(const py_object *o, struct tensor_facts *ret);
/* The same of torch's own object, such as a gradient's; is_parameter is false. */
bool tensors_read_impl(const void *impl, struct tensor_facts *ret);
/* Of torch's own object that may be gone by now, its storage and device alone: all else is zero. */
bool tensors_peek_storage(const struct peek *p, const void *impl, struct tensor_facts *ret);

/* "cpu", "cuda:0", "meta"; "device 7" for what torch has no name for. */
const char *tensors_device_name(int type, int index, char buf[TENSOR_DEVICE_NAME]);

/* Numbers of the first and the last made node of a graph, of all that a thread makes, without those
 * that gather gradients; oldest 0: not known. */
struct tensors_age {
    uint64_t oldest, newest;
};

/* Nodes of the graph behind a node, itself and those that gather gradients included, each once;
 * stops at `most`. 0: there is none, or where its edges lie could not be learnt. */
size_t tensors_graph(const void *node, size_t most, struct tensors_age *ret_age);

#endif
