/* plot/look.h: the colours and sizes of a picture. Private. */
#ifndef TIDEMARK_PLOT_LOOK_H
#define TIDEMARK_PLOT_LOOK_H

#include "plot/canvas.h"
#include "verdict/verdict.h"

#define LOOK_PHASES (PHASE_LEVEL_SHIFT + 1)
#define LOOK_VERDICTS (VERDICT_LEAK + 1)

/*
 * Colours that people with any of the colour blindnesses tell apart, in light and dark; whatever
 * has one also has a word or a form of its own. Sizes are in `unit`: what is one pixel in a picture
 * of 1200 by 675.
 */
struct look {
    double unit;
    uint32_t background, ink, quiet, grid, axis;
    uint32_t floor, range, alarm, spike, limit;
    uint32_t phase[LOOK_PHASES];
    double phase_tint; /* opacity of a phase behind the chart */
    uint32_t verdict[LOOK_VERDICTS], on_verdict;
};

/* In units. */
#define LOOK_TITLE 22.0
#define LOOK_SAYING 15.0
#define LOOK_LABEL 13.0
#define LOOK_SMALL 12.0

void look_init(struct look *l, bool is_dark, double unit);

struct paint look_paint(uint32_t rgb, double opacity);
/* `size` in units; a text is never smaller than one can read. */
struct text_style look_text(const struct look *l, double size, uint32_t rgb);

#endif
