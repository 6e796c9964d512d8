/* verdict/stairs.h: a floor that climbs in stairs, whatever stands on them. Private to verdict/.
 * Pure; docs/VERDICT.md, "Stairs", has the reasons. */
#ifndef TIDEMARK_VERDICT_STAIRS_H
#define TIDEMARK_VERDICT_STAIRS_H

#include "stat/stat.h"

#include <stdbool.h>
#include <stddef.h>

/* More stairs than this in a history are a slope. */
#define STAIRS_MOST (HISTORY_BLOCKS / 4)

/*
 * The lasting floor: the level that was never undercut again. It does not fall, and leaves out
 * spikes and levels that passed. Tread 0 begins with the run, tread i where stair i was taken.
 */
struct stairs {
    size_t count;                   /* of stairs; there is one tread more */
    double at[STAIRS_MOST + 1];     /* where each tread begins */
    double level[STAIRS_MOST + 1];  /* its height there */
    double height[STAIRS_MOST + 1]; /* of the stair before it; of tread 0 it is 0 */
    double took[STAIRS_MOST + 1];   /* to take that stair, from `at` on */
    double reached;                 /* the end of the last tread */
    double usual_height, usual_interval;
    double slope, intercept; /* the line through the beginnings of the treads, robust to a few */
    double error;            /* standard error of the slope */
};

/*
 * All stairs of a run: rises of more than `least`, except one so recent that it may be a spike.
 * False: fewer than two.
 */
bool stairs_find(const struct history *h, double least, struct stairs *ret);

/* Neither smaller nor rarer towards the end; otherwise they are a filling cache, or records. */
bool stairs_go_on(const struct stairs *s);

/* Of one height, at one distance, and still going on. */
bool stairs_regular(const struct stairs *s);

/*
 * The longest stairs that reach the end and are a habit: at least STAIRS_HABIT of them, regular,
 * and not merely a return to where the floor was before. False: none.
 */
#define STAIRS_HABIT 5
bool stairs_habit(const struct stairs *all, const struct history *h, struct stairs *ret);

/*
 * The stairs from the tread at `at`, or from the next where that is nearer. False: fewer than
 * two, or it climbs between them as well.
 */
bool stairs_since(const struct stairs *all, double at, struct stairs *ret);

/* By how many stairs the floor lies below their line at `at`: 1 just before the next stair. */
double stairs_behind(const struct stairs *s, double at);

/* This far behind, the stairs have stopped; and this far, they will not go on. */
#define STAIRS_STOPPED 2.0
#define STAIRS_OVER 3.0

#endif
