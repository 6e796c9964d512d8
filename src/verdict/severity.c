/* verdict/severity.c: how much a leak matters. docs/VERDICT.md has the rule. */
#include "verdict/conclude.h"

#include <math.h>

/* Where no limit is known, doubling the memory in use, 1 GB at least, counts as reaching it. */
#define LEAST_HEADROOM 0x1p30

/* Slower growth than this is negligible, if it also takes less than this share of the headroom. */
#define NEGLIGIBLE_PER_STEP 1024.0
#define NEGLIGIBLE_PER_MINUTE 10240.0
#define NEGLIGIBLE_SHARE 0.01

/* More than this share of the headroom is medium. */
#define MEDIUM_SHARE 0.1

/* A fitted rate that differs from the bound by less is the bound. */
#define ROUNDING 1e-6

struct outlook outlook_of(const struct answer *a)
{
    struct outlook o = {.by_plan = a->plan > a->last_at};
    double ahead = o.by_plan ? a->plan - a->last_at : SEVERITY_FUTURE * (a->last_at - a->first_at);
    o.added = a->rate * ahead;
    o.headroom = isnan(a->limit) ? fmax(a->floor_last, LEAST_HEADROOM) : a->limit - a->floor_last;
    return o;
}

static bool is_slow(double rate, enum series_clock clock)
{
    double bound = clock == CLOCK_STEP ? NEGLIGIBLE_PER_STEP : NEGLIGIBLE_PER_MINUTE / 60;
    return rate <= bound * (1 + ROUNDING);
}

enum severity severity_of(const struct answer *a, enum series_unit unit, enum series_clock clock)
{
    if (unit == SERIES_COUNT && isnan(a->limit))
        return SEVERITY_LOW;
    struct outlook o = outlook_of(a);
    if (o.added >= o.headroom)
        return SEVERITY_HIGH;
    if (o.added > MEDIUM_SHARE * o.headroom)
        return SEVERITY_MEDIUM;
    bool is_little = o.added < NEGLIGIBLE_SHARE * o.headroom;
    return unit == SERIES_BYTES && is_slow(a->rate, clock) && is_little ? SEVERITY_NEGLIGIBLE
                                                                        : SEVERITY_LOW;
}
