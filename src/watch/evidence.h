/* watch/evidence.h: how the facts for advice are gathered from a recorded run. Private to watch/.
 */
#ifndef TIDEMARK_WATCH_EVIDENCE_H
#define TIDEMARK_WATCH_EVIDENCE_H

#include "watch/session.h"

/* When a position on the series' clock was reached, in seconds of the run; NAN: not known. */
double evidence_seconds_at(const struct watch_series *s, double at);

/* The most that processes of the job had together at a time, of what `value` says of each; NAN: it
 * says nothing of any. */
double evidence_most_at_a_time(const struct watch *w, double (*value)(const struct member *m));

/* evidence_host.c: the host's size, and what it is made of. -errno of reading. */
int evidence_host(struct evidence *e, struct recording *r, const struct watch_view *v,
                  double limit_bytes);

/* evidence_gpu.c: a size for each device, and what torch's allocator did there. */
int evidence_devices(struct evidence *e, struct recording *r, const struct watch_view *v);

#endif
