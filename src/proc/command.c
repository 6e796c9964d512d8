/* proc/command.c: a command line for people. */
#include "proc/command.h"
#include "proc/proc.h"

#include <string.h>

const char *arguments_next(const char *arguments, size_t len, const char **next)
{
    const char *argument = *next;
    if (argument >= arguments + len)
        return NULL;
    *next = argument + strlen(argument) + 1;
    return argument;
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Line ends and tabs are blanks; other control characters would drive a terminal. */
static void add_clean(struct buf *out, struct buf *text)
{
    for (size_t i = 0; i < text->len; i++) {
        if (text->text[i] == '\n' || text->text[i] == '\t')
            text->text[i] = ' ';
    }
    utf8_add_clean(out, buf_text(text), false);
}

static bool needs_quotes(const char *text)
{
    return *text == '\0' || strpbrk(text, " \t\n\"'\\$`&|;<>()*?[]{}#!~") != NULL;
}

/* In single quotes, as a shell would read it back. */
static void add_quoted(struct buf *out, const char *text)
{
    buf_addc(out, '\'');
    for (const char *s = text; *s; s++) {
        if (*s == '\'')
            buf_adds(out, "'\\''");
        else
            buf_addc(out, *s);
    }
    buf_addc(out, '\'');
}

static void add_argument(struct buf *out, struct redaction *r, const char *argument)
{
    struct buf hidden = BUF_INIT, clean = BUF_INIT;
    redact(r, &hidden, argument);
    add_clean(&clean, &hidden);
    if (needs_quotes(argument))
        add_quoted(out, buf_text(&clean));
    else
        buf_add(out, buf_text(&clean), clean.len);
    buf_release(&hidden);
    buf_release(&clean);
}

void proc_add_command(struct buf *out, const char *arguments, size_t len)
{
    /* A program that renames itself leaves NULs at the end. */
    while (len > 0 && arguments[len - 1] == '\0')
        len--;
    struct buf list = BUF_INIT;
    buf_add(&list, arguments, len);
    const char *next = buf_text(&list);
    struct redaction r = {0};
    for (const char *a; (a = arguments_next(list.text, len, &next));) {
        if (r.previous)
            buf_addc(out, ' ');
        add_argument(out, &r, a);
    }
    buf_release(&list);
}

void proc_redact(const char *const *argv, size_t count, struct buf *ret)
{
    struct redaction r = {0};
    buf_clear(ret);
    for (size_t i = 0; i < count; i++) {
        struct buf hidden = BUF_INIT;
        redact(&r, &hidden, argv[i]);
        add_clean(ret, &hidden);
        buf_addc(ret, '\0');
        buf_release(&hidden);
    }
}
