/* probe/trace/unwind.h: native frames of the calling thread. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_UNWIND_H
#define TIDEMARK_PROBE_TRACE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Follows the call frame information (.eh_frame) of the loaded files, which every x86-64 library
 * has; frame pointers are rare. What is learnt about an address is cached, so that a frame costs a
 * few nanoseconds. Reads only inside the given part of the stack and inside loaded files, allocates
 * nothing, waits for no lock, and may be interrupted anywhere. Elsewhere than on x86-64 it finds
 * nothing.
 */

/* Return addresses, innermost first, beginning with the caller of unwind()'s caller. `stack_end`:
 * the highest address of the thread's stack. Returns their number, at most `most`; *ret_ended: the
 * outermost frame was reached, or frames are missing. */
size_t unwind(uintptr_t stack_end, uintptr_t *ret, size_t most, bool *ret_complete);

/* The loaded file of an address. */
struct unwind_module {
    uintptr_t start, end, bias;
    const char *path; /* as the loader knows it; "": the program */
    const uint8_t *build_id;
    size_t build_id_length;
};

/* False: no loaded file has that address. The texts are valid while the file is loaded. */
bool unwind_module(uintptr_t address, struct unwind_module *ret);

/*
 * Files may have been unloaded since: drops what was learnt if so. Without it, the frames of a file
 * that lies where another was are wrong. Takes the lock of the loader's list for a moment: the
 * first call is to be made where the loader's other lock may be taken as well, later ones anywhere.
 */
void unwind_review(void);
/* Around each fork(), so that no child finds that lock locked. */
void unwind_before_fork(void);
void unwind_after_fork(bool is_child);

/* Whether this processor's frames can be unwound. */
bool unwind_is_possible(void);

#endif
