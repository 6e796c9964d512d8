/* sites/texts.h: texts, each kept once. Private to sites. */
#ifndef TIDEMARK_SITES_TEXTS_H
#define TIDEMARK_SITES_TEXTS_H

#include <stddef.h>

/* Equal texts have the same address, which stays until site_texts_free(). */
struct site_texts;

struct site_texts *site_texts_new(void);
struct site_texts *site_texts_free(struct site_texts *t); /* accepts NULL, returns NULL */

/* Keeps the text up to its first NUL, at most `len` bytes; bytes that are not UTF-8 become '?'. */
const char *site_texts_keep(struct site_texts *t, const char *text, size_t len);

#endif
