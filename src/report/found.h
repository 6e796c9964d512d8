/* report/found.h: what grows and its holders, for people. Private. */
#ifndef TIDEMARK_REPORT_FOUND_H
#define TIDEMARK_REPORT_FOUND_H

#include "report/report.h"

/* Whether there is any finding, cache or open question. */
bool found_any(const struct findings *f);

/* One paragraph per finding, with its evidence. */
void found_text(struct buf *out, const struct findings *f, const struct report_style *style);

/* The holder of the largest growth; then the next holders by name, at most `most` in all; then how
 * many more there are. */
void found_brief(struct buf *out, const struct findings *f, unsigned most,
                 const struct report_style *style);

/* How many tensors there are, their purposes, and the cost of counting them. */
void found_counts(struct buf *out, const struct view *v, const struct report_style *style);

/* One line for each running process that tidemark attached to or could not attach to. */
void found_attached(struct buf *out, const struct attached_process *list, size_t count,
                    const struct report_style *style);

#endif
