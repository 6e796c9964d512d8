/* probe/trace/python_stack.h: Python functions on the calling thread's stack, read without the GIL.
 * Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_PYTHON_STACK_H
#define TIDEMARK_PROBE_TRACE_PYTHON_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A thread's own frames change only by itself, so they can be read at any point at which it
 * allocates. Nothing of the interpreter is called, no reference is taken, nothing is allocated.
 * Layouts are known for CPython 3.9 to 3.13, and verified on a real frame and its code object
 * before they are used.
 */

/* The GIL is held, and a Python function runs. True: python_stack() works from now on. */
bool python_stack_learn(void);

struct python_stack_frame {
    const void *code; /* the code object: alive while the function runs */
    int line;         /* 0: not known */
};

/* Innermost first, at most `most`; 0: none, or not known. */
size_t python_stack(struct python_stack_frame *ret, size_t most);

/* True: the address is inside the interpreter's loop that runs Python functions. */
bool python_stack_is_loop(uintptr_t address);

/* Copies at most `most` bytes with the terminating NUL, UTF-8. `name` has its class since 3.11. */
void python_stack_name(const void *code, char *ret, size_t most);
void python_stack_file(const void *code, char *ret, size_t most);
int python_stack_first_line(const void *code);
/* Differs for another code object at the same address, as well as can be told. */
uint64_t python_stack_key(const void *code);

#endif
