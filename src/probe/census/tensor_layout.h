/* probe/census/tensor_layout.h: offsets of a tensor's facts in torch's memory. Private to probe/.
 */
#ifndef TIDEMARK_PROBE_CENSUS_TENSOR_LAYOUT_H
#define TIDEMARK_PROBE_CENSUS_TENSOR_LAYOUT_H

#include "probe/census/tensors.h"

#define TENSOR_DTYPES 128
#define TENSOR_DEVICES 64

struct tensor_dtype {
    char name[24];       /* "": no such dtype */
    unsigned char bytes; /* per element */
};

/* Offsets in bytes. */
struct tensor_layout {
    /* Addresses for comparison, not references: the base of all tensors, torch.Tensor,
     * torch.nn.Parameter. */
    const py_object *tensor_type, *usual_type, *parameter_type;
    unsigned impl; /* in the Python object */
    /* in the impl (TensorImpl): */
    unsigned storage, autograd; /* pointers */
    unsigned dims, sizes;       /* 64 bits each */
    int inline_most;            /* with more dimensions, sizes are behind a pointer */
    unsigned dtype, device_type, device_index; /* a byte each */
    /* in the storage (StorageImpl): */
    unsigned bytes, data;
    /* in AutogradMeta: */
    unsigned requires_grad; /* a byte */
    unsigned grad, node;
    uint64_t no_grad; /* value without a gradient: NULL, or torch's undefined tensor */
    /* in a node: a std::vector of edges; each edge begins with a pointer to a node */
    unsigned edges, edge_size; /* edge_size 0: not known */
    unsigned number;           /* in a node: its sequence number within its thread; 0: not known */
    struct tensor_dtype dtypes[TENSOR_DTYPES];
    char devices[TENSOR_DEVICES][16];
};

/* Returns NULL, or the reason for a failure; then *ret_layout is undefined. *ret_is_final: retrying
 * is pointless. */
const char *tensor_layout_learn(struct tensor_layout *ret_layout, bool *ret_is_final);

/* tensors_read() by a given layout; `o` must be a tensor. */
bool tensor_layout_read(const struct tensor_layout *l, const py_object *o,
                        struct tensor_facts *ret);

/* Calls `visit` for each node that a node leads to, except NULL. */
typedef bool tensor_node_visitor(uint64_t node, void *context);
bool tensor_layout_edges(const struct tensor_layout *l, uint64_t node, tensor_node_visitor *visit,
                         void *context);

#endif
