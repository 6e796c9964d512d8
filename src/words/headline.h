/* words/headline.h: the verdict in one sentence. */
#ifndef TIDEMARK_WORDS_HEADLINE_H
#define TIDEMARK_WORDS_HEADLINE_H

#include "words/report_job.h"

/* What one series does, without its name: "grows 512 B/step since step 1". ASCII. */
void headline_series(struct buf *out, const struct report_series *s);

/* Parts of it. What a leak does now: "grows 512 B/step". Where a series stands that is no leak:
 * "warm-up until step 80, then flat at 16.6 GB". What is known of one that is open. */
void headline_growth(struct buf *out, const struct report_series *s);
void headline_state(struct buf *out, const struct report_series *s);
void headline_so_far(struct buf *out, const struct report_series *s);
/* Why the job has no series that decides. */
void headline_nothing(struct buf *out, const struct report_job *job);
/* A sentence of the engine's as the middle of another: no capital, no full stop. */
void headline_clause(struct buf *out, const char *sentence);

/* The whole sentence for the job: "LEAK (low): torch.allocated grows 512 B/step since step 1".
 * ASCII but for names, which are cleaned. No line end. */
void headline_job(struct buf *out, const struct report_job *job, const struct report_style *style);

#endif
