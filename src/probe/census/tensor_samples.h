/* probe/census/tensor_samples.h: tensors made to learn from, and what torch says of them. Private
 * to probe/. Nothing here runs a line of Python: neither signal handlers nor tracers see it. */
#ifndef TIDEMARK_PROBE_CENSUS_TENSOR_SAMPLES_H
#define TIDEMARK_PROBE_CENSUS_TENSOR_SAMPLES_H

#include "probe/census/tensors.h"

/* torch, with what could stand between it and plain tensors put aside. */
struct sampler {
    py_object *torch, *c;   /* the modules torch and torch._C, borrowed */
    py_object *functions;   /* torch._C._VariableFunctions, owned; so are the following */
    py_object *tensor_type; /* what all tensors derive from */
    py_object *usual_type, *parameter_type; /* torch.Tensor, torch.nn.Parameter */
    py_object *guard;    /* no __torch_function__ of a class or a mode, while it is entered */
    py_object *had_grad; /* whether gradients were switched on */
};

/* Returns NULL, or why not now; then there is nothing to release. */
const char *sampler_init(struct sampler *s);
void sampler_release(struct sampler *s);

struct sample {
    py_object *tensor;             /* owned */
    uint64_t impl;                 /* as all addresses here, as torch tells it */
    uint64_t storage, data, bytes; /* 0 where not asked for */
    int dims;
    int64_t shape[TENSOR_SHAPE_MOST];
    const char *dtype;
};

struct sample_kind {
    const char *dtype;
    int dims;
    int64_t shape[TENSOR_SHAPE_MOST];
};

/* Each returns false if torch did not do it; then there is nothing to release. */
bool sample_plain(const struct sampler *s, const struct sample_kind *kind, struct sample *ret);
bool sample_meta(const struct sampler *s, const struct sample_kind *kind, struct sample *ret);
/* Its memory is a Python object's. */
bool sample_of_buffer(const struct sampler *s, struct sample *ret);
/* One element less in the first dimension, of the same storage. */
bool sample_view(const struct sample *of, struct sample *ret);
/* a + b */
bool sample_sum(const struct sampler *s, const struct sample *a, const struct sample *b,
                struct sample *ret);
/* All of them, one after the other. */
bool sample_joined(const struct sampler *s, const struct sample *const *parts, unsigned count,
                   struct sample *ret);
void sample_release(struct sample *s);

bool sample_set_requires_grad(const struct sample *s, bool value);
bool sample_set_grad(const struct sample *s, const struct sample *grad);

/* The Python object for what made it, a new reference; NULL: none. */
py_object *sample_node(const struct sample *s);

/* What a Python object for a node leads to: new references, NULL where an edge leads nowhere.
 * Returns how many there are, -1: not known or more than `most`. */
int sample_next_nodes(py_object *node, py_object **ret, int most);

#endif
