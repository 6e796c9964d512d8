/* tests/unit/test_causes.c: facts of a growing process in, ranked causes out. */
#include "words/words.h"

#include "census_lines.h"
#include "unit.h"

#include <stdlib.h>

#define KB 1024.0
#define MB (1024 * KB)

static struct cause_facts no_facts(void)
{
    struct cause_facts f = {.censused = true};
    f.host_rate = f.allocated_rate = f.tensors_rate = f.gpu_rate = f.shared_rate = NAN;
    f.fds_rate = f.threads_rate = f.processes_rate = f.reserved_growth = f.heap_used = f.heap_free =
        NAN;
    f.model_bytes = f.model_tensors = NAN;
    return f;
}

/* Weighs as a ledger does: whatever may hold more than is seen may explain all of the rest. */
static struct interval explained(const struct growth_facts *g, double seen, double rate,
                                 double others)
{
    double low = seen > 0 && rate > 0 ? fmin(seen / rate, 1) : 0;
    bool is_open = rate > 0 && causes_hold_more(g->growing);
    return (struct interval){low, is_open ? fmax(1 - others, low) : low};
}

static double seen_of(double seen, double rate)
{
    return seen > 0 && rate > 0 ? seen / rate : 0;
}

static void rank(struct cause_facts *f, struct growth_facts *growths, struct causes *ret)
{
    double host = 0, device = 0, host_high = 0, device_high = 0;
    for (size_t i = 0; i < f->growth_count; i++) {
        if (growths[i].growing->form == WIRE_CENSUS_TENSORS)
            continue; /* a tally: others may hold the same objects */
        host += seen_of(growths[i].host_rate, f->host_rate);
        device += seen_of(growths[i].device_rate, f->allocated_rate);
    }
    for (size_t i = 0; i < f->growth_count; i++) {
        struct growth_facts *g = &growths[i];
        g->host_share =
            explained(g, g->host_rate, f->host_rate, host - seen_of(g->host_rate, f->host_rate));
        g->device_share = explained(g, g->device_rate, f->allocated_rate,
                                    device - seen_of(g->device_rate, f->allocated_rate));
        host_high += g->host_share.high;
        device_high += g->device_share.high;
    }
    double free = f->heap_free > 0 ? f->heap_free : 0;
    f->unexplained = (struct interval){fmax(0, 1 - host_high - free), fmax(0, 1 - host - free)};
    f->device_unexplained = (struct interval){fmax(0, 1 - device_high), fmax(0, 1 - device)};
    causes_rank(f, ret);
}

static struct wire_census_growing growing(const char *what, const char *item,
                                          enum wire_holder_kind kind, const char *path)
{
    struct wire_census_growing g = {
        .what = thing_called(what, strlen(what)), .bound = NAN, .view = NAN};
    g.host_per_item = g.device_per_item = NAN;
    set_item(&g, item);
    if (path)
        g.holders[g.holder_count++] = (struct wire_census_holder){
            .share = 1, .kind = kind, .path = path, .function = "train", .file = ""};
    return g;
}

/* The first cause when `g` alone grows, by `host_rate` of the process's 64 KB per step. */
static enum cause first_cause(const struct wire_census_growing *g, double host_rate)
{
    static const struct wire_census_group groups[] = {
        {.shape = "[32, 10]", .grad_fn = true, .requires_grad = true},
        {.shape = "[64]", .requires_grad = true},
    };
    struct growth_facts growth = {g, 1, host_rate, NAN, {0, 0}, {0, 0}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.groups = groups;
    f.group_count = sizeof(groups) / sizeof(groups[0]);
    f.host_rate = 64 * KB;
    f.growths = &growth;
    f.growth_count = 1;
    f.model_bytes = 10 * MB;
    f.model_tensors = 20;
    rank(&f, &growth, &c);
    return c.count > 0 ? c.list[0].cause : CAUSES;
}

TEST(causes__have_names_and_advice)
{
    for (int i = 0; i < CAUSES; i++) {
        const struct cause_words *words = cause_words((enum cause) i);
        CHECK(words->name && words->name[0]);
        CHECK(words->fix && words->fix[0]);
        for (int k = 0; k < i; k++)
            CHECK(strcmp(words->name, cause_words((enum cause) k)->name) != 0);
    }
}

TEST(causes__by_what_grows_and_who_holds_it)
{
    struct wire_census_growing g =
        growing("list", "tensor float32 [] cpu", WIRE_HOLDER_LOCAL, "loss_history");
    g.grad_fn = true;
    CHECK(first_cause(&g, 100) == CAUSE_RETAINED_LOSS);
    set_item(&g, "tensor float32 [64, 10] cuda:0");
    CHECK(first_cause(&g, 100) == CAUSE_RETAINED_GRAPH);
    g.grad_fn = false;
    CHECK(first_cause(&g, 64 * KB) == CAUSE_TENSOR_CLONES);
    g = growing("torch.Tensor", "tensor float32 [] cpu", WIRE_HOLDER_LOCAL, "total");
    g.form = WIRE_CENSUS_GRAPH;
    CHECK(first_cause(&g, NAN) == CAUSE_RETAINED_GRAPH);
    g = growing("dict", "bytes", WIRE_HOLDER_ATTRIBUTE, "dataset.cache");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_SAMPLE_CACHE);
    g = growing("list", "str", WIRE_HOLDER_GLOBAL, "seen");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_GROWING_CONTAINER);
    g = growing("numpy.ndarray", "numpy.ndarray", WIRE_HOLDER_GLOBAL, "scores");
    g.form = WIRE_CENSUS_SIZE;
    CHECK(first_cause(&g, 64 * KB) == CAUSE_GROWING_OBJECT);
    g = growing("list", "tensor float32 [32, 512] cpu", WIRE_HOLDER_CLOSURE, "seen");
    g.holders[0].function = "watch.<locals>.hook"; /* only its name says hook */
    CHECK(first_cause(&g, 64 * KB) == CAUSE_CLOSURE);
    g = growing("torch.Tensor", "tensor float32 [256, 512] cpu", WIRE_HOLDER_NATIVE, "");
    g.form = WIRE_CENSUS_TENSORS; /* the unexplained rest belongs to them */
    CHECK(first_cause(&g, 20 * KB) == CAUSE_NATIVE_TENSORS); /* a base of kept views */
    g.grad_fn = true;
    CHECK(first_cause(&g, 20 * KB) == CAUSE_AUTOGRAD_CYCLE);
    g = growing("dict", "tuple of str", WIRE_HOLDER_LRU_CACHE, "load");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_LRU_CACHE);
    g = growing("collections.OrderedDict", "function", WIRE_HOLDER_ATTRIBUTE,
                "model._forward_hooks");
    g.function = true;
    CHECK(first_cause(&g, 60 * KB) == CAUSE_HOOKS);
    g = growing("list", "dict", WIRE_HOLDER_ATTRIBUTE,
                "trainer.callback_handler.callbacks[2].history");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_CALLBACK_STATE);
    g = growing("list", "bytes", WIRE_HOLDER_CLOSURE, "parts");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_CLOSURE);
    g = growing("list", "RuntimeError", WIRE_HOLDER_GLOBAL, "errors");
    g.exception = true;
    CHECK(first_cause(&g, 2 * KB) == CAUSE_TRACEBACKS);
    g = growing("Node", "Node", WIRE_HOLDER_GARBAGE, "");
    g.form = WIRE_CENSUS_OBJECTS;
    CHECK(first_cause(&g, 64 * KB) == CAUSE_CYCLE);
    g = growing("torch.Tensor", "tensor float32 [8] cpu", WIRE_HOLDER_NATIVE, "");
    g.form = WIRE_CENSUS_TENSORS;
    CHECK(first_cause(&g, 64 * KB) == CAUSE_NATIVE_TENSORS);
    g = growing("collections.OrderedDict", "function of tensor float32 [8] cpu", WIRE_HOLDER_NATIVE,
                "");
    g.function = true;
    CHECK(first_cause(&g, 64 * KB) == CAUSE_HOOKS);
    g = growing("list", "tensor float32 [8] cpu", WIRE_HOLDER_LOCAL, "grads");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_LINGERING_GRADIENTS);
    g = growing("list", "torch.autograd.profiler_util.FunctionEvent", WIRE_HOLDER_ATTRIBUTE,
                "prof.events");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_PROFILER);
    g = growing("collections.deque", "logging.LogRecord", WIRE_HOLDER_ATTRIBUTE, "handler.pending");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_LOG_QUEUE);
    g = growing("dict", "code", WIRE_HOLDER_GLOBAL, "torch._dynamo.cache");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_COMPILE_CACHE);
}

TEST(causes__copies_of_the_model_are_checkpoints)
{
    struct wire_census_growing g =
        growing("list", "dict of tensor float32 [64] cpu", WIRE_HOLDER_LOCAL, "saved");
    g.host_per_item = 11 * MB;
    g.tensors = 20;
    CHECK(first_cause(&g, 64 * KB) == CAUSE_STAGED_CHECKPOINTS);
    set_item(&g, "dict of tensor int64 [64] cpu"); /* tokens: weights are never integers */
    CHECK(first_cause(&g, 64 * KB) == CAUSE_TENSOR_CLONES);
    set_item(&g, "dict of tensor float32 [64] cpu");
    g.tensors = 2; /* outputs that happen to be as large */
    CHECK(first_cause(&g, 64 * KB) == CAUSE_TENSOR_CLONES);
    g.host_per_item = 31 * MB; /* with the optimizer's state */
    g.tensors = 60;
    CHECK(first_cause(&g, 64 * KB) == CAUSE_STAGED_CHECKPOINTS);
    set_item(&g, "dict of tensor float32 [32, 10] cpu"); /* no parameter has that shape */
    CHECK(first_cause(&g, 64 * KB) == CAUSE_TENSOR_CLONES);
    g.host_per_item = 1 * MB;
    CHECK(first_cause(&g, 64 * KB) == CAUSE_TENSOR_CLONES);
}

/* A list of numbers beside a leak of another kind is not its cause. */
TEST(causes__what_explains_nothing_is_not_accused)
{
    struct wire_census_growing g = growing("list", "float", WIRE_HOLDER_LOCAL, "history");
    CHECK(first_cause(&g, 32) == CAUSE_NATIVE);
    set_item(&g, "tuple of float");
    CHECK(first_cause(&g, 96) == CAUSE_NATIVE);
}

/* An image may hold more than Python sees; a plain object holds only what is seen. */
TEST(causes__items_may_hold_what_cannot_be_seen)
{
    struct wire_census_growing g = growing("list", "PIL.Image.Image", WIRE_HOLDER_LOCAL, "images");
    struct growth_facts growth = {&g, 1, 100, NAN, {0, 0}, {0, 0}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 64 * KB;
    f.growths = &growth;
    f.growth_count = 1;
    rank(&f, &growth, &c);
    CHECK(c.count == 1 && c.list[0].growth == &growth);
    CHECK(c.undecided_count >= 1 && strstr(c.undecided[0], "cannot be told"));
    set_item(&g, "Record");
    rank(&f, &growth, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_NATIVE);
    set_item(&g, "Record of tokens.Encoding"); /* a type of an extension */
    g.extension = true;
    rank(&f, &growth, &c);
    CHECK(c.count == 1 && c.list[0].growth == &growth && c.list[0].holds_more);
    set_item(&g, "datetime.datetime"); /* also of an extension, but a single value */
    rank(&f, &growth, &c);
    CHECK(c.list[0].cause == CAUSE_NATIVE);
    g.extension = false;
    set_item(&g, "dict");
    rank(&f, &growth, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_NATIVE);
    set_item(&g, "numpy.float32");
    rank(&f, &growth, &c);
    CHECK(c.list[0].cause == CAUSE_NATIVE);
}

/* torch.jit.trace() at every step: what both hold outside Python's memory cannot be seen. */
TEST(causes__a_container_comes_before_objects_of_a_type)
{
    struct wire_census_growing objects =
        growing("dict", "dict of torch._C.ScriptModule", WIRE_HOLDER_CLASS, "QualnameWrapper");
    struct wire_census_growing set = growing("set", "torch._C.ConcreteModuleType",
                                             WIRE_HOLDER_ATTRIBUTE, "store.methods_compiled");
    objects.form = WIRE_CENSUS_OBJECTS;
    objects.extension = set.extension = true;
    struct growth_facts growths[] = {{&objects, 123, 60 * KB, NAN, {0, 0}, {0, 0}},
                                     {&set, 122, 10 * KB, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 3 * MB;
    f.growths = growths;
    f.growth_count = 2;
    rank(&f, growths, &c);
    CHECK(c.count == 2 && c.list[0].growth == &growths[1] && c.list[1].growth == &growths[0]);
}

/* Each hook keeps tensors, which are part of what the hooks keep. */
TEST(causes__the_one_that_takes_most_is_first)
{
    struct wire_census_growing hooks = growing("dict", "function of tensor float32 [8] cpu",
                                               WIRE_HOLDER_ATTRIBUTE, "net._forward_hooks");
    struct wire_census_growing tensors =
        growing("torch.Tensor", "tensor float32 [8] cpu", WIRE_HOLDER_CLOSURE, "out[\"f\"]");
    tensors.form = WIRE_CENSUS_TENSORS;
    struct growth_facts growths[] = {{&tensors, 2, 14 * KB, NAN, {0, 0}, {0, 0}},
                                     {&hooks, 1, 58 * KB, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 64 * KB;
    f.tensors_rate = 2;
    f.growths = growths;
    f.growth_count = 2;
    rank(&f, growths, &c);
    CHECK(c.count == 2 && c.list[0].growth == &growths[1] && c.list[0].cause == CAUSE_HOOKS);
}

TEST(causes__names_that_mislead)
{
    struct wire_census_growing g = growing("collections.deque", "tuple of bytes",
                                           WIRE_HOLDER_ATTRIBUTE, "stack._exit_callbacks");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_GROWING_CONTAINER);
    g = growing("dict", "tensor float32 [8] cpu", WIRE_HOLDER_ATTRIBUTE, "self.callbacks[2].grads");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_CALLBACK_STATE);
    g = growing("list", "numpy.ndarray", WIRE_HOLDER_ATTRIBUTE, "stats.matrices");
    CHECK(first_cause(&g, 64 * KB) == CAUSE_GROWING_CONTAINER);
    g = growing("list", "zlib.Decompress", WIRE_HOLDER_LOCAL,
                "readers"); /* its windows are outside Python */
    CHECK(first_cause(&g, 177) == CAUSE_GROWING_CONTAINER);
}

TEST(causes__functions_that_take_next_to_nothing_are_none)
{
    struct wire_census_growing g =
        growing("function", "function", WIRE_HOLDER_CLASS, "_call.__exit__");
    g.form = WIRE_CENSUS_OBJECTS;
    CHECK(first_cause(&g, 154) != CAUSE_CLOSURE);
    g = growing("list", "PIL.Image.Image", WIRE_HOLDER_LOCAL,
                "seen"); /* an image may hold any amount */
    CHECK(first_cause(&g, 154) == CAUSE_SAMPLE_CACHE);
}

TEST(causes__one_attribute_is_told_once_by_whatever_way)
{
    struct wire_census_growing list = growing(
        "list", "tensor float32 [8] cpu", WIRE_HOLDER_ATTRIBUTE, "tr.predict_loop.model.outputs");
    struct wire_census_growing tensors =
        growing("Tensor", "tensor float32 [9] cpu", WIRE_HOLDER_ATTRIBUTE,
                "tr.test_loop.model.outputs[...]");
    tensors.form = WIRE_CENSUS_TENSORS;
    struct growth_facts growths[] = {{&list, 1, 40 * KB, NAN, {0, 0}, {0, 0}},
                                     {&tensors, 1, 20 * KB, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 64 * KB;
    f.growths = growths;
    f.growth_count = 2;
    rank(&f, growths, &c);
    CHECK(c.count == 1 && c.list[0].growth == &growths[0]);
}

/* Nothing shows that the rest is native: the named holder stays first, with the share it
 * explains at most. */
TEST(causes__what_explains_a_part_is_not_outranked)
{
    struct wire_census_growing g = growing("list", "dict", WIRE_HOLDER_LOCAL, "records");
    struct growth_facts growth = {&g, 1, 26 * KB, NAN, {0, 0}, {0, 0}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 64 * KB;
    f.growths = &growth;
    f.growth_count = 1;
    rank(&f, &growth, &c);
    CHECK(c.count == 1 && c.list[0].growth == &growth);
    CHECK(c.undecided_count == 1 && strstr(c.undecided[0], "at most 41 %"));
}

TEST(causes__a_profiler_that_is_there)
{
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 64 * KB;
    f.profiler = true;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_PROFILER);
}

TEST(causes__the_one_that_explains_most_comes_first)
{
    struct wire_census_growing small = growing("list", "bytes", WIRE_HOLDER_LOCAL, "few");
    struct wire_census_growing large = growing("list", "bytes", WIRE_HOLDER_LOCAL, "many");
    struct growth_facts growths[] = {{&small, 5, 8 * KB, NAN, {0, 0}, {0, 0}},
                                     {&large, 1, 50 * KB, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 64 * KB;
    f.growths = growths;
    f.growth_count = 2;
    rank(&f, growths, &c);
    CHECK(c.count == 2 && c.list[0].growth == &growths[1] && c.list[1].growth == &growths[0]);
    CHECK_NEAR(c.list[0].share, 50 / 64.0, 1e-9);
    CHECK(strstr(c.list[0].evidence[0], "78 %") != NULL);
}

TEST(causes__the_items_of_a_container_are_not_told_twice)
{
    struct wire_census_growing list =
        growing("list", "tuple of tensor float32 [8] cpu", WIRE_HOLDER_LOCAL, "kept");
    struct wire_census_growing same =
        growing("torch.Tensor", "tensor float32 [8] cpu", WIRE_HOLDER_OTHER, NULL);
    struct wire_census_growing other =
        growing("torch.Tensor", "tensor int64 [8] cpu", WIRE_HOLDER_OTHER, NULL);
    same.form = other.form = WIRE_CENSUS_TENSORS;
    struct growth_facts growths[] = {{&same, 1, 30 * KB, NAN, {0, 0}, {0, 0}},
                                     {&list, 1, 32 * KB, NAN, {0, 0}, {0, 0}},
                                     {&other, 1, 30 * KB, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 64 * KB;
    f.growths = growths;
    f.growth_count = 3;
    rank(&f, growths, &c);
    CHECK(c.count == 2 && c.list[0].growth == &growths[1] && c.list[1].growth == &growths[2]);
}

/* What a graph keeps is not held by native code if a list keeps the graph. */
TEST(causes__tensors_of_a_graph_are_of_who_keeps_it)
{
    struct wire_census_growing list =
        growing("list", "tensor float32 [] cpu", WIRE_HOLDER_GLOBAL, "losses");
    struct wire_census_growing saved =
        growing("torch.Tensor", "tensor float32 [64] cpu", WIRE_HOLDER_NATIVE, "");
    list.grad_fn = saved.grad_fn = true;
    saved.form = WIRE_CENSUS_TENSORS;
    struct growth_facts growths[] = {{&saved, 1, 60 * KB, NAN, {0, 0}, {0, 0}},
                                     {&list, 1, 600, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 64 * KB;
    f.growths = growths;
    f.growth_count = 2;
    rank(&f, growths, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_RETAINED_LOSS && c.undecided_count == 0);
    f.growth_count = 1;
    rank(&f, growths, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_AUTOGRAD_CYCLE);
}

TEST(causes__free_memory_that_malloc_keeps_is_no_native_leak)
{
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 64 * KB;
    f.heap_used = 0;
    f.heap_free = 0.94;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_RETENTION && c.undecided_count == 0);
    f.heap_used = 0.94;
    f.heap_free = 0;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_NATIVE && c.undecided_count == 0);
    f.heap_used = f.heap_free = NAN;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_NATIVE && c.undecided_count == 1);
    f.censused = false;
    rank(&f, NULL, &c);
    CHECK(c.count == 0 && c.undecided_count == 0);
}

TEST(causes__on_a_device)
{
    struct cause_facts f = no_facts();
    struct causes c;
    f.gpu_rate = 2 * MB;
    rank(&f, NULL, &c);
    CHECK(c.count == 0);
    f.allocated_known = true;
    f.reserved_growth = 2 * MB;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_FRAGMENTATION);
    f.reserved_growth = 0;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_OUTSIDE_TORCH);
    f.allocated_rate = 2 * MB;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_AUTOGRAD_CYCLE);
    struct wire_census_growing g =
        growing("list", "tensor float32 [] cuda:0", WIRE_HOLDER_LOCAL, "kept");
    struct growth_facts growth = {&g, 1, 100, 2 * MB, {0, 0}, {0, 0}};
    f.growths = &growth;
    f.growth_count = 1;
    rank(&f, &growth, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_TENSOR_CLONES);
    CHECK_NEAR(c.list[0].share, 1, 1e-9);
}

/* Whoever holds it: the line is the best there is, unless a holder is known. */
TEST(causes__on_a_device_with_a_line_that_allocates)
{
    struct cause_facts f = no_facts();
    struct causes c;
    f.allocated_rate = 2 * MB;
    f.device_traced = (struct interval){0.9, 1};
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_AUTOGRAD_CYCLE);
    CHECK(c.list[0].is_traced && c.list[0].is_of_device);
    /* Gradients of a graph have no line of Python: this is no graph. */
    f.device_traced.low = 1;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_ALLOCATION && c.list[0].is_traced);
    f.host_rate = KB; /* native memory beside it comes second */
    rank(&f, NULL, &c);
    CHECK(c.count == 2 && c.list[0].cause == CAUSE_ALLOCATION);
    CHECK(c.list[1].cause == CAUSE_NATIVE);
    f.host_rate = NAN;
    f.device_traced.low = 0.9;
    f.censused = false;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_ALLOCATION);
    CHECK(c.list[0].is_traced && c.list[0].is_of_device && c.list[0].share == 0.9);
    CHECK(strstr(c.list[0].evidence[0], "90 to 100 % of the growth of torch's memory on the"));
    f.device_traced.high = 0.9;
    rank(&f, NULL, &c);
    CHECK(strstr(c.list[0].evidence[0], "allocates 90 % of"));
    struct wire_census_growing g =
        growing("list", "tensor float32 [] cuda:0", WIRE_HOLDER_LOCAL, "kept");
    struct growth_facts growth = {&g, 1, 100, 2 * MB, {0, 0}, {0, 0}};
    f.growths = &growth;
    f.growth_count = 1;
    rank(&f, &growth, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_TENSOR_CLONES && !c.list[0].is_traced);
    f.growth_count = 0;
    f.device_traced.low = 0.1;
    rank(&f, NULL, &c);
    CHECK(c.count == 0);
    f.allocated_rate = NAN; /* the line is no cause of the host's growth */
    f.host_rate = 64 * KB;
    f.device_traced.low = 0.9;
    rank(&f, NULL, &c);
    CHECK(c.count == 0);
}

TEST(causes__of_counters_alone)
{
    struct cause_facts f = no_facts();
    struct causes c;
    f.fds_rate = 1;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_FILES && !c.list[0].growth);
    f.fds_rate = NAN;
    f.shared_rate = 4096;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_SHARED_MEMORY);
    f.shared_is_pinned = true;
    rank(&f, NULL, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_PINNED);
}

/* Tensors too small to show in bytes: their number grows. */
TEST(causes__a_count_of_tensors_is_explained_by_tensors)
{
    struct wire_census_growing g =
        growing("list", "tensor float32 [] cpu", WIRE_HOLDER_LOCAL, "kept");
    struct wire_census_growing other = growing("list", "float", WIRE_HOLDER_LOCAL, "numbers");
    struct growth_facts growths[] = {{&other, 1, 32, NAN, {0, 0}, {0, 0}},
                                     {&g, 1, 64, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.tensors_rate = 1;
    f.growths = growths;
    f.growth_count = 2;
    rank(&f, growths, &c);
    CHECK(c.count == 1 && c.list[0].growth == &growths[1]);
}

/* Thread stacks belong to no object. */
TEST(causes__threads_that_pile_up_are_no_native_leak)
{
    struct wire_census_growing active = growing("dict", "threading.Thread of collections.deque",
                                                WIRE_HOLDER_GLOBAL, "threading._active");
    struct growth_facts growths[] = {{&active, 1, 1700, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.host_rate = 36 * KB;
    f.threads_rate = 1;
    f.censused = true;
    f.growths = growths;
    f.growth_count = 1;
    rank(&f, growths, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_THREADS && c.list[0].growth == &growths[0]);
    f.threads_rate = NAN;
    rank(&f, growths, &c);
    CHECK(c.list[0].cause == CAUSE_NATIVE);
}

TEST(causes__descriptors_and_segments_are_held_by_somebody)
{
    struct wire_census_growing losses = growing("list", "float", WIRE_HOLDER_LOCAL, "losses");
    struct wire_census_growing pool = growing("list", "tuple of dict", WIRE_HOLDER_GLOBAL, "pool");
    struct wire_census_growing segments =
        growing("list", "multiprocessing.shared_memory.SharedMemory of memoryview",
                WIRE_HOLDER_GLOBAL, "segments");
    struct growth_facts growths[] = {{&losses, 1, 32, NAN, {0, 0}, {0, 0}},
                                     {&pool, 1, 200, NAN, {0, 0}, {0, 0}},
                                     {&segments, 1, 500, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    f.growths = growths;
    f.growth_count = 2;
    f.fds_rate = 2;
    rank(&f, growths, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_FILES && c.list[0].growth == &growths[1]);
    f.growth_count = 1; /* no holder could explain it */
    rank(&f, growths, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_FILES && !c.list[0].growth);
    f.growth_count = 3;
    f.fds_rate = NAN;
    f.shared_rate = 64 * KB;
    rank(&f, growths, &c);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_SHARED_MEMORY &&
          c.list[0].growth == &growths[2]);
}

TEST(causes__what_one_variable_holds_is_told_once)
{
    struct wire_census_growing weights = growing("torch.Tensor", "tensor float32 [256] cpu",
                                                 WIRE_HOLDER_CLASS, "Saver.best[...][\"w\"]");
    struct wire_census_growing biases = growing("torch.Tensor", "tensor float32 [16] cpu",
                                                WIRE_HOLDER_CLASS, "Saver.best[...][\"b\"]");
    struct wire_census_growing other =
        growing("torch.Tensor", "tensor float32 [8] cpu", WIRE_HOLDER_CLASS, "Saver.last[\"b\"]");
    struct growth_facts growths[] = {{&biases, 1, 8 * KB, NAN, {0, 0}, {0, 0}},
                                     {&weights, 1, 40 * KB, NAN, {0, 0}, {0, 0}},
                                     {&other, 1, 9 * KB, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    weights.form = biases.form = other.form = WIRE_CENSUS_TENSORS;
    f.host_rate = 64 * KB;
    f.growths = growths;
    f.growth_count = 3;
    rank(&f, growths, &c);
    CHECK(c.count == 2 && c.list[0].growth == &growths[1] && c.list[1].growth == &growths[2]);
}

TEST(causes__an_array_may_be_a_view_of_a_tensor)
{
    struct wire_census_growing tensors =
        growing("torch.Tensor", "tensor float32 [3, 64, 64] cpu", WIRE_HOLDER_NATIVE, "");
    struct wire_census_growing media =
        growing("list", "tuple of numpy.ndarray", WIRE_HOLDER_ATTRIBUTE, "run.backlog[\"media\"]");
    struct growth_facts growths[] = {{&media, 1, 200, NAN, {0, 0}, {0, 0}},
                                     {&tensors, 1, 48 * KB, NAN, {0, 0}, {0, 0}}};
    struct cause_facts f = no_facts();
    struct causes c;
    tensors.form = WIRE_CENSUS_TENSORS;
    f.host_rate = 49 * KB;
    f.growths = growths;
    f.growth_count = 2;
    rank(&f, growths, &c);
    CHECK(c.count == 1 && c.list[0].growth == &growths[0]);
    set_item(&media, "tuple of float"); /* no array holds them */
    rank(&f, growths, &c);
    CHECK(c.count > 0 && c.list[0].growth == &growths[1]);
}

/* Most of the growth is not held by any object; `share` of it comes from one line. */
static struct causes native_with(struct interval share, struct cause_facts f)
{
    struct causes c;
    f.host_rate = 64 * KB;
    f.traced = share;
    f.unexplained = (struct interval){0.9, 1};
    causes_rank(&f, &c);
    return c;
}

TEST(causes__a_traced_line_is_where_native_memory_comes_from)
{
    const struct interval most = {0.8, 0.95}, little = {0.1, 0.4}, none = {0, 0};
    struct cause_facts f = no_facts();
    struct causes c = native_with(most, f);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_NATIVE && c.list[0].is_traced);
    c = native_with(little, f);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_NATIVE && !c.list[0].is_traced);
    c = native_with(none, f);
    CHECK(c.count == 1 && !c.list[0].is_traced);
    f.profiler = true; /* its own cause; the line would only be torch's */
    c = native_with(most, f);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_PROFILER && !c.list[0].is_traced);
}

TEST(causes__a_traced_line_is_one_where_no_census_was_taken)
{
    const struct interval most = {0.8, 0.95}, little = {0.1, 0.4};
    struct cause_facts f = no_facts();
    f.censused = false;
    struct causes c = native_with(most, f);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_ALLOCATION && c.list[0].is_traced);
    CHECK(c.list[0].share == 0.8);
    CHECK_TEXT(c.list[0].evidence[0], "one line allocates 80 to 95 % of the growth of host memory, "
                                      "and what holds it was not found");
    CHECK(native_with(little, f).count == 0);
    f.host_rate = NAN;
    struct causes flat;
    f.traced = most;
    causes_rank(&f, &flat); /* host memory does not grow */
    CHECK(flat.count == 0);
}

TEST(causes__a_traced_line_names_what_the_objects_leave_open)
{
    struct cause_facts f = no_facts();
    struct causes c;
    f.tensors_rate = 1; /* tensors grow, and no census says which */
    c = native_with((struct interval){0.5, 0.6}, f);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_ALLOCATION && c.undecided_count == 0);
    c = native_with((struct interval){0.1, 0.6}, f);
    CHECK(c.count == 0 && c.undecided_count == 1);
    f.heap_free = 0.8; /* malloc keeps it: no line is to blame */
    c = native_with((struct interval){0.5, 0.6}, f);
    CHECK(c.count == 1 && c.list[0].cause == CAUSE_RETENTION && !c.list[0].is_traced);
}
