/* sample/source_lines.c: finds where the program's source adds to a holder. */
#include "sample/sampler.h"
#include "sample/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Most growing types whose sources are read for one census. */
#define SOURCES_MOST 16u

/* ---- where the source adds to it ---- */

static bool is_scope(const char *function)
{
    return function[0] != '\0' && function[0] != '<';
}

/* The last part of a qualified name: "inner" of "outer.<locals>.inner". */
static const char *scope_of(const struct wire_census_holder *h)
{
    const char *last = strrchr(h->function, '.');
    last = last ? last + 1 : h->function;
    return is_scope(last) ? last : NULL;
}

/* Whether the path begins with a variable of that function's scope, and no other of that name. */
static bool is_variable_of_function(const struct wire_census_holder *h)
{
    return h->kind == WIRE_HOLDER_LOCAL || h->kind == WIRE_HOLDER_DEFAULT ||
           h->kind == WIRE_HOLDER_GENERATOR;
}

static bool has_lines(const struct wire_census_holder *h)
{
    return h->file[0] && (is_variable_of_function(h) || h->kind == WIRE_HOLDER_ATTRIBUTE ||
                          h->kind == WIRE_HOLDER_CLASS || h->kind == WIRE_HOLDER_GLOBAL ||
                          h->kind == WIRE_HOLDER_CLOSURE);
}

/* ---- its source ---- */

struct source_file {
    char *text;
    size_t len;
};

/* Loads the file as the process sees it, perhaps in another root; else as we do. */
static int load_with_own_rights(const struct sampler *sam, const struct member *m, const char *file,
                                struct source_file *ret)
{
    char path[4096];
    int len = snprintf(path, sizeof(path), "%s/%d/%s/%s", sam->options.proc_root, (int) m->id.pid,
                       file[0] == '/' ? "root" : "cwd", file);
    int r = len < (int) sizeof(path) ? source_load(path, &ret->text, &ret->len) : -ENAMETOOLONG;
    return r < 0 ? source_load(file, &ret->text, &ret->len) : r;
}

/* A deputy for its files; NULL: it has ended, or its files are closed to us. */
static struct deputy *deputy_of(const struct sampler *sam, struct member *m)
{
    struct deputy *d = NULL;
    struct proc_stat stat;
    if (deputy_new(m->id.pid, &d, NULL) < 0)
        return NULL;
    if (proc_stat_read(sam->options.proc_root, m->id.pid, &stat) < 0 ||
        !proc_id_equal(stat.id, m->id))
        return deputy_free(d);
    m->reading->is_ours = !deputy_is_foreign(d);
    return d;
}

/* After its end nobody can tell whose it was. */
void lines_note_owner(const struct sampler *sam, struct member *m)
{
    if (geteuid() == 0)
        deputy_free(deputy_of(sam, m));
}

/* Unless we are root, it was our user's, or its files are closed to us. */
static bool was_ours(const struct member *m)
{
    return m->reading->is_ours || geteuid() != 0;
}

/* A process may name any file as its source, even "/etc/shadow". So the source of another user's
 * process is read with that user's rights. */
static int load_source(const struct sampler *sam, struct member *m, const char *file,
                       struct source_file *ret)
{
    struct deputy *d = deputy_of(sam, m);
    int r = -EACCES;
    if (d && deputy_is_foreign(d))
        r = deputy_read(d, file, SOURCE_MOST, &ret->text, &ret->len);
    else if (d || was_ours(m))
        r = load_with_own_rights(sam, m, file, ret);
    deputy_free(d);
    return r;
}

/* ---- the line ---- */

/* What to find. */
struct line_search {
    struct source_file file;
    const struct wire_census_holder *holder;
    struct source_name names[SOURCE_NAMES];
    unsigned count;
    bool is_size; /* bytes in one place grow */
    bool is_list; /* items of a list grow */
};

/* The last name belongs to the reported class or function; the others may be anywhere. */
static struct source_query query_for(const struct line_search *s, unsigned name)
{
    const struct wire_census_holder *h = s->holder;
    bool is_last = name + 1 == s->count;
    bool is_owned = h->kind == WIRE_HOLDER_ATTRIBUTE || h->kind == WIRE_HOLDER_CLASS;
    bool only_there = is_variable_of_function(h) && s->count == 1;
    bool is_free = h->kind == WIRE_HOLDER_GLOBAL || !is_last;
    return (struct source_query){
        .name = s->names[name].text,
        .is_attribute = s->names[name].is_attribute || (is_owned && is_last),
        .scope = is_free && !only_there ? NULL : scope_of(h),
        .only_there = only_there,
        .near = h->line,
        .is_size = s->is_size,
    };
}

static int look_by(const struct line_search *s, struct source_query query, enum source_by by)
{
    query.by = by;
    return source_find_addition(s->file.text, s->file.len, &query);
}

static bool is_item(const struct line_search *s)
{
    const char *path = s->holder->path;
    return path[strlen(path) - 1] == ']';
}

/* Finds the line by the key of the item, then by the name alone. `surely`: lines that only
 * create the item, or put another one in its place, do not count. */
static int find_by_key(const struct line_search *s, bool surely)
{
    char key[SOURCE_NAME_LENGTH];
    struct source_query query = query_for(s, s->count - 1);
    query.is_item = surely && is_item(s);
    query.is_size = surely && s->is_size;
    query.is_list = surely && s->is_list;
    int line = 0;
    if (source_key(s->holder->path, key)) {
        query.key = key;
        line = look_by(s, query, SOURCE_ADDITION);
    }
    query.key = NULL;
    return line == 0 && strcmp(query.name, "self") != 0 ? look_by(s, query, SOURCE_ADDITION) : line;
}

/* Finds where the item is added to, else where it is created. Then tries the names before it:
 * `q.put(x)` adds to `writer.q.queue`. */
static int find_addition(const struct line_search *s)
{
    int line = find_by_key(s, true);
    if (line == 0)
        line = find_by_key(s, false);
    for (unsigned i = s->count - 1; i-- > 0 && line == 0;)
        if (strcmp(s->names[i].text, "self") != 0)
            line = look_by(s, query_for(s, i), SOURCE_ADDITION);
    return line;
}

/* Where a library does the adding, finds what the program does with it. */
static int find_method(const struct line_search *s)
{
    int line = 0;
    for (unsigned i = s->count; i-- > 0 && line == 0;)
        if (strcmp(s->names[i].text, "self") != 0)
            line = look_by(s, query_for(s, i), SOURCE_METHOD);
    bool is_private = s->names[s->count - 1].text[0] == '_' && s->count > 1;
    if (line > 0 || !is_private || s->holder->kind != WIRE_HOLDER_ATTRIBUTE)
        return line;
    const struct source_query own = {
        .name = "self", .scope = scope_of(s->holder), .only_there = true};
    return look_by(s, own, SOURCE_METHOD);
}

/* Where each of many objects gets an attribute of its own, as a sample that keeps its image. */
static int find_attribute(const struct line_search *s)
{
    struct source_query query = query_for(s, s->count - 1);
    query.only_there = true;
    return query.is_attribute && query.scope ? look_by(s, query, SOURCE_BINDING) : 0;
}

/* If it is passed to other code, finds where it begins: a parameter begins elsewhere. For
 * closures the function itself is reported. */
static int find_beginning(const struct line_search *s)
{
    struct source_query query = query_for(s, 0);
    if (s->holder->kind == WIRE_HOLDER_CLOSURE)
        return 0;
    int line = find_attribute(s);
    if (line == 0 && strcmp(query.name, "self") != 0)
        line = look_by(s, query, SOURCE_BINDING);
    query.scope = NULL;
    query.only_there = false;
    if (line == 0 && strcmp(query.name, "self") != 0)
        line = look_by(s, query, SOURCE_BINDING);
    query.scope = scope_of(s->holder);
    return line == 0 && query.scope ? look_by(s, query, SOURCE_SCOPE) : line;
}

static int look_for(const struct line_search *s)
{
    int line = find_addition(s);
    if (line == 0)
        line = find_method(s);
    return line > 0 ? line : find_beginning(s);
}

/* A module's own file does not name the module: `caches.RECENT` is RECENT there. */
static bool leave_out_module(struct line_search *s)
{
    char module[SOURCE_NAME_LENGTH];
    unsigned at = 0;
    if (!source_module(s->holder->file, module))
        return false;
    while (at + 1 < s->count && strcmp(s->names[at].text, module) != 0)
        at++;
    if (at + 1 >= s->count)
        return false;
    s->count -= at + 1;
    memmove(s->names, s->names + at + 1, s->count * sizeof(s->names[0]));
    s->names[0].is_attribute = false;
    return true;
}

static int find_line_of(const struct sampler *sam, struct member *m,
                        const struct wire_census_growing *g, unsigned holder,
                        int (*find)(const struct line_search *s))
{
    const struct wire_census_holder *h = &g->holders[holder];
    struct line_search s = {
        .holder = h,
        .is_size = g->form == WIRE_CENSUS_SIZE,
        .is_list = g->form == WIRE_CENSUS_CONTAINER && g->what.kind == WIRE_THING_LIST,
    };
    s.count = has_lines(h) ? source_names(h->path, s.names) : 0;
    if (s.count == 0 || load_source(sam, m, h->file, &s.file) < 0)
        return 0;
    int line = find(&s);
    if (line == 0 && leave_out_module(&s))
        line = find(&s);
    free(s.file.text);
    return line;
}

/* One object has several names, and grows by the one that the source rebuilds from its old
 * value: in `shown = meter(loss)` nothing does. */
static int find_name_that_adds(const struct sampler *sam, struct member *m,
                               struct wire_census_growing *g)
{
    bool is_one = g->form == WIRE_CENSUS_GRAPH || g->form == WIRE_CENSUS_SIZE;
    for (unsigned i = 0; is_one && g->holder_count > 1 && i < g->holder_count; i++) {
        int line = find_line_of(sam, m, g, i, find_addition);
        if (line > 0) {
            wire_census_put_first(g, i);
            return line;
        }
    }
    return 0;
}

static int find_line(const struct sampler *sam, struct member *m, struct wire_census_growing *g)
{
    int line = find_name_that_adds(sam, m, g);
    return line > 0 ? line : find_line_of(sam, m, g, 0, look_for);
}

/* "finalize" of "weakref.finalize"; leaves out names that a program does not call. */
static const char *called_name(const char *qualified)
{
    const char *last = strrchr(qualified, '.');
    last = last ? last + 1 : qualified;
    return last[0] && last[0] != '_' && last[0] != '<' ? last : NULL;
}

static int find_call(const struct source_file *file, const char *name)
{
    struct source_query query = {.name = name, .by = SOURCE_CALL};
    int line = name ? source_find_addition(file->text, file->len, &query) : 0;
    query.is_attribute = true;
    return name && line == 0 ? source_find_addition(file->text, file->len, &query) : line;
}

/* Where the program passes a library what it keeps: a call of its class, or of the class of an
 * item; else the function that it passed. 0: not known. */
static int find_caller(const struct sampler *sam, struct member *m,
                       const struct wire_census_growing *g)
{
    struct source_name names[SOURCE_NAMES];
    struct source_file file;
    unsigned count = source_names(g->holders[0].path, names);
    if (load_source(sam, m, g->caller, &file) < 0)
        return 0;
    int line = 0;
    for (unsigned i = 0; i < count && line == 0; i++)
        line = find_call(&file, called_name(names[i].text));
    for (unsigned i = 0; i < g->item_depth && line == 0; i++)
        line = find_call(&file, called_name(g->item[i].type));
    free(file.text);
    return line > 0 ? line : g->caller_line;
}

static void look_into_sources(const struct sampler *sam, struct member *m,
                              struct wire_census_growing *g)
{
    int line = g->caller ? find_caller(sam, m, g) : 0;
    if (line > 0)
        g->holders[0].file = g->caller;
    g->addition = line > 0 ? line : find_line(sam, m, g);
}

void lines_find(const struct sampler *sam, struct member *m)
{
    struct wire_census *c = m->evidence->census;
    unsigned looked_into = 0;
    for (unsigned i = 0; i < c->growing_count && looked_into < SOURCES_MOST; i++) {
        struct wire_census_growing *g = &c->growing[i];
        if (g->holder_count == 0 || g->addition > 0)
            continue;
        look_into_sources(sam, m, g);
        looked_into++;
    }
}
