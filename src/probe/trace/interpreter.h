/* probe/trace/interpreter.h: has the interpreter traced while the process is armed. Private to
 * probe/. */
#ifndef TIDEMARK_PROBE_TRACE_INTERPRETER_H
#define TIDEMARK_PROBE_TRACE_INTERPRETER_H

#include <stdbool.h>

/*
 * While the process is armed, CPython's own allocators are traced, and the stack of a sample has
 * its Python functions. What that needs is done with the GIL between two instructions of a program:
 * at a step, or in a pending call for which an armed main thread asks. At the end of the program,
 * before the interpreter frees what it holds, the samples are frozen.
 */

/* The main thread asks for a pending call whenever the interpreter and the orders differ. Only
 * where the probe stays loaded. Requires python_find(). */
void interpreter_follow(void);

/* From a sample or a look, on any thread, perhaps without the GIL: asks if need be. */
void interpreter_ask(void);

/* Looks at the orders and does what they demand. The GIL is held, and no allocation is under way.
 * Some nanoseconds if nothing changed. Requires python_find(). */
void interpreter_look(void);

/* In the child of a fork. */
void interpreter_forked(void);

/* As if nobody had given orders: nothing of ours stays in the interpreter. The GIL is held. */
void interpreter_end(void);

#endif
