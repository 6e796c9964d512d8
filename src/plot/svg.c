/* plot/svg.c: a canvas as SVG: one file without scripts and without anything from elsewhere. */
#include "plot/canvas.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>

/* With the widths of the font that the text was measured in, or nearly so. */
#define FONTS "'DejaVu Sans', 'Bitstream Vera Sans', Verdana, 'Noto Sans', sans-serif"

/* At most two decimals, and none that are 0. */
static void add_number(struct buf *out, double number)
{
    char text[32];
    double rounded = round(number * 100) / 100;
    int len = snprintf(text, sizeof(text), "%.2f", rounded == 0 ? 0 : rounded);
    while (text[len - 1] == '0')
        len--;
    buf_add(out, text, (size_t) (text[len - 1] == '.' ? len - 1 : len));
}

static void add_attribute(struct buf *out, const char *name, double number)
{
    buf_addf(out, " %s=\"", name);
    add_number(out, number);
    buf_addc(out, '"');
}

static void add_paint(struct buf *out, const char *name, struct paint paint)
{
    buf_addf(out, " %s=\"#%06x\"", name, (unsigned) paint.rgb);
    if (paint.opacity < 1) {
        buf_addf(out, " %s-opacity=\"", name);
        add_number(out, paint.opacity);
        buf_addc(out, '"');
    }
}

static void add_points(struct buf *out, const struct shape *s)
{
    buf_adds(out, " points=\"");
    for (size_t i = 0; i < s->count; i++) {
        buf_adds(out, i > 0 ? " " : "");
        add_number(out, s->points[i].x);
        buf_addc(out, ',');
        add_number(out, s->points[i].y);
    }
    buf_addc(out, '"');
}

static void add_area(struct buf *out, const struct shape *s)
{
    buf_adds(out, "<polygon");
    add_points(out, s);
    add_paint(out, "fill", s->paint);
    buf_adds(out, "/>\n");
}

static void add_line(struct buf *out, const struct shape *s)
{
    buf_adds(out, "<polyline");
    add_points(out, s);
    add_paint(out, "stroke", s->paint);
    add_attribute(out, "stroke-width", s->width);
    if (s->dash > 0)
        add_attribute(out, "stroke-dasharray", s->dash);
    buf_adds(out, "/>\n");
}

/* With the measured width, so that no other font makes a text overlap what stands beside it. */
static void add_text(struct buf *out, const struct shape *s)
{
    buf_adds(out, "<text");
    add_attribute(out, "x", s->points[0].x);
    add_attribute(out, "y", s->points[0].y);
    add_attribute(out, "font-size", s->size);
    add_attribute(out, "textLength", s->width);
    buf_adds(out, s->is_bold ? " font-weight=\"bold\"" : "");
    add_paint(out, "fill", s->paint);
    buf_adds(out, " lengthAdjust=\"spacingAndGlyphs\">");
    report_escape(out, s->text);
    buf_adds(out, "</text>\n");
}

static void add_shape(struct buf *out, const struct shape *s)
{
    if (s->kind == SHAPE_AREA)
        add_area(out, s);
    else if (s->kind == SHAPE_LINE)
        add_line(out, s);
    else
        add_text(out, s);
}

static bool is_clipped_alike(const struct shape *a, const struct shape *b)
{
    const struct box *x = &a->clip, *y = &b->clip;
    bool is_same =
        x->left == y->left && x->top == y->top && x->right == y->right && x->bottom == y->bottom;
    return a->is_clipped == b->is_clipped && (!a->is_clipped || is_same);
}

/* An inner picture shows nothing outside of itself, and needs no name as a clip path does. */
static void begin_clip(struct buf *out, const struct box *b)
{
    double width = b->right - b->left, height = b->bottom - b->top;
    buf_adds(out, "<svg");
    add_attribute(out, "x", b->left);
    add_attribute(out, "y", b->top);
    add_attribute(out, "width", width);
    add_attribute(out, "height", height);
    buf_adds(out, " viewBox=\"");
    add_number(out, b->left);
    buf_addc(out, ' ');
    add_number(out, b->top);
    buf_addc(out, ' ');
    add_number(out, width);
    buf_addc(out, ' ');
    add_number(out, height);
    buf_adds(out, "\">\n");
}

static void add_shapes(struct buf *out, const struct canvas *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct shape *s = &c->shapes[i];
        bool begins = i == 0 || !is_clipped_alike(s, s - 1);
        bool ends = i + 1 == c->count || !is_clipped_alike(s, s + 1);
        if (s->is_clipped && begins)
            begin_clip(out, &s->clip);
        add_shape(out, s);
        if (s->is_clipped && ends)
            buf_adds(out, "</svg>\n");
    }
}

static void add_words(struct buf *out, const char *element, const char *text)
{
    if (!text || !*text)
        return;
    buf_addf(out, "<%s>", element);
    report_escape(out, text);
    buf_addf(out, "</%s>\n", element);
}

void canvas_svg(struct buf *out, const struct canvas *c)
{
    buf_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
    add_attribute(out, "width", c->width);
    add_attribute(out, "height", c->height);
    buf_adds(out, " viewBox=\"0 0 ");
    add_number(out, c->width);
    buf_addc(out, ' ');
    add_number(out, c->height);
    buf_adds(out, "\" font-family=\"" FONTS "\" fill=\"none\" stroke-linejoin=\"round\""
                  " style=\"white-space: pre\">\n");
    add_words(out, "title", c->title);
    add_words(out, "desc", c->description);
    add_shapes(out, c);
    buf_adds(out, "</svg>\n");
}
