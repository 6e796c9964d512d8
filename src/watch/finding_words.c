/* watch/finding_words.c: what grows and who holds it, in words for a person. */
#include "watch/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_COLUMNS 48u /* a longer path of a file is cut to its last two parts */

/* From outside: nothing in it may drive a terminal. The buffer is released. */
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

/* As one would name it from here. */
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

static void add_place(struct buf *out, const char *file, int line)
{
    buf_adds(out, short_path(file));
    if (line > 0)
        buf_addf(out, ":%d", line);
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
    add_place(out, h->file, line_of(f, h));
    buf_adds(out, named ? ")" : "");
}

/* ---- who holds it ---- */

static bool is_kind(const struct wire_census_holder *h, const char *kind)
{
    return strcmp(h->kind, kind) == 0;
}

static void add_file(struct buf *out, const struct finding_facts *f,
                     const struct wire_census_holder *h)
{
    if (!h->file[0])
        return;
    buf_adds(out, " (");
    add_place(out, h->file, line_of(f, h));
    buf_addc(out, ')');
}

/* "`loss_history`, local of `train` (demo.py:31)". */
static void add_holder(struct buf *out, const struct finding_facts *f,
                       const struct wire_census_holder *h)
{
    static const struct {
        const char *kind, *before, *between, *alone; /* alone: the function is not known */
    } words[] = {
        {"local", "", ", local of ", ", a local variable"},
        {"global", "", ", global of ", ", a global"},
        {"attribute", "", ", attribute of ", ""},
        {"class", "", ", attribute of the class ", ", attribute of a class"},
        {"closure", "", ", closed over by ", ", in a closure"},
        {"lru_cache", "the lru_cache of ", "", ""},
        {"exception", "the traceback of the exception at ", ", raised in ", ""},
        {"generator", "", ", local of the generator ", ", local of a generator"},
        {"thread", "the thread ", " that runs ", ""},
        {"default", "", ", default argument of ", ", a default argument"},
    };
    size_t i = 0;
    while (i < sizeof(words) / sizeof(words[0]) && !is_kind(h, words[i].kind))
        i++;
    bool known = i < sizeof(words) / sizeof(words[0]);
    bool named = h->function[0] && h->function[0] != '<' && strcmp(h->function, h->path) != 0;
    if (known)
        buf_adds(out, words[i].before);
    if (h->path[0] == '(')
        buf_adds(out, h->path); /* a value that has no name */
    else if (h->path[0])
        buf_addf(out, "`%s`", h->path);
    if (known && named && words[i].between[0])
        buf_addf(out, "%s`%s`", words[i].between, h->function);
    else if (known && !named)
        buf_adds(out, words[i].alone);
    add_file(out, f, h);
}

/* Without the word: it stands before. */
static const char *kind_of_tensor(const char *item)
{
    return strncmp(item, "tensor ", 7) == 0 ? item + 7 : item;
}

/* The beginning: what it is that grows, and where. */
static void add_subject(struct buf *out, const struct finding_facts *f)
{
    const struct wire_census_growing *g = f->growing;
    const struct wire_census_holder *h = g->holder_count > 0 ? &g->holders[0] : NULL;
    bool is_lru = h && is_kind(h, "lru_cache");
    bool is_unheld = h && (is_kind(h, "native") || is_kind(h, "garbage"));
    bool is_one = g->form == WIRE_CENSUS_CONTAINER || g->form == WIRE_CENSUS_GRAPH ||
                  g->form == WIRE_CENSUS_SIZE;
    if (g->form == WIRE_CENSUS_TENSORS)
        buf_addf(out, "tensors (%s)", g->item[0] ? kind_of_tensor(g->item) : g->what);
    else if (g->form == WIRE_CENSUS_OBJECTS)
        buf_addf(out, "objects of type `%s`", g->what);
    else if (!is_lru)
        buf_adds(out, g->what[0] ? g->what : "an object");
    if (!h)
        buf_adds(out, ", not known who holds it");
    else if (is_unheld)
        buf_adds(out, is_kind(h, "native") ? " that nothing in Python holds"
                                           : " that only hold each other");
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
    if (g->form == WIRE_CENSUS_TENSORS || strncmp(g->item, "tensor ", 7) == 0)
        return "tensors";
    return g->form == WIRE_CENSUS_OBJECTS ? "objects" : "items";
}

static void add_item(struct buf *out, const struct wire_census_growing *g)
{
    const char *item = kind_of_tensor(g->item);
    bool is_shown = g->form == WIRE_CENSUS_CONTAINER && item[0];
    if (!is_shown && !g->grad_fn)
        return;
    buf_adds(out, " (");
    buf_adds(out, is_shown ? item : "");
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

static char *sentence(const struct finding_facts *f)
{
    struct buf b = BUF_INIT;
    if (f->growing) {
        add_subject(&b, f);
        buf_adds(&b, ": ");
        add_count(&b, f);
        add_bytes(&b, f);
    } else {
        buf_addf(&b, "%s: %s", f->process, f->evidence ? f->evidence : f->cause);
    }
    if (f->advice)
        buf_addf(&b, ": %s", f->advice);
    return taken(&b);
}

/* "list 'loss_history'". */
static char *holder_words(const struct wire_census_growing *g, const struct wire_census_holder *h)
{
    struct buf b = BUF_INIT;
    if (is_kind(h, "native") || is_kind(h, "garbage"))
        buf_adds(&b, is_kind(h, "native") ? "native code" : "a reference cycle");
    else if (is_kind(h, "lru_cache"))
        buf_addf(&b, "lru_cache of '%s'", h->path);
    else if (g->form == WIRE_CENSUS_CONTAINER)
        buf_addf(&b, "%s '%s'", g->what, h->path);
    else
        buf_addf(&b, "'%s'", h->path);
    return taken(&b);
}

static void add_also(const struct finding_facts *f, struct watch_finding *ret)
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

void finding_words(const struct finding_facts *f, struct watch_finding *ret)
{
    const struct wire_census_growing *g = f->growing;
    ret->cause = copied(f->cause);
    ret->advice = copied(f->advice);
    ret->sentence = sentence(f);
    if (!g)
        return;
    ret->what = copied(g->item[0] && g->form != WIRE_CENSUS_OBJECTS ? g->item : g->what);
    if (g->holder_count == 0)
        return;
    const struct wire_census_holder *h = &g->holders[0];
    struct buf where = BUF_INIT;
    add_where(&where, f, h);
    ret->where = taken(&where);
    ret->holder = holder_words(g, h);
    ret->kind = copied(h->kind);
    ret->file = copied(h->file);
    ret->line = line_of(f, h) > 0 ? line_of(f, h) : (double) NAN;
    add_also(f, ret);
}
