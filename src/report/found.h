/* report/found.h: what grows and who holds it, for people. Private. */
#ifndef TIDEMARK_REPORT_FOUND_H
#define TIDEMARK_REPORT_FOUND_H

#include "report/report.h"

/* Whether something was found. */
bool found_any(const struct findings *f);

/* A paragraph a finding, with what speaks for it. */
void found_text(struct buf *out, const struct findings *f, const struct report_style *style);

/* Who holds what grows most, the next ones by their names until there are `most`, and how many more
 * there are. */
void found_brief(struct buf *out, const struct findings *f, unsigned most,
                 const struct report_style *style);

/* How many tensors there are and what they are for; what it took to count them. */
void found_counts(struct buf *out, const struct view *v, const struct report_style *style);

/* Processes that were entered while they ran, or could not be: a line each. */
void found_attached(struct buf *out, const struct attached_process *list, size_t count,
                    const struct report_style *style);

#endif
