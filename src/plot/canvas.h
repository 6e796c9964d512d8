/* plot/canvas.h: shapes in the order in which they are painted, for any backend. Private. */
#ifndef TIDEMARK_PLOT_CANVAS_H
#define TIDEMARK_PLOT_CANVAS_H

#include "base/base.h"
#include "plot/face.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In pixels from the top left corner, before a PNG is scaled. */
struct point {
    double x, y;
};

struct box {
    double left, top, right, bottom;
};

struct paint {
    uint32_t rgb;   /* 0xRRGGBB */
    double opacity; /* 0 to 1 */
};

enum align { ALIGN_LEFT, ALIGN_MIDDLE, ALIGN_RIGHT };

struct text_style {
    double size;
    bool is_bold;
    enum align align;
    struct paint paint;
};

enum shape_kind { SHAPE_AREA, SHAPE_LINE, SHAPE_TEXT };

/* The canvas owns points and text. */
struct shape {
    enum shape_kind kind;
    struct paint paint;
    bool is_clipped;
    struct box clip;
    struct point *points; /* of a text: where its baseline begins */
    size_t count;
    double width; /* of a line, or of a text */
    double dash;  /* length of a line's dashes and gaps; 0: solid */
    char *text;   /* clean */
    double size;
    bool is_bold;
};

/* One owner, one thread. Never fails: base_out_of_memory(). */
struct canvas {
    double width, height;
    const char *title, *description; /* for who cannot see it; clean, not owned */
    struct faces faces;
    struct shape *shapes;
    size_t count, capacity;
    bool is_clipped;
    struct box clip; /* of the shapes that follow */
};

void canvas_init(struct canvas *c, double width, double height);
void canvas_release(struct canvas *c);

/* What follows is seen inside the box alone, until canvas_unclip(). */
void canvas_clip(struct canvas *c, struct box box);
void canvas_unclip(struct canvas *c);

void canvas_area(struct canvas *c, const struct point *points, size_t count, struct paint paint);
/* `radius`: of rounded corners. */
void canvas_rect(struct canvas *c, struct box box, double radius, struct paint paint);
void canvas_circle(struct canvas *c, struct point middle, double radius, struct paint paint);
void canvas_line(struct canvas *c, const struct point *points, size_t count, double width,
                 double dash, struct paint paint);
/* A straight one. */
void canvas_stroke(struct canvas *c, struct point from, struct point to, double width, double dash,
                   struct paint paint);

/* The text is cleaned. `at` is on its baseline. */
void canvas_text(struct canvas *c, struct point at, const char *text,
                 const struct text_style *style);

double canvas_text_width(struct canvas *c, const char *text, const struct text_style *style);
/* What the text would cover. */
struct box canvas_text_box(struct canvas *c, struct point at, const char *text,
                           const struct text_style *style);

/* Cleans a text; if it is wider than `width`, it loses its middle. Nothing where not even "…" fits.
 */
void canvas_cut(struct canvas *c, struct buf *out, const char *text, double width,
                const struct text_style *style);

/* The backends. */
void canvas_svg(struct buf *out, const struct canvas *c);
void canvas_png(struct buf *out, struct canvas *c, double scale);

#endif
