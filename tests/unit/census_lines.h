/* tests/unit/census_lines.h: what grows, written as it is shown: "tuple of tensor float32 [] cpu".
 */
#ifndef TIDEMARK_CENSUS_LINES_H
#define TIDEMARK_CENSUS_LINES_H

#include "base/base.h"
#include "wire/census.h"

#include <stdlib.h>
#include <string.h>

/* The texts of all things of a program. */
static inline const char *kept_text(const char *text, size_t len)
{
    static char pool[1 << 20];
    static size_t used;
    if (used + len + 1 > sizeof(pool))
        abort();
    char *kept = memcpy(pool + used, text, len);
    kept[len] = '\0';
    used += len + 1;
    return kept;
}

static inline enum wire_thing_kind kind_called(const char *name)
{
    static const struct {
        const char *name;
        enum wire_thing_kind kind;
    } kinds[] = {
        {"int", WIRE_THING_NUMBER},
        {"float", WIRE_THING_NUMBER},
        {"str", WIRE_THING_TEXT},
        {"bytes", WIRE_THING_BYTES},
        {"bytearray", WIRE_THING_BYTES},
        {"list", WIRE_THING_LIST},
        {"tuple", WIRE_THING_TUPLE},
        {"dict", WIRE_THING_DICT},
        {"set", WIRE_THING_SET},
        {"collections.deque", WIRE_THING_CONTAINER},
        {"collections.OrderedDict", WIRE_THING_CONTAINER},
        {"torch.Tensor", WIRE_THING_TENSOR},
        {"torch.nn.parameter.Parameter", WIRE_THING_TENSOR},
        {"numpy.ndarray", WIRE_THING_ARRAY},
        {"numpy.float32", WIRE_THING_SCALAR},
        {"datetime.datetime", WIRE_THING_SCALAR},
        {"function", WIRE_THING_FUNCTION},
        {"method", WIRE_THING_FUNCTION},
        {"cell", WIRE_THING_LANGUAGE},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    return WIRE_THING_OBJECT;
}

static inline struct wire_census_thing thing_called(const char *text, size_t len)
{
    const char *name = kept_text(text, len), *shape = strchr(name, '[');
    struct wire_census_thing t = {kind_called(name), name, "", "", "", -1, false};
    if (strncmp(name, "tensor ", 7) != 0 || !shape)
        return t;
    const char *end = strchr(shape, ']');
    t.kind = WIRE_THING_TENSOR;
    t.type = "torch.Tensor";
    t.dtype = kept_text(name + 7, (size_t) (shape - name) - 8);
    t.shape = kept_text(shape, (size_t) (end - shape) + 1);
    t.device = end + 2;
    t.on_device = strcmp(t.device, "cpu") != 0;
    t.dimensions = t.shape[1] != ']';
    for (const char *s = t.shape; *s; s++)
        t.dimensions += *s == ',';
    return t;
}

/* Parts that are separated by " of ", up to a tab or the end. */
static inline void set_item(struct wire_census_growing *g, const char *text)
{
    size_t left = strcspn(text, "\t");
    for (g->item_depth = 0; left > 0 && g->item_depth < WIRE_CENSUS_ITEM_DEPTH;) {
        const char *of = memmem(text, left, " of ", 4);
        size_t len = of ? (size_t) (of - text) : left;
        g->item[g->item_depth++] = thing_called(text, len);
        text += len + (of ? 4 : 0);
        left -= len + (of ? 4 : 0);
    }
}

static inline void add_thing_line(struct buf *out, const char *record, const char *id,
                                  const struct wire_census_thing *t)
{
    buf_addf(out, "%s\t%s\t%s\t%s\t%s\t", record, id, wire_thing_kind_name(t->kind), t->type,
             t->dtype);
    if (t->dimensions >= 0)
        buf_addf(out, "%d", t->dimensions);
    buf_addf(out, "\t%s\t%s\n", t->shape, t->device);
}

/* growing ID FORM WHAT ITEM ...: as it is shown. */
static inline void add_growing_line(struct buf *out, const char *line)
{
    const char *field[5] = {line};
    struct wire_census_growing g;
    for (unsigned i = 1; i < 5; i++)
        field[i] = strchr(field[i - 1], '\t') + 1;
    const char *id = kept_text(field[1], strcspn(field[1], "\t"));
    g.what = thing_called(field[3], strcspn(field[3], "\t"));
    set_item(&g, field[4]);
    buf_add(out, line, (size_t) (field[3] - line) - 1);
    buf_addf(out, "%s\n", field[4] + strcspn(field[4], "\t"));
    add_thing_line(out, "what", id, &g.what);
    for (unsigned i = 0; i < g.item_depth; i++)
        add_thing_line(out, "item", id, &g.item[i]);
}

/* Lines of a census, of which those of what grows have WHAT and ITEM after their form. */
static inline void add_census_lines(struct buf *out, const char *lines)
{
    for (const char *line = lines; *line;) {
        size_t len = strcspn(line, "\n");
        const char *one = kept_text(line, len);
        if (strncmp(one, "growing\t", 8) == 0)
            add_growing_line(out, one);
        else
            buf_addf(out, "%s\n", one);
        line += len + (line[len] == '\n');
    }
}

#endif
