/* report/objects.c: what a process holds at one moment, as text and JSON. */
#include "report/found.h"
#include "report/json.h"
#include "report/table.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>

#define ROWS 12u
#define INDENT 2u
#define NUMBERS 24u /* columns of a count and of bytes, beside a name */
#define NAME_LEAST 12u

/* ---- text ---- */

/* A name, cut to the columns that the numbers leave. */
static void add_name(struct table *t, const char *text, const struct report_style *style)
{
    unsigned width = format_width(style), taken = INDENT + NUMBERS;
    format_clean_cut(&t->cell, text, width > taken + NAME_LEAST ? width - taken : NAME_LEAST,
                     style);
    table_end_cell(t);
}

static void add_numbers(struct table *t, double count, double bytes)
{
    if (isfinite(count))
        units_add_count(&t->cell, count, 0);
    table_end_cell(t);
    if (isfinite(bytes))
        units_add_bytes(&t->cell, bytes);
    table_end_cell(t);
}

static void add_table_head(struct table *t, const char *what, const char *count, const char *bytes)
{
    table_add(t, what);
    table_add(t, count);
    table_add(t, bytes);
}

static void render(struct table *t, struct buf *out)
{
    buf_addc(out, '\n');
    table_render(t, out, INDENT);
}

static int by_bytes(const void *a, const void *b)
{
    const struct wire_census_type *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static int by_count(const void *a, const void *b)
{
    const struct wire_census_type *x = a, *y = b;
    return x->count > y->count ? -1 : x->count < y->count;
}

static void add_types(struct buf *out, const struct wire_census *c, const char *title,
                      int (*order)(const void *, const void *), const struct report_style *style)
{
    struct wire_census_type types[WIRE_CENSUS_TYPES];
    struct table t = TABLE_INIT(3);
    for (unsigned i = 0; i < c->type_count; i++)
        types[i] = c->types[i];
    qsort(types, c->type_count, sizeof(types[0]), order);
    add_table_head(&t, title, "count", "their own");
    for (unsigned i = 0; i < c->type_count && i < ROWS; i++) {
        add_name(&t, types[i].name, style);
        add_numbers(&t, types[i].count, types[i].bytes);
    }
    render(&t, out);
}

static void add_groups(struct buf *out, const struct wire_census *c,
                       const struct report_style *style)
{
    struct table t = TABLE_INIT(3);
    if (c->group_count == 0)
        return;
    add_table_head(&t, "tensors by memory", "count", "storage");
    for (unsigned i = 0; i < c->group_count && i < ROWS; i++) {
        struct buf name = BUF_INIT;
        const struct wire_census_group *g = &c->groups[i];
        buf_addf(&name, "%s %s %s%s%s", g->dtype, g->shape, g->device,
                 g->requires_grad ? " requires_grad" : "", g->grad_fn ? " grad_fn" : "");
        add_name(&t, buf_text(&name), style);
        add_numbers(&t, g->count, g->bytes);
        buf_release(&name);
    }
    render(&t, out);
}

static void add_large(struct buf *out, const struct wire_census *c,
                      const struct report_style *style)
{
    struct table t = TABLE_INIT(3);
    if (c->large_count == 0)
        return;
    add_table_head(&t, "the largest tensors", "shown", "storage");
    for (unsigned i = 0; i < c->large_count && i < ROWS; i++) {
        struct buf name = BUF_INIT;
        const struct wire_census_large *l = &c->large[i];
        buf_addf(&name, "%s %s %s", l->dtype, l->shape, l->device);
        add_name(&t, buf_text(&name), style);
        units_add_bytes(&t.cell, l->view_bytes);
        table_end_cell(&t);
        units_add_bytes(&t.cell, l->storage_bytes);
        table_end_cell(&t);
        buf_release(&name);
    }
    render(&t, out);
}

static void add_purposes(struct buf *out, const struct wire_census *c,
                         const struct report_style *style)
{
    struct buf text = BUF_INIT;
    for (unsigned i = 0; i < c->purpose_count; i++) {
        const struct wire_census_purpose *p = &c->purposes[i];
        if (!(p->bytes > 0))
            continue;
        buf_addf(&text, "%s%s ", text.len > 0 ? ", " : "", p->name);
        units_add_bytes(&text, p->bytes);
        buf_addf(&text, " (%s)", p->device);
    }
    text_fact(out, "purpose", &text, style);
}

static void add_heap(struct buf *out, const struct wire_census *c, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    if (isfinite(c->heap_in_use) && isfinite(c->heap_free)) {
        units_add_bytes(&text, c->heap_in_use);
        buf_adds(&text, " in use by malloc's count, ");
        units_add_bytes(&text, c->heap_free);
        buf_adds(&text, " of free heap memory");
    }
    text_fact(out, "heap", &text, style);
}

static void add_head(struct buf *out, const struct report_objects *o,
                     const struct report_style *style)
{
    const struct wire_census *c = o->census;
    struct buf line = BUF_INIT, clean = BUF_INIT;
    buf_addf(&line, "%s: ", o->process->process);
    units_add_count(&line, c->objects, 0);
    buf_adds(&line, " Python objects");
    for (unsigned i = 0; i < c->tensors_count; i++) {
        buf_adds(&line, i == 0 ? "; tensors: " : ", ");
        units_add_count(&line, c->tensors[i].count, 0);
        buf_addf(&line, " on %s, ", c->tensors[i].device);
        units_add_bytes(&line, c->tensors[i].bytes);
    }
    if (!c->complete)
        buf_adds(&line, " (as far as it came)");
    buf_addc(out, '\n');
    utf8_add_clean(&clean, buf_text(&line), style->ascii);
    format_wrapped(out, buf_text(&clean), 0, style);
    buf_release(&clean);
    buf_release(&line);
}

static void add_cost(struct buf *out, const struct wire_census *c, const struct report_style *style)
{
    struct buf text = BUF_INIT;
    buf_adds(&text, "counted by a child of the process, paused for ");
    units_add_short_time(&text, c->pause_seconds);
    text_fact(out, "census", &text, style);
}

void report_objects_text(struct buf *out, const struct report_objects *o,
                         const struct report_style *style)
{
    const struct wire_census *c = o->census;
    struct buf command = BUF_INIT;
    add_head(out, o, style);
    buf_addc(out, '\n');
    if (o->process->command)
        format_clean_cut(&command, o->process->command, 3 * format_width(style), style);
    text_fact(out, "command", &command, style);
    add_purposes(out, c, style);
    add_heap(out, c, style);
    add_types(out, c, "objects by memory", by_bytes, style);
    add_types(out, c, "objects by count", by_count, style);
    add_groups(out, c, style);
    add_large(out, c, style);
    buf_addc(out, '\n');
    add_cost(out, c, style);
    found_attached(out, o->process, 1, style);
}

/* ---- JSON ---- */

static void add_json_types(struct json *j, const struct wire_census *c)
{
    json_array_begin(j, "types");
    for (unsigned i = 0; i < c->type_count; i++) {
        json_object_begin(j, NULL);
        json_string(j, "name", c->types[i].name);
        json_number(j, "count", c->types[i].count);
        json_number(j, "bytes", c->types[i].bytes);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_json_devices(struct json *j, const struct wire_census *c)
{
    json_array_begin(j, "devices");
    for (unsigned i = 0; i < c->tensors_count; i++) {
        const struct wire_census_tensors *t = &c->tensors[i];
        json_object_begin(j, NULL);
        json_string(j, "device", t->device);
        json_number(j, "count", t->count);
        json_number(j, "bytes", t->bytes);
        json_number(j, "requires_grad", t->requires_grad);
        json_number(j, "grad_fn", t->grad_fn);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_json_tensors(struct json *j, const struct wire_census *c)
{
    json_array_begin(j, "tensors");
    for (unsigned i = 0; i < c->group_count; i++) {
        const struct wire_census_group *g = &c->groups[i];
        json_object_begin(j, NULL);
        json_string(j, "device", g->device);
        json_string(j, "dtype", g->dtype);
        json_string(j, "shape", g->shape);
        json_bool(j, "requires_grad", g->requires_grad);
        json_bool(j, "grad_fn", g->grad_fn);
        json_number(j, "count", g->count);
        json_number(j, "bytes", g->bytes);
        json_object_end(j);
    }
    json_array_end(j);
    json_array_begin(j, "large");
    for (unsigned i = 0; i < c->large_count; i++) {
        const struct wire_census_large *l = &c->large[i];
        json_object_begin(j, NULL);
        json_string(j, "device", l->device);
        json_string(j, "dtype", l->dtype);
        json_string(j, "shape", l->shape);
        json_number(j, "storage_bytes", l->storage_bytes);
        json_number(j, "view_bytes", l->view_bytes);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_json_purposes(struct json *j, const struct wire_census *c)
{
    json_array_begin(j, "purposes");
    for (unsigned i = 0; i < c->purpose_count; i++) {
        json_object_begin(j, NULL);
        json_string(j, "name", c->purposes[i].name);
        json_string(j, "device", c->purposes[i].device);
        json_number(j, "count", c->purposes[i].count);
        json_number(j, "bytes", c->purposes[i].bytes);
        json_object_end(j);
    }
    json_array_end(j);
}

static void add_json_process(struct json *j, const struct report_objects *o)
{
    const struct wire_census *c = o->census;
    json_object_begin(j, NULL);
    json_integer(j, "pid", o->process->pid);
    json_string(j, "process", o->process->process);
    json_string(j, "command", o->process->command);
    json_number(j, "objects", c->objects);
    json_bool(j, "complete", c->complete);
    add_json_types(j, c);
    add_json_devices(j, c);
    add_json_tensors(j, c);
    add_json_purposes(j, c);
    json_number(j, "heap_in_use", c->heap_in_use);
    json_number(j, "heap_free", c->heap_free);
    json_number(j, "pause_seconds", c->pause_seconds);
    json_object_end(j);
}

void report_objects_json(struct buf *out, const struct report_objects *list, size_t count,
                         const struct findings *found)
{
    struct json j;
    report_json_begin(&j, out);
    json_array_begin(&j, "processes");
    for (size_t i = 0; i < count; i++)
        add_json_process(&j, &list[i]);
    json_array_end(&j);
    fields_show(&j, &findings_fields, found, CLOCK_STEP, "entered", "entered");
    report_json_end(&j);
}
