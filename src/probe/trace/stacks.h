/* probe/trace/stacks.h: where an allocation was made, in the process's file. Private to
 * probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_STACKS_H
#define TIDEMARK_PROBE_TRACE_STACKS_H

#include "wire/wire.h"

#include <stddef.h>
#include <stdint.h>

/* The number of the calling thread's stack, with this kind of allocation; WIRE_TRACE_STACKS: no
 * room for it, which is counted. `now`: wire_now(). Uses some 8 KB of the stack (room.h). */
uint32_t stacks_here(struct wire_trace_layout *f, enum wire_trace_kind kind, uint64_t now);

/* WIRE_TRACE_STACKS, counted: the thread has no room to look at its stack. */
uint32_t stacks_none(struct wire_trace_layout *f);

/* The number of a stack that somebody else has recorded: words of frames, the innermost first. */
struct stack_place {
    enum wire_trace_kind kind;
    uint32_t device;
};

uint32_t stacks_of(struct wire_trace_layout *f, struct stack_place place, const uint64_t *words,
                   size_t depth);

/* Another sample of that stack. */
void stacks_count(struct wire_trace_layout *f, uint32_t stack, double weight);

#endif
