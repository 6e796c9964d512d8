/* words/details.h: what stands beside one series in a full report, and its forecast. No full stops.
 */
#ifndef TIDEMARK_WORDS_DETAILS_H
#define TIDEMARK_WORDS_DETAILS_H

#include "words/report_job.h"

/* Each writes nothing where there is nothing to say. */
typedef void (*details_writer)(struct buf *out, const struct report_series *s);

/* "min 4.88 GB, mean 8.87 GB, max 9.34 GB; floor 4.88 -> 9.34 GB". */
void details_levels(struct buf *out, const struct report_series *s,
                    const struct report_style *style);

/* How many, how high, and whether each came down again. */
void details_spikes(struct buf *out, const struct report_series *s);

/* When the engine first called it a leak; else when it became suspect. */
void details_alarm(struct buf *out, const struct report_series *s);

/* What an average over everything would have said, where that misleads. */
void details_naive(struct buf *out, const struct report_series *s);

/* What an open answer needs, unless its reasons say so. */
void details_needs(struct buf *out, const struct report_series *s);

/* The level at the plan's end; when the limit is reached. */
void details_plan(struct buf *out, const struct report_series *s);
void details_limit(struct buf *out, const struct report_series *s);

/* Of a leak without plan and limit: how long 1 GB lasts. */
void details_pace(struct buf *out, const struct report_series *s);

#endif
