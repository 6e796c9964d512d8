/* base/utf8.h: finds the characters in bytes from outside, and the unsafe ones. Pure. */
#ifndef TIDEMARK_BASE_UTF8_H
#define TIDEMARK_BASE_UTF8_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Length of the well-formed UTF-8 sequence at `text`, or 0. Overlong forms, surrogates and anything
 * past U+10FFFF are not well-formed. `text` is NUL-terminated.
 */
size_t utf8_length(const char *text);

/*
 * Whether the well-formed character of `len` bytes at `text` must not reach a terminal. Control
 * characters command the terminal, and invisible characters (bidirectional controls, zero-width
 * ones, tags) disguise a line. Always sets *ret_character to the code point.
 */
bool utf8_is_unsafe(const char *text, size_t len, uint32_t *ret_character);

/*
 * Adds a text from outside. Every name, path, command line or sentence that another program or a
 * file influenced passes through here before it is printed. Unsafe characters, bytes that are not
 * UTF-8, and U+FFFD (a repaired byte) become '?'; with `ascii` everything beyond ASCII does too.
 * JSON output is escaped instead (base/json.h).
 */
void utf8_add_clean(struct buf *b, const char *text, bool ascii);

#endif
