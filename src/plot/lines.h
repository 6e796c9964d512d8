/* plot/lines.h: a text in lines of a width. Private. */
#ifndef TIDEMARK_PLOT_LINES_H
#define TIDEMARK_PLOT_LINES_H

#include "plot/canvas.h"

#define LINES_MOST 8u

struct lines {
    struct buf text[LINES_MOST]; /* clean */
    unsigned count;
    bool is_cut; /* the last one ends with "…" */
};

/* Breaks a text at its blanks into at most `most` lines; the first has `indent` less room. A word
 * that is wider than a line loses its middle. */
void lines_wrap(struct lines *l, struct canvas *c, const char *text, double indent, double width,
                unsigned most, const struct text_style *style);
void lines_release(struct lines *l);

#endif
