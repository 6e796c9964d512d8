/* sample/source.c: the line of a Python source that adds to a variable. */
#include "sample/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASSIGNED_MOST 400u /* characters of an assignment that are looked at */

/* ---- a path ---- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char) c >= 0x80;
}

/* Past a subscript, or a type in brackets; quotes may hold brackets. */
static const char *past_brackets(const char *path)
{
    unsigned depth = 0;
    char quote = 0;
    do {
        if (quote)
            quote = *path == quote ? 0 : quote;
        else if (*path == '\'' || *path == '"')
            quote = *path;
        else if (*path == '[' || *path == '(')
            depth++;
        else if (*path == ']' || *path == ')')
            depth--;
        path++;
    } while (*path && depth > 0);
    return path;
}

unsigned source_names(const char *path, struct source_name ret[SOURCE_NAMES])
{
    unsigned count = 0;
    bool is_attribute = false;
    while (*path) {
        size_t length = 0;
        while (is_name_char(path[length]))
            length++;
        if (length >= SOURCE_NAME_LENGTH || (length > 0 && count == SOURCE_NAMES))
            return 0;
        if (length > 0) {
            memcpy(ret[count].text, path, length);
            ret[count].text[length] = '\0';
            ret[count++].is_attribute = is_attribute;
            path += length;
        } else if (*path == '[' || *path == '(') {
            path = past_brackets(path);
        } else {
            is_attribute = *path++ == '.';
        }
    }
    return count;
}

/* Where the subscripts behind the last name begin. */
static const char *subscripts(const char *path)
{
    const char *begin = path;
    while (*path) {
        if (*path == '[' || *path == '(') {
            path = past_brackets(path);
        } else {
            path++;
            begin = path;
        }
    }
    return begin;
}

bool source_key(const char *path, char ret[SOURCE_NAME_LENGTH])
{
    const char *key = subscripts(path);
    if (key[0] != '[' || (key[1] != '"' && key[1] != '\''))
        return false;
    const char *end = strchr(key + 2, key[1]);
    size_t length = end ? (size_t) (end - key - 2) : 0;
    if (length == 0 || length >= SOURCE_NAME_LENGTH)
        return false;
    memcpy(ret, key + 2, length);
    ret[length] = '\0';
    return true;
}

bool source_module(const char *file, char ret[SOURCE_NAME_LENGTH])
{
    static const char package[] = "/__init__.py";
    size_t length = strlen(file), tail = strlen(package);
    if (length <= tail || strcmp(file + length - tail, package) != 0)
        tail = strlen(".py");
    if (length <= tail || strcmp(file + length - strlen(".py"), ".py") != 0)
        return false;
    const char *end = file + length - tail, *begin = end;
    while (begin > file && is_name_char(begin[-1]))
        begin--;
    if (begin == end || (size_t) (end - begin) >= SOURCE_NAME_LENGTH)
        return false;
    memcpy(ret, begin, (size_t) (end - begin));
    ret[end - begin] = '\0';
    return true;
}

/* ---- a place in the text ---- */

struct place {
    const char *at, *end;
    int line;
};

static char peek(const struct place *p)
{
    return p->at < p->end ? *p->at : '\0';
}

static char peek_at(const struct place *p, size_t ahead)
{
    return (size_t) (p->end - p->at) > ahead ? p->at[ahead] : '\0';
}

static void step(struct place *p)
{
    p->line += *p->at == '\n';
    p->at++;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Past the string that begins here. One that its line does not end is broken: so is the line. */
static void skip_string(struct place *p)
{
    char quote = peek(p);
    bool triple = peek_at(p, 1) == quote && peek_at(p, 2) == quote;
    for (unsigned i = 0; i < (triple ? 3u : 1u); i++)
        step(p);
    while (p->at < p->end) {
        char c = peek(p);
        bool ends = triple ? c == quote && peek_at(p, 1) == quote && peek_at(p, 2) == quote
                           : c == quote || c == '\n';
        if (ends) {
            for (unsigned i = 0; i < (triple ? 3u : 1u) && c != '\n'; i++)
                step(p);
            return;
        }
        step(p);
        if (c == '\\' && p->at < p->end)
            step(p);
    }
}

static void skip_comment(struct place *p)
{
    while (p->at < p->end && *p->at != '\n')
        step(p);
}

static void skip_blanks(struct place *p)
{
    while (peek(p) == ' ' || peek(p) == '\t')
        step(p);
}

/* Past one character, string or comment. Returns how the depth of brackets changes. */
static int skip_one(struct place *p)
{
    char c = peek(p);
    if (is_quote(c)) {
        skip_string(p);
        return 0;
    }
    if (c == '#') {
        skip_comment(p);
        return 0;
    }
    step(p);
    return c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
}

/* Past a bracket and all that it encloses. */
static void skip_brackets(struct place *p)
{
    int depth = 0;
    do
        depth += skip_one(p);
    while (depth > 0 && p->at < p->end);
}

static size_t name_length(const struct place *p)
{
    size_t len = 0;
    while (is_name_char(peek_at(p, len)))
        len++;
    return len;
}

static bool is_name(const struct place *p, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(p->at, name, len) == 0;
}

/* ---- what adds to a variable ---- */

static bool is_adding_call(struct place p)
{
    static const char *const methods[] = {
        "append",     "extend",     "add",  "insert",     "update", "put",       "setdefault",
        "appendleft", "extendleft", "push", "put_nowait", "write",  "writelines"};
    step(&p);
    skip_blanks(&p);
    size_t len = name_length(&p);
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (is_name(&p, len, methods[i])) {
            p.at += len;
            skip_blanks(&p);
            return peek(&p) == '(';
        }
    return false;
}

/* The name that begins here is followed by a call of detach(). */
static bool is_detached(struct place p, size_t length)
{
    p.at += length;
    skip_blanks(&p);
    if (peek(&p) != '.')
        return false;
    step(&p);
    return is_name(&p, name_length(&p), "detach");
}

/* Whether the name stands in what is assigned, up to the end of the statement: as an attribute
 * where it is one. Detached, it keeps nothing of what it was made of: h.detach(), and
 * tuple(v.detach() for v in h). */
static bool is_made_of(struct place p, const struct source_query *query)
{
    const char *begin = p.at;
    char before = 0;
    int depth = 0;
    bool is_walked = false, detaches = false, after_in = false;
    while (p.at < p.end && p.at - begin < (ptrdiff_t) ASSIGNED_MOST &&
           !(depth <= 0 && (peek(&p) == '\n' || peek(&p) == ';'))) {
        size_t len = name_length(&p);
        char c = peek(&p);
        bool is_it =
            len > 0 && is_name(&p, len, query->name) && (before == '.') == query->is_attribute;
        if (is_it && !after_in && !is_detached(p, len))
            return true;
        is_walked = is_walked || (is_it && after_in);
        detaches = detaches || (len > 0 && before == '.' && is_name(&p, len, "detach"));
        if (len > 0 && before != '.')
            after_in = is_name(&p, len, "in") || (after_in && peek_at(&p, len) == '.');
        if (len > 0)
            p.at += len;
        else
            depth += skip_one(&p);
        before = c;
    }
    return is_walked && !detaches;
}

/* ["outputs"], with either kind of quotes. */
static bool is_item_of(struct place p, const char *key)
{
    size_t length = strlen(key);
    step(&p);
    skip_blanks(&p);
    return is_quote(peek(&p)) && (size_t) (p.end - p.at) > length + 1 &&
           memcmp(p.at + 1, key, length) == 0 && p.at[1 + length] == p.at[0];
}

static bool begins_with_verb(const struct place *p, size_t length)
{
    static const char *const verbs[] = {
        "add",    "append",   "extend", "insert",   "put",  "push",  "update",
        "submit", "log",      "record", "register", "emit", "save",  "store",
        "write",  "callback", "enter",  "collect",  "keep", "track", "schedule",
        "defer",  "enqueue",  "send",   "observe",  "call_"};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (length >= strlen(verbs[i]) && memcmp(p->at, verbs[i], strlen(verbs[i])) == 0)
            return true;
    return false;
}

/* net.layers[2].register_forward_hook(f): the last name before the call. */
static bool is_adding_method(struct place p)
{
    bool adds = false;
    for (;;) {
        skip_blanks(&p);
        char c = peek(&p);
        if (c == '[') {
            skip_brackets(&p);
        } else if (c == '.') {
            step(&p);
            skip_blanks(&p);
            size_t length = name_length(&p);
            adds = begins_with_verb(&p, length);
            p.at += length;
            if (length == 0)
                return false;
        } else {
            return adds && c == '(';
        }
    }
}

/* A function that adds to what it is given first: heapq.heappush(a, x), setattr(a, name, x). */
static bool is_adding_function(const struct place *p, size_t length)
{
    static const char *const functions[] = {"heappush", "insort", "insort_left", "insort_right",
                                            "setattr"};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (is_name(p, length, functions[i]))
            return true;
    return false;
}

/* The place is behind the name. */
static bool ends_argument(struct place p, const struct source_query *query)
{
    skip_blanks(&p);
    if (query->key && !(peek(&p) == '[' && is_item_of(p, query->key)))
        return false;
    while (peek(&p) == '[') {
        skip_brackets(&p);
        skip_blanks(&p);
    }
    return peek(&p) == ',';
}

/* a = ..., a, b = ...; not a = None, by which it holds nothing yet. */
static bool is_bound(struct place p)
{
    while (peek(&p) == ',' || is_name_char(peek(&p)) || peek(&p) == ' ')
        step(&p);
    if (peek(&p) != '=' || peek_at(&p, 1) == '=')
        return false;
    step(&p);
    skip_blanks(&p);
    return !is_name(&p, name_length(&p), "None");
}

/* The place is behind the name. */
static bool is_addition(struct place p, const struct source_query *query)
{
    bool is_item = false;
    if (query->by == SOURCE_METHOD)
        return is_adding_method(p);
    skip_blanks(&p);
    if (query->by == SOURCE_BINDING)
        return is_bound(p);
    if (query->key && !(peek(&p) == '[' && is_item_of(p, query->key)))
        return false;
    while (peek(&p) == '[') {
        is_item = !(peek_at(&p, 1) == ':' && peek_at(&p, 2) == ']'); /* which puts all anew */
        skip_brackets(&p);
        skip_blanks(&p);
    }
    char c = peek(&p), next = peek_at(&p, 1);
    if (c == '.')
        return is_adding_call(p);
    if ((c == '+' || c == '|') && next == '=')
        return true;
    if (c != '=' || next == '=')
        return false;
    step(&p);
    return is_item || is_made_of(p, query);
}

/* ---- scopes ---- */

struct search {
    const struct source_query *query;
    bool inside;       /* the scope that is looked for */
    int indent, begin; /* of that scope */
    int here, best;    /* the first addition in this one; in the one that is meant; 0: none */
    int anywhere;
    bool was_as; /* with ... as NAME */
    bool gives;  /* the first argument of a function that adds to it */
};

static void leave(struct search *s, int line)
{
    bool is_near = s->query->near >= s->begin && s->query->near <= line;
    if (s->here > 0 && (s->best == 0 || is_near))
        s->best = s->here;
    s->inside = false;
    s->here = 0;
}

static size_t word(struct place *p, const char *text)
{
    size_t len = name_length(p);
    if (!is_name(p, len, text))
        return 0;
    p->at += len;
    skip_blanks(p);
    return len;
}

/* Whether a line begins "def NAME", "async def NAME" or "class NAME". */
static bool begins_scope(struct place p, const char *name)
{
    word(&p, "async");
    return (word(&p, "def") || word(&p, "class")) && is_name(&p, name_length(&p), name);
}

/* At the first character of a statement's line; it is not blank and no comment. */
static void begin_line(struct search *s, const struct place *p, int indent)
{
    if (s->inside && indent <= s->indent)
        leave(s, p->line - 1);
    if (s->query->scope && !s->inside && begins_scope(*p, s->query->scope)) {
        s->inside = true;
        s->indent = indent;
        s->begin = p->line;
        s->here = s->query->by == SOURCE_SCOPE ? p->line : 0;
    }
}

/* In brackets it is the name of an argument that is assigned to. */
static void look_at_name(struct search *s, struct place *p, bool after_dot, bool in_brackets)
{
    const struct source_query *query = s->query;
    size_t len = name_length(p);
    bool binds = query->by == SOURCE_BINDING, was_as = s->was_as;
    bool is_it = query->by != SOURCE_SCOPE && is_name(p, len, query->name) &&
                 after_dot == query->is_attribute && !(in_brackets && binds);
    s->was_as = is_name(p, len, "as");
    s->gives = s->gives || is_adding_function(p, len);
    p->at += len;
    bool gives = s->gives && query->by == SOURCE_ADDITION;
    if (!is_it ||
        !((binds && was_as) || (gives && ends_argument(*p, query)) || is_addition(*p, query)))
        return;
    if (s->inside && s->here == 0)
        s->here = p->line;
    if (s->anywhere == 0)
        s->anywhere = p->line;
}

/* The indentation of the line that begins here; negative: nothing stands on it. */
static int indent_of(struct place *p)
{
    const char *begin = p->at;
    skip_blanks(p);
    char c = peek(p);
    return c == '\n' || c == '\r' || c == '#' || c == '\0' ? -1 : (int) (p->at - begin);
}

static void search_text(struct search *s, struct place *p)
{
    int depth = 0;
    bool line_begins = true;
    char before = 0; /* the last character that was no blank */
    while (p->at < p->end) {
        int indent = line_begins ? indent_of(p) : -1;
        if (indent >= 0)
            begin_line(s, p, indent);
        if (p->at >= p->end)
            break;
        char c = peek(p);
        if (is_name_char(c))
            look_at_name(s, p, before == '.', depth > 0);
        else
            depth += skip_one(p);
        line_begins = c == '\n' && depth <= 0;
        s->gives = s->gives && c != ',' && c != ')' && !line_begins;
        before = c == ' ' || c == '\t' ? before : c;
    }
    if (s->inside)
        leave(s, p->line);
}

int source_find_addition(const char *text, size_t len, const struct source_query *query)
{
    struct search s = {.query = query};
    struct place p = {text, text + len, 1};
    search_text(&s, &p);
    if (!query->scope)
        return s.anywhere;
    return s.best > 0 || query->only_there ? s.best : s.anywhere;
}

/* ---- files ---- */

static int read_whole(int fd, size_t size, char **ret_text, size_t *ret_len)
{
    char *text = malloc(size + 1);
    ssize_t n = 1;
    size_t len = 0;
    if (!text)
        return -ENOMEM;
    while (len < size && n > 0) {
        n = read(fd, text + len, size - len);
        len += n > 0 ? (size_t) n : 0;
    }
    *ret_text = text;
    *ret_len = len;
    return 0;
}

int source_load(const char *path, char **ret_text, size_t *ret_len)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int r = -EINVAL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t) st.st_size <= SOURCE_MOST)
        r = read_whole(fd, (size_t) st.st_size, ret_text, ret_len);
    close(fd);
    return r;
}
