/* words/copies.h: what data workers copy, as sentences. */
#ifndef TIDEMARK_WORDS_COPIES_H
#define TIDEMARK_WORDS_COPIES_H

#include "advice/advice.h"

/* How much they copied, of what, where it ends, and how to share it. */
void copies_describe(struct buf *out, const struct copy_facts *facts, const struct copies *c);

#endif
