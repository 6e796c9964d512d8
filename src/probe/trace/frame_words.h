/* probe/trace/frame_words.h: frames as words of the process's file, with the tables they point
 * into. Private to probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_FRAME_WORDS_H
#define TIDEMARK_PROBE_TRACE_FRAME_WORDS_H

#include "probe/trace/python_stack.h"
#include "probe/trace/range.h"
#include "wire/wire.h"

#include <stdint.h>

/* A return address: the word has the place before it, which is inside the call. */
uint64_t frame_word_native(struct wire_trace_layout *f, uintptr_t address);

/* Where there is no room for the function, it is WIRE_TRACE_FUNCTIONS: not known. */
uint64_t frame_word_python(struct wire_trace_layout *f, const struct python_stack_frame *frame);
/* The same for a function that somebody else has named. */
uint64_t frame_word_named(struct wire_trace_layout *f, const char *name, const char *file,
                          uint32_t line);

/* Where a table lies (own_pages.h). */
struct range frame_words_pages(void);

#endif
