/* replay/facts.h: gathers the facts for advice from a recorded run. Private to replay/. */
#ifndef TIDEMARK_REPLAY_FACTS_H
#define TIDEMARK_REPLAY_FACTS_H

#include "replay/recording.h"

/* When a position on the series' clock was reached, in seconds of the run; NAN: not known. */
double facts_seconds_at(const struct view_series *s, double at);

/* The most that processes of the job had together at one time, summed over `value`; NAN: no
 * process has one. */
double facts_most_at_a_time(const struct job *j, double (*value)(const struct member *m));

/* facts_host.c: the host's size and its parts. -errno of reading. */
int facts_host(struct advice_facts *e, struct recording *r, const struct view *v,
               double limit_bytes);

/* facts_gpu.c: a size for each device, and what torch's allocator did there. */
int facts_devices(struct advice_facts *e, struct recording *r, const struct view *v);

#endif
