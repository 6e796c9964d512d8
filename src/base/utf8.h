/* base/utf8.h: what is a character in bytes from outside. Pure. */
#ifndef TIDEMARK_BASE_UTF8_H
#define TIDEMARK_BASE_UTF8_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Length of the well-formed UTF-8 sequence at `text`, 0 where there is none: overlong forms,
 * surrogates and anything past U+10FFFF are refused. `text` is NUL-terminated.
 */
size_t utf8_length(const char *text);

/*
 * Whether a terminal must not get the well-formed character of `len` bytes at `text`: control
 * characters drive it, and characters that nobody sees (bidirectional controls, zero-width ones,
 * tags) make a line read as something it is not. *ret_character is its code point in either case.
 */
bool utf8_is_unsafe(const char *text, size_t len, uint32_t *ret_character);

/*
 * Adds a text from outside. Every name, path, command line or sentence that another program or a
 * file had a hand in goes through here before it is printed: unsafe characters and what is not
 * UTF-8, or was not before it was repaired (U+FFFD), become '?', and with `ascii` everything beyond
 * ASCII too. What stays JSON is escaped instead (base/json.h).
 */
void utf8_add_clean(struct buf *b, const char *text, bool ascii);

#endif
