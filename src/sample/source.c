/* sample/source.c: finds the line of a Python source that adds to a variable. */
#include "sample/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASSIGNED_MOST 400u /* characters of an assignment that are read */

/* ---- a path ---- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char) c >= 0x80;
}

/* Skips a subscript, or a type in brackets; quotes may hold brackets. */
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

/* Where the subscripts after the last name begin. */
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

/* Skips the string that begins here. One that does not end on its line is broken: so is the
 * line. */
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

/* Skips one character, string or comment. Returns how the bracket depth changes. */
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

/* Skips a bracket and all that it encloses. */
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

/* Whether this is setdefault(k, []) alone: it creates an item, but adds nothing to one. */
static bool is_made_only(struct place p, size_t length)
{
    if (!is_name(&p, length, "setdefault"))
        return false;
    p.at += length;
    skip_blanks(&p);
    skip_brackets(&p);
    skip_blanks(&p);
    return peek(&p) != '.' && peek(&p) != '[';
}

static bool is_adding_call(struct place p, const struct source_query *query)
{
    static const char *const methods[] = {
        "append",     "extend",     "add",  "insert",     "update", "put",       "setdefault",
        "appendleft", "extendleft", "push", "put_nowait", "write",  "writelines"};
    step(&p);
    skip_blanks(&p);
    size_t len = name_length(&p);
    if (query->is_item && is_made_only(p, len))
        return false;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (is_name(&p, len, methods[i])) {
            p.at += len;
            skip_blanks(&p);
            return peek(&p) == '(';
        }
    return false;
}

/* Whether the name that begins here is followed by a call of detach(). */
static bool is_detached(struct place p, size_t length)
{
    p.at += length;
    skip_blanks(&p);
    if (peek(&p) != '.')
        return false;
    step(&p);
    return is_name(&p, name_length(&p), "detach");
}

/*
 * Whether the name appears in the assigned value, up to the end of the statement; an attribute only
 * as one. A detached value keeps nothing of what it was made from: h.detach(), and tuple(v.detach()
 * for v in h).
 */
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
        if (is_it && !after_in && (query->is_size || !is_detached(p, len)))
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
    return is_walked && (query->is_size || !detaches);
}

/* Whether this is ["outputs"], with either kind of quotes. */
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

/* Whether this is a function that adds to its first argument: heapq.heappush(a, x), setattr(a,
 * name, x). */
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

/* a = ..., a, b = ...; not a = None, which holds nothing yet. */
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

static bool ends_statement(const struct place *p)
{
    char c = peek(p);
    return c == '\0' || c == '\n' || c == '\r' || c == ';' || c == '#';
}

/* [], [x], {}, and calls of a type that create an empty one. */
static bool is_new_one(struct place p)
{
    static const char *const types[] = {"list", "dict", "set", "deque", "OrderedDict"};
    skip_blanks(&p);
    size_t length = name_length(&p);
    bool is_made = false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        is_made = is_made || is_name(&p, length, types[i]);
    if (length > 0 && !is_made)
        return false;
    p.at += length;
    char c = peek(&p), next = peek_at(&p, 1);
    if (c == '(')
        return next == ')';
    if (c != '[' && c != '{')
        return false;
    skip_brackets(&p);
    skip_blanks(&p);
    return ends_statement(&p);
}

/* At the bracket of x[...]: whether it is a slice, which may be empty. */
static bool takes_slice(struct place p)
{
    int depth = 0;
    do {
        if (depth == 1 && peek(&p) == ':')
            return true;
        depth += skip_one(&p);
    } while (depth > 0 && p.at < p.end);
    return false;
}

/* At the bracket of x[...]: whether assigning to it may add an item. [:] is all of them. */
static bool may_be_new_item(struct place p, const struct source_query *query)
{
    bool is_all = peek_at(&p, 1) == ':' && peek_at(&p, 2) == ']';
    return !is_all && (!query->is_list || takes_slice(p));
}

/* The place is behind the name. */
static bool is_addition(struct place p, const struct source_query *query)
{
    bool is_replaced = false;
    bool is_item = false;
    if (query->by == SOURCE_METHOD)
        return is_adding_method(p);
    skip_blanks(&p);
    if (query->by == SOURCE_CALL)
        return peek(&p) == '(';
    if (query->by == SOURCE_BINDING)
        return is_bound(p);
    if (query->key && !(peek(&p) == '[' && is_item_of(p, query->key)))
        return false;
    while (peek(&p) == '[') {
        is_item = may_be_new_item(p, query);
        is_replaced = query->is_list && !query->is_item && !is_item;
        skip_brackets(&p);
        skip_blanks(&p);
    }
    char c = peek(&p), next = peek_at(&p, 1);
    if (c == '.')
        return is_adding_call(p, query);
    if ((c == '+' || c == '|') && next == '=')
        return !is_replaced;
    if (c != '=' || next == '=')
        return false;
    step(&p);
    bool adds = is_item && !query->is_size && !(query->is_item && is_new_one(p));
    return adds || is_made_of(p, query);
}

/* ---- other names for it ---- */

static size_t word(struct place *p, const char *text)
{
    size_t len = name_length(p);
    if (!is_name(p, len, text))
        return 0;
    p->at += len;
    skip_blanks(p);
    return len;
}

/* The indentation of the line that begins here; negative: it is blank. */
static int indent_of(struct place *p)
{
    const char *begin = p->at;
    skip_blanks(p);
    char c = peek(p);
    return c == '\n' || c == '\r' || c == '#' || c == '\0' ? -1 : (int) (p->at - begin);
}

#define ALIASES_MOST 64u /* statements checked for one answer */

/* Whether the rest of the statement only leads into it: nothing else is done with it. */
static bool is_only_named(struct place p, const struct source_query *query)
{
    static const char *const into[] = {"setdefault", "get", "values", "items"};
    for (;;) {
        skip_blanks(&p);
        char c = peek(&p);
        if (c == '[') {
            if (query->key && is_quote(peek_at(&p, 1)) && !is_item_of(p, query->key))
                return false;
            skip_brackets(&p);
            continue;
        }
        if (c != '.')
            return !c || strchr("\r\n;:#", c);
        step(&p);
        size_t length = name_length(&p), i = 0;
        while (i < sizeof(into) / sizeof(into[0]) && !is_name(&p, length, into[i]))
            i++;
        p.at += length;
        if (i == sizeof(into) / sizeof(into[0]) || peek(&p) != '(')
            return false;
        skip_brackets(&p);
    }
}

/* The names a, b that a statement binds: a, b = ..., for a, b in ...; 0: it is another
 * statement. Leaves *p after = or in. */
static unsigned bound_names(struct place *p, struct source_name ret[SOURCE_NAMES])
{
    unsigned count = 0;
    if (is_name(p, name_length(p), "for"))
        p->at += strlen("for");
    while (p->at < p->end && count < SOURCE_NAMES) {
        size_t length = name_length(p);
        if (length == 0 && peek(p) == '=' && peek_at(p, 1) != '=') {
            step(p);
            return count;
        }
        if (length == 0 && !strchr(" ,()", peek(p)))
            return 0;
        bool is_in = is_name(p, length, "in");
        if (length > 0 && length < SOURCE_NAME_LENGTH && !is_in) {
            ret[count] = (struct source_name){.is_attribute = false};
            memcpy(ret[count++].text, p->at, length);
        }
        p->at += length > 0 ? length : 1;
        if (is_in)
            return count;
    }
    return 0;
}

/* Whether the text up to `there` is a path such as self.a.b and nothing else. */
static bool is_path_to(struct place p, const char *there)
{
    skip_blanks(&p);
    while (p.at < there)
        if (peek(&p) == '[')
            skip_brackets(&p);
        else if (is_name_char(peek(&p)) || peek(&p) == '.')
            step(&p);
        else
            return false;
    return p.at == there;
}

static size_t indent_at(const char *line, const char *end)
{
    const char *at = line;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return (size_t) (at - line);
}

static bool begins_any_scope(struct place p)
{
    skip_blanks(&p);
    word(&p, "async");
    return word(&p, "def") || word(&p, "class");
}

/* The indentation of the function around a line, by the lines before it; -1: in none. */
static int indent_of_function(const char *text, struct place p)
{
    const char *line = p.at;
    while (line > text && line[-1] != '\n')
        line--;
    size_t indent = indent_at(line, p.end);
    while (line > text) {
        line--;
        while (line > text && line[-1] != '\n')
            line--;
        struct place begin = {line, p.end, 0};
        if (indent_at(line, p.end) < indent && begins_any_scope(begin))
            return (int) indent_at(line, p.end);
    }
    return -1;
}

/* Where the function ends. */
static const char *end_of_function(struct place p, int indent)
{
    while (p.at < p.end) {
        skip_comment(&p); /* to the end of the line */
        if (p.at < p.end)
            step(&p);
        struct place line = p;
        int here = indent_of(&line);
        if (here >= 0 && here <= indent)
            return p.at;
    }
    return p.end;
}

/* ---- scopes ---- */

struct search {
    const struct source_query *query;
    bool inside;       /* the wanted scope */
    int indent, begin; /* of that scope */
    int here, best;    /* the first addition in this scope; in the wanted one; 0: none */
    int anywhere;
    bool was_as;            /* with ... as NAME */
    const char *text;       /* the whole text */
    struct place statement; /* the current line, after its indentation */
    unsigned *aliases;      /* how many may still be checked; NULL: none are */
    bool gives;             /* at the first argument of a function that adds to it */
};

static void leave(struct search *s, int line)
{
    bool is_near = s->query->near >= s->begin && s->query->near <= line;
    if (s->here > 0 && (s->best == 0 || is_near))
        s->best = s->here;
    s->inside = false;
    s->here = 0;
}

/* Whether a line begins "def NAME", "async def NAME" or "class NAME". */
static bool begins_scope(struct place p, const char *name)
{
    word(&p, "async");
    return (word(&p, "def") || word(&p, "class")) && is_name(&p, name_length(&p), name);
}

static int addition_in(const char *text, size_t len, const struct source_query *query,
                       unsigned *aliases);

/* The line that adds to a name to which this statement binds what is wanted; 0: none. The place
 * is after the name as it was found, whose length is given. */
static int addition_to_alias(const struct search *s, struct place p, size_t length)
{
    struct source_name names[SOURCE_NAMES];
    struct place of = s->statement;
    unsigned count = bound_names(&of, names);
    int line = 0;
    if (count == 0 || !is_path_to(of, p.at - length) || !is_only_named(p, s->query) ||
        *s->aliases == 0)
        return 0;
    *s->aliases -= 1;
    const char *end = end_of_function(p, indent_of_function(s->text, s->statement));
    skip_comment(&p);
    for (unsigned i = 0; i < count && line == 0; i++) {
        struct source_query query = {
            .name = names[i].text, .is_item = s->query->is_item, .is_size = s->query->is_size};
        line = addition_in(p.at, (size_t) (end - p.at), &query, s->aliases);
    }
    return line > 0 ? line + p.line - 1 : 0;
}

/* At the first character of a statement's line; it is neither blank nor a comment. */
static void begin_line(struct search *s, const struct place *p, int indent)
{
    s->statement = *p;
    if (s->inside && indent <= s->indent)
        leave(s, p->line - 1);
    if (s->query->scope && !s->inside && begins_scope(*p, s->query->scope)) {
        s->inside = true;
        s->indent = indent;
        s->begin = p->line;
        s->here = s->query->by == SOURCE_SCOPE ? p->line : 0;
    }
}

/* In brackets an assigned name is that of an argument. */
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
    int line = 0;
    if (is_it && s->aliases)
        line = addition_to_alias(s, *p, len);
    else if (is_it &&
             ((binds && was_as) || (gives && ends_argument(*p, query)) || is_addition(*p, query)))
        line = p->line;
    if (s->inside && s->here == 0)
        s->here = line;
    if (s->anywhere == 0)
        s->anywhere = line;
}

static void search_text(struct search *s, struct place *p)
{
    int depth = 0;
    bool line_begins = true;
    char before = 0; /* the last non-blank character */
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

static int look_through(const char *text, size_t len, const struct source_query *query,
                        unsigned *aliases)
{
    struct place p = {text, text + len, 1};
    struct search s = {.query = query, .text = text, .statement = p, .aliases = aliases};
    search_text(&s, &p);
    if (!query->scope)
        return s.anywhere;
    return s.best > 0 || query->only_there ? s.best : s.anywhere;
}

/* Finds what adds to it by its own name, else by another one. */
static int addition_in(const char *text, size_t len, const struct source_query *query,
                       unsigned *aliases)
{
    int line = look_through(text, len, query, NULL);
    if (line > 0 || query->by != SOURCE_ADDITION || *aliases == 0)
        return line;
    return look_through(text, len, query, aliases);
}

int source_find_addition(const char *text, size_t len, const struct source_query *query)
{
    unsigned aliases = ALIASES_MOST;
    return addition_in(text, len, query, &aliases);
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
