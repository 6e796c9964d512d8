/* base/utf8.h: what is a character in bytes from outside. Pure. */
#ifndef TIDEMARK_BASE_UTF8_H
#define TIDEMARK_BASE_UTF8_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Length of the well-formed UTF-8 sequence at `text`, 0 where there is none: overlong forms,
 * surrogates and anything past U+10FFFF are refused. `text` is NUL-terminated.
 */
size_t utf8_length(const char *text);

/*
 * Adds a text from outside that must not drive a terminal: control characters and what is not
 * UTF-8, or was not before it was repaired (U+FFFD), become '?', and with `ascii` everything beyond
 * ASCII too.
 */
void utf8_add_clean(struct buf *b, const char *text, bool ascii);

#endif
