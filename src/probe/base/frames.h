/* probe/base/frames.h: the variables of running functions. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_FRAMES_H
#define TIDEMARK_PROBE_BASE_FRAMES_H

#include "probe/base/python.h"

/*
 * Frames are read where the interpreter keeps them: no frame object is made, and f_locals is never
 * asked, which to 3.12 would keep every value alive. How they are laid out is known for CPython 3.9
 * to 3.13 and made sure of with the frame of the caller. The GIL is held.
 */

/* A value, and the variable of a running function that holds it. Texts are valid until the next
 * call of the function that gave them. */
struct frame_root {
    py_object *value;     /* borrowed */
    const char *variable; /* "": it has no name, as a list that a comprehension is making */
    const char *function;
    const char *file;
    int line;       /* where the function is now */
    unsigned depth; /* 0: the innermost */
    bool is_main_thread;
    bool is_outer;   /* the variable is of the function around it */
    bool is_certain; /* it holds the value now */
};

/* Can they be read in this interpreter? */
bool frames_learn(void);

/* The variables of all threads, at most `most`; tidemark's own functions are left out. 0: there are
 * none, or frames cannot be read in this interpreter. */
size_t frames_roots(struct frame_root *roots, size_t most);

/* The same for the values that a function is at work with. They are addresses to compare with, and
 * not to be followed: where it is not certain, what is no longer used may stand there still. */
size_t frames_temporaries(struct frame_root *roots, size_t most);

/* Both for tidemark's own functions, which hold things while they work: not to be shown. */
size_t frames_ours(struct frame_root *roots, size_t most);

/* A generator, a coroutine, or both. */
bool frames_is_generator(const py_object *type);

/* Which variable of a frame that waits holds `value`? `o` is a frame object, a generator or a
 * coroutine. Only `variable` and `line` may be unknown ("" and 0) in what it returns; false: it has
 * no frame, or one that cannot be read. */
bool frames_waiting(py_object *o, const py_object *value, struct frame_root *ret);

/* How many functions of Python's the calling thread is in; 0: none, or not known. */
unsigned frames_depth(void);

/* Is this object the frame of a function that runs now? */
bool frames_is_running(const py_object *o);

#endif
