/* wire/census.c: parses the census of a process. Trusts nothing in the text. */
#include "wire/census.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MOST 11u
#define NUMBER_MOST 1e18 /* no count or size is larger */
#define MOST_DIMENSIONS 64

/* The fields of one record; the first is the record's name. Missing fields are empty. */
struct record {
    const char *fields[FIELDS_MOST];
};

/* ---- fields ---- */

/* Digits, perhaps with a fraction; NAN: anything else. */
static double number_of(const char *text)
{
    double value = 0, unit = 1;
    const char *s = text;
    for (; *s >= '0' && *s <= '9'; s++)
        value = 10 * value + (*s - '0');
    if (s == text)
        return NAN;
    if (*s == '.')
        for (s++; *s >= '0' && *s <= '9'; s++)
            value += (*s - '0') * (unit /= 10);
    return *s == '\0' && value <= NUMBER_MOST ? value : NAN;
}

static double seconds_of(const char *nanoseconds)
{
    return 1e-9 * number_of(nanoseconds);
}

/* Reads digits up to `*ret_end`. 0 and `*ret_end` at `text`: none, or too many. */
static uint64_t integer_at(const char *text, const char **ret_end)
{
    uint64_t value = 0;
    const char *s = text;
    for (; *s >= '0' && *s <= '9' && s - text < 19; s++)
        value = 10 * value + (uint64_t) (*s - '0');
    *ret_end = *s >= '0' && *s <= '9' ? text : s;
    return *ret_end == text ? 0 : value;
}

static uint64_t integer_of(const char *text)
{
    const char *end;
    uint64_t value = integer_at(text, &end);
    return *end == '\0' ? value : 0;
}

static char unescaped(char c)
{
    return c == 't' ? '\t' : c == 'n' ? '\n' : c;
}

/* In place: the result is never longer. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '\\' && from[1])
            from++, *to++ = unescaped(*from);
        else
            *to++ = *from;
    }
    *to = '\0';
}

static void split(char *line, struct record *ret)
{
    unsigned count = 0;
    for (char *field = line; field && count < FIELDS_MOST; count++) {
        char *end = strchr(field, '\t');
        if (end)
            *end = '\0';
        unescape(field);
        ret->fields[count] = field;
        field = end ? end + 1 : NULL;
    }
    while (count < FIELDS_MOST)
        ret->fields[count++] = "";
}

/* ---- names ---- */

static const char *const thing_kinds[WIRE_THING_KINDS] = {
    [WIRE_THING_OTHER] = "other",
    [WIRE_THING_NONE] = "none",
    [WIRE_THING_NUMBER] = "number",
    [WIRE_THING_TEXT] = "text",
    [WIRE_THING_BYTES] = "bytes",
    [WIRE_THING_LIST] = "list",
    [WIRE_THING_TUPLE] = "tuple",
    [WIRE_THING_DICT] = "dict",
    [WIRE_THING_SET] = "set",
    [WIRE_THING_CONTAINER] = "container",
    [WIRE_THING_TENSOR] = "tensor",
    [WIRE_THING_ARRAY] = "array",
    [WIRE_THING_SCALAR] = "scalar",
    [WIRE_THING_FUNCTION] = "function",
    [WIRE_THING_LANGUAGE] = "language",
    [WIRE_THING_OBJECT] = "object",
    [WIRE_THING_EXTENSION] = "extension",
};

static const char *const holder_kinds[WIRE_HOLDER_KINDS] = {
    [WIRE_HOLDER_OTHER] = "other",         [WIRE_HOLDER_LOCAL] = "local",
    [WIRE_HOLDER_GLOBAL] = "global",       [WIRE_HOLDER_ATTRIBUTE] = "attribute",
    [WIRE_HOLDER_CLASS] = "class",         [WIRE_HOLDER_CLOSURE] = "closure",
    [WIRE_HOLDER_LRU_CACHE] = "lru_cache", [WIRE_HOLDER_EXCEPTION] = "exception",
    [WIRE_HOLDER_GENERATOR] = "generator", [WIRE_HOLDER_THREAD] = "thread",
    [WIRE_HOLDER_DEFAULT] = "default",     [WIRE_HOLDER_NATIVE] = "native",
    [WIRE_HOLDER_GARBAGE] = "garbage",
};

const char *wire_thing_kind_name(enum wire_thing_kind kind)
{
    return thing_kinds[kind];
}

const char *wire_holder_kind_name(enum wire_holder_kind kind)
{
    return holder_kinds[kind];
}

bool wire_census_item_has(const struct wire_census_growing *g, enum wire_thing_kind kind)
{
    for (unsigned i = 0; i < g->item_depth; i++)
        if (g->item[i].kind == kind)
            return true;
    return false;
}

/* Returns `count` if the name is not among them. */
static unsigned index_of(const char *const *names, unsigned count, const char *name)
{
    unsigned i = 0;
    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i;
}

static enum wire_thing_kind thing_kind_of(const char *name)
{
    unsigned i = index_of(thing_kinds, WIRE_THING_KINDS, name);
    return i < WIRE_THING_KINDS ? (enum wire_thing_kind) i : WIRE_THING_OTHER;
}

static enum wire_holder_kind holder_kind_of(const char *name)
{
    unsigned i = index_of(holder_kinds, WIRE_HOLDER_KINDS, name);
    return i < WIRE_HOLDER_KINDS ? (enum wire_holder_kind) i : WIRE_HOLDER_OTHER;
}

/* WIRE_CENSUS_FORMS: not known. */
static enum wire_census_form form_of(const char *name)
{
    static const char *const forms[WIRE_CENSUS_FORMS] = {
        [WIRE_CENSUS_CONTAINER] = "container", [WIRE_CENSUS_OBJECTS] = "objects",
        [WIRE_CENSUS_TENSORS] = "tensors",     [WIRE_CENSUS_GRAPH] = "graph",
        [WIRE_CENSUS_SIZE] = "size",
    };
    return (enum wire_census_form) index_of(forms, WIRE_CENSUS_FORMS, name);
}

/* ---- records ---- */

static void take_census(struct wire_census *c, const char *const *f)
{
    c->number = number_of(f[1]);
    c->time = integer_of(f[2]);
    c->objects = number_of(f[3]);
    c->complete = strcmp(f[4], "0") != 0;
    c->in_a_row = number_of(f[5]);
}

static void take_cost(struct wire_census *c, const char *const *f)
{
    c->censuses = number_of(f[1]);
    c->searches = number_of(f[2]);
    c->pause_seconds = seconds_of(f[3]);
    c->longest_pause_seconds = seconds_of(f[4]);
    c->child_seconds = seconds_of(f[5]);
}

static void take_types(struct wire_census *c, const char *const *f)
{
    if (c->type_count < WIRE_CENSUS_TYPES)
        c->types[c->type_count++] =
            (struct wire_census_type){f[1], number_of(f[2]), number_of(f[3])};
}

static void take_tensors(struct wire_census *c, const char *const *f)
{
    if (c->tensors_count < WIRE_CENSUS_DEVICES)
        c->tensors[c->tensors_count++] = (struct wire_census_tensors){
            f[1], number_of(f[2]), number_of(f[3]), number_of(f[4]), number_of(f[5])};
}

static void take_group(struct wire_census *c, const char *const *f)
{
    if (c->group_count < WIRE_CENSUS_GROUPS)
        c->groups[c->group_count++] = (struct wire_census_group){f[1],
                                                                 f[2],
                                                                 f[3],
                                                                 number_of(f[4]),
                                                                 number_of(f[5]),
                                                                 number_of(f[6]) == 1,
                                                                 number_of(f[7]) == 1};
}

static void take_purpose(struct wire_census *c, const char *const *f)
{
    if (c->purpose_count < WIRE_CENSUS_PURPOSES)
        c->purposes[c->purpose_count++] =
            (struct wire_census_purpose){f[1], f[2], number_of(f[3]), number_of(f[4])};
}

static void take_large(struct wire_census *c, const char *const *f)
{
    if (c->large_count < WIRE_CENSUS_LARGE)
        c->large[c->large_count++] =
            (struct wire_census_large){f[1], f[2], f[3], f[6], number_of(f[4]), number_of(f[5])};
}

static void take_profiler(struct wire_census *c, const char *const *f)
{
    c->profiler = strcmp(f[1], "1") == 0;
}

static void take_ended(struct wire_census *c, const char *const *f)
{
    c->ended = strcmp(f[1], "1") == 0;
}

static void take_heap(struct wire_census *c, const char *const *f)
{
    c->heap_in_use = number_of(f[1]);
    c->heap_free = number_of(f[2]);
    c->heap_mapped = number_of(f[3]);
    c->asked = number_of(f[4]);
}

static void take_arenas(struct wire_census *c, const char *const *f)
{
    c->arenas_in_use = number_of(f[1]);
    c->arenas_free = number_of(f[2]);
}

static void take_graphs(struct wire_census *c, const char *const *f)
{
    c->graph_walks = number_of(f[1]);
    c->graph_nodes = number_of(f[2]);
}

static void take_act(struct wire_census *c, const char *const *f)
{
    struct wire_census_act a = {number_of(f[2]), number_of(f[3]), number_of(f[4]),
                                1e-9 * number_of(f[5])};
    if (strcmp(f[1], "gc") == 0)
        c->gc = a;
    else if (strcmp(f[1], "trim") == 0)
        c->trim = a;
}

static void take_note(struct wire_census *c, const char *const *f)
{
    if (f[1][0] && c->note_count < WIRE_CENSUS_NOTES)
        c->notes[c->note_count++] = f[1];
}

/* ---- growing objects ---- */

/* The value after "NAME="; NAN: it is another flag. */
static double value_of(const char *flag, size_t len, const char *name)
{
    char digits[24];
    size_t skip = strlen(name);
    if (len <= skip || len - skip >= sizeof(digits) || strncmp(flag, name, skip) != 0)
        return NAN;
    memcpy(digits, flag + skip, len - skip);
    digits[len - skip] = '\0';
    return number_of(digits);
}

static bool is_flag(const char *flag, size_t len, const char *name)
{
    return strlen(name) == len && strncmp(flag, name, len) == 0;
}

static void take_flags(struct wire_census_growing *g, const char *flags)
{
    g->bound = g->view = g->tensors = NAN;
    for (const char *s = flags; *s;) {
        size_t len = strcspn(s, ",");
        g->grad_fn = g->grad_fn || is_flag(s, len, "grad_fn");
        g->exception = g->exception || is_flag(s, len, "exception");
        g->function = g->function || is_flag(s, len, "function");
        g->extension = g->extension || is_flag(s, len, "extension");
        g->bound = fmax(g->bound, value_of(s, len, "bounded="));
        g->view = fmax(g->view, value_of(s, len, "view="));
        g->tensors = fmax(g->tensors, value_of(s, len, "tensors="));
        s += len + (s[len] == ',');
    }
}

/* "TIME:COUNT" separated by blanks. Stops at the first one that is malformed or out of order. */
static void take_points(struct wire_census_growing *g, const char *text)
{
    uint64_t last = 0;
    while (*text && g->point_count < WIRE_CENSUS_POINTS) {
        const char *end, *count_end;
        uint64_t time = integer_at(text, &end);
        if (end == text || *end != ':' || time <= last)
            return;
        uint64_t count = integer_at(end + 1, &count_end);
        if (count_end == end + 1 || (*count_end != ' ' && *count_end != '\0'))
            return;
        g->points[g->point_count++] = (struct wire_census_point){time, (double) count};
        last = time;
        text = count_end + strspn(count_end, " ");
    }
}

/* Both ends or neither: half an interval, or a reversed one, says nothing. */
static void take_interval(const char *low, const char *high, double *ret_low, double *ret_high)
{
    double from = number_of(low), to = strcmp(high, "inf") == 0 ? INFINITY : number_of(high);
    bool is_interval = from <= to; /* false with NAN */
    *ret_low = is_interval ? from : NAN;
    *ret_high = is_interval ? to : NAN;
}

static void take_growing(struct wire_census *c, const char *const *f)
{
    if (c->growing_count == WIRE_CENSUS_GROWING || form_of(f[2]) == WIRE_CENSUS_FORMS)
        return;
    struct wire_census_growing *g = &c->growing[c->growing_count++];
    *g = (struct wire_census_growing){
        .id = integer_of(f[1]),
        .form = form_of(f[2]),
        .what = {.type = "", .dtype = "", .shape = "", .device = "", .dimensions = -1},
        .host_per_item = number_of(f[3]),
        .device_per_item = number_of(f[4]),
    };
    take_flags(g, f[5]);
    take_points(g, f[6]);
    take_interval(f[7], f[8], &g->host_low, &g->host_high);
    take_interval(f[9], f[10], &g->device_low, &g->device_high);
}

/* NULL: no such id. */
static struct wire_census_growing *growing_of(struct wire_census *c, uint64_t id)
{
    for (unsigned i = 0; i < c->growing_count; i++)
        if (c->growing[i].id == id)
            return &c->growing[i];
    return NULL;
}

/* Anything but host memory is a device. */
static bool is_a_device(const char *name)
{
    return name[0] && strcmp(name, "cpu") != 0 && strcmp(name, "meta") != 0;
}

static struct wire_census_thing thing_of(const char *const *f)
{
    enum wire_thing_kind kind = thing_kind_of(f[2]);
    double dimensions = number_of(f[5]);
    return (struct wire_census_thing){
        .kind = kind,
        .type = f[3],
        .dtype = f[4],
        .shape = f[6],
        .device = f[7],
        .dimensions = dimensions <= MOST_DIMENSIONS ? (int) dimensions : -1,
        .on_device = kind == WIRE_THING_TENSOR && is_a_device(f[7]),
    };
}

static void take_what(struct wire_census *c, const char *const *f)
{
    struct wire_census_growing *g = growing_of(c, integer_of(f[1]));
    if (g)
        g->what = thing_of(f);
}

static void take_item(struct wire_census *c, const char *const *f)
{
    struct wire_census_growing *g = growing_of(c, integer_of(f[1]));
    if (g && g->item_depth < WIRE_CENSUS_ITEM_DEPTH)
        g->item[g->item_depth++] = thing_of(f);
}

#define MOST_LINES 10000000

static int line_of(const char *field)
{
    uint64_t line = integer_of(field);
    return line < MOST_LINES ? (int) line : 0;
}

void wire_census_put_first(struct wire_census_growing *g, unsigned holder)
{
    if (holder >= g->holder_count)
        return;
    struct wire_census_holder first = g->holders[holder];
    g->holders[holder] = g->holders[0];
    g->holders[0] = first;
    g->put_first = holder;
}

static void take_addition(struct wire_census *c, const char *const *f)
{
    struct wire_census_growing *g = growing_of(c, integer_of(f[1]));
    if (!g)
        return;
    g->addition = line_of(f[2]);
    if (strcmp(f[3], "caller") == 0 && g->caller && g->holder_count > 0)
        g->holders[0].file = g->caller;
    uint64_t whose = integer_of(f[3]);
    if (whose > 1 && whose <= g->holder_count)
        wire_census_put_first(g, (unsigned) whose - 1);
}

static void take_caller(struct wire_census *c, const char *const *f)
{
    struct wire_census_growing *g = growing_of(c, integer_of(f[1]));
    if (!g || !f[3][0])
        return;
    g->caller = f[3];
    g->caller_line = line_of(f[2]);
}

static void take_holder(struct wire_census *c, const char *const *f)
{
    struct wire_census_growing *g = growing_of(c, integer_of(f[1]));
    if (!g || g->holder_count == WIRE_CENSUS_HOLDERS_MOST || !f[3][0])
        return;
    g->holders[g->holder_count++] = (struct wire_census_holder){
        .share = number_of(f[2]),
        .kind = holder_kind_of(f[3]),
        .path = f[4],
        .function = f[5],
        .file = f[6],
        .line = line_of(f[7]),
    };
}

/* ---- the whole ---- */

static void take_line(struct wire_census *c, char *line)
{
    static const struct {
        const char *name;
        void (*take)(struct wire_census *c, const char *const *fields);
    } records[] = {
        {"census", take_census},   {"cost", take_cost},         {"types", take_types},
        {"tensors", take_tensors}, {"group", take_group},       {"purpose", take_purpose},
        {"large", take_large},     {"heap", take_heap},         {"arenas", take_arenas},
        {"growing", take_growing}, {"holder", take_holder},     {"note", take_note},
        {"acted", take_act},       {"profiler", take_profiler}, {"graphs", take_graphs},
        {"ended", take_ended},     {"addition", take_addition}, {"what", take_what},
        {"item", take_item},       {"caller", take_caller},
    };
    struct record r;
    split(line, &r);
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
        if (strcmp(r.fields[0], records[i].name) == 0)
            records[i].take(c, r.fields);
}

static bool begins_with(const char *text, size_t len, const char *beginning)
{
    size_t n = strlen(beginning);
    return len >= n && memcmp(text, beginning, n) == 0;
}

/* 0: a census that this version can read. */
static int look_at_first_line(const char *text, size_t len)
{
    if (!begins_with(text, len, WIRE_CENSUS_NAME))
        return -EPROTO;
    return begins_with(text, len, WIRE_CENSUS_FIRST_LINE "\n") ? 0 : -EPROTONOSUPPORT;
}

int wire_census_parse(const char *text, size_t len, struct wire_census **ret)
{
    if (len > WIRE_CENSUS_MOST_BYTES)
        return -E2BIG;
    /* The text ends at a NUL: no field could hold what follows. */
    len = strnlen(text, len);
    int r = look_at_first_line(text, len);
    if (r < 0)
        return r;
    struct wire_census *c = calloc(1, sizeof(*c));
    if (!c || !(c->text = malloc(len + 1))) {
        free(c);
        return -ENOMEM;
    }
    memcpy(c->text, text, len);
    c->text[len] = '\0';
    c->number = c->objects = c->in_a_row = c->censuses = c->searches = NAN;
    c->pause_seconds = c->longest_pause_seconds = c->child_seconds = NAN;
    c->heap_in_use = c->heap_free = c->heap_mapped = c->asked = NAN;
    c->arenas_in_use = c->arenas_free = NAN;
    c->gc = c->trim = (struct wire_census_act){NAN, NAN, NAN, NAN};
    for (char *line = c->text; line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        take_line(c, line);
        line = end ? end + 1 : NULL;
    }
    if (isnan(c->in_a_row)) /* written by an older version */
        c->in_a_row = c->censuses;
    *ret = c;
    return 0;
}

struct wire_census *wire_census_free(struct wire_census *c)
{
    if (c)
        free(c->text);
    free(c);
    return NULL;
}
