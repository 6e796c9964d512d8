/* probe/holders/holders.h: who holds objects, in words that a person finds in the program. Private
 * to probe/. */
#ifndef TIDEMARK_PROBE_HOLDERS_HOLDERS_H
#define TIDEMARK_PROBE_HOLDERS_HOLDERS_H

#include "probe/base/python.h"
#include "wire/wire.h"

struct holder {
    enum wire_holder_kind kind;
    double share;       /* of the objects that were followed */
    char path[256];     /* all in UTF-8, cut with "..." where they are longer */
    char function[128]; /* "": does not apply, or not known */
    char file[512];
    int line;     /* 0: not known */
    bool is_weak; /* it refers weakly to what it has */
};

/*
 * From some objects of one group back to who holds them: what most of them share first, at most
 * `most`. Where several hold an object the one is named where a person looks first: the program's
 * own functions and modules before those of libraries, a short way before a long one. What differs
 * between the objects is written [...], and left out at the end of a path. Of objects whose holder
 * is not found within bounds nothing is said, so that shares may not sum to 1.
 *
 * Some passes over the heap, of 0.03 us an object each, and no further one after 4 seconds: meant
 * for a forked child. No code of the program runs. The GIL is held; malloc() is not called.
 */
size_t holders_find(py_object *const *objects, size_t count, struct holder *ret, size_t most);

/*
 * Everybody who holds this very object, those first where a person looks first: the variables of
 * running functions that have it, and by each of those that refer to it one way. The variable of
 * the function that asks (the innermost that is not tidemark's) comes last.
 */
size_t holders_of(py_object *o, struct holder *ret, size_t most);

#endif
