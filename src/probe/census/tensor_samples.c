/* probe/census/tensor_samples.c: makes sample tensors through torch's C functions. */
#include "probe/census/tensor_samples.h"

#include <string.h>

/* ---- the state of torch ---- */

/* c.name(), a new reference; NULL: no such function, or it failed. */
static py_object *answer(py_object *c, const char *name)
{
    py_object *function = python_attribute(c, name);
    py_object *said = function ? py.PyObject_CallObject(function, NULL) : NULL;
    python_drop(function);
    py.PyErr_Clear();
    return said;
}

/* The truth value of c.name(); false if torch has no such function. */
static bool says_yes(py_object *c, const char *name)
{
    py_object *said = answer(c, name);
    bool yes = said && py.PyObject_IsTrue(said) == 1;
    py.PyErr_Clear();
    python_drop(said);
    return yes;
}

/* importlib's own marker, which `import` itself uses. */
static bool is_half_imported(py_object *module)
{
    py_object *spec = python_attribute(module, "__spec__");
    py_object *mark = spec ? python_attribute(spec, "_initializing") : NULL;
    bool half = mark && py.PyObject_IsTrue(mark) == 1;
    python_drop(mark);
    python_drop(spec);
    return half;
}

/* Transformations such as vmap(), in which tensors are not plain. */
static bool is_transforming(py_object *c)
{
    py_object *transforms = python_attribute(c, "_functorch");
    bool yes = transforms && says_yes(transforms, "peek_interpreter_stack");
    python_drop(transforms);
    return yes;
}

/* Before torch 2.0, function modes could not be bypassed. */
static bool has_function_mode(py_object *c)
{
    py_object *newer = python_attribute(c, "DisableTorchFunctionSubclass");
    python_drop(newer);
    return !newer && says_yes(c, "_len_torch_function_stack");
}

static const char *not_now(py_object *c)
{
    if (has_function_mode(c))
        return "a mode for torch's functions is active";
    if (says_yes(c, "_len_torch_dispatch_stack"))
        return "a dispatch mode is active";
    if (says_yes(c, "is_inference_mode_enabled"))
        return "inference mode is active";
    if (says_yes(c, "_get_tracing_state"))
        return "a trace is being made";
    return is_transforming(c) ? "a transformation of functions is active" : NULL;
}

static bool enter(struct sampler *s)
{
    s->guard = answer(s->c, "DisableTorchFunction");
    py_object *entered = s->guard ? py.PyObject_CallMethod(s->guard, "__enter__", NULL) : NULL;
    if (!entered) {
        py.PyErr_Clear();
        return false;
    }
    python_drop(entered);
    return true;
}

static void leave(const struct sampler *s)
{
    python_drop(py.PyObject_CallMethod(s->guard, "__exit__", "OOO", py.none, py.none, py.none));
    py.PyErr_Clear();
}

static bool set_grad_mode(const struct sampler *s, py_object *value)
{
    py_object *done = py.PyObject_CallMethod(s->c, "_set_grad_enabled", "O", value);
    py.PyErr_Clear();
    python_drop(done);
    return done != NULL;
}

static bool switch_gradients_on(struct sampler *s)
{
    py_object *yes = py.PyBool_FromLong(1);
    s->had_grad = answer(s->c, "is_grad_enabled");
    bool done = s->had_grad && set_grad_mode(s, yes);
    python_drop(yes);
    return done;
}

static void drop_all(const struct sampler *s)
{
    py_object *const all[] = {s->functions,      s->tensor_type, s->usual_type,
                              s->parameter_type, s->guard,       s->had_grad};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        python_drop(all[i]);
}

static bool find_types(struct sampler *s)
{
    py_object *parameters = python_module("torch.nn.parameter");
    s->functions = python_attribute(s->c, "_VariableFunctions");
    s->tensor_type = python_attribute(s->c, "TensorBase");
    if (!s->tensor_type)
        s->tensor_type = python_attribute(s->c, "_TensorBase");
    s->usual_type = python_attribute(s->torch, "Tensor");
    s->parameter_type = parameters ? python_attribute(parameters, "Parameter") : NULL;
    return s->functions && s->tensor_type && s->usual_type && s->parameter_type;
}

const char *sampler_init(struct sampler *s)
{
    *s = (struct sampler){.torch = python_module("torch"), .c = python_module("torch._C")};
    if (!s->torch || !s->c)
        return "torch is not imported";
    if (is_half_imported(s->torch))
        return "torch is being imported";
    const char *why = find_types(s) ? not_now(s->c) : "torch has other names for its types";
    if (!why && !enter(s))
        why = "torch's functions cannot be called plainly";
    else if (!why && !switch_gradients_on(s)) {
        leave(s);
        why = "gradients cannot be switched on";
    }
    if (why)
        drop_all(s);
    return why;
}

void sampler_release(struct sampler *s)
{
    set_grad_mode(s, s->had_grad);
    leave(s);
    drop_all(s);
}

/* ---- facts from torch ---- */

static bool take_number(py_object *number, uint64_t *ret)
{
    uint64_t value = number ? py.PyLong_AsUnsignedLongLong(number) : 0;
    bool is_one = number && !py.PyErr_Occurred();
    py.PyErr_Clear();
    python_drop(number);
    if (is_one)
        *ret = value;
    return is_one;
}

static bool ask_number(py_object *o, const char *method, uint64_t *ret)
{
    return take_number(py.PyObject_CallMethod(o, method, NULL), ret);
}

/* The storage's Python object, a new reference. In newer versions storage() returns something else.
 */
static py_object *storage_of(py_object *tensor)
{
    static const char *const names[] = {"untyped_storage", "_storage"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        py_object *storage = py.PyObject_CallMethod(tensor, names[i], NULL);
        if (storage)
            return storage;
        py.PyErr_Clear();
    }
    return NULL;
}

static bool ask_storage(struct sample *s)
{
    py_object *storage = storage_of(s->tensor);
    if (!storage)
        return false;
    bool known = take_number(py.PyObject_GetAttrString(storage, "_cdata"), &s->storage) &&
                 ask_number(storage, "nbytes", &s->bytes) &&
                 ask_number(storage, "data_ptr", &s->data);
    python_drop(storage);
    return known;
}

/* Takes over the reference to the tensor; accepts NULL. */
static bool take(py_object *tensor, struct sample *ret)
{
    struct sample s = {.tensor = tensor};
    py.PyErr_Clear();
    if (!tensor)
        return false;
    if (!take_number(py.PyObject_GetAttrString(tensor, "_cdata"), &s.impl)) {
        python_drop(tensor);
        return false;
    }
    *ret = s;
    return true;
}

static bool take_with_storage(py_object *tensor, struct sample *ret)
{
    struct sample s;
    if (!take(tensor, &s))
        return false;
    if (!ask_storage(&s)) {
        sample_release(&s);
        return false;
    }
    *ret = s;
    return true;
}

void sample_release(struct sample *s)
{
    python_drop(s->tensor);
    s->tensor = NULL;
}

/* ---- making samples ---- */

static py_object *call(py_object *of, const char *name, py_object *args, py_object *named)
{
    py_object *function = python_attribute(of, name), *made = NULL;
    if (function && args && named)
        made = py.PyObject_Call(function, args, named);
    py.PyErr_Clear();
    python_drop(function);
    python_drop(args);
    python_drop(named);
    return made;
}

static py_object *shape_of(const struct sample_kind *kind)
{
    const int64_t *n = kind->shape;
    py_object *all = py.Py_BuildValue("(LLLLLLLL)", (long long) n[0], (long long) n[1],
                                      (long long) n[2], (long long) n[3], (long long) n[4],
                                      (long long) n[5], (long long) n[6], (long long) n[7]);
    py_object *shape = all ? py.PyTuple_GetSlice(all, 0, kind->dims) : NULL;
    python_drop(all);
    return shape;
}

static py_object *empty(const struct sampler *s, const struct sample_kind *kind, const char *device)
{
    py_object *dtype = python_attribute(s->torch, kind->dtype);
    py_object *shape = shape_of(kind), *made = NULL;
    if (dtype && shape)
        made = call(s->functions, "empty", py.Py_BuildValue("(O)", shape),
                    py.Py_BuildValue("{s:O,s:s}", "dtype", dtype, "device", device));
    python_drop(dtype);
    python_drop(shape);
    return made;
}

static void note_kind(struct sample *s, const struct sample_kind *kind)
{
    s->dims = kind->dims;
    memcpy(s->shape, kind->shape, sizeof(s->shape));
    s->dtype = kind->dtype;
}

bool sample_plain(const struct sampler *s, const struct sample_kind *kind, struct sample *ret)
{
    if (!take_with_storage(empty(s, kind, "cpu"), ret))
        return false;
    note_kind(ret, kind);
    return true;
}

bool sample_meta(const struct sampler *s, const struct sample_kind *kind, struct sample *ret)
{
    if (!take(empty(s, kind, "meta"), ret))
        return false;
    note_kind(ret, kind);
    return true;
}

bool sample_of_buffer(const struct sampler *s, struct sample *ret)
{
    static const struct sample_kind kind = {"uint8", 1, {48}};
    char zeros[48] = {0};
    py_object *buffer = py.PyByteArray_FromStringAndSize(zeros, sizeof(zeros));
    py_object *dtype = python_attribute(s->torch, kind.dtype), *made = NULL;
    if (buffer && dtype)
        made = call(s->functions, "frombuffer", py.Py_BuildValue("(O)", buffer),
                    py.Py_BuildValue("{s:O}", "dtype", dtype));
    python_drop(buffer);
    python_drop(dtype);
    if (!take_with_storage(made, ret))
        return false;
    note_kind(ret, &kind);
    return true;
}

bool sample_view(const struct sample *of, struct sample *ret)
{
    long long left = of->shape[0] - 1;
    if (!take_with_storage(py.PyObject_CallMethod(of->tensor, "narrow", "iiL", 0, 1, left), ret))
        return false;
    ret->dims = of->dims;
    memcpy(ret->shape, of->shape, sizeof(ret->shape));
    ret->shape[0] = left;
    ret->dtype = of->dtype;
    return true;
}

bool sample_sum(const struct sampler *s, const struct sample *a, const struct sample *b,
                struct sample *ret)
{
    return take(py.PyObject_CallMethod(s->functions, "add", "OO", a->tensor, b->tensor), ret);
}

bool sample_joined(const struct sampler *s, const struct sample *const *parts, unsigned count,
                   struct sample *ret)
{
    py_object *list = py.PyList_New(0), *made = NULL;
    bool complete = list != NULL;
    for (unsigned i = 0; i < count && complete; i++)
        complete = py.PyList_Append(list, parts[i]->tensor) == 0;
    if (complete)
        made = py.PyObject_CallMethod(s->functions, "cat", "(O)", list);
    python_drop(list);
    return take(made, ret);
}

bool sample_set_requires_grad(const struct sample *s, bool value)
{
    py_object *o = py.PyBool_FromLong(value);
    bool done = o && py.PyObject_SetAttrString(s->tensor, "requires_grad", o) == 0;
    py.PyErr_Clear();
    python_drop(o);
    return done;
}

bool sample_set_grad(const struct sample *s, const struct sample *grad)
{
    bool done = py.PyObject_SetAttrString(s->tensor, "grad", grad->tensor) == 0;
    py.PyErr_Clear();
    return done;
}

/* ---- nodes ---- */

/* Turns None into NULL. */
static py_object *unless_none(py_object *o)
{
    if (o != py.none)
        return o;
    python_drop(o);
    return NULL;
}

py_object *sample_node(const struct sample *s)
{
    return unless_none(python_attribute(s->tensor, "grad_fn"));
}

static int take_edges(py_object *edges, py_object **ret, int most)
{
    ptrdiff_t count = python_is(edges, py.PyTuple_Type) ? py.PyTuple_Size(edges) : -1;
    if (count > most)
        return -1;
    for (int i = 0; i < (int) count; i++) {
        py_object *node = py.PySequence_GetItem(py.PyTuple_GetItem(edges, i), 0);
        py.PyErr_Clear();
        ret[i] = unless_none(node);
    }
    return (int) count;
}

int sample_next_nodes(py_object *node, py_object **ret, int most)
{
    py_object *edges = python_attribute(node, "next_functions");
    int count = edges ? take_edges(edges, ret, most) : -1;
    python_drop(edges);
    return count;
}
