/* plot/chart.h: one series as a chart: axes, phases, range, floor, what is ahead, marks. Private.
 */
#ifndef TIDEMARK_PLOT_CHART_H
#define TIDEMARK_PLOT_CHART_H

#include "plot/labels.h"
#include "plot/look.h"
#include "plot/plot.h"
#include "plot/timeline.h"

/* Growth as the forecast continues it, from the last sample on. */
struct ahead {
    bool is_shown;
    double from, end;       /* on the verdict's clock */
    double level;           /* of the floor at `from` */
    double rate, low, high; /* per unit of the verdict's clock */
};

struct chart {
    struct canvas *canvas;
    const struct look *look;
    struct labels *labels; /* of the whole picture */
    const struct plot_job *job;
    const struct report_series *s;
    struct timeline timeline;
    struct ahead ahead;
    double floor[HISTORY_BLOCKS];
    struct axis x, y;
    struct box plot;                      /* inside the axes */
    struct point top[4 * HISTORY_BLOCKS]; /* the upper edge of the range, in the picture */
    unsigned top_count;
    double upright[2]; /* where upright lines are, which no text may cross */
    unsigned upright_count;
};

/* Draws it into the box. -ENOTSUP as plot_svg(). */
int chart_draw(struct chart *c, struct box box, bool by_time);

/* Where a position of the verdict's clock, and a value, lie in the picture. */
double chart_x(const struct chart *c, double at);
double chart_y(const struct chart *c, double value);

/* Whether the range is anywhere thicker than the line of the floor. */
bool chart_has_range(const struct chart *c);

/* Whether the curve, the forecast or an upright line runs through a box. */
bool chart_crosses(const struct chart *c, const struct box *box);

/* Puts a text at the first of the places that is free and that the curve leaves free too; else,
 * with `anyhow`, at the first that is free. The text stands on a plate. */
bool chart_label(struct chart *c, const struct point *places, const enum align *aligns,
                 size_t count, const char *text, uint32_t rgb, bool anyhow);

/* forecast.c */
void forecast_find(struct chart *c);
/* The range of values that it needs. */
void forecast_widen(const struct chart *c, double *low, double *high);
void forecast_draw(struct chart *c);
void forecast_label(struct chart *c);
/* Where its lowest and its highest line are at a place right of the curve. */
void forecast_at(const struct chart *c, double x, double *ret_low, double *ret_high);

/* marks.c: spikes with their names, onset and alarm. */
void marks_draw(struct chart *c);
bool marks_any_spike(const struct report_series *s);
/* Whether a block stands out as a spike. */
bool marks_is_spike(const struct chart *c, unsigned block);

#endif
