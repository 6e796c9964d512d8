/* plot/png.c: a canvas as PNG: FreeType fills antialiased outlines, libpng writes the file. */
#include "plot/canvas.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include FT_OUTLINE_H
#include FT_STROKER_H

#define WHOLE 64.0 /* FreeType counts in parts of a pixel */

/* Opaque pixels of three bytes, and the shape that is being painted. */
struct raster {
    unsigned char *pixels;
    int width, height;
    double scale;
    struct paint paint;
    FT_Library library;
    FT_BBox clip;
};

static FT_Pos fixed(double pixels)
{
    return lround(pixels * WHOLE);
}

/* ---- filling ---- */

static void blend(unsigned char *byte, unsigned color, double cover)
{
    *byte = (unsigned char) lround(*byte + (color - (double) *byte) * cover);
}

/* One row of a shape. FreeType has clipped it. */
static void paint_spans(int y, int count, const FT_Span *spans, void *user)
{
    const struct raster *r = user;
    for (int i = 0; i < count; i++) {
        double cover = spans[i].coverage / 255.0 * r->paint.opacity;
        unsigned char *at = r->pixels + 3 * ((size_t) y * (size_t) r->width + (size_t) spans[i].x);
        for (unsigned k = 0; k < spans[i].len; k++, at += 3)
            for (unsigned b = 0; b < 3; b++)
                blend(at + b, r->paint.rgb >> (16 - 8 * b) & 0xff, cover);
    }
}

static void fill(struct raster *r, FT_Outline *outline)
{
    FT_Raster_Params params = {
        .flags = FT_RASTER_FLAG_AA | FT_RASTER_FLAG_DIRECT | FT_RASTER_FLAG_CLIP,
        .gray_spans = paint_spans,
        .user = r,
        .clip_box = r->clip,
    };
    if (r->clip.xMax > r->clip.xMin && r->clip.yMax > r->clip.yMin)
        FT_Outline_Render(r->library, outline, &params);
}

static void fill_area(struct raster *r, const struct shape *s)
{
    FT_Outline outline;
    if (FT_Outline_New(r->library, (FT_UInt) s->count, 1, &outline) != 0)
        base_out_of_memory();
    for (size_t i = 0; i < s->count; i++) {
        outline.points[i].x = fixed(s->points[i].x * r->scale);
        outline.points[i].y = fixed(s->points[i].y * r->scale);
        outline.tags[i] = FT_CURVE_TAG_ON;
    }
    outline.contours[0] = (short) (s->count - 1);
    fill(r, &outline);
    FT_Outline_Done(r->library, &outline);
}

/* ---- lines ---- */

static void fill_stroke(struct raster *r, FT_Stroker stroker)
{
    FT_UInt points = 0, contours = 0;
    FT_Outline outline;
    if (FT_Stroker_GetCounts(stroker, &points, &contours) != 0 || points == 0)
        return;
    if (FT_Outline_New(r->library, points, (FT_Int) contours, &outline) != 0)
        base_out_of_memory();
    outline.n_points = outline.n_contours = 0;
    FT_Stroker_Export(stroker, &outline);
    fill(r, &outline);
    FT_Outline_Done(r->library, &outline);
}

static FT_Vector vector_at(const struct raster *r, struct point p)
{
    return (FT_Vector){fixed(p.x * r->scale), fixed(p.y * r->scale)};
}

static struct point between(struct point a, struct point b, double part)
{
    return (struct point){a.x + part * (b.x - a.x), a.y + part * (b.y - a.y)};
}

static void stroke_solid(struct raster *r, FT_Stroker stroker, const struct shape *s)
{
    FT_Vector at = vector_at(r, s->points[0]);
    FT_Stroker_BeginSubPath(stroker, &at, 1);
    for (size_t i = 1; i < s->count; i++) {
        at = vector_at(r, s->points[i]);
        FT_Stroker_LineTo(stroker, &at);
    }
    FT_Stroker_EndSubPath(stroker);
}

/* One dash, straight: dashed lines of a picture have no sharp bends. */
static void stroke_dash(const struct raster *r, FT_Stroker stroker, struct point from,
                        struct point to)
{
    FT_Vector a = vector_at(r, from), b = vector_at(r, to);
    FT_Stroker_BeginSubPath(stroker, &a, 1);
    FT_Stroker_LineTo(stroker, &b);
    FT_Stroker_EndSubPath(stroker);
}

/* `done`: length of the line before this piece, which dashes run through. */
static void dash_piece(struct raster *r, FT_Stroker stroker, const struct shape *s, size_t piece,
                       double done)
{
    struct point a = s->points[piece - 1], b = s->points[piece];
    double length = hypot(b.x - a.x, b.y - a.y), both = 2 * s->dash;
    long last = (long) floor((done + length) / both);
    for (long i = (long) floor(done / both); i <= last; i++) {
        double at = (double) i * both;
        double from = fmax(at, done), to = fmin(at + s->dash, done + length);
        if (to > from)
            stroke_dash(r, stroker, between(a, b, (from - done) / length),
                        between(a, b, (to - done) / length));
    }
}

static void stroke_dashes(struct raster *r, FT_Stroker stroker, const struct shape *s)
{
    double done = 0;
    for (size_t i = 1; i < s->count; i++) {
        dash_piece(r, stroker, s, i, done);
        done += hypot(s->points[i].x - s->points[i - 1].x, s->points[i].y - s->points[i - 1].y);
    }
}

static void fill_line(struct raster *r, const struct shape *s)
{
    FT_Stroker stroker;
    if (FT_Stroker_New(r->library, &stroker) != 0)
        base_out_of_memory();
    FT_Stroker_Set(stroker, fixed(s->width * r->scale / 2), FT_STROKER_LINECAP_BUTT,
                   FT_STROKER_LINEJOIN_ROUND, 0);
    if (s->dash > 0)
        stroke_dashes(r, stroker, s);
    else
        stroke_solid(r, stroker, s);
    fill_stroke(r, stroker);
    FT_Stroker_Done(stroker);
}

/* ---- text ---- */

static void fill_text(struct raster *r, struct faces *f, const struct shape *s)
{
    double size = s->size * r->scale, unit = size / faces_units(f, s->is_bold);
    double x = s->points[0].x * r->scale, y = s->points[0].y * r->scale, advance;
    for (const char *text = s->text; *text; x += advance * size) {
        FT_Outline *o = faces_outline(f, s->is_bold, faces_character(&text), &advance);
        for (int i = 0; i < o->n_points; i++) {
            o->points[i].x = fixed(x + (double) o->points[i].x * unit);
            o->points[i].y = fixed(y - (double) o->points[i].y * unit);
        }
        fill(r, o);
    }
}

/* ---- shapes ---- */

static void clip_to(struct raster *r, const struct shape *s)
{
    r->clip = (FT_BBox){0, 0, r->width, r->height};
    if (!s->is_clipped)
        return;
    r->clip.xMin = lround(fmax(s->clip.left * r->scale, 0));
    r->clip.yMin = lround(fmax(s->clip.top * r->scale, 0));
    r->clip.xMax = lround(fmin(s->clip.right * r->scale, r->width));
    r->clip.yMax = lround(fmin(s->clip.bottom * r->scale, r->height));
}

static void paint_shapes(struct raster *r, struct canvas *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct shape *s = &c->shapes[i];
        r->paint = s->paint;
        clip_to(r, s);
        if (s->kind == SHAPE_AREA)
            fill_area(r, s);
        else if (s->kind == SHAPE_LINE)
            fill_line(r, s);
        else
            fill_text(r, &c->faces, s);
    }
}

/* ---- the file ---- */

static void add_bytes(png_structp png, png_bytep bytes, png_size_t len)
{
    buf_add(png_get_io_ptr(png), (const char *) bytes, len);
}

static void flush_nothing(png_structp png)
{
    (void) png;
}

/* Our own mistake, or no memory: there is no other failure when writing to memory. */
static _Noreturn void fail(png_structp png, png_const_charp why)
{
    (void) why;
    (void) png;
    base_out_of_memory();
}

static void add_words(png_structp png, png_infop info, const struct canvas *c)
{
    char title[] = "Title", description[] = "Description", software[] = "Software";
    char *const keys[] = {title, description, software};
    const char *const texts[] = {c->title, c->description, "tidemark " TIDEMARK_VERSION};
    for (unsigned i = 0; i < 3; i++) {
        char *copy = strdup(texts[i] ? texts[i] : "");
        png_text entry = {.compression = PNG_ITXT_COMPRESSION_NONE, .key = keys[i], .text = copy};
        if (!copy)
            base_out_of_memory();
        if (*copy)
            png_set_text(png, info, &entry, 1);
        free(copy);
    }
}

/* The same pixels give the same bytes: no time is written. */
static void write_file(struct buf *out, const struct raster *r, const struct canvas *c)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, fail, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info)
        base_out_of_memory();
    png_set_write_fn(png, out, add_bytes, flush_nothing);
    png_set_IHDR(png, info, (png_uint_32) r->width, (png_uint_32) r->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_RELATIVE);
    png_set_user_limits(png, (png_uint_32) r->width, (png_uint_32) r->height);
    add_words(png, info, c);
    png_write_info(png, info);
    for (int y = 0; y < r->height; y++)
        png_write_row(png, r->pixels + (size_t) y * (size_t) r->width * 3);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
}

void canvas_png(struct buf *out, struct canvas *c, double scale)
{
    struct raster r = {.width = (int) lround(c->width * scale),
                       .height = (int) lround(c->height * scale),
                       .scale = scale,
                       .library = c->faces.library};
    r.pixels = calloc((size_t) r.width * (size_t) r.height, 3);
    if (!r.pixels)
        base_out_of_memory();
    paint_shapes(&r, c);
    write_file(out, &r, c);
    free(r.pixels);
}
