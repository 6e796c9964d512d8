/* report/found.h: what grows and who holds it, for people and programs. Private. */
#ifndef TIDEMARK_REPORT_FOUND_H
#define TIDEMARK_REPORT_FOUND_H

#include "report/report.h"

/* Whether something was found. */
bool found_any(const struct watch_found *f);

/* A paragraph a finding, with what speaks for it. */
void found_text(struct buf *out, const struct watch_found *f, const struct report_style *style);

/* How many tensors there are and what they are for; what it took to count them. */
void found_counts(struct buf *out, const struct watch_view *v, const struct report_style *style);

/* Processes that were entered while they ran, or could not be: a line each. */
void found_entered(struct buf *out, const struct watch_entered *list, size_t count,
                   const struct report_style *style);
void found_entered_json(struct json *j, const struct watch_found *f); /* the member "entered" */

/* The members "findings", "caches", "undecided", "growing_so_far", "censuses" and "entered"; all
 * but the first only where there is something to tell. */
void found_json(struct json *j, const struct watch_found *f);

/* The same read again: an object with these members. *ret is empty, and to be released in any
 * case. -EINVAL. */
int found_read_json(struct json_reader *r, struct watch_found *ret);

#endif
