/* probe/trace/python_stack.h: Python functions on the calling thread's stack, read without the GIL.
 * Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_PYTHON_STACK_H
#define TIDEMARK_PROBE_TRACE_PYTHON_STACK_H

#include "probe/trace/range.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A thread's own frames change only by itself, so they can be read at any point at which it
 * allocates, also after it has released the GIL. No reference is taken, nothing is allocated, and
 * of the interpreter two functions are called that only read: Py_IsInitialized() and
 * PyGILState_GetThisThreadState(). Layouts are known for CPython 3.9 to 3.13, and verified on real
 * frames and their code objects before they are used.
 *
 * As soon as the interpreter's own end begins, nothing is found. A daemon thread that reads its
 * frames in the very moment at which the interpreter frees them could read freed memory: stop
 * sampling before that (base/ending.h).
 */

/* The GIL is held, and a Python function runs. True: python_stack() works from now on. Allocates
 * and takes the loader's lock: never call it from an allocation. */
bool python_stack_learn(void);

struct python_stack_frame {
    const void *code; /* the code object: alive while the function runs */
    int line;         /* 0: not known */
    /* The outermost function of one call of the interpreter's loop: the native frame that belongs
     * to it and to the functions before it, up to the previous entry, is the one whose calls
     * python_stack_is_loop() recognizes. */
    bool is_entry;
};

/* Innermost first, at most `most`; 0: none, or not known. */
size_t python_stack(struct python_stack_frame *ret, size_t most);

/* True: a call that returns to the address was made by the interpreter's loop, which runs Python
 * functions. */
bool python_stack_is_loop(uintptr_t return_address);

/* Copies at most `most` bytes with the terminating NUL, UTF-8. `name` has its class since 3.11, but
 * not the enclosing function. */
void python_stack_name(const void *code, char *ret, size_t most);
void python_stack_file(const void *code, char *ret, size_t most);
int python_stack_first_line(const void *code);
/* Differs for another code object at the same address, as well as can be told. Never 0. */
uint64_t python_stack_key(const void *code);

/* Where a table lies (own_pages.h). */
struct range python_stack_pages(void);

#endif
