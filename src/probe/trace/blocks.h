/* probe/trace/blocks.h: the blocks that torch has allocated on devices, and pinned on the host, in
 * the process's file. Knows no Python: the hooks read torch's own lists. */
#ifndef TIDEMARK_PROBE_TRACE_BLOCKS_H
#define TIDEMARK_PROBE_TRACE_BLOCKS_H

#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * torch lists all blocks in use. The first list after blocks_arm() only says what was there before.
 * Each further one replaces the list in the file: the blocks that are not among those before, with
 * the time of the list that first had them. A block at the same address, of the same size and stack
 * as one before, counts as that one: it replaced it, and nothing grew.
 *
 * One thread at a time: the caller holds the GIL. Nothing here allocates with malloc().
 */

/* The watcher wants this process's blocks. Follows the orders; some nanoseconds. */
bool blocks_are_wanted(void);

/* The file can be written. */
bool blocks_have_file(void);

/* What the recording is at, for the reader. */
void blocks_set_recording(enum wire_trace_recording recording);
void blocks_add_cost(uint64_t ns);

/* The recording begins now. False: no file, or no memory. */
bool blocks_arm(void);

/* A list of what is in use at this moment. */
void blocks_begin(void);

/* The word of a Python function's frame, for blocks_add(). 0: no file. */
uint64_t blocks_frame(const char *function, const char *file, uint32_t line);

/* `memory`: the index of its device, or WIRE_TRACE_DEVICES: pinned. `frames`: innermost first;
 * depth 0: not known. */
void blocks_add(unsigned memory, uint64_t address, uint64_t size, const uint64_t *frames,
                size_t depth);

/* Puts the list into the file. */
void blocks_end(void);

/* In the child of a fork, and when the recording is over: forgets all. */
void blocks_forget(void);

#endif
