/* plot/labels.h: where texts may stand, so that no two of them overlap. Private. */
#ifndef TIDEMARK_PLOT_LABELS_H
#define TIDEMARK_PLOT_LABELS_H

#include "plot/canvas.h"

/* The places of a picture that are taken. One owner, one thread. */
struct labels {
    struct box bounds; /* nothing may reach out of it */
    struct box *taken;
    size_t count;
};

void labels_init(struct labels *l, struct box bounds);
void labels_release(struct labels *l);

bool boxes_overlap(const struct box *a, const struct box *b);

/* Whether the place is free, with `gap` around it. */
bool labels_fit(const struct labels *l, struct box box, double gap);
void labels_take(struct labels *l, struct box box);

/* Draws the text if its place is free, and takes it. */
bool labels_put(struct labels *l, struct canvas *c, struct point at, const char *text,
                const struct text_style *style);

#endif
