/* probe/census/writer.c: writes a census as records, one per line. */
#include "probe/census/writer.h"

#include "probe/census/points.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TYPES_REPORTED 24u
#define GROUPS_REPORTED 16u
#define LARGE_BYTES ((size_t) 1 << 20)

struct text {
    char *bytes;
    size_t size, length; /* unchanged by a record that does not fit */
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(t->bytes + t->length, t->size - t->length, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t) n < t->size - t->length)
        t->length += (size_t) n;
}

/* Escapes tabs, newlines and backslashes in a field. */
static void escape(const char *text, char *ret, size_t size)
{
    size_t n = 0;
    for (; *text && n + 3 < size; text++) {
        char c = *text == '\t' ? 't' : *text == '\n' ? 'n' : *text == '\\' ? '\\' : 0;
        if (c)
            ret[n++] = '\\';
        ret[n++] = c ? c : *text;
    }
    ret[n] = '\0';
}

/* ---- the heap ---- */

typedef double rank_function(const struct survey_tally *t);

static double rank_by_bytes(const struct survey_tally *t)
{
    return (double) t->bytes;
}

static double rank_by_count(const struct survey_tally *t)
{
    return (double) t->count;
}

static bool is_counted(const struct survey *c, const struct survey_tally *t)
{
    return t->key && t->census == c->number && t->count > 0;
}

/* The highest ranks of a table; returns how many. */
static unsigned first_ones(const struct survey *c, const struct survey_tally *table, size_t size,
                           rank_function *rank, const struct survey_tally **ret, unsigned most)
{
    unsigned count = 0;
    for (size_t i = 0; i < size; i++) {
        const struct survey_tally *t = &table[i];
        if (!is_counted(c, t))
            continue;
        unsigned at = count;
        while (at > 0 && rank(ret[at - 1]) < rank(t))
            at--;
        if (at == most)
            continue;
        count += count < most;
        memmove(&ret[at + 1], &ret[at], (count - at - 1) * sizeof(const struct survey_tally *));
        ret[at] = t;
    }
    return count;
}

static bool is_among(const struct survey_tally *t, const struct survey_tally *const *list,
                     unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] == t)
            return true;
    return false;
}

static void add_type(struct text *out, const struct survey_tally *t)
{
    char name[128], safe[256];
    things_type_name((const py_object *) t->key, name, sizeof(name)); /* NOLINT */
    escape(name, safe, sizeof(safe));
    add(out, "types\t%s\t%llu\t%llu\n", safe, (unsigned long long) t->count,
        (unsigned long long) t->bytes);
}

static void add_types(struct text *out, const struct survey *c)
{
    const struct survey_tally *by_bytes[TYPES_REPORTED], *by_count[TYPES_REPORTED];
    unsigned n = first_ones(c, c->types, SURVEY_TYPES, rank_by_bytes, by_bytes, TYPES_REPORTED);
    unsigned m = first_ones(c, c->types, SURVEY_TYPES, rank_by_count, by_count, TYPES_REPORTED);
    for (unsigned i = 0; i < n; i++)
        add_type(out, by_bytes[i]);
    for (unsigned i = 0; i < m; i++)
        if (!is_among(by_count[i], by_bytes, n))
            add_type(out, by_count[i]);
}

static void add_all_types(struct text *out, const struct survey *c)
{
    for (size_t i = 0; i < SURVEY_TYPES; i++)
        if (is_counted(c, &c->types[i]))
            add_type(out, &c->types[i]);
}

static void shape_text(const struct tensor_facts *f, char *ret, size_t size)
{
    int length = snprintf(ret, size, "[");
    for (int i = 0; i < f->dims && i < TENSOR_SHAPE_MOST; i++)
        length += snprintf(ret + length, size - (size_t) length, "%s%lld", i ? ", " : "",
                           (long long) f->shape[i]);
    snprintf(ret + length, size - (size_t) length, "%s]",
             f->dims > TENSOR_SHAPE_MOST ? ", ..." : "");
}

#define SHAPE_SIZE 256u

static void add_tensors(struct text *out, const struct survey *c)
{
    char device[TENSOR_DEVICE_NAME];
    for (unsigned i = 0; i < SURVEY_DEVICES; i++)
        if (c->devices[i].count > 0)
            add(out, "tensors\t%s\t%llu\t%llu\t%llu\t%llu\n",
                tensors_device_name(c->devices[i].type, c->devices[i].index, device),
                (unsigned long long) c->devices[i].count, (unsigned long long) c->devices[i].bytes,
                (unsigned long long) c->devices[i].requires_grad,
                (unsigned long long) c->devices[i].with_graph);
}

static void add_group(struct text *out, const struct survey_tally *t)
{
    char device[TENSOR_DEVICE_NAME], shape[SHAPE_SIZE];
    const struct tensor_facts *f = &t->facts;
    shape_text(f, shape, sizeof(shape));
    add(out, "group\t%s\t%s\t%s\t%llu\t%llu\t%d\t%d\n",
        tensors_device_name(f->device_type, f->device_index, device), f->dtype, shape,
        (unsigned long long) t->count, (unsigned long long) t->bytes, f->requires_grad,
        f->node != NULL);
}

static void add_groups(struct text *out, const struct survey *c)
{
    const struct survey_tally *groups[GROUPS_REPORTED];
    unsigned n = first_ones(c, c->groups, SURVEY_GROUPS, rank_by_bytes, groups, GROUPS_REPORTED);
    for (unsigned i = 0; i < n; i++)
        add_group(out, groups[i]);
}

static void add_all_groups(struct text *out, const struct survey *c)
{
    for (size_t i = 0; i < SURVEY_GROUPS; i++)
        if (is_counted(c, &c->groups[i]))
            add_group(out, &c->groups[i]);
}

static void add_purposes(struct text *out, const struct survey *c)
{
    static const char *const names[] = {"other", "parameters", "gradients", "optimizer"};
    char device[TENSOR_DEVICE_NAME];
    for (unsigned i = 0; i < SURVEY_DEVICES; i++)
        for (unsigned p = 0; p < SURVEY_PURPOSES; p++)
            if (c->purposes[p][i].bytes > 0)
                add(out, "purpose\t%s\t%s\t%llu\t%llu\n", names[p],
                    tensors_device_name(c->devices[i].type, c->devices[i].index, device),
                    (unsigned long long) c->purposes[p][i].count,
                    (unsigned long long) c->purposes[p][i].bytes);
}

static void add_large(struct text *out, const struct survey *c)
{
    char device[TENSOR_DEVICE_NAME], shape[SHAPE_SIZE];
    for (unsigned i = 0; i < c->large_count; i++) {
        const struct tensor_facts *f = &c->large[i];
        if (f->storage_bytes < LARGE_BYTES)
            break;
        shape_text(f, shape, sizeof(shape));
        add(out, "large\t%s\t%s\t%s\t%zu\t%zu\t\n",
            tensors_device_name(f->device_type, f->device_index, device), f->dtype, shape,
            f->storage_bytes, f->view_bytes);
    }
}

static void add_graphs(struct text *out, const struct survey *c)
{
    if (c->graph_walks > 0)
        add(out, "graphs\t%u\t%llu\n", c->graph_walks, (unsigned long long) c->graph_nodes);
}

static void add_heap(struct text *out, const struct survey *c)
{
    if (!c->knows_heap)
        return;
    add(out, "heap\t%zu\t%zu\t%zu", c->heap.in_use, c->heap.free, c->heap.mapped);
    if (c->asked > 0)
        add(out, "\t%.0f", c->asked);
    add(out, "\n");
}

static void add_arenas(struct text *out, const struct survey *c)
{
    if (c->knows_arenas)
        add(out, "arenas\t%zu\t%zu\n", c->arenas.in_use, c->arenas.free);
}

/* ---- growths ---- */

static void add_flags(struct text *out, const struct finding *f)
{
    const char *between = "";
    const struct {
        bool is_set;
        const char *name;
    } flags[] = {
        {f->item.carries_graph, "grad_fn"},
        {f->item.is_exception, "exception"},
        {f->item.is_function, "function"},
        {f->item.is_foreign, "extension"},
    };
    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (flags[i].is_set) {
            add(out, "%s%s", between, flags[i].name);
            between = ",";
        }
    if (f->most >= 0) {
        add(out, "%sbounded=%lld", between, (long long) f->most);
        between = ",";
    }
    if (f->item.hidden_by_view >= 1) {
        add(out, "%sview=%.0f", between, f->item.hidden_by_view);
        between = ",";
    }
    if (f->item.tensors > 0)
        add(out, "%stensors=%.0f", between, f->item.tensors);
}

static void add_size(struct text *out, double bytes)
{
    if (isfinite(bytes))
        add(out, "\t%.0f", bytes);
    else
        add(out, "\t");
}

static void add_interval(struct text *out, double low, double high)
{
    add_size(out, low);
    if (isinf(high))
        add(out, "\tinf");
    else
        add_size(out, high);
}

static void add_thing(struct text *out, const char *record, size_t id, const struct thing *t)
{
    char type[2 * sizeof(t->type)], device[TENSOR_DEVICE_NAME], shape[SHAPE_SIZE];
    const struct tensor_facts *f = &t->facts;
    escape(t->type, type, sizeof(type));
    add(out, "%s\t%zu\t%s\t%s", record, id, wire_thing_kind_name(t->kind), type);
    if (t->is_read) {
        shape_text(f, shape, sizeof(shape));
        add(out, "\t%s\t%d\t%s\t%s", f->dtype, f->dims, shape,
            tensors_device_name(f->device_type, f->device_index, device));
    }
    add(out, "\n");
}

static void add_growing(struct text *out, size_t id, const struct finding *f)
{
    static const char *const forms[] = {"container", "objects", "tensors",
                                        "graph",     "size",    "container"};
    const struct survey_points *p = &f->growth->points;
    add(out, "growing\t%zu\t%s", id, forms[f->growth->form]);
    add_size(out, f->item.host);
    add_size(out, f->item.device);
    add(out, "\t");
    add_flags(out, f);
    add(out, "\t");
    for (unsigned i = 0; i < p->count; i++)
        add(out, "%s%llu:%llu", i ? " " : "", (unsigned long long) p->at[i].time,
            (unsigned long long) p->at[i].value);
    add_interval(out, f->item.host_low, f->item.host_high);
    add_interval(out, f->item.device_low, f->item.device_high);
    add(out, "\n");
    add_thing(out, "what", id, &f->what);
    for (unsigned i = 0; i < f->item.depth; i++)
        add_thing(out, "item", id, &f->item.things[i]);
}

static void add_holder(struct text *out, size_t id, const struct holder *h)
{
    char path[2 * sizeof(h->path)], function[2 * sizeof(h->function)], file[2 * sizeof(h->file)];
    escape(h->path, path, sizeof(path));
    escape(h->function, function, sizeof(function));
    escape(h->file, file, sizeof(file));
    add(out, "holder\t%zu\t%.2f\t%s\t%s\t%s\t%s\t%d\n", id, h->share,
        wire_holder_kind_name(h->kind), path, function, file, h->line);
}

static void add_caller(struct text *out, size_t id, const struct caller *c)
{
    char file[2 * sizeof(c->file)];
    if (!c->file[0])
        return;
    escape(c->file, file, sizeof(file));
    add(out, "caller\t%zu\t%d\t%s\n", id, c->line, file);
}

/* ---- the whole ---- */

static void add_head(struct text *out, const struct survey *c, const struct report_cost *cost)
{
    add(out, WIRE_CENSUS_FIRST_LINE "\n");
    add(out, "census\t%u\t%llu\t%llu\t%d\t%u\n", c->number, (unsigned long long) c->time,
        (unsigned long long) c->objects, c->is_complete, c->in_a_row);
    add(out, "cost\t%llu\t%llu\t%llu\t%llu\t%llu\n", (unsigned long long) cost->censuses,
        (unsigned long long) cost->searches, (unsigned long long) cost->pause_ns,
        (unsigned long long) cost->longest_pause_ns, (unsigned long long) cost->child_ns);
}

static void add_act(struct text *out, const char *name, const struct act_account *a)
{
    if (a->times > 0)
        add(out, "acted\t%s\t%llu\t%.0f\t%.0f\t%llu\n", name, (unsigned long long) a->times,
            a->objects, a->bytes, (unsigned long long) a->ns);
}

/* Cuts after the last whole line. */
static size_t whole_lines(const struct text *t)
{
    size_t n = t->length;
    while (n > 0 && t->bytes[n - 1] != '\n')
        n--;
    return n;
}

static void add_growth(struct text *out, const struct finding *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add_growing(out, i + 1, &findings[i]);
        for (size_t k = 0; k < findings[i].holder_count; k++)
            add_holder(out, i + 1, &findings[i].holders[k]);
        add_caller(out, i + 1, &findings[i].caller);
    }
}

static void add_all(struct text *out, const struct survey *c, const struct finding *findings,
                    size_t count, const struct report_cost *cost, bool whole)
{
    add_head(out, c, cost);
    add_growth(out, findings, count);
    add_tensors(out, c);
    add_purposes(out, c);
    (whole ? add_all_groups : add_groups)(out, c);
    add_large(out, c);
    (whole ? add_all_types : add_types)(out, c);
    add_graphs(out, c);
    add_heap(out, c);
    add_arenas(out, c);
}

size_t report_write(const struct survey *c, const struct finding *findings, size_t count,
                    const struct report_cost *cost, const struct acts *acts, char *ret, size_t size)
{
    struct text out = {.bytes = ret, .size = size};
    add_all(&out, c, findings, count, cost, false);
    if (c->has_profiler)
        add(&out, "profiler\t1\n");
    if (c->is_of_the_end)
        add(&out, "ended\t1\n");
    add_act(&out, "gc", &acts->gc);
    add_act(&out, "trim", &acts->trim);
    return whole_lines(&out);
}

size_t report_write_whole(const struct survey *c, const struct finding *findings, size_t count,
                          const struct report_cost *cost, char *ret, size_t size)
{
    struct text out = {.bytes = ret, .size = size};
    add_all(&out, c, findings, count, cost, true);
    return whole_lines(&out);
}

size_t report_write_holders(const struct holder *holders, size_t count, char *ret, size_t size)
{
    struct text out = {.bytes = ret, .size = size};
    for (size_t i = 0; i < count; i++)
        add_holder(&out, 1, &holders[i]);
    return whole_lines(&out);
}
