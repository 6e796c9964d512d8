/* words/finding.c: a growth, its holder, its rate and its fix, in one sentence. */
#include "words/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_COLUMNS 48u /* a longer file path is cut to its last two parts */

/* Returns the cleaned text: it comes from outside and must not drive a terminal. Releases the
 * buffer. */
static char *taken(struct buf *b)
{
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, buf_text(b), false);
    char *text = clean.len > 0 ? strdup(buf_text(&clean)) : NULL;
    if (clean.len > 0 && !text)
        base_out_of_memory();
    buf_release(&clean);
    buf_release(b);
    return text;
}

static char *copied(const char *text)
{
    struct buf b = BUF_INIT;
    buf_adds(&b, text ? text : "");
    return taken(&b);
}

/* ---- where it is ---- */

/* Relative to the current folder, or its last two parts. */
static const char *short_path(const char *path)
{
    char here[4096];
    size_t len = getcwd(here, sizeof(here)) ? strlen(here) : 0;
    if (len > 1 && strncmp(path, here, len) == 0 && path[len] == '/')
        return path + len + 1;
    if (strlen(path) <= PATH_COLUMNS)
        return path;
    const char *last = strrchr(path, '/');
    while (last && last > path && last[-1] != '/')
        last--;
    return last ? last : path;
}

void finding_add_place(struct buf *out, const char *file, double line)
{
    if (!file || !file[0])
        return;
    buf_adds(out, short_path(file));
    if (line > 0)
        buf_addf(out, ":%.0f", line);
}

static int line_of(const struct finding_facts *f, const struct wire_census_holder *h)
{
    return f->line > 0 ? f->line : h->line;
}

/* "train_with_leak (demo.py:31)", "demo.py:31". */
static void add_where(struct buf *out, const struct finding_facts *f,
                      const struct wire_census_holder *h)
{
    bool named = h->function[0] && strcmp(h->function, "<module>") != 0;
    if (named)
        buf_adds(out, h->function);
    if (!h->file[0])
        return;
    buf_adds(out, named ? " (" : "");
    finding_add_place(out, h->file, line_of(f, h));
    buf_adds(out, named ? ")" : "");
}

/* ---- the holder ---- */

static void add_file(struct buf *out, const struct finding_facts *f,
                     const struct wire_census_holder *h)
{
    if (!h->file[0])
        return;
    buf_adds(out, " (");
    finding_add_place(out, h->file, line_of(f, h));
    buf_addc(out, ')');
}

/* "`loss_history`, local of `train` (demo.py:31)". */
static void add_holder(struct buf *out, const struct finding_facts *f,
                       const struct wire_census_holder *h)
{
    static const struct {
        const char *before, *between, *alone; /* alone: if the function is not known */
    } words[WIRE_HOLDER_KINDS] = {
        [WIRE_HOLDER_LOCAL] = {"", ", local of ", ", a local variable"},
        [WIRE_HOLDER_GLOBAL] = {"", ", global of ", ", a global"},
        [WIRE_HOLDER_ATTRIBUTE] = {"", ", attribute of ", ""},
        [WIRE_HOLDER_CLASS] = {"", ", attribute of the class ", ", attribute of a class"},
        [WIRE_HOLDER_CLOSURE] = {"", ", closed over by ", ", in a closure"},
        [WIRE_HOLDER_LRU_CACHE] = {"the lru_cache of ", "", ""},
        [WIRE_HOLDER_EXCEPTION] = {"the traceback of the exception at ", ", raised in ", ""},
        [WIRE_HOLDER_GENERATOR] = {"", ", local of the generator ", ", local of a generator"},
        [WIRE_HOLDER_THREAD] = {"the thread ", " that runs ", ""},
        [WIRE_HOLDER_DEFAULT] = {"", ", default argument of ", ", a default argument"},
    };
    bool known = words[h->kind].before;
    bool named = h->function[0] && h->function[0] != '<' && strcmp(h->function, h->path) != 0;
    if (known)
        buf_adds(out, words[h->kind].before);
    if (h->path[0] == '(')
        buf_adds(out, h->path); /* a value without a name */
    else if (h->path[0])
        buf_addf(out, "`%s`", h->path);
    if (known && named && words[h->kind].between[0])
        buf_addf(out, "%s`%s`", words[h->kind].between, h->function);
    else if (known && !named)
        buf_adds(out, words[h->kind].alone);
    add_file(out, f, h);
}

/* ---- what it is ---- */

/* "float32 [64, 256] cuda:0". */
static void add_tensor(struct buf *out, const struct wire_census_thing *t)
{
    buf_addf(out, "%s %s %s", t->dtype, t->shape, t->device);
}

static bool is_seen_tensor(const struct wire_census_thing *t)
{
    return t->kind == WIRE_THING_TENSOR && t->dtype[0];
}

static void add_thing(struct buf *out, const struct wire_census_thing *t)
{
    if (!is_seen_tensor(t)) {
        buf_adds(out, t->type);
        return;
    }
    buf_adds(out, "tensor ");
    add_tensor(out, t);
}

static void add_things(struct buf *out, const struct wire_census_growing *g, unsigned from)
{
    for (unsigned i = from; i < g->item_depth; i++) {
        buf_adds(out, i > 0 ? " of " : "");
        add_thing(out, &g->item[i]);
    }
}

void finding_words_add_item(struct buf *out, const struct wire_census_growing *g)
{
    add_things(out, g, 0);
}

/* Leaves out the word "tensor", which the context has. */
static void add_item_or_tensor(struct buf *out, const struct wire_census_growing *g)
{
    bool is_tensor = g->item_depth > 0 && is_seen_tensor(&g->item[0]);
    if (is_tensor)
        add_tensor(out, &g->item[0]);
    add_things(out, g, is_tensor ? 1 : 0);
}

/* The start of the sentence: what grows, and its holder. */
static void add_subject(struct buf *out, const struct finding_facts *f)
{
    const struct wire_census_growing *g = f->growing;
    const struct wire_census_holder *h = g->holder_count > 0 ? &g->holders[0] : NULL;
    bool is_lru = h && h->kind == WIRE_HOLDER_LRU_CACHE;
    bool is_unheld = h && (h->kind == WIRE_HOLDER_NATIVE || h->kind == WIRE_HOLDER_GARBAGE);
    bool is_one = g->form == WIRE_CENSUS_CONTAINER || g->form == WIRE_CENSUS_GRAPH ||
                  g->form == WIRE_CENSUS_SIZE;
    if (g->form == WIRE_CENSUS_TENSORS) {
        buf_adds(out, "tensors (");
        if (g->item_depth > 0)
            add_item_or_tensor(out, g);
        else
            buf_adds(out, g->what.type);
        buf_addc(out, ')');
    } else if (g->form == WIRE_CENSUS_OBJECTS)
        buf_addf(out, "objects of type `%s`", g->what.type);
    else if (!is_lru)
        buf_adds(out, g->what.type[0] ? g->what.type : "an object");
    if (!h)
        buf_adds(out, ", holder not known");
    else if (is_unheld)
        buf_adds(out, h->kind == WIRE_HOLDER_NATIVE
                          ? " that nothing in Python holds"
                          : " referenced only by each other (a reference cycle)");
    if (!h || is_unheld)
        return;
    buf_adds(out, is_lru && is_one ? "" : is_one ? " " : ", held by ");
    add_holder(out, f, h);
}

/* ---- how fast ---- */

static const char *unit_of(enum series_clock clock)
{
    return clock == CLOCK_STEP ? "a step" : "a minute";
}

static double shown(const struct finding_facts *f, double rate)
{
    return series_rate_shown(rate, f->clock);
}

static const char *counted(const struct wire_census_growing *g)
{
    if (g->form == WIRE_CENSUS_GRAPH)
        return "nodes";
    if (g->form == WIRE_CENSUS_TENSORS || (g->item_depth > 0 && is_seen_tensor(&g->item[0])))
        return "tensors";
    return g->form == WIRE_CENSUS_OBJECTS ? "objects" : "items";
}

static void add_item(struct buf *out, const struct wire_census_growing *g)
{
    bool is_shown = g->form == WIRE_CENSUS_CONTAINER && g->item_depth > 0;
    if (!is_shown && !g->grad_fn)
        return;
    buf_adds(out, " (");
    if (is_shown)
        add_item_or_tensor(out, g);
    if (g->grad_fn)
        buf_addf(out, "%swith the graph that made them", is_shown ? ", " : "");
    buf_addc(out, ')');
}

static void add_count(struct buf *out, const struct finding_facts *f)
{
    const struct wire_census_growing *g = f->growing;
    double rate = shown(f, f->count_rate);
    if (g->form == WIRE_CENSUS_SIZE) {
        buf_addc(out, '+');
        units_add_bytes(out, rate);
        buf_addf(out, " %s", unit_of(f->clock));
        return;
    }
    buf_addc(out, '+');
    if (rate < 100)
        buf_addf(out, "%.*f", rate < 0.1 ? 4 : 2, rate);
    else
        units_add_count(out, rate, 0);
    buf_addf(out, " %s %s", counted(g), unit_of(f->clock));
    add_item(out, g);
}

static void add_bytes(struct buf *out, const struct finding_facts *f)
{
    const struct {
        double rate;
        const char *of;
    } parts[] = {{f->device_rate, "device memory"}, {f->host_rate, "host memory"}};
    bool any = false;
    if (f->growing->form == WIRE_CENSUS_SIZE)
        return;
    for (unsigned i = 0; i < 2; i++) {
        if (!(parts[i].rate >= 1))
            continue;
        buf_adds(out, any ? " and " : ", about ");
        units_add_bytes(out, shown(f, parts[i].rate));
        buf_addf(out, " of %s", parts[i].of);
        any = true;
    }
    if (any)
        buf_addf(out, " %s%s", unit_of(f->clock), f->is_whole ? " in the process as a whole" : "");
}

/* ---- all of it ---- */

static void add_advice(struct buf *out, const struct cause_words *cause)
{
    buf_adds(out, cause->fix);
    if (cause->reason)
        buf_addf(out, ": %s", cause->reason);
}

static char *sentence(const struct finding_facts *f)
{
    struct buf b = BUF_INIT;
    if (f->growing) {
        add_subject(&b, f);
        buf_adds(&b, ": ");
        add_count(&b, f);
        add_bytes(&b, f);
    } else {
        const char *named = f->cause ? f->cause->name : "its memory grows";
        buf_addf(&b, "%s: %s", f->process, f->evidence ? f->evidence : named);
    }
    if (f->cause) {
        buf_adds(&b, ": ");
        add_advice(&b, f->cause);
    }
    return taken(&b);
}

static char *advice(const struct cause_words *cause)
{
    struct buf b = BUF_INIT;
    add_advice(&b, cause);
    return taken(&b);
}

/* The last name of an attribute path: the text after the last dot outside brackets. */
static const char *last_name(const char *path, unsigned *ret_dots)
{
    const char *last = path;
    int depth = 0;
    *ret_dots = 0;
    for (const char *c = path; *c; c++) {
        depth += (*c == '[') - (*c == ']');
        if (*c == '.' && depth == 0) {
            last = c + 1;
            (*ret_dots)++;
        }
    }
    return last;
}

/* The name that its author uses: "Net.outputs" for `self.outputs` and for
 * `trainer.strategy.net.outputs`. NULL: it has no name. */
static char *name_of(const struct wire_census_holder *h)
{
    struct buf b = BUF_INIT;
    unsigned dots;
    const char *last = last_name(h->path, &dots);
    bool has_class = h->kind == WIRE_HOLDER_ATTRIBUTE && h->function[0] && h->function[0] != '<';
    if (has_class && dots > 0 && (dots > 1 || strncmp(h->path, "self.", 5) == 0))
        buf_addf(&b, "%s.%s", h->function, last);
    else if (h->kind != WIRE_HOLDER_NATIVE && h->kind != WIRE_HOLDER_GARBAGE && h->path[0] != '(')
        buf_adds(&b, h->path);
    return taken(&b);
}

static char *gain(const struct finding_facts *f)
{
    struct buf b = BUF_INIT;
    add_count(&b, f);
    return taken(&b);
}

/* "list 'loss_history'". */
static char *holder_words(const struct wire_census_growing *g, const struct wire_census_holder *h)
{
    struct buf b = BUF_INIT;
    if (h->kind == WIRE_HOLDER_NATIVE || h->kind == WIRE_HOLDER_GARBAGE)
        buf_adds(&b, h->kind == WIRE_HOLDER_NATIVE ? "native code" : "a reference cycle");
    else if (h->kind == WIRE_HOLDER_LRU_CACHE)
        buf_addf(&b, "lru_cache of '%s'", h->path);
    else if (g->form == WIRE_CENSUS_CONTAINER)
        buf_addf(&b, "%s '%s'", g->what.type, h->path);
    else
        buf_addf(&b, "'%s'", h->path);
    return taken(&b);
}

static void add_also(const struct finding_facts *f, struct finding *ret)
{
    const struct finding_facts told = {.clock = f->clock};
    for (unsigned i = 1; i < f->growing->holder_count && ret->also_count < FINDING_TEXTS; i++) {
        struct buf b = BUF_INIT;
        add_holder(&b, &told, &f->growing->holders[i]);
        char *text = taken(&b);
        if (text)
            ret->also[ret->also_count++] = text;
    }
}

/* The sentence ends in ": " and the advice, which is left out here. */
void finding_add_growth(struct buf *out, const struct finding *f)
{
    const char *end = f->advice ? f->advice : "";
    size_t len = strlen(f->sentence), tail = strlen(end);
    bool has_advice = tail > 0 && len > tail + 2 && strcmp(f->sentence + len - tail, end) == 0;
    buf_add(out, f->sentence, has_advice ? len - tail - 2 : len);
}

void finding_words(const struct finding_facts *f, struct finding *ret)
{
    const struct wire_census_growing *g = f->growing;
    if (f->cause) {
        ret->cause = copied(f->cause->name);
        ret->fix = copied(f->cause->fix);
        ret->advice = advice(f->cause);
    }
    ret->sentence = sentence(f);
    if (!g)
        return;
    ret->gain = gain(f);
    struct buf what = BUF_INIT;
    if (g->item_depth > 0 && g->form != WIRE_CENSUS_OBJECTS)
        finding_words_add_item(&what, g);
    else
        buf_adds(&what, g->what.type);
    ret->what = taken(&what);
    if (g->holder_count == 0)
        return;
    const struct wire_census_holder *h = &g->holders[0];
    struct buf where = BUF_INIT;
    add_where(&where, f, h);
    ret->where = taken(&where);
    ret->holder = holder_words(g, h);
    ret->name = name_of(h);
    ret->kind = copied(wire_holder_kind_name(h->kind));
    ret->file = copied(h->file);
    ret->line = line_of(f, h) > 0 ? line_of(f, h) : (double) NAN;
    add_also(f, ret);
}
