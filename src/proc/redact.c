/* proc/redact.c: removes the secrets from an argument. */
#include "proc/command.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define STARS "***"

/* A piece of a text. */
struct span {
    const char *text;
    size_t len;
};

static bool span_is(struct span s, const char *word)
{
    return strlen(word) == s.len && strncasecmp(s.text, word, s.len) == 0;
}

static bool span_in(struct span s, const char *const *words)
{
    for (; *words; words++) {
        if (span_is(s, *words))
            return true;
    }
    return false;
}

static bool span_holds(struct span s, const char *word)
{
    return memmem(s.text, s.len, word, strlen(word)) != NULL;
}

/* ---- names of secrets ---- */

/* Cuts the last word off a name: "hf-auth_Token" returns "Token" and leaves "hf-auth". */
static struct span cut_word(struct span *name)
{
    const char *s = name->text;
    size_t end = name->len;
    while (end > 0 && !isalnum((unsigned char) s[end - 1]))
        end--;
    size_t begin = end;
    while (begin > 0 && isalnum((unsigned char) s[begin - 1])) {
        begin--;
        /* accessToken */
        if (begin > 0 && isupper((unsigned char) s[begin]) && islower((unsigned char) s[begin - 1]))
            break;
    }
    name->len = begin;
    return (struct span){s + begin, end - begin};
}

/* Words that name a harmless kind of token in training: a piece of text. */
static const char *const token_kinds[] = {
    "pad",    "eos",   "bos",   "unk",    "sep",   "cls",   "mask",  "special",
    "image",  "audio", "video", "stop",   "start", "end",   "first", "last",
    "next",   "per",   "each",  "max",    "min",   "num",   "n",     "add",
    "prompt", "new",   "text",  "target", "eot",   "extra", "eod",   NULL,
};

static const char *const key_kinds[] = {
    "api",        "access", "secret",  "private", "auth",    "license", "licence",
    "encryption", "sign",   "signing", "ssh",     "account", "master",  "wandb",
    "openai",     "comet",  "storage", "deploy",  "service", "client",  NULL,
};

static const char *const secret_words[] = {
    "secret",      "secrets",     "password",   "passwd",     "passphrase",    "passcode",
    "credential",  "credentials", "apikey",     "apitoken",   "authtoken",     "accesskey",
    "cookie",      "cookies",     "storepass",  "keypass",    "sshpass",       "userpass",
    "accesstoken", "secretkey",   "privatekey", "pgpassword", "authorization", NULL,
};

/* Words that name a harmless kind of pass in training: --num-pass, --forward_pass. */
static const char *const pass_kinds[] = {
    "n",       "num",      "number", "first", "second", "single", "multi", "one", "two",  "three",
    "forward", "backward", "max",    "min",   "per",    "each",   "high",  "low", "band", "by",
    "last",    "next",     "eval",   "train", "extra",  "render", "data",  NULL,
};

/* --use-auth-token is a switch: the next argument is not its value. */
static const char *const switch_words[] = {"use",  "no",      "has",  "is",
                                           "with", "require", "skip", NULL};

static bool is_variable(struct span name)
{
    bool letters = false;
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char) name.text[i];
        if (!isupper(c) && !isdigit(c) && c != '_')
            return false;
        letters |= isupper(c) != 0;
    }
    return letters;
}

/* NAMES_LIKE_THIS: an environment variable, whose name alone reveals a secret. */
static bool is_secret_variable(struct span name)
{
    static const char *const open[] = {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", NULL};
    if (span_in(name, open))
        return false;
    if (span_holds(name, "SECRET") || span_holds(name, "PASSWORD") || span_holds(name, "PASSWD"))
        return true;
    if (name.len > 4 && memcmp(name.text, "AWS_", 4) == 0)
        return true;
    return name.len > 4 && memcmp(name.text + name.len - 4, "_KEY", 4) == 0;
}

static bool is_switch(struct span name)
{
    struct span first = {NULL, 0};
    while (name.len > 0) {
        struct span word = cut_word(&name);
        if (word.len > 0)
            first = word;
    }
    return first.len > 0 && span_in(first, switch_words);
}

/*
 * The last words decide: --hf-token and --api_key are secret; --tokenizer, --max-tokens and
 * --key-frames are not. Inside a longer text (`inside`) a plain `key` or `auth` proves nothing.
 */
static bool is_secret_name(struct span name, bool inside)
{
    if (is_variable(name) && is_secret_variable(name))
        return true;
    if (is_switch(name))
        return false;
    struct span rest = name, last = cut_word(&rest), before = cut_word(&rest);
    if (span_in(last, secret_words))
        return true;
    if (span_is(last, "token"))
        return !span_in(before, token_kinds);
    if (span_is(last, "key"))
        return before.len == 0 ? !inside : span_in(before, key_kinds);
    if (span_is(last, "pass") || span_is(last, "pw"))
        return before.len == 0 ? !inside : !span_in(before, pass_kinds);
    /* PWD is a shell's working directory. */
    if (span_is(last, "pwd"))
        return before.len > 0 || (!inside && !is_variable(name));
    if (span_is(last, "auth") || span_is(last, "bearer"))
        return before.len > 0 || !inside;
    return false;
}

/* ---- secrets known by their form ---- */

struct token_form {
    const char *prefix;
    size_t least;      /* characters required after the prefix */
    const char *extra; /* allowed besides letters and digits */
};

static const struct token_form token_forms[] = {
    {"hf_", 16, ""},    {"sk-", 20, "-_"},    {"ghp_", 16, ""},     {"gho_", 16, ""},
    {"ghu_", 16, ""},   {"ghs_", 16, ""},     {"ghr_", 16, ""},     {"github_pat_", 16, "_"},
    {"xoxb-", 10, "-"}, {"xoxp-", 10, "-"},   {"xoxa-", 10, "-"},   {"xapp-", 10, "-"},
    {"AKIA", 12, ""},   {"ASIA", 12, ""},     {"glpat-", 16, "-_"}, {"AIza", 30, "-_"},
    {"npm_", 30, ""},   {"nvapi-", 20, "-_"}, {"eyJ", 30, "-_."},
};

static size_t run_length(const char *s, const char *extra)
{
    size_t len = 0;
    while (isalnum((unsigned char) s[len]) || (s[len] && strchr(extra, s[len])))
        len++;
    return len;
}

/* Words joined by dashes are not a key: "sk-learn-contrib-lightning". */
static bool looks_random(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (isdigit((unsigned char) s[i]) || isupper((unsigned char) s[i]))
            return true;
    }
    return false;
}

/* The length of the well-known token at `s`, prefix included; 0: none. */
static size_t token_length(const char *s)
{
    for (size_t i = 0; i < sizeof token_forms / sizeof *token_forms; i++) {
        const struct token_form *f = &token_forms[i];
        size_t prefix = strlen(f->prefix);
        if (strncmp(s, f->prefix, prefix) != 0)
            continue;
        size_t len = run_length(s + prefix, f->extra);
        bool plain = *f->extra == '\0' || looks_random(s + prefix, len);
        if (len >= f->least && plain)
            return prefix + len;
    }
    return 0;
}

/* "://user:password@" or "://0c5f...@": the length of the part in between; 0: none. */
static size_t userinfo_length(const char *s)
{
    size_t len = strcspn(s, "/?# \t\n\"'");
    const char *at = memrchr(s, '@', len);
    size_t user = at ? (size_t) (at - s) : 0;
    bool is_token = user >= 16 && run_length(s, "-_") == user && looks_random(s, user);
    return user > 0 && (is_token || memchr(s, ':', user)) ? user : 0;
}

/* ---- going through a text ---- */

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Opening quotes at `s`, perhaps escaped, as in code inside code. */
static size_t quote_length(const char *s)
{
    return is_quote(*s) ? 1 : *s == '\\' && is_quote(s[1]) ? 2 : 0;
}

/* The length of the value at `s`, after its opening quote if any. It ends at the closing quote, or
 * at whatever ends a value in code, queries and shells. */
static size_t value_length(const char *s, size_t quote)
{
    static const char *const schemes[] = {"bearer", "basic", "digest", "token", "negotiate", NULL};
    char closing[] = {'\\', '\n', s[quote ? quote - 1 : 0], '\0'};
    if (quote > 0)
        return strcspn(s + quote, quote == 1 ? closing + 1 : closing);
    /* "X-Auth: Bearer ..." */
    struct span scheme = {s, run_length(s, "")};
    size_t begin = s[scheme.len] == ' ' && span_in(scheme, schemes) ? scheme.len + 1 : 0;
    return begin + strcspn(s + begin, " \t\n\"',;&)}]\\");
}

/* A header's value at `s` ends with its line, or at the quotes around the header. */
static size_t header_length(const char *text, const char *name, const char *s)
{
    const char closing[] = {'\n', name > text && is_quote(name[-1]) ? name[-1] : '\0', '\0'};
    return strcspn(s, name == text ? "\n" : closing[1] ? closing : "\"'\n");
}

/* The length of the separator between a name and its value; 0: no value follows. */
static size_t separator_length(const char *s, bool is_option)
{
    size_t len = quote_length(s);
    if (len > 0 && s[len] == ']')
        len++;
    size_t spaces = strspn(s + len, " \t");
    if (s[len + spaces] == ':' || s[len + spaces] == '=') {
        len += spaces + 1;
        return len + strspn(s + len, " \t");
    }
    return is_option && len == 0 && spaces > 0 && s[spaces] != '-' ? spaces : 0;
}

static bool starts_name(const char *text, const char *s)
{
    return (isalpha((unsigned char) *s) || *s == '_') &&
           (s == text || (!isalnum((unsigned char) s[-1]) && s[-1] != '_'));
}

/* "Authorization: Basic ...", "Cookie: a=1; b=2": values of several words. */
static bool is_header(struct span name)
{
    static const char *const words[] = {"authorization", "cookie", "cookie2", NULL};
    return span_in(cut_word(&name), words);
}

/* A name at `s` with a secret value: adds both, with the value hidden. 0: none here. */
static size_t redact_named(struct buf *out, const char *text, const char *s)
{
    struct span name = {s, run_length(s, "_-.")};
    bool is_option = s - text >= 2 && s[-1] == '-' && s[-2] == '-';
    bool scheme = span_is(name, "bearer") || span_is(name, "basic");
    size_t gap = scheme && s[name.len] == ' ' ? 1 : separator_length(s + name.len, is_option);
    if (scheme && gap == 1 && strcspn(s + name.len + 1, " \t\n\"'") < 8)
        return 0;
    if (gap == 0 || (!scheme && !is_secret_name(name, !is_option)))
        return 0;
    const char *value = s + name.len + gap;
    size_t quote = quote_length(value);
    size_t len =
        quote == 0 && is_header(name) ? header_length(text, s, value) : value_length(value, quote);
    if (len == 0)
        return 0;
    buf_add(out, s, name.len + gap + quote);
    buf_adds(out, STARS);
    return name.len + gap + quote + len;
}

/* The number of bytes of a secret at `s`, which is added as ***; 0: none. */
static size_t redact_here(struct buf *out, const char *text, const char *s)
{
    if (strncmp(s, "://", 3) == 0 && userinfo_length(s + 3) > 0) {
        buf_adds(out, "://" STARS);
        return 3 + userinfo_length(s + 3);
    }
    if (!starts_name(text, s))
        return 0;
    size_t len = token_length(s);
    if (len > 0) {
        buf_adds(out, STARS);
        return len;
    }
    return redact_named(out, text, s);
}

/* ---- commands in a text ---- */

#define BLANKS " \t"
#define BETWEEN_COMMANDS "\n;|&(`"
#define WORD_ENDS BLANKS BETWEEN_COMMANDS ")<>\"'"

static bool starts_word(const char *text, const char *s)
{
    return !strchr(WORD_ENDS, *s) && (s == text || strchr(WORD_ENDS, s[-1]));
}

/* An option at `s` of a program seen earlier in the script: adds it with its secret hidden. Returns
 * the number of bytes consumed, 0: it has no secret. */
static size_t redact_option(struct secret_options *o, struct buf *out, const char *s)
{
    size_t len = strcspn(s, WORD_ENDS), at = len;
    enum secret kind = secret_options_read(o, s, len, &at);
    if (kind == SECRET_NONE || kind == SECRET_HEADER)
        return 0;
    if (at == len && strchr(BLANKS, s[at]))
        at += strspn(s + at, BLANKS);
    size_t quote = quote_length(s + at);
    size_t value = quote ? value_length(s + at, quote) : strcspn(s + at, WORD_ENDS);
    if ((len < at && s[at] == '-') || !secret_is_in(kind, s + at + quote, value))
        return 0;
    buf_add(out, s, at + quote);
    buf_adds(out, STARS);
    return at + quote + value;
}

static void redact_inside(struct buf *out, const char *text)
{
    struct secret_options options = {0};
    for (const char *s = text; *s;) {
        if (strchr(BETWEEN_COMMANDS, *s))
            options = (struct secret_options){0};
        size_t len = starts_word(text, s) ? redact_option(&options, out, s) : 0;
        if (len == 0)
            len = redact_here(out, text, s);
        if (len == 0)
            buf_addc(out, *s);
        s += len ? len : 1;
    }
}

/* ---- arguments ---- */

/* The name of an option or assignment without its dashes: "--hf-token", "+a.b=1", "KEY=...". */
static struct span argument_name(const char *text)
{
    text += strspn(text, "-+");
    return (struct span){text, run_length(text, "_-.")};
}

/* Whether the text is the value of the option before it. One dash is enough (-passin, -token),
 * except for single letters. */
static bool is_value_of(const char *text, const char *previous)
{
    if (!previous || previous[0] != '-' || strncmp(text, "--", 2) == 0)
        return false;
    struct span name = argument_name(previous);
    return name.len > 1 && name.text[name.len] == '\0' && is_secret_name(name, false);
}

/* After `sh -c` comes a whole script, and an assignment is only its beginning. */
static bool is_script(const char *previous)
{
    return previous && previous[0] == '-' && isalpha((unsigned char) previous[1]) &&
           previous[strlen(previous) - 1] == 'c';
}

/* One assignment whose value is the whole rest: "--token=...", "KEY=...". */
static bool is_assignment(struct span name)
{
    return name.text[name.len] == '=' && name.text[name.len + 1] && is_secret_name(name, false);
}

/* Hides the argument, or only the secret part of its option's value. */
static void redact_value(struct buf *out, const char *value, enum secret kind)
{
    if (secret_is_in(kind, value, strlen(value)))
        buf_adds(out, STARS);
    else
        redact_inside(out, value);
}

/* Redacts by what the program is known to do with the option. False: nothing is known. */
static bool redact_by_program(struct redaction *r, struct buf *out, const char *text)
{
    enum secret kind = r->pending;
    size_t at = 0, len = strlen(text);
    r->pending = SECRET_NONE;
    if (kind == SECRET_NONE || text[0] == '-') {
        kind = secret_options_read(&r->options, text, len, &at);
        if (kind != SECRET_NONE && at == len)
            r->pending = kind;
        if (kind == SECRET_NONE || at == len)
            return false;
    }
    buf_add(out, text, at);
    redact_value(out, text + at, kind);
    return true;
}

void redact(struct redaction *r, struct buf *out, const char *text)
{
    const char *previous = r->previous;
    r->previous = text;
    if (redact_by_program(r, out, text))
        return;
    if (*text && is_value_of(text, previous)) {
        buf_adds(out, STARS);
        return;
    }
    struct span name = argument_name(text);
    if (!is_script(previous) && is_assignment(name)) {
        buf_add(out, text, (size_t) (name.text - text) + name.len + 1);
        buf_adds(out, STARS);
        return;
    }
    redact_inside(out, text);
}
