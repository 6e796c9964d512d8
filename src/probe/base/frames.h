/* probe/base/frames.h: the variables of running functions. Private to probe/. */
#ifndef TIDEMARK_PROBE_BASE_FRAMES_H
#define TIDEMARK_PROBE_BASE_FRAMES_H

#include "probe/base/python.h"

/*
 * Frames are read from the interpreter's memory. No frame object is made, and f_locals is never
 * asked: up to 3.12 that would keep every value alive. Layouts are known for CPython 3.9 to 3.13
 * and verified with the caller's own frame. The GIL is held.
 */

/* A value and the variable of a running function that holds it. Texts are valid until the next call
 * of the function that returned them. */
struct frame_root {
    py_object *value;     /* borrowed */
    const char *variable; /* "": no name, such as a list that a comprehension is building */
    const char *function;
    const char *file;
    int line;       /* the line the function is executing */
    unsigned depth; /* 0: the innermost */
    bool is_main_thread;
    bool is_outer;   /* a variable of the enclosing function */
    bool is_certain; /* the value is certainly held now */
};

/* True: frames can be read in this interpreter. */
bool frames_learn(void);

/* The variables of all threads, at most `most`, without tidemark's own functions. 0: none, or
 * frames cannot be read in this interpreter. */
size_t frames_roots(struct frame_root *roots, size_t most);

/* The same for the values on the stacks of functions. Compare their addresses only, never follow
 * them: without `is_certain`, a slot may hold a stale address. */
size_t frames_temporaries(struct frame_root *roots, size_t most);

/* Variables and stacks of tidemark's own functions, which hold objects while they work. Never
 * shown. */
size_t frames_ours(struct frame_root *roots, size_t most);

/* A generator, a coroutine, or an asynchronous generator. */
bool frames_is_generator(const py_object *type);

/* Finds the variable of a suspended frame that holds `value`. `o` is a frame object, a generator or
 * a coroutine. In *ret only `variable` and `line` may be unknown ("" and 0). False: it has no
 * frame, or none that can be read. */
bool frames_waiting(py_object *o, const py_object *value, struct frame_root *ret);

/* ---- the calling thread's own stack ---- */

/*
 * A thread's frames change only by itself. So after frames_learn() it may read them without the
 * GIL, at any point at which it calls C code. Nothing of the interpreter is called.
 */
struct frame_place {
    const py_object *code;
    int instruction; /* its offset in the code, in bytes; negative: the function has not begun */
    bool is_entry;   /* the interpreter's loop was called for this function, by C code. Since 3.11
                        the loop runs the functions inside it as well */
};

struct frame_walk {
    const void *next;
    unsigned left; /* at most so many frames more */
};

/* `thread`: the calling thread's PyThreadState. */
void frames_begin(const void *thread, struct frame_walk *ret);
/* From the innermost function outwards. False: no more. */
bool frames_next(struct frame_walk *w, struct frame_place *ret);

/* ---- */

/* The number of Python functions on the calling thread's stack; 0: none, or not known. */
unsigned frames_depth(void);

/* True: the object is the frame of a function that is running now. */
bool frames_is_running(const py_object *o);

#endif
