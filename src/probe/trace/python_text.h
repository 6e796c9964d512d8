/* probe/trace/python_text.h: copies the text of a str, without the interpreter. Private to
 * probe/trace. */
#ifndef TIDEMARK_PROBE_TRACE_PYTHON_TEXT_H
#define TIDEMARK_PROBE_TRACE_PYTHON_TEXT_H

#include "probe/base/python.h"

#include <stdint.h>

/* Learns how texts lie in memory, from sample objects. The GIL is held. False: not possible in this
 * interpreter. */
bool python_text_learn(void);

/* Copies at most `most` bytes with the terminating NUL, UTF-8, cut between characters. A lone
 * surrogate becomes U+FFFD; a text ends before a NUL character. "": not a str, or one that is not
 * compact. Needs no GIL, but the text must stay alive. */
void python_text_copy(const py_object *text, char *ret, size_t most);

/* Differs for texts of another length or another end, such as a number. Quick. */
uint64_t python_text_hint(const py_object *text);

#endif
