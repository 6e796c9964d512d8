/* probe/hook/torch.c: hooks optimizer steps and the ends of loaders. Every call here holds the GIL.
 */
#include "probe/hook/torch.h"

#include "probe/base/python.h"
#include "probe/hook/batches.h"
#include "probe/hook/cleanup.h"
#include "probe/hook/dataset.h"
#include "probe/hook/recording.h"
#include "probe/hook/ring.h"
#include "probe/hook/step_counter.h"

#include <math.h>
#include <string.h>

static struct step_counter counter;
static bool is_idle;              /* hooks that remain do nothing */
static py_object *weak_optimizer; /* to the optimizer that counts */

/* Loaders whose dataset was weighed: the current iterator, and the datasets so far. */
#define DATASETS_MOST 8u
static const py_object *known_iterator;
static const py_object *known_datasets[DATASETS_MOST];
static unsigned known_count;

void torch_forget(void)
{
    memset(&counter, 0, sizeof(counter));
    known_iterator = NULL;
    known_count = 0;
    batches_forget();
    recording_forget();
}

/* ---- steps ---- */

/* Calling a weak reference gives the object, or None. */
static bool is_gone(py_object *weak)
{
    py_object *o = weak ? py.PyObject_CallObject(weak, NULL) : NULL;
    if (!o) {
        py.PyErr_Clear();
        return weak != NULL;
    }
    bool gone = o == py.none;
    py.Py_DecRef(o);
    return gone;
}

static void remember_optimizer(py_object *optimizer)
{
    python_drop(weak_optimizer);
    weak_optimizer = py.PyWeakref_NewRef(optimizer, NULL);
    if (!weak_optimizer)
        py.PyErr_Clear();
}

/* The `step` of a parameter's state, which Adam and similar optimizers keep on the host. NAN: none
 * there. */
static double step_of_state(py_object *state)
{
    py_object *step = py.PyObject_CallMethod(state, "get", "s", "step");
    py_object *on_device = step ? python_attribute(step, "is_cuda") : NULL;
    double value = NAN;
    if (step && step != py.none && (!on_device || py.PyObject_IsTrue(on_device) == 0)) {
        py_object *number = py.PyNumber_Float(step);
        if (number) {
            value = py.PyFloat_AsDouble(number);
            py.Py_DecRef(number);
        }
    }
    python_drop(on_device);
    python_drop(step);
    py.PyErr_Clear();
    return value;
}

/* A resumed training has loaded its optimizer's state, which knows the step. */
static double steps_by_state(py_object *optimizer)
{
    double steps = NAN;
    py_object *state = python_attribute(optimizer, "state");
    py_object *values = state ? py.PyObject_CallMethod(state, "values", NULL) : NULL;
    py_object *iterator = values ? py.PyObject_GetIter(values) : NULL;
    py_object *first = iterator ? py.PyIter_Next(iterator) : NULL;
    if (first)
        steps = step_of_state(first);
    py.PyErr_Clear();
    py_object *const all[] = {first, iterator, values, state};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        python_drop(all[i]);
    return steps;
}

static void optimizer_stepped(py_object *optimizer)
{
    bool is_new = optimizer != counter.optimizer;
    if (!steps_of_optimizer(&counter, optimizer, is_new && is_gone(weak_optimizer)))
        return;
    if (is_new)
        remember_optimizer(optimizer);
    if (counter.steps == 1) {
        double resumed = steps_by_state(optimizer);
        if (resumed > 1)
            steps_are(&counter, resumed);
    }
    ring_step(counter.steps);
}

/*
 * The program must not notice a hook: a current exception is kept, and an exception of ours is
 * dropped.
 */
static void without_trace(void (*what)(py_object *), py_object *o)
{
    py_object *type, *value, *traceback;
    py.PyErr_Fetch(&type, &value, &traceback);
    what(o);
    py.PyErr_Clear();
    py.PyErr_Restore(type, value, traceback);
}

/* Reports the step, with the memory at this place, before any cleanup. False: an exception is set.
 */
static bool step_made(py_object *optimizer)
{
    if (is_idle)
        return true;
    double before = counter.steps;
    without_trace(optimizer_stepped, optimizer);
    return cleanup_stepped(optimizer, counter.steps > before);
}

/* step(optimizer) */
static py_object *on_step(py_object *self, py_object *args)
{
    (void) self;
    py_object *optimizer = py.PyTuple_GetItem(args, 0);
    if (!optimizer)
        py.PyErr_Clear();
    else if (!step_made(optimizer))
        return NULL;
    py.Py_IncRef(py.none);
    return py.none;
}

static struct py_method step_function = {"step", on_step, PY_VARARGS, NULL};

/*
 * torch's own hook, since 2.0: hook(optimizer, args, kwargs). It must be a Python function:
 * torch.compile() inspects it when it compiles an optimizer, and this mark says to call it without
 * tracing.
 */
static const char step_hook[] = "def tidemark_step(optimizer, args, kwargs):\n"
                                "    step(optimizer)\n"
                                "tidemark_step._torchdynamo_disable = True\n";

static py_object *make_step_hook(void)
{
    py_object *function = python_function(&step_function, NULL), *hook = NULL;
    if (function) {
        hook = python_define(step_hook, function, step_function.name, "tidemark_step");
        py.Py_DecRef(function);
    }
    return hook;
}

static py_object *step_handle; /* removes the hook */

#define OPTIMIZER_MODULE "torch.optim.optimizer"
#define OPTIMIZER_FILE "optim/optimizer.py"

static bool is_in_optimizer(py_object *frame)
{
    py_object *code = python_attribute(frame, "f_code");
    py_object *file = code ? python_attribute(code, "co_filename") : NULL;
    const char *text = file ? python_text(file) : NULL;
    size_t len = text ? strlen(text) : 0, end = strlen(OPTIMIZER_FILE);
    bool is = len >= end && strcmp(text + len - end, OPTIMIZER_FILE) == 0;
    python_drop(file);
    python_drop(code);
    return is;
}

static bool has_optimizer_frame(py_object *frame)
{
    bool found = false;
    py.Py_IncRef(frame);
    while (frame && frame != py.none && !found) {
        found = is_in_optimizer(frame);
        py_object *outer = python_attribute(frame, "f_back");
        py.Py_DecRef(frame);
        frame = outer;
    }
    python_drop(frame);
    return found;
}

/* Is a thread inside a step now? Unknown counts as yes. */
static bool somebody_steps(void)
{
    py_object *sys = python_module("sys");
    py_object *frames = sys ? py.PyObject_CallMethod(sys, "_current_frames", NULL) : NULL;
    bool found = !frames;
    py_object *thread, *frame;
    for (ptrdiff_t i = 0; frames && !found && py.PyDict_Next(frames, &i, &thread, &frame);)
        found = has_optimizer_frame(frame);
    py.PyErr_Clear();
    python_drop(frames);
    return found;
}

/*
 * torch iterates over its hooks after a step, and would raise if one were added or removed
 * meanwhile. If ours is the only one, the iteration ends before any Python code runs.
 */
static bool hooks_may_change(py_object *module, ptrdiff_t own)
{
    py_object *hooks = python_attribute(module, "_global_optimizer_post_hooks");
    ptrdiff_t count = hooks ? py.PyObject_Size(hooks) : -1;
    py.PyErr_Clear();
    python_drop(hooks);
    return count == own || !somebody_steps();
}

static bool hook_optimizers(void)
{
    py_object *module = python_module(OPTIMIZER_MODULE);
    py_object *type = module ? python_attribute(module, "Optimizer") : NULL;
    if (!type)
        return false;
    py.Py_DecRef(type);
    py_object *add = python_attribute(module, "register_optimizer_step_post_hook");
    if (!add)
        return false;
    py_object *hook = hooks_may_change(module, 0) ? make_step_hook() : NULL;
    step_handle = hook ? py.PyObject_CallFunction(add, "O", hook) : NULL;
    py.PyErr_Clear();
    python_drop(hook);
    py.Py_DecRef(add);
    return step_handle != NULL;
}

/* False: not possible now. */
static bool unhook_optimizers(void)
{
    py_object *module = python_module(OPTIMIZER_MODULE);
    if (!step_handle)
        return true;
    if (module && !hooks_may_change(module, 1))
        return false;
    py_object *none = py.PyObject_CallMethod(step_handle, "remove", NULL);
    py.PyErr_Clear();
    python_drop(none);
    python_drop(step_handle);
    step_handle = NULL;
    return true;
}

/* ---- steps before torch 2.0 ---- */

/*
 * Before 2.0, torch wraps the optimizer's step() in a function of its own, with a label for the
 * profiler. The step ends where the label ends. The optimizer is that function's local `obj`.
 */
#define STEP_LABEL "Optimizer.step#"

static struct python_replaced label_exit;

static bool is_step_label(py_object *record)
{
    py_object *name = python_attribute(record, "name");
    const char *text = name ? python_text(name) : NULL;
    bool is = text && strncmp(text, STEP_LABEL, strlen(STEP_LABEL)) == 0;
    python_drop(name);
    return is;
}

/* False: an exception is set. */
static bool label_ended(py_object *record)
{
    py_object *frame = is_step_label(record) ? py.PyEval_GetFrame() : NULL;
    py_object *locals = frame ? python_attribute(frame, "f_locals") : NULL;
    py_object *optimizer = locals ? py.PyObject_CallMethod(locals, "get", "s", "obj") : NULL;
    py.PyErr_Clear();
    bool fine = !optimizer || optimizer == py.none || step_made(optimizer);
    python_drop(optimizer);
    python_drop(locals);
    return fine;
}

/* __exit__(record, exception or None, ...) */
static py_object *on_label_exit(py_object *original, py_object *args)
{
    py_object *result = py.PyObject_CallObject(original, args);
    if (result && !is_idle && py.PyTuple_Size(args) >= 2 &&
        py.PyTuple_GetItem(args, 1) == py.none && !label_ended(py.PyTuple_GetItem(args, 0))) {
        py.Py_DecRef(result);
        return NULL;
    }
    return result;
}

static struct py_method exit_method = {"__exit__", on_label_exit, PY_VARARGS, NULL};

/* Also false with a newer torch: its own hook is better. */
static bool hook_labels(void)
{
    py_object *optim = python_module(OPTIMIZER_MODULE);
    py_object *module = python_module("torch.autograd.profiler");
    py_object *optimizer = optim ? python_attribute(optim, "Optimizer") : NULL;
    py_object *newer = optim ? python_attribute(optim, "register_optimizer_step_post_hook") : NULL;
    py_object *record = module ? python_attribute(module, "record_function") : NULL;
    bool hooked =
        optimizer && record && !newer && python_replace_method(record, &exit_method, &label_exit);
    py_object *const all[] = {optimizer, newer, record};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        python_drop(all[i]);
    return hooked;
}

/* ---- epochs ---- */

static struct python_replaced loader_next;

/* Takes the ring's step count if it is not the optimizers' own. */
static void follow_other_source(void)
{
    double steps = ring_steps();
    if (isfinite(steps))
        steps_are(&counter, steps);
}

/*
 * The program's own sampler answers len(), perhaps by making all batches, so ask once per pass.
 * This runs Python code, in which a signal can arrive: an exception that is not an Exception
 * (KeyboardInterrupt) must be passed on. False: such an exception is set.
 */
static bool ask_length(py_object *iterator, double *ret)
{
    *ret = NAN;
    if (steps_know_loader(&counter, iterator))
        return true;
    ptrdiff_t length = py.PyObject_Size(iterator);
    if (length < 0 && !py.PyErr_ExceptionMatches(*py.exception))
        return false;
    py.PyErr_Clear();
    if (length > 0)
        *ret = (double) length;
    return true;
}

/* False: an exception is set. */
static bool batch_taken(py_object *iterator)
{
    double length;
    if (!ask_length(iterator, &length))
        return false;
    follow_other_source();
    struct loader_news news = steps_batch_taken(&counter, iterator, length);
    if (news.epoch_ended)
        ring_epoch(counter.steps, counter.epochs);
    if (isfinite(news.epoch_length))
        ring_epoch_length(news.epoch_length);
    return true;
}

static void loader_exhausted(py_object *iterator)
{
    known_iterator = NULL;
    follow_other_source();
    if (steps_loader_exhausted(&counter, iterator))
        ring_epoch(counter.steps, counter.epochs);
}

/* Reports once per dataset, after its first batch, what its workers will copy. */
static void report_dataset(py_object *iterator)
{
    const py_object *dataset = dataset_of(iterator);
    known_iterator = iterator;
    for (unsigned i = 0; i < known_count; i++)
        if (known_datasets[i] == dataset)
            return;
    if (!dataset || known_count == DATASETS_MOST)
        return;
    known_datasets[known_count++] = dataset;
    dataset_weigh(iterator, ring_dataset);
}

/* __next__(iterator) */
static py_object *on_next(py_object *original, py_object *args)
{
    py_object *batch = py.PyObject_CallObject(original, args);
    if (is_idle)
        return batch;
    py_object *iterator = py.PyTuple_Size(args) > 0 ? py.PyTuple_GetItem(args, 0) : NULL;
    if (batch && iterator && !(batch_taken(iterator) && cleanup_batch_taken())) {
        py.Py_DecRef(batch);
        return NULL;
    }
    if (batch && iterator && iterator != known_iterator)
        without_trace(report_dataset, iterator);
    if (!batch && iterator && py.PyErr_ExceptionMatches(*py.stop_iteration))
        without_trace(loader_exhausted, iterator);
    return batch;
}

static struct py_method next_method = {"__next__", on_next, PY_VARARGS, NULL};

static bool hook_loaders(void)
{
    py_object *module = python_module("torch.utils.data.dataloader");
    py_object *type = module ? python_attribute(module, "_BaseDataLoaderIter") : NULL;
    if (!type)
        return false;
    bool hooked = python_replace_method(type, &next_method, &loader_next);
    py.Py_DecRef(type);
    return hooked;
}

bool torch_hook_steps(void)
{
    is_idle = false;
    bool optimizers = step_handle || label_exit.type || hook_optimizers() || hook_labels();
    bool loaders = loader_next.type || hook_loaders();
    return optimizers && loaders;
}

bool torch_hook(void)
{
    if (!torch_hook_steps())
        return false;
    batches_hook(); /* all modules of the loaders are imported by now */
    return cleanup_hook();
}

bool torch_unhook(void)
{
    is_idle = true;
    recording_end();
    /* If somebody has replaced one of our methods, ours stays beneath it and only passes on. */
    python_restore_method(&label_exit, &exit_method);
    python_restore_method(&loader_next, &next_method);
    torch_forget();
    python_drop(weak_optimizer);
    weak_optimizer = NULL;
    return unhook_optimizers();
}
