/* verdict/stairs.c: a floor that climbs in stairs, whatever stands on them. */
#include "verdict/stairs.h"

#include <math.h>

/* A rise below this share of the usual stair is not a stair. */
#define LOW_STAIR 0.25

/* Stairs make up at least this share of the whole rise. */
#define CLIMBED_IN_STAIRS 0.75

/* A rise that is younger than this share of the usual interval may be a spike. */
#define TOO_YOUNG 0.5

/* Regular stairs: heights and distances within these multiples of the usual one. */
#define HEIGHT_LOW 0.5
#define HEIGHT_HIGH 2.0
#define INTERVAL_LOW 0.6
#define INTERVAL_HIGH 1.6

/* A pause this many times as long as expected ends the stairs before it. */
#define PAUSE 3.0

/* One stair and one interval in this many may be irregular. */
#define ODD_ONE_IN 4

/* The later stairs against the earlier ones: at least this high, at most this far apart. */
#define STILL_HIGH 0.6
#define STILL_OFTEN 1.6

/* Before the stairs began, at most one block in this many lies above their middle. */
#define WAS_THERE_ONE_IN 4

/* ---- the floor that lasted ---- */

static void floor_that_lasted(const struct history *h, double ret[HISTORY_BLOCKS])
{
    double lowest = INFINITY;
    for (size_t i = h->count; i-- > 0;) {
        lowest = fmin(lowest, h->blocks[i].min);
        ret[i] = lowest;
    }
}

/* Neighbouring rising blocks are one stair. False: too many stairs. */
static bool collect(const struct history *h, const double *floor, double least, struct stairs *ret)
{
    *ret = (struct stairs){.at = {h->blocks[0].at}, .level = {floor[0]}};
    bool rising = false;
    for (size_t i = 1; i < h->count; i++) {
        double rise = floor[i] - floor[i - 1];
        bool begins = rise > least && !rising;
        rising = rise > least;
        if (!rising)
            continue;
        if (begins && ret->count == STAIRS_MOST)
            return false;
        if (begins)
            ret->at[++ret->count] = (h->blocks[i - 1].at + h->blocks[i].at) / 2;
        ret->height[ret->count] += rise;
        ret->level[ret->count] = floor[i];
        ret->took[ret->count] = h->blocks[i].at - ret->at[ret->count];
    }
    return true;
}

static double usual_height(const struct stairs *s)
{
    double heights[STAIRS_MOST];
    for (size_t i = 0; i < s->count; i++)
        heights[i] = s->height[i + 1];
    return fit_median(heights, s->count);
}

/* From stair to stair: the first tread began before the run was sampled. */
static double usual_interval(const struct stairs *s)
{
    double intervals[STAIRS_MOST];
    for (size_t i = 1; i < s->count; i++)
        intervals[i - 1] = s->at[i + 1] - s->at[i];
    return fit_median(intervals, s->count - 1);
}

static void drop_low(struct stairs *s)
{
    double least = LOW_STAIR * usual_height(s);
    size_t kept = 0;
    for (size_t i = 1; i <= s->count; i++) {
        if (s->height[i] < least)
            continue;
        kept++;
        s->at[kept] = s->at[i];
        s->level[kept] = s->level[i];
        s->height[kept] = s->height[i];
        s->took[kept] = s->took[i];
    }
    s->count = kept;
}

/* ---- the line along them ---- */

/*
 * The median slope between treads one or two stairs apart. Theil and Sen take all pairs; one
 * high stair in the middle would be in half of those.
 */
static void fit_treads(struct stairs *s)
{
    double values[2 * STAIRS_MOST], mean = 0, squares = 0;
    size_t treads = s->count + 1, n = 0;
    for (size_t i = 0; i < treads; i++)
        for (size_t k = i + 1; k < treads && k <= i + 2; k++)
            values[n++] = (s->level[k] - s->level[i]) / (s->at[k] - s->at[i]);
    s->slope = fit_median(values, n);
    for (size_t i = 0; i < treads; i++)
        values[i] = s->level[i] - s->slope * s->at[i];
    s->intercept = fit_median(values, treads);
    for (size_t i = 0; i < treads; i++) {
        values[i] = fabs(s->level[i] - s->intercept - s->slope * s->at[i]);
        mean += s->at[i] / (double) treads;
    }
    for (size_t i = 0; i < treads; i++)
        squares += (s->at[i] - mean) * (s->at[i] - mean);
    /* Between two stairs the floor is known to a stair, as a rounded value to its unit. */
    double scatter = fmax(1.4826 * fit_median(values, treads), s->usual_height / sqrt(12));
    s->error = scatter / sqrt(squares);
}

static void measure(struct stairs *s)
{
    s->usual_height = usual_height(s);
    s->usual_interval = usual_interval(s);
    fit_treads(s);
}

/* A rise that takes longer than the wait for the next stair is a slope. */
static bool climbs_only_in_stairs(const struct stairs *s)
{
    double jumped = 0;
    for (size_t i = 1; i <= s->count; i++) {
        if (s->took[i] > s->usual_interval)
            return false;
        jumped += s->height[i];
    }
    return jumped >= CLIMBED_IN_STAIRS * (s->level[s->count] - s->level[0]);
}

bool stairs_find(const struct history *h, double least, struct stairs *ret)
{
    double floor[HISTORY_BLOCKS];
    if (h->count == 0)
        return false;
    floor_that_lasted(h, floor);
    if (!collect(h, floor, least, ret) || ret->count < 2)
        return false;
    drop_low(ret);
    size_t end = h->count;
    double now = h->blocks[end - 1].at;
    while (ret->count >= 2 && now - ret->at[ret->count] < TOO_YOUNG * usual_interval(ret)) {
        while (end > 1 && h->blocks[end - 1].at > ret->at[ret->count])
            end--;
        ret->count--;
    }
    if (ret->count < 2)
        return false;
    ret->reached = floor[end - 1];
    measure(ret);
    return true;
}

double stairs_behind(const struct stairs *s, double at)
{
    return (s->intercept + s->slope * at - s->reached) / s->usual_height;
}

/* ---- a habit ---- */

static bool is_odd_height(const struct stairs *s, size_t i)
{
    return s->height[i] < HEIGHT_LOW * s->usual_height ||
           s->height[i] > HEIGHT_HIGH * s->usual_height;
}

/* The interval before stair i, in usual intervals; memory from a high stair takes longer to use up.
 */
static double pause_before(const struct stairs *s, size_t i)
{
    double expected = s->usual_interval * fmax(1, s->height[i - 1] / s->usual_height);
    return (s->at[i] - s->at[i - 1]) / expected;
}

static bool is_odd_interval(const struct stairs *s, size_t i)
{
    return s->at[i] - s->at[i - 1] < INTERVAL_LOW * s->usual_interval ||
           pause_before(s, i) > INTERVAL_HIGH;
}

static bool has_rhythm(const struct stairs *s)
{
    size_t odd_heights = is_odd_height(s, 1), odd_intervals = 0;
    for (size_t i = 2; i <= s->count; i++) {
        if (pause_before(s, i) > PAUSE)
            return false;
        odd_heights += is_odd_height(s, i);
        odd_intervals += is_odd_interval(s, i);
    }
    return odd_heights <= s->count / ODD_ONE_IN && odd_intervals <= s->count / ODD_ONE_IN;
}

bool stairs_go_on(const struct stairs *s)
{
    size_t half = s->count / 2;
    double early[STAIRS_MOST], late[STAIRS_MOST], before = 0, after = 0;
    for (size_t i = 0; i < half; i++) {
        early[i] = s->height[1 + i];
        late[i] = s->height[s->count - i];
        before += pause_before(s, 2 + i);
        after += pause_before(s, s->count - i);
    }
    return fit_median(late, half) >= STILL_HIGH * fit_median(early, half) &&
           after <= STILL_OFTEN * before;
}

bool stairs_regular(const struct stairs *s)
{
    return has_rhythm(s) && stairs_go_on(s) && climbs_only_in_stairs(s);
}

/* The stairs without the first `skipped`. What led to the first one is as old as what led to the
 * others. */
static void take_suffix(const struct stairs *all, size_t skipped, struct stairs *ret)
{
    *ret = (struct stairs){.count = all->count - skipped, .reached = all->reached};
    for (size_t i = 0; i <= ret->count; i++) {
        ret->at[i] = all->at[i + skipped];
        ret->level[i] = all->level[i + skipped];
        ret->height[i] = i > 0 ? all->height[i + skipped] : 0;
        ret->took[i] = i > 0 ? all->took[i + skipped] : 0;
    }
    ret->at[0] = fmax(ret->at[0], ret->at[1] - usual_interval(ret));
    measure(ret);
}

bool stairs_since(const struct stairs *all, double at, struct stairs *ret)
{
    size_t skipped = 0;
    while (skipped < all->count && fabs(all->at[skipped + 1] - at) <= fabs(all->at[skipped] - at))
        skipped++;
    if (all->count < skipped + 2)
        return false;
    take_suffix(all, skipped, ret);
    return climbs_only_in_stairs(ret);
}

/* A drifting floor has its lowest point somewhere, and rises from there by chance. */
static bool lead_back(const struct stairs *s, const struct history *h)
{
    double middle = (s->level[0] + s->level[s->count]) / 2;
    size_t before = 0, above = 0;
    for (; before < h->count && h->blocks[before].at < s->at[0]; before++)
        above += h->blocks[before].min > middle;
    return above * WAS_THERE_ONE_IN > before;
}

bool stairs_habit(const struct stairs *all, const struct history *h, struct stairs *ret)
{
    for (size_t skipped = 0; skipped + STAIRS_HABIT <= all->count; skipped++) {
        take_suffix(all, skipped, ret);
        if (stairs_regular(ret) && !lead_back(ret, h))
            return true;
    }
    return false;
}
