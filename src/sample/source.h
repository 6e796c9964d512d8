/* sample/source.h: the line of a Python source that adds to a variable. */
#ifndef TIDEMARK_SAMPLE_SOURCE_H
#define TIDEMARK_SAMPLE_SOURCE_H

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
    bool is_item;      /* the holder is one of its items: to make a new one adds nothing yet */
    bool is_list; /* a list, or an item that is one: what is put in the place of another is none */
    bool is_size; /* its bytes grow: of what it was, detached or not, and not of something new */
    enum source_by {
        SOURCE_ADDITION,
        SOURCE_CALL,    /* a call of it: weakref.finalize(x, f) */
        SOURCE_METHOD,  /* any method that by its name adds something: h.register_hook(x) */
        SOURCE_BINDING, /* an assignment to the name itself: where it begins */
        SOURCE_SCOPE,   /* where the scope begins, whatever the name */
    } by;
};

#define SOURCE_NAME_LENGTH 128u
#define SOURCE_NAMES 16u

struct source_name {
    char text[SOURCE_NAME_LENGTH];
    bool is_attribute; /* it stands behind a dot */
};

/* The names of a path in their order, without subscripts, stars and types in brackets: "trainer",
 * "callbacks" and "history" of "trainer.callbacks[2].history", "cache" of "cache['a.b'].(deque)".
 * Returns how many: none where there are too many, or one is too long. */
unsigned source_names(const char *path, struct source_name ret[SOURCE_NAMES]);

/* The text in the first subscript behind its last name: "a.b" of "cache['a.b'][3]". False: there is
 * none, or it is no text. */
bool source_key(const char *path, char ret[SOURCE_NAME_LENGTH]);

/* The last part of the module's name that is in such a file: "caches" of "/x/pkg/caches.py" and of
 * "/x/caches/__init__.py". False: that is no name. */
bool source_module(const char *file, char ret[SOURCE_NAME_LENGTH]);

/*
 * The first line that does so. To a variable adds: a call of append, extend, add and the like, one
 * that is given it to add to (heappush, insort, setattr), an assignment to one of its items, +=, or
 * an assignment of something made of itself. Where none does, one that adds to another name for it
 * in the same function: buf = self.h; buf.append(x). What stands in strings and comments is none.
 * 0: there is no such line. Pure.
 */
int source_find_addition(const char *text, size_t len, const struct source_query *query);

/* The text of a file, opened with our own rights; the caller frees it. -errno: it cannot be read,
 * is no regular file, or larger than SOURCE_MOST. */
#define SOURCE_MOST ((size_t) 4 << 20)
int source_load(const char *path, char **ret_text, size_t *ret_len);

#endif
