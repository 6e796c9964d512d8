/* plot/canvas.c: shapes in the order in which they are painted. */
#include "plot/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CORNER 6u /* points of a rounded corner */
#define ROUND 24u /* points of a circle */

/* Of DejaVu Sans, in ems; round characters reach a little further. */
#define ASCENT 0.78
#define DESCENT 0.24

void canvas_init(struct canvas *c, double width, double height)
{
    *c = (struct canvas){.width = width, .height = height};
    faces_init(&c->faces);
}

void canvas_release(struct canvas *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->shapes[i].points);
        free(c->shapes[i].text);
    }
    free(c->shapes);
    faces_release(&c->faces);
    *c = (struct canvas){0};
}

void canvas_clip(struct canvas *c, struct box box)
{
    c->is_clipped = true;
    c->clip = box;
}

void canvas_unclip(struct canvas *c)
{
    c->is_clipped = false;
}

static struct shape *add_shape(struct canvas *c, enum shape_kind kind, const struct point *points,
                               size_t count, struct paint paint)
{
    if (c->count == c->capacity) {
        c->capacity = c->capacity ? 2 * c->capacity : 64;
        c->shapes = reallocarray(c->shapes, c->capacity, sizeof(*c->shapes));
        if (!c->shapes)
            base_out_of_memory();
    }
    struct shape *s = &c->shapes[c->count++];
    *s = (struct shape){.kind = kind,
                        .paint = paint,
                        .is_clipped = c->is_clipped,
                        .clip = c->clip,
                        .points = malloc(count * sizeof(*points)),
                        .count = count};
    if (!s->points)
        base_out_of_memory();
    memcpy(s->points, points, count * sizeof(*points));
    return s;
}

void canvas_area(struct canvas *c, const struct point *points, size_t count, struct paint paint)
{
    if (count > 0)
        add_shape(c, SHAPE_AREA, points, count, paint);
}

static struct point on_circle(struct point middle, double radius, double turns)
{
    const double angle = 2 * 3.14159265358979323846 * turns;
    return (struct point){middle.x + radius * cos(angle), middle.y + radius * sin(angle)};
}

void canvas_circle(struct canvas *c, struct point middle, double radius, struct paint paint)
{
    struct point points[ROUND];
    for (unsigned i = 0; i < ROUND; i++)
        points[i] = on_circle(middle, radius, (double) i / ROUND);
    canvas_area(c, points, ROUND, paint);
}

void canvas_rect(struct canvas *c, struct box box, double radius, struct paint paint)
{
    struct point points[4 * CORNER];
    double most = fmin(box.right - box.left, box.bottom - box.top) / 2;
    double r = fmax(fmin(radius, most), 0);
    const struct point middles[4] = {{box.right - r, box.bottom - r},
                                     {box.left + r, box.bottom - r},
                                     {box.left + r, box.top + r},
                                     {box.right - r, box.top + r}};
    unsigned corner = r > 0 ? CORNER : 1, count = 0;
    for (unsigned k = 0; k < 4; k++)
        for (unsigned i = 0; i < corner; i++) {
            double part = corner > 1 ? (double) i / (corner - 1) : 0;
            points[count++] = on_circle(middles[k], r, (k + part) / 4);
        }
    canvas_area(c, points, count, paint);
}

void canvas_line(struct canvas *c, const struct point *points, size_t count, double width,
                 double dash, struct paint paint)
{
    if (count < 2)
        return;
    struct shape *s = add_shape(c, SHAPE_LINE, points, count, paint);
    s->width = width;
    s->dash = dash;
}

void canvas_stroke(struct canvas *c, struct point from, struct point to, double width, double dash,
                   struct paint paint)
{
    const struct point points[2] = {from, to};
    canvas_line(c, points, 2, width, dash, paint);
}

/* ---- text ---- */

static double width_of(struct canvas *c, const char *clean, const struct text_style *style)
{
    return faces_width(&c->faces, style->is_bold, clean) * style->size;
}

double canvas_text_width(struct canvas *c, const char *text, const struct text_style *style)
{
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, text, false);
    double width = width_of(c, buf_text(&clean), style);
    buf_release(&clean);
    return width;
}

static double left_of(double x, double width, enum align align)
{
    return align == ALIGN_LEFT ? x : align == ALIGN_MIDDLE ? x - width / 2 : x - width;
}

struct box canvas_text_box(struct canvas *c, struct point at, const char *text,
                           const struct text_style *style)
{
    double width = canvas_text_width(c, text, style), left = left_of(at.x, width, style->align);
    return (struct box){left, at.y - ASCENT * style->size, left + width,
                        at.y + DESCENT * style->size};
}

void canvas_text(struct canvas *c, struct point at, const char *text,
                 const struct text_style *style)
{
    struct buf clean = BUF_INIT;
    utf8_add_clean(&clean, text, false);
    if (clean.len > 0) {
        double width = width_of(c, buf_text(&clean), style);
        at.x = left_of(at.x, width, style->align);
        struct shape *s = add_shape(c, SHAPE_TEXT, &at, 1, style->paint);
        s->width = width;
        s->size = style->size;
        s->is_bold = style->is_bold;
        s->text = clean.text;
        return;
    }
    buf_release(&clean);
}

/* Adds `head` and `tail` characters of a clean text of `count`, and "…" for the others. */
static void add_ends(struct buf *out, const char *clean, size_t count, size_t head, size_t tail)
{
    const char *at = clean;
    for (size_t i = 0; i < count; i++, at += utf8_length(at)) {
        if (i == head)
            buf_adds(out, "…");
        if (i < head || i >= count - tail)
            buf_add(out, at, utf8_length(at));
    }
}

static size_t count_characters(const char *clean)
{
    size_t count = 0;
    for (; *clean; clean += utf8_length(clean))
        count++;
    return count;
}

void canvas_cut(struct canvas *c, struct buf *out, const char *text, double width,
                const struct text_style *style)
{
    struct buf clean = BUF_INIT, cut = BUF_INIT;
    utf8_add_clean(&clean, text, false);
    size_t count = count_characters(buf_text(&clean)), low = 0, high = count;
    if (width_of(c, buf_text(&clean), style) <= width) {
        buf_adds(out, buf_text(&clean));
        low = high = 0;
        buf_clear(&clean);
    }
    /* The most characters, of both ends together, that fit. */
    while (high - low > 1) {
        size_t kept = (low + high) / 2;
        buf_clear(&cut);
        add_ends(&cut, buf_text(&clean), count, kept - kept / 2, kept / 2);
        *(width_of(c, buf_text(&cut), style) <= width ? &low : &high) = kept;
    }
    if (low > 0)
        add_ends(out, buf_text(&clean), count, low - low / 2, low / 2);
    buf_release(&clean);
    buf_release(&cut);
}
