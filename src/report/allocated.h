/* report/allocated.h: where the memory that stays is allocated, for people. Private. */
#ifndef TIDEMARK_REPORT_ALLOCATED_H
#define TIDEMARK_REPORT_ALLOCATED_H

#include "report/report.h"

/* The line that allocates most of what stays, in one line. */
void allocated_brief(struct buf *out, const struct findings *f, const struct report_style *style);

/* All lines with their stacks; those that have stopped growing are dim. */
void allocated_text(struct buf *out, const struct findings *f, const struct report_style *style);

/* What sampling allocations took, a line for each process. */
void allocated_tracers(struct buf *out, const struct findings *f, const struct report_style *style);

#endif
