/* proc/command.h: a command line for people: its words, without its secrets. Pure. */
#ifndef TIDEMARK_PROC_COMMAND_H
#define TIDEMARK_PROC_COMMAND_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

/* Walks a NUL-separated list; start with *next = arguments. NULL: no more. The last argument may
 * lack its NUL (the buffer must be NUL-terminated). */
const char *arguments_next(const char *arguments, size_t len, const char **next);

/* What follows the last '/'. */
const char *base_name(const char *path);

/* ---- secrets in options that mean other things in other programs ---- */

enum secret {
    SECRET_NONE,
    SECRET_VALUE,  /* all of it: mysql -pSECRET */
    SECRET_USER,   /* only what follows a colon: curl -u USER:SECRET */
    SECRET_SHARE,  /* only what follows a percent sign: smbclient -U USER%SECRET */
    SECRET_COOKIE, /* unless it names a file: curl -b NAME=SECRET */
    SECRET_HEADER, /* depends on the header: curl -H 'Cookie: SECRET' */
};

/*
 * -p is a port, a path or a password; -u is a user or a switch. The program decides: the last one
 * before the option that is known to take secrets this way (`sudo mysql -p...`, `timeout 9 curl -u
 * ...`). For every other program such options are left alone: mkdir -p, ssh -p, docker run -p.
 * Begin with {0}.
 */
struct secret_options {
    const struct secret_program *program;
    bool is_ready; /* its subcommand has come, if it takes one: docker login */
};

/* Takes the next word of a command line. Returns what its option holds; *ret_value is where in the
 * word the value begins, or `len` where the value is the next word. */
enum secret secret_options_read(struct secret_options *o, const char *word, size_t len,
                                size_t *ret_value);

/* Whether the value of such an option is a secret. */
bool secret_is_in(enum secret kind, const char *value, size_t len);

/* ---- the arguments of a command, one after the other ---- */

/* What came before the argument. Begin with {0}; the texts must stay valid. */
struct redaction {
    const char *previous; /* it may be an option whose value comes next */
    struct secret_options options;
    enum secret pending; /* what the next argument is */
};

/* Adds the next argument with its secrets replaced by ***. */
void redact(struct redaction *r, struct buf *out, const char *text);

#endif
