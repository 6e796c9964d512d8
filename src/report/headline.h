/* report/headline.h: the verdict in one sentence. Private. */
#ifndef TIDEMARK_REPORT_HEADLINE_H
#define TIDEMARK_REPORT_HEADLINE_H

#include "report/report.h"

/* What one series does, without its name: "grows 512 B/step since step 1". ASCII. */
void headline_series(struct buf *out, const struct report_series *s);

/* The whole sentence for the job: "LEAK (low): torch.allocated grows 512 B/step since step 1".
 * ASCII but for names, which are cleaned. No line end. */
void headline_job(struct buf *out, const struct report_job *job, const struct report_style *style);

#endif
