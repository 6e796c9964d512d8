/* proc/command.h: a command line for people: its words, without its secrets. Pure. */
#ifndef TIDEMARK_PROC_COMMAND_H
#define TIDEMARK_PROC_COMMAND_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

/* One argument after another of a NUL-separated list; start with *next = arguments. NULL: no more.
 * An argument that a NUL does not end is the last (the buffer must be NUL-terminated). */
const char *arguments_next(const char *arguments, size_t len, const char **next);

/* What follows the last '/'. */
const char *base_name(const char *path);

/* ---- secrets in options that mean something else to other programs ---- */

enum secret {
    SECRET_NONE,
    SECRET_VALUE,  /* all of it: mysql -pSECRET */
    SECRET_USER,   /* where it has a password: curl -u USER:SECRET */
    SECRET_SHARE,  /* the same: smbclient -U USER%SECRET */
    SECRET_COOKIE, /* where it is none of a file: curl -b NAME=SECRET */
    SECRET_HEADER, /* judged by what it says: curl -H 'Cookie: SECRET' */
};

/*
 * -p is a port, a path or a password, -u a user or a switch. Which it is only the program knows: it
 * is the last one before the option that is known to take secrets so (`sudo mysql -p...`,
 * `timeout 9 curl -u ...`). Of all others such options are left alone: mkdir -p, ssh -p, docker run
 * -p. Begin with {0}.
 */
struct secret_options {
    const struct secret_program *program;
    bool is_ready; /* its subcommand has come, if it takes one: docker login */
};

/* Takes the next word of a command line. Says what its option holds, and where in the word that
 * begins; *ret_value is `len` where it is the next word. */
enum secret secret_options_read(struct secret_options *o, const char *word, size_t len,
                                size_t *ret_value);

/* Whether what such an option was given is one. */
bool secret_is_in(enum secret kind, const char *value, size_t len);

/* ---- the arguments of a command, one after the other ---- */

/* What was seen before the argument. Begin with {0}; the texts have to stay. */
struct redaction {
    const char *previous; /* it may be an option whose value comes next */
    struct secret_options options;
    enum secret pending; /* what the next argument is */
};

/* Adds the next argument with its secrets replaced by ***. */
void redact(struct redaction *r, struct buf *out, const char *text);

#endif
