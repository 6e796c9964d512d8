/* verdict/growth.h: is there growth that goes on? Private to verdict/. Pure. */
#ifndef TIDEMARK_VERDICT_GROWTH_H
#define TIDEMARK_VERDICT_GROWTH_H

#include "stat/stat.h"

#include <stdbool.h>
#include <stddef.h>

/* Which summary of a block is tested. */
enum channel { CHANNEL_MIN, CHANNEL_MEAN };

/* One level of a pyramid laid out for fitting, oldest block first. */
struct window {
    const struct pyramid *pyramid;
    unsigned level;
    size_t n;
    double at[PYRAMID_RING], min[PYRAMID_RING], mean[PYRAMID_RING];
};

void window_take(const struct pyramid *p, unsigned level, struct window *ret);

const double *window_channel(const struct window *w, enum channel channel);

/* What the test needs to know about the series. */
struct growth_rules {
    double horizon;
    double quantum;    /* the counter's own grain */
    double resolution; /* the smallest rise that counts */
    double z;          /* significance required, in standard errors */
    double span;       /* the least length of the growth, in units of the clock */
    size_t blocks;     /* and in blocks */
};

/* Growth that was found: the line y = intercept + slope x over [from, from + span]. */
struct growth {
    enum channel channel;
    double slope, intercept;
    double error; /* standard error of the slope */
    double z;     /* slope / error */
    double from, span;
};

/* The longest sustained growth that reaches to the window's end. False: none. */
bool growth_find(const struct window *w, const struct growth_rules *rules, struct growth *ret);

/*
 * The same window without its one jump. A floor that climbs on both sides of a step up (the
 * caches of the first validation) climbs all the way. The blocks before the jump are raised by
 * its height, so that the line found is that of the end. False: no such jump.
 */
bool window_level(const struct window *w, struct window *ret);

/* So clearly a straight line that it cannot be fading, whatever came before. */
bool growth_is_straight(const struct window *w, const struct growth *g);

/* Slope and standard error over the window from block `first` on, significant or not. */
void growth_trend(const struct window *w, enum channel channel, size_t first, double quantum,
                  struct growth *ret);

/* Below this deviation a residual is only the counter's grain. */
double growth_grain(double quantum, double level);

#endif
