/* symbol/name.c: names of functions as their authors write them. */
#include "symbol/name.h"

#include <ctype.h>
#include <string.h>

#define DEEPEST 32u /* template in template; what is deeper is left out */

/* ---- as linked ---- */

bool name_is_mangled(const char *linked)
{
    return strncmp(linked, "_Z", 2) == 0;
}

/* Where compilers' marks of a part or a copy of a function begin: ".part.0.cold". */
static size_t mark_at(const char *name)
{
    static const char *const marks[] = {".cold",     ".part.",      ".isra.", ".constprop.",
                                        ".lto_priv", ".localalias", ".llvm.", "@"};
    size_t first = strlen(name);
    for (unsigned i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *mark = strstr(name, marks[i]);
        if (mark > name && (size_t) (mark - name) < first)
            first = (size_t) (mark - name);
    }
    return first;
}

void name_add_linked(struct buf *out, const char *linked)
{
    size_t length = mark_at(linked);
    if (length > NAME_MOST && !name_is_mangled(linked))
        length = NAME_MOST;
    buf_add(out, linked, length);
}

/* ---- as demangled ---- */

struct tidy {
    const char *begin, *at;
    struct buf out;
};

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const struct buf *b, const char *with)
{
    size_t length = strlen(with);
    return b->len >= length && memcmp(b->text + b->len - length, with, length) == 0;
}

static void shorten(struct buf *b, size_t len)
{
    b->len = len;
    if (b->text)
        b->text[len] = '\0';
}

static void take(struct tidy *t, size_t length)
{
    buf_add(&t->out, t->at, length);
    t->at += length;
}

static bool is_part_of_word(char c)
{
    return isalnum((unsigned char) c) || c == '_' || c == '$';
}

/* Skips what says nothing to a reader: unnamed and versioned namespaces, ABI tags. */
static bool skip_noise(struct tidy *t)
{
    static const char *const versions[] = {"__cxx11::", "__1::", "__debug::"};
    if (starts(t->at, "(anonymous namespace)::")) {
        t->at += strlen("(anonymous namespace)::");
        return true;
    }
    if (starts(t->at, "[abi:")) {
        t->at += strcspn(t->at, "]");
        t->at += *t->at == ']';
        return true;
    }
    for (unsigned i = 0; i < 3 && ends(&t->out, "std::"); i++)
        if (starts(t->at, versions[i])) {
            t->at += strlen(versions[i]);
            return true;
        }
    return false;
}

/* The end of a group that begins here with `open`: behind its `close`, or the end of the text. */
static const char *group_end(const char *at, char open, char close)
{
    for (unsigned depth = 0; *at; at++) {
        depth += *at == open;
        depth -= *at == close;
        if (depth == 0)
            return at + 1;
    }
    return at;
}

/* ---- template arguments ---- */

/* Behind the '>' that belongs to the '<' here. Comparisons and "->" stand in parentheses. */
static const char *template_end(const char *at)
{
    for (unsigned depth = 0; *at; at++) {
        if (*at == '(') {
            at = group_end(at, '(', ')') - 1;
            continue;
        }
        depth += *at == '<';
        depth -= *at == '>';
        if (depth == 0)
            return at + 1;
    }
    return at;
}

static bool is_default(const char *argument)
{
    static const char *const defaults[] = {
        "std::allocator<", "std::char_traits<", "std::default_delete<",
        "std::less<",      "std::hash<",        "std::equal_to<",
    };
    for (unsigned i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
        if (starts(argument, defaults[i]))
            return true;
    return false;
}

static void take_template(struct tidy *t, unsigned depth);

/* Up to the ',' or '>' that ends it. */
static void take_template_argument(struct tidy *t, unsigned depth)
{
    while (*t->at && *t->at != ',' && *t->at != '>') {
        if (skip_noise(t))
            continue;
        if (*t->at == '<')
            take_template(t, depth + 1);
        else if (*t->at == '(')
            take(t, (size_t) (group_end(t->at, '(', ')') - t->at));
        else if (*t->at == '{')
            take(t, (size_t) (group_end(t->at, '{', '}') - t->at));
        else
            take(t, 1);
    }
}

static void take_template(struct tidy *t, unsigned depth)
{
    if (depth == DEEPEST) {
        buf_adds(&t->out, "<...>");
        t->at = template_end(t->at);
        return;
    }
    for (take(t, 1); *t->at && *t->at != '>';) {
        size_t before = t->out.len;
        const char *first = *t->at == ',' ? t->at + 1 + (t->at[1] == ' ') : NULL;
        if (first) {
            buf_adds(&t->out, ", ");
            t->at = first;
        }
        take_template_argument(t, depth);
        if (first && is_default(first))
            shorten(&t->out, before);
    }
    while (ends(&t->out, " "))
        shorten(&t->out, t->out.len - 1);
    t->at += *t->at == '>';
    buf_addc(&t->out, '>');
    if (ends(&t->out, "std::basic_string<char>")) {
        shorten(&t->out, t->out.len - strlen("basic_string<char>"));
        buf_adds(&t->out, "string");
    }
}

/* ---- outside of templates ---- */

static bool is_operator(const struct tidy *t)
{
    bool begins = t->at == t->begin || t->at[-1] == ':' || t->at[-1] == ' ';
    return begins && starts(t->at, "operator") && !is_part_of_word(t->at[8]);
}

static size_t operator_length(const char *at)
{
    static const char *const operators[] = {
        "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++",
        "--",  "+=",  "-=",  "*=",  "/=", "%=", "^=", "&=", "|=", "->", "()", "[]", "<",
        ">",   "+",   "-",   "*",   "/",  "%",  "^",  "&",  "|",  "~",  "!",  "=",  ","};
    for (unsigned i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (starts(at, operators[i]))
            return strlen(operators[i]);
    return 0;
}

/* "operator<", "operator unsigned long", "operator new[]". */
static void take_operator(struct tidy *t)
{
    take(t, strlen("operator"));
    size_t length = operator_length(t->at);
    take(t, length);
    if (length > 0) {
        t->at += starts(t->at, " <"); /* stands between "operator<" and template arguments */
        return;
    }
    while (*t->at && *t->at != '(') {
        if (skip_noise(t))
            continue;
        if (*t->at == '<')
            take_template(t, 0);
        else
            take(t, 1);
    }
}

/* "(int) const &"; of a function that returns one, "(*" begins its name. */
static void skip_arguments(struct tidy *t)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", " noexcept"};
    if (t->at[1] == '*' || t->at[1] == '&') {
        shorten(&t->out, 0);
        t->at += 2;
        return;
    }
    t->at = group_end(t->at, '(', ')');
    for (unsigned i = 0; i < sizeof qualifiers / sizeof qualifiers[0]; i++)
        if (starts(t->at, qualifiers[i]))
            t->at += strlen(qualifiers[i]);
    if (starts(t->at, " [clone") || starts(t->at, " requires "))
        t->at += strlen(t->at);
}

/* "{lambda(int)#1}" without its arguments. */
static void take_braces(struct tidy *t)
{
    const char *end = group_end(t->at, '{', '}');
    while (t->at < end) {
        const char *behind = *t->at == '(' ? group_end(t->at, '(', ')') : t->at;
        if (behind > t->at)
            t->at = behind;
        else
            take(t, 1);
    }
}

static void take_next(struct tidy *t)
{
    if (is_operator(t))
        take_operator(t);
    else if (*t->at == '<')
        take_template(t, 0);
    else if (*t->at == '(')
        skip_arguments(t);
    else if (*t->at == '{')
        take_braces(t);
    else if (*t->at == ')')
        t->at++;
    else if (*t->at == ' ') { /* so far it was the type, or "non-virtual thunk to" */
        shorten(&t->out, 0);
        t->at++;
    } else
        take(t, 1);
}

/* ---- at last ---- */

/* Rust ends its names with "::h" and 16 digits. */
static void drop_hash(struct buf *b)
{
    if (b->len <= 19 || memcmp(b->text + b->len - 19, "::h", 3) != 0)
        return;
    if (strspn(b->text + b->len - 16, "0123456789abcdef") == 16)
        shorten(b, b->len - 19);
}

static void drop_templates(struct buf *b)
{
    struct tidy t = {.begin = buf_text(b), .at = buf_text(b)};
    while (*t.at) {
        if (is_operator(&t)) {
            take_operator(&t);
        } else if (*t.at == '<') {
            t.at = template_end(t.at);
            buf_adds(&t.out, "<...>");
        } else {
            take(&t, 1);
        }
    }
    buf_release(b);
    *b = t.out;
}

/* The end of a name tells more than its beginning. */
static void add_end(struct buf *out, const struct buf *name)
{
    const char *from = name->text + name->len - (NAME_MOST - 3);
    const char *scope = strstr(from, "::");
    buf_adds(out, "...");
    buf_adds(out, scope ? scope : from);
}

void name_add_tidy(struct buf *out, const char *demangled)
{
    struct tidy t = {.begin = demangled, .at = demangled};
    while (*t.at)
        if (!skip_noise(&t))
            take_next(&t);
    if (t.out.len == 0)
        buf_adds(&t.out, demangled);
    drop_hash(&t.out);
    if (t.out.len > NAME_MOST)
        drop_templates(&t.out);
    if (t.out.len > NAME_MOST)
        add_end(out, &t.out);
    else
        buf_adds(out, buf_text(&t.out));
    buf_release(&t.out);
}
