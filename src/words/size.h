/* words/size.h: why a job needs so much memory, as sentences. */
#ifndef TIDEMARK_WORDS_SIZE_H
#define TIDEMARK_WORDS_SIZE_H

#include "advice/advice.h"

/* What the reader has to know before any number. */
enum size_caveat { CAVEAT_NONE, CAVEAT_LEAK, CAVEAT_FAILED, CAVEAT_SHORT };

/* `ending`: of CAVEAT_FAILED, how the command ended. */
void size_caveat(struct buf *out, enum size_caveat caveat, const char *ending);

/* "8.00 GB by RSS, 1.10 GB by share, stable; without them 1.02 GB less": what processes of one role
 * take. */
void size_overhead(struct buf *out, const struct part_facts *p);

/* One sentence; `facts` are those it was judged by. */
void size_describe(struct buf *out, const struct size_reason *r, const struct size_facts *facts);

#endif
