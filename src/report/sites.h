/* report/sites.h: where the memory that stays is allocated, for people. Private. */
#ifndef TIDEMARK_REPORT_SITES_H
#define TIDEMARK_REPORT_SITES_H

#include "report/report.h"

/* The line that allocates most of what stays, in one line. */
void sites_brief(struct buf *out, const struct findings *f, const struct report_style *style);

/* All lines with their stacks; those that have stopped growing are dim. */
void sites_text(struct buf *out, const struct findings *f, const struct report_style *style);

/* What sampling allocations took, a line for each process. */
void sites_tracers(struct buf *out, const struct findings *f, const struct report_style *style);

#endif
