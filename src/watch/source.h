/* watch/source.h: the line of a Python source that adds to a variable. */
#ifndef TIDEMARK_WATCH_SOURCE_H
#define TIDEMARK_WATCH_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/* What is looked for. Texts are not owned. */
struct source_query {
    const char *name;  /* "history" */
    bool is_attribute; /* it stands behind a dot: self.history */
    const char *scope; /* the function or class it is in; NULL: the whole file */
    bool only_there;   /* an addition elsewhere is to another variable of that name */
    int near;          /* a line of that scope, where there are several; 0: not known */
    const char *key;   /* of the item that is added to: h["outputs"].append(x); NULL: any */
    bool by_method;    /* any method that by its name adds something: h.register_hook(x) */
    bool by_binding;   /* an assignment to the name itself: where it begins */
};

#define SOURCE_NAME_LENGTH 128u

/* The last name of a path, without its subscripts: "history" of "trainer.callbacks[2].history",
 * "cache" of "cache['a.b']". False: there is none. */
bool source_last_name(const char *path, char ret[SOURCE_NAME_LENGTH]);

/* The first name of a path: "trainer". False: there is none. */
bool source_first_name(const char *path, char ret[SOURCE_NAME_LENGTH]);
/* The text in the first subscript behind its last name: "a.b" of "cache['a.b'][3]". False: there is
 * none, or it is no text. */
bool source_key(const char *path, char ret[SOURCE_NAME_LENGTH]);

/*
 * The first line that adds to it: a call of append, extend, add and the like, an assignment to one
 * of its items, +=, or an assignment of something made of itself. What stands in strings and
 * comments is none. 0: there is no such line. Pure.
 */
int source_find_addition(const char *text, size_t len, const struct source_query *query);

/* The same in a file. 0: it cannot be read, is none, or too large; or there is no such line. */
int source_read_addition(const char *path, const struct source_query *query);

#endif
