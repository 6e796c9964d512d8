/* watch/rise.h: how what a census found grows, from census to census. Private to watch/. */
#ifndef TIDEMARK_WATCH_RISE_H
#define TIDEMARK_WATCH_RISE_H

#include "base/base.h"

#include <stdbool.h>

struct watch;
struct member;
struct wire_census_growing;

/* Censuses at which something has to be more, each time. */
#define RISE_LEAST_POINTS 3u

/* How steadily, and how fast on both clocks. */
struct rise {
    bool steady;
    unsigned points;
    double first, last;      /* what there was */
    double from, to;         /* on the clock; NAN: not known */
    double rate, per_second; /* of the clock; NAN: not known */
};

/*
 * Of what is at that place of the member's census. A short run tells its steps in few pieces: some
 * points have no step of their own. Then it is steady by the seconds, and its rate by how long a
 * unit of the clock takes.
 */
struct rise rise_of(const struct watch *w, const struct member *m, unsigned growing,
                    enum series_clock clock, double seconds_a_unit);

/* The largest of all graphs is counted, and each census may have met another: they are as large as
 * the step's input wants them. */
bool rise_may_be_another_graph(const struct wire_census_growing *g);

#endif
