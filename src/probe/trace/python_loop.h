/* probe/trace/python_loop.h: the addresses of the interpreter's loop. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_PYTHON_LOOP_H
#define TIDEMARK_PROBE_TRACE_PYTHON_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The loop is one C function, _PyEval_EvalFrameDefault(). Compilers move its rare branches to a
 * place of their own, which has no symbol: the loop's jumps lead there, and the table of call
 * frames (.eh_frame_hdr) tells how long it is.
 */

/* Takes the loader's lock: never call it from an allocation. False: not found. */
bool python_loop_learn(void);

/* A call that returns to that address was made by the loop. False before python_loop_learn(). */
bool python_loop_made(uintptr_t return_address);

#endif
