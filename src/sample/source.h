/* sample/source.h: finds the line of a Python source that adds to a variable. */
#ifndef TIDEMARK_SAMPLE_SOURCE_H
#define TIDEMARK_SAMPLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/* What to find. Texts are not owned. */
struct source_query {
    const char *name;  /* "history" */
    bool is_attribute; /* it follows a dot: self.history */
    const char *scope; /* its function or class; NULL: the whole file */
    bool only_there;   /* an addition elsewhere is to another variable of that name */
    int near;          /* a line of that scope, where there are several; 0: not known */
    const char *key;   /* key of the item added to: h["outputs"].append(x); NULL: any */
    bool is_item;      /* the holder is one of its items: creating one adds nothing yet */
    bool is_list;      /* a list, or an item that is one: replacing an element adds nothing */
    bool is_size; /* its bytes grow: a new value counts if made of the old one, detached or not */
    enum source_by {
        SOURCE_ADDITION,
        SOURCE_CALL,    /* a call of it: weakref.finalize(x, f) */
        SOURCE_METHOD,  /* any method whose name suggests adding: h.register_hook(x) */
        SOURCE_BINDING, /* an assignment to the name: where it begins */
        SOURCE_SCOPE,   /* the start of the scope, whatever the name */
    } by;
};

#define SOURCE_NAME_LENGTH 128u
#define SOURCE_NAMES 16u

struct source_name {
    char text[SOURCE_NAME_LENGTH];
    bool is_attribute; /* it follows a dot */
};

/*
 * The names of a path in order, without subscripts, stars and types in brackets: "trainer",
 * "callbacks" and "history" of "trainer.callbacks[2].history", "cache" of "cache['a.b'].(deque)".
 * Returns their number; 0 if there are too many, or one is too long.
 */
unsigned source_names(const char *path, struct source_name ret[SOURCE_NAMES]);

/* The text in the first subscript after its last name: "a.b" of "cache['a.b'][3]". False: there
 * is none, or it is not text. */
bool source_key(const char *path, char ret[SOURCE_NAME_LENGTH]);

/* The last part of the name of the module in such a file: "caches" of "/x/pkg/caches.py" and of
 * "/x/caches/__init__.py". False: that is not a name. */
bool source_module(const char *file, char ret[SOURCE_NAME_LENGTH]);

/*
 * Returns the first line that matches; 0: none. These add to a variable: a call of append, extend,
 * add and the like; a call that gets it to add to (heappush, insort, setattr); an assignment to one
 * of its items; +=; an assignment of something made from it. If no line does, a line counts that
 * adds to another name for it in the same function: buf = self.h; buf.append(x). Strings and
 * comments do not count. Pure.
 */
int source_find_addition(const char *text, size_t len, const struct source_query *query);

/* Reads a file with our own rights; the caller frees the text. -errno: it cannot be read, is not
 * a regular file, or is larger than SOURCE_MOST. */
#define SOURCE_MOST ((size_t) 4 << 20)
int source_load(const char *path, char **ret_text, size_t *ret_len);

#endif
