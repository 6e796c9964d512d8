/* base/buf.h: a growable string. */
#ifndef TIDEMARK_BASE_BUF_H
#define TIDEMARK_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

/*
 * A buffer that grows as text is added. `text` is NULL until something is added, then always
 * NUL-terminated; read it through buf_text(). A failed allocation aborts the program: every
 * caller builds output for a person or a program, where half a text is worse than none.
 * Initialise with BUF_INIT; one owner, one thread.
 */
struct buf {
    char *text;
    size_t len;
    size_t cap;
};

#define BUF_INIT ((struct buf){NULL, 0, 0})

/* Frees the storage; the buffer may be used again. */
void buf_release(struct buf *b);

/* Empties the buffer but keeps its storage. */
void buf_clear(struct buf *b);

/* The text so far; never NULL; valid until the next change of the buffer. */
const char *buf_text(const struct buf *b);

void buf_add(struct buf *b, const char *text, size_t len);
void buf_adds(struct buf *b, const char *text);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Adds `text` `times` times: padding, rules. */
void buf_repeat(struct buf *b, const char *text, size_t times);

#endif
