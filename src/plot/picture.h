/* plot/picture.h: the whole picture, for both backends and for tests. Private. */
#ifndef TIDEMARK_PLOT_PICTURE_H
#define TIDEMARK_PLOT_PICTURE_H

#include "plot/canvas.h"
#include "plot/plot.h"

/* The most charts. */
#define PICTURE_PANELS 12u

/* Title and description, which the canvas points to, are the picture's. */
struct picture {
    struct canvas canvas;
    struct buf title, description;
};

/* Draws it. The codes of plot_svg(); nothing to release then. */
int picture_init(struct picture *p, const struct plot_job *job, const struct plot_options *options);
void picture_release(struct picture *p);

#endif
