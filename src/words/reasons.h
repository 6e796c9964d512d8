/* words/reasons.h: why an answer is as it is, in sentences. */
#ifndef TIDEMARK_WORDS_REASONS_H
#define TIDEMARK_WORDS_REASONS_H

#include "verdict/verdict.h"

/*
 * Writes `why` and `needs.why` of an answer from its reasons. Whoever shows or stores an answer
 * calls it once the answer is complete; one that was read from a run file has its sentences.
 */
void reasons_write(struct answer *a, enum series_unit unit, enum series_clock clock);

#endif
