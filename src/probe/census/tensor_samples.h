/* probe/census/tensor_samples.h: sample tensors to learn from, with the facts torch reports.
 * Private to probe/. Runs no line of Python: neither signal handlers nor tracers notice. */
#ifndef TIDEMARK_PROBE_CENSUS_TENSOR_SAMPLES_H
#define TIDEMARK_PROBE_CENSUS_TENSOR_SAMPLES_H

#include "probe/census/tensors.h"

/* torch, with everything disabled that would make tensors special. */
struct sampler {
    py_object *torch, *c;   /* the modules torch and torch._C, borrowed */
    py_object *functions;   /* torch._C._VariableFunctions, owned; so are the following */
    py_object *tensor_type; /* the base type of all tensors */
    py_object *usual_type, *parameter_type; /* torch.Tensor, torch.nn.Parameter */
    py_object *guard;    /* disables __torch_function__ of classes and modes until it is exited */
    py_object *had_grad; /* whether gradients were enabled */
};

/* Returns NULL, or why it is not possible now; then there is nothing to release. */
const char *sampler_init(struct sampler *s);
void sampler_release(struct sampler *s);

struct sample {
    py_object *tensor;             /* owned */
    uint64_t impl;                 /* this and all addresses here: as torch reports them */
    uint64_t storage, data, bytes; /* 0: not asked for */
    int dims;
    int64_t shape[TENSOR_SHAPE_MOST];
    const char *dtype;
};

struct sample_kind {
    const char *dtype;
    int dims;
    int64_t shape[TENSOR_SHAPE_MOST];
};

/* Each returns false if torch failed; then there is nothing to release. */
bool sample_plain(const struct sampler *s, const struct sample_kind *kind, struct sample *ret);
bool sample_meta(const struct sampler *s, const struct sample_kind *kind, struct sample *ret);
/* Its memory belongs to a Python object. */
bool sample_of_buffer(const struct sampler *s, struct sample *ret);
/* The same storage, with one element less in the first dimension. */
bool sample_view(const struct sample *of, struct sample *ret);
/* a + b */
bool sample_sum(const struct sampler *s, const struct sample *a, const struct sample *b,
                struct sample *ret);
/* All parts concatenated. */
bool sample_joined(const struct sampler *s, const struct sample *const *parts, unsigned count,
                   struct sample *ret);
void sample_release(struct sample *s);

bool sample_set_requires_grad(const struct sample *s, bool value);
bool sample_set_grad(const struct sample *s, const struct sample *grad);

/* The Python object of its grad_fn, a new reference; NULL: none. */
py_object *sample_node(const struct sample *s);

/* The nodes that a node leads to: new references, or NULL for an edge that leads nowhere. Returns
 * their number; -1: unknown, or more than `most`. */
int sample_next_nodes(py_object *node, py_object **ret, int most);

#endif
