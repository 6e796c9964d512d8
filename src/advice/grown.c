/* advice/grown.c: which cause the growth of one kind of objects is, by what the census says. */
#include "advice/grown.h"
#include "advice/advice.h"

#include <math.h>
#include <string.h>

const struct wire_census_holder *grown_holder(const struct wire_census_growing *g)
{
    return g->holder_count > 0 ? &g->holders[0] : NULL;
}

bool grown_is_held_as(const struct wire_census_growing *g, enum wire_holder_kind kind)
{
    const struct wire_census_holder *h = grown_holder(g);
    return h && h->kind == kind;
}

static bool item_is_called(const struct wire_census_growing *g, const char *word)
{
    for (unsigned i = 0; i < g->item_depth; i++)
        if (strcasestr(g->item[i].type, word))
            return true;
    return false;
}

static bool speaks_of(const struct wire_census_growing *g, const char *word)
{
    const struct wire_census_holder *h = grown_holder(g);
    return item_is_called(g, word) || strcasestr(g->what.type, word) ||
           (h && (strcasestr(h->path, word) || strcasestr(h->function, word)));
}

bool grown_speaks_of_any(const struct wire_census_growing *g, const char *const *words)
{
    for (; *words; words++)
        if (speaks_of(g, *words))
            return true;
    return false;
}

bool grown_has_tensors(const struct wire_census_growing *g)
{
    return g->form == WIRE_CENSUS_TENSORS || g->what.kind == WIRE_THING_TENSOR ||
           wire_census_item_has(g, WIRE_THING_TENSOR);
}

static bool ends_in(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);
    return len >= tail && strcmp(text + len - tail, end) == 0;
}

/* A checkpoint item has as many tensors as the model has parameters. Its size is that of all
 * parameters or a multiple: an optimizer's state is up to three times as large. */
#define COPIES_LEAST 0.8
#define COPIES_MOST 4.5

/* A copy of a parameter has the parameter's shape; leaf tensors that require gradients are
 * parameters. */
static bool is_shaped_as_a_parameter(const struct wire_census_thing *tensor,
                                     const struct cause_facts *facts)
{
    bool knows_any = false;
    if (strstr(tensor->dtype, "int") || strcmp(tensor->dtype, "bool") == 0)
        return false; /* only floating-point tensors are trained */
    for (size_t i = 0; i < facts->group_count; i++) {
        const struct wire_census_group *group = &facts->groups[i];
        bool is_parameter = group->requires_grad && !group->grad_fn;
        if (is_parameter && strcmp(group->shape, tensor->shape) == 0)
            return true;
        knows_any = knows_any || is_parameter;
    }
    return !knows_any;
}

/* Judged by the largest tensor of an item; true where it is not known. */
static bool may_be_of_the_model(const struct wire_census_growing *g,
                                const struct cause_facts *facts)
{
    for (unsigned i = 0; i < g->item_depth; i++)
        if (g->item[i].kind == WIRE_THING_TENSOR && g->item[i].dimensions >= 0)
            return is_shaped_as_a_parameter(&g->item[i], facts);
    return true;
}

static bool is_a_checkpoint(const struct wire_census_growing *g, const struct cause_facts *facts)
{
    double each = fmax(g->host_per_item, 0) + fmax(g->device_per_item, 0);
    double copies = each / facts->model_bytes;
    return grown_has_tensors(g) && may_be_of_the_model(g, facts) && copies >= COPIES_LEAST &&
           copies <= COPIES_MOST &&
           g->tensors >= COPIES_LEAST * round(copies) * facts->model_tensors;
}

/* It may hold more than the census sees. */
bool grown_keeps_a_graph(const struct wire_census_growing *g)
{
    return g->grad_fn || g->form == WIRE_CENSUS_GRAPH;
}

/* Plain Python objects that nothing in Python holds: torch has none of these. */
static bool any_registered(const struct cause_facts *facts)
{
    for (size_t i = 0; i < facts->growth_count; i++) {
        const struct wire_census_growing *g = facts->growths[i].growing;
        enum wire_thing_kind kind = g->what.kind;
        if (g->form == WIRE_CENSUS_OBJECTS && grown_is_held_as(g, WIRE_HOLDER_NATIVE) &&
            (kind == WIRE_THING_TUPLE || kind == WIRE_THING_DICT || kind == WIRE_THING_LIST ||
             kind == WIRE_THING_FUNCTION))
            return true;
    }
    return false;
}

static bool is_scalar(const struct wire_census_growing *g)
{
    for (unsigned i = 0; i < g->item_depth; i++)
        if (g->item[i].kind == WIRE_THING_TENSOR && g->item[i].dimensions == 0)
            return true;
    return false;
}

static bool is_in_gradients(const struct wire_census_growing *g)
{
    const struct wire_census_holder *h = grown_holder(g);
    return h && grown_has_tensors(g) && (ends_in(h->path, ".grad") || ends_in(h->path, "grads"));
}

/* Without any graph there can be no cycle of autograd's. */
static bool any_graph(const struct wire_census_growing *g, const struct cause_facts *facts)
{
    double count = g->point_count > 0 ? g->points[g->point_count - 1].count : 0;
    bool any = facts->graph_tensors > LEDGER_PART * count;
    for (size_t i = 0; i < facts->growth_count; i++)
        any = any || grown_keeps_a_graph(facts->growths[i].growing);
    return any;
}

/* What a growth has, as far as it decides between causes. */
enum trait {
    TRAIT_TENSORS = 1 << 0,
    TRAIT_SCALARS = 1 << 1, /* tensors of one number */
    TRAIT_GRAD_FN = 1 << 2,
    TRAIT_GRAPH = 1 << 3, /* it keeps a graph, or is one */
    TRAIT_EXCEPTION = 1 << 4,
    TRAIT_FUNCTION = 1 << 5,
    TRAIT_GRADIENTS = 1 << 6,
    TRAIT_CALLBACK = 1 << 7,
    TRAIT_CHECKPOINT = 1 << 8, /* as large as the model */
    TRAIT_AMONG_GRAPHS = 1 << 9,
    TRAIT_AMONG_REGISTERED = 1 << 10,
};

/* The callbacks of contextlib.ExitStack are not training callbacks. */
#define EXIT_CALLBACKS "_exit_callbacks"

static unsigned traits_of(const struct wire_census_growing *g, const struct cause_facts *facts)
{
    bool is_of_callback = speaks_of(g, "callback") && !speaks_of(g, EXIT_CALLBACKS);
    return (grown_has_tensors(g) ? TRAIT_TENSORS : 0u) | (is_scalar(g) ? TRAIT_SCALARS : 0u) |
           (g->grad_fn ? TRAIT_GRAD_FN : 0u) | (grown_keeps_a_graph(g) ? TRAIT_GRAPH : 0u) |
           (g->exception ? TRAIT_EXCEPTION : 0u) | (g->function ? TRAIT_FUNCTION : 0u) |
           (is_in_gradients(g) ? TRAIT_GRADIENTS : 0u) | (is_of_callback ? TRAIT_CALLBACK : 0u) |
           (is_a_checkpoint(g, facts) ? TRAIT_CHECKPOINT : 0u) |
           (any_graph(g, facts) ? TRAIT_AMONG_GRAPHS : 0u) |
           (any_registered(facts) ? TRAIT_AMONG_REGISTERED : 0u);
}

/* A rule stores a kind of holder and a form as their number plus 1; 0: any. */
#define HELD(kind) .held = (WIRE_HOLDER_##kind + 1)
#define FORM(name) .form = (WIRE_CENSUS_##name + 1)

#define RULE_WORDS 8

/* The first rule that applies gives the cause. Every condition that a rule names must hold. */
static const struct cause_rule {
    enum cause cause;
    unsigned held, form;
    unsigned has, lacks;           /* traits it must have, and must not have */
    const char *type;              /* of the growing object */
    const char *words[RULE_WORDS]; /* one of these occurs in its names; empty: any name */
} rules[] = {
    {CAUSE_CYCLE, HELD(GARBAGE)},
    /* C++ holds the table of hooks of a tensor that it knows too. */
    {CAUSE_HOOKS, HELD(NATIVE), .has = TRAIT_FUNCTION, .type = "collections.OrderedDict"},
    {CAUSE_REGISTERED, HELD(NATIVE), .has = TRAIT_AMONG_REGISTERED},
    {CAUSE_NATIVE, HELD(NATIVE), .lacks = TRAIT_TENSORS | TRAIT_GRAPH},
    {CAUSE_AUTOGRAD_CYCLE, HELD(NATIVE), .has = TRAIT_AMONG_GRAPHS},
    {CAUSE_NATIVE_TENSORS, HELD(NATIVE)},
    {CAUSE_LRU_CACHE, HELD(LRU_CACHE)},
    {CAUSE_TRACEBACKS, .has = TRAIT_EXCEPTION},
    {CAUSE_TRACEBACKS, HELD(EXCEPTION)},
    {CAUSE_RETAINED_GRAPH, FORM(GRAPH)},
    {CAUSE_CALLBACK_STATE, .has = TRAIT_GRADIENTS | TRAIT_CALLBACK},
    {CAUSE_LINGERING_GRADIENTS, .has = TRAIT_GRADIENTS},
    {CAUSE_GROWING_OBJECT, FORM(SIZE), .lacks = TRAIT_GRAD_FN},
    {CAUSE_RETAINED_LOSS, .has = TRAIT_GRAD_FN | TRAIT_SCALARS},
    {CAUSE_RETAINED_GRAPH, .has = TRAIT_GRAD_FN},
    {CAUSE_CALLBACK_STATE, .has = TRAIT_CALLBACK | TRAIT_FUNCTION},
    {CAUSE_CALLBACK_STATE, .has = TRAIT_CALLBACK, .words = {"_hooks"}},
    {CAUSE_HOOKS, .has = TRAIT_FUNCTION,
     .words = {"hook", "listen", "observ", "handler", "subscri", "regist", "callback"}},
    {CAUSE_HOOKS, .words = {"_hooks"}},
    {CAUSE_CLOSURE, .has = TRAIT_FUNCTION},
    {CAUSE_STAGED_CHECKPOINTS, .has = TRAIT_CHECKPOINT},
    {CAUSE_COMPILE_CACHE,
     .words = {"_dynamo", "inductor", "torch.compile", "jit.", "code_cache", "kernel_cache"}},
    {CAUSE_PROFILER, .words = {"profil"}},
    {CAUSE_LOG_QUEUE, .words = {"queue", "LogRecord", "backlog"}},
    {CAUSE_CALLBACK_STATE, .has = TRAIT_CALLBACK},
    {CAUSE_CLOSURE, HELD(CLOSURE)},
    {CAUSE_SAMPLE_CACHE, .words = {"cache", "memo", "Image", "samples"}},
    {CAUSE_TENSOR_CLONES, .has = TRAIT_TENSORS},
    {CAUSE_GROWING_CONTAINER, .held = 0},
};

static bool holds_for(const struct cause_rule *r, const struct wire_census_growing *g,
                      unsigned traits)
{
    const struct wire_census_holder *h = grown_holder(g);
    return (r->held == 0 || (h && h->kind + 1 == r->held)) &&
           (r->form == 0 || g->form + 1 == r->form) && (traits & r->has) == r->has &&
           (traits & r->lacks) == 0 && (!r->type || strcmp(g->what.type, r->type) == 0) &&
           (!r->words[0] || grown_speaks_of_any(g, r->words));
}

enum cause grown_cause(const struct wire_census_growing *g, const struct cause_facts *facts)
{
    unsigned traits = traits_of(g, facts);
    const struct cause_rule *r = rules;
    while (!holds_for(r, g, traits))
        r++;
    return r->cause;
}
