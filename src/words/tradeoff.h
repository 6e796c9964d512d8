/* words/tradeoff.h: what the settings of a job change, in sentences. */
#ifndef TIDEMARK_WORDS_TRADEOFF_H
#define TIDEMARK_WORDS_TRADEOFF_H

#include "verdict/verdict.h"

/* What was found, in a few sentences, each exactly what was measured. */
void tradeoff_add_summary(struct buf *out, const struct tradeoff *t,
                          const struct tradeoff_row *rows);

#endif
