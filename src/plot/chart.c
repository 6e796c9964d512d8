/* plot/chart.c: one series as a chart. */
#include "plot/chart.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define STRIP 21.0  /* of the phases' names, in units */
#define ROW 20.0    /* of the numbers of the clock */
#define SMALL 180.0 /* so high a chart leaves a name out rather than letting it cover the curve */
#define MOST_TICKS 100u
#define SEEN_RISE 0.05 /* of the height of a chart */
#define NEEDLE 7.0     /* half the width of a peak between blocks far apart */
#define SAMPLES 9      /* of a box that the curve may run through */

double chart_x(const struct chart *c, double at)
{
    double part = (timeline_position(&c->timeline, at) - c->x.low) / (c->x.high - c->x.low);
    return c->plot.left + fmin(fmax(part, -1), 2) * (c->plot.right - c->plot.left);
}

double chart_y(const struct chart *c, double value)
{
    double part = (value - c->y.low) / (c->y.high - c->y.low);
    return c->plot.bottom - fmin(fmax(part, -1), 2) * (c->plot.bottom - c->plot.top);
}

/* ---- where the curve is ---- */

static void add_top(struct chart *c, double x, double y)
{
    c->top[c->top_count++] = (struct point){x, y};
}

/*
 * The upper edge between two blocks. Far apart, nobody knows when between them memory rose: each
 * peak is drawn as a needle, and two spikes are not one high level.
 */
static void add_between(struct chart *c, unsigned i)
{
    const struct history_block *a = &c->s->history->blocks[i], *b = a + 1;
    double from = chart_x(c, a->at), to = chart_x(c, b->at), width = NEEDLE * c->look->unit;
    if (to - from <= 2 * width)
        return;
    bool are_spikes = marks_is_spike(c, i) && marks_is_spike(c, i + 1);
    double above = are_spikes ? 0 : fmin(a->peak - c->floor[i], b->peak - c->floor[i + 1]);
    double share = width / (to - from), rise = c->floor[i + 1] - c->floor[i];
    add_top(c, from + width, chart_y(c, c->floor[i] + share * rise + above));
    add_top(c, to - width, chart_y(c, c->floor[i + 1] - share * rise + above));
}

static void find_top(struct chart *c)
{
    const struct history *h = c->s->history;
    for (unsigned i = 0; i < h->count; i++) {
        add_top(c, chart_x(c, h->blocks[i].at), chart_y(c, h->blocks[i].peak));
        if (i + 1 < h->count)
            add_between(c, i);
    }
}

/* The height of a line at a place between its ends. */
static double height_at(const struct point *points, unsigned count, double x)
{
    unsigned i = 1;
    while (i + 1 < count && points[i].x < x)
        i++;
    if (count < 2)
        return points[0].y;
    const struct point *a = &points[i - 1], *b = &points[i];
    double part = b->x > a->x ? fmin(fmax((x - a->x) / (b->x - a->x), 0), 1) : 0;
    return a->y + part * (b->y - a->y);
}

static void floor_points(const struct chart *c, struct point *ret)
{
    const struct history *h = c->s->history;
    for (unsigned i = 0; i < h->count; i++)
        ret[i] = (struct point){chart_x(c, h->blocks[i].at), chart_y(c, c->floor[i])};
}

/* Spikes between the places looked at. */
static bool crosses_peak(const struct chart *c, const struct box *box)
{
    const struct history *h = c->s->history;
    for (unsigned i = 0; i < h->count; i++) {
        double x = chart_x(c, h->blocks[i].at);
        if (x >= box->left && x <= box->right && chart_y(c, h->blocks[i].peak) < box->bottom &&
            chart_y(c, c->floor[i]) > box->top)
            return true;
    }
    return false;
}

/* At a place of the picture. */
static bool crosses_at(const struct chart *c, const struct box *box, double x)
{
    struct point points[HISTORY_BLOCKS];
    double bottom, top;
    if (x >= c->top[0].x && x <= c->top[c->top_count - 1].x) {
        floor_points(c, points);
        bottom = height_at(points, c->s->history->count, x);
        top = height_at(c->top, c->top_count, x);
    } else if (c->ahead.is_shown && x > chart_x(c, c->ahead.from)) {
        forecast_at(c, x, &bottom, &top);
    } else {
        return false;
    }
    return top - 2 * c->look->unit < box->bottom && bottom + 2 * c->look->unit > box->top;
}

bool chart_crosses(const struct chart *c, const struct box *box)
{
    for (int i = 0; i < SAMPLES; i++)
        if (crosses_at(c, box, box->left + (box->right - box->left) * i / (SAMPLES - 1)))
            return true;
    for (unsigned i = 0; i < c->upright_count; i++)
        if (c->upright[i] > box->left && c->upright[i] < box->right)
            return true;
    return crosses_peak(c, box);
}

static bool try_label(struct chart *c, struct point at, const char *text,
                      const struct text_style *style, bool anyhow)
{
    struct box box = canvas_text_box(c->canvas, at, text, style), wide = box;
    double gap = 4 * c->look->unit;
    bool is_inside = box.left >= c->plot.left && box.right <= c->plot.right &&
                     box.top >= c->plot.top && box.bottom <= c->plot.bottom;
    wide.left -= gap;
    wide.right += gap;
    if (!is_inside || !labels_fit(c->labels, box, gap) || (!anyhow && chart_crosses(c, &wide)))
        return false;
    canvas_rect(c->canvas, wide, gap, look_paint(c->look->background, 0.8));
    return labels_put(c->labels, c->canvas, at, text, style);
}

bool chart_label(struct chart *c, const struct point *places, const enum align *aligns,
                 size_t count, const char *text, uint32_t rgb, bool anyhow)
{
    struct text_style style = look_text(c->look, LOOK_LABEL, rgb);
    bool is_small = c->plot.bottom - c->plot.top < SMALL * c->look->unit;
    int passes = anyhow && !is_small ? 2 : 1;
    for (int pass = 0; pass < passes; pass++)
        for (size_t i = 0; i < count; i++) {
            style.align = aligns[i];
            if (try_label(c, places[i], text, &style, pass > 0))
                return true;
        }
    return false;
}

bool chart_has_range(const struct chart *c)
{
    const struct history *h = c->s->history;
    for (unsigned i = 0; i < h->count; i++)
        if (chart_y(c, c->floor[i]) - chart_y(c, h->blocks[i].peak) > 4 * c->look->unit)
            return true;
    return false;
}

/* ---- axes ---- */

static void set_x(struct chart *c)
{
    const struct history *h = c->s->history;
    double from = timeline_position(&c->timeline, h->blocks[0].at);
    double to = timeline_position(&c->timeline, h->blocks[h->count - 1].at);
    double origin = c->timeline.is_mapped ? from : c->s->answer->first_at;
    if (c->ahead.is_shown)
        to = fmax(to, timeline_position(&c->timeline, c->ahead.end));
    unsigned ticks = (unsigned) ((c->plot.right - c->plot.left) / (85 * c->look->unit)) + 1;
    axis_clock(&c->x, from, to > from ? to : from + 1, isfinite(origin) ? origin : from, ticks,
               c->timeline.shown);
}

static void set_y(struct chart *c)
{
    double low, high;
    curve_range(c->s, &low, &high);
    forecast_widen(c, &low, &high);
    /* Neither the curve nor the name of a spike lies on an edge. */
    double room = high - low;
    high += (marks_any_spike(c->s) ? 0.08 : 0.03) * room;
    low = low > 0 ? fmax(low - 0.03 * room, 0) : low;
    unsigned ticks = (unsigned) ((c->plot.bottom - c->plot.top) / (60 * c->look->unit)) + 1;
    axis_values(&c->y, low, high, ticks > 1 ? ticks : 2, c->s->info->unit);
}

static void add_value(const struct chart *c, double tick, struct buf *out)
{
    axis_add_number(&c->y, tick, out);
    buf_adds(out, c->y.name);
}

/* Calls with each tick of an axis. */
static void each_tick(struct chart *c, const struct axis *a,
                      void (*visit)(struct chart *c, double tick, void *context), void *context)
{
    double first = axis_next_tick(a, a->low), step = a->step * a->scale;
    for (unsigned i = 0; i < MOST_TICKS && first + i * step <= a->high + 1e-9 * step; i++)
        visit(c, first + i * step, context);
}

static void measure_value(struct chart *c, double tick, void *context)
{
    double *widest = context;
    struct text_style style = look_text(c->look, LOOK_LABEL, 0);
    struct buf text = BUF_INIT;
    add_value(c, tick, &text);
    *widest = fmax(*widest, canvas_text_width(c->canvas, buf_text(&text), &style));
    buf_release(&text);
}

static void draw_value(struct chart *c, double tick, void *context)
{
    (void) context;
    struct text_style style = look_text(c->look, LOOK_LABEL, c->look->quiet);
    struct buf text = BUF_INIT;
    double y = chart_y(c, tick);
    style.align = ALIGN_RIGHT;
    canvas_stroke(c->canvas, (struct point){c->plot.left, y}, (struct point){c->plot.right, y},
                  c->look->unit, 0, look_paint(c->look->grid, 1));
    add_value(c, tick, &text);
    labels_put(c->labels, c->canvas,
               (struct point){c->plot.left - 8 * c->look->unit, y + 0.27 * style.size},
               buf_text(&text), &style);
    buf_release(&text);
}

/* Where a position of the axis itself lies. */
static double x_of(const struct chart *c, double position)
{
    double part = (position - c->x.low) / (c->x.high - c->x.low);
    return c->plot.left + part * (c->plot.right - c->plot.left);
}

static void draw_moment(struct chart *c, double tick, void *context)
{
    (void) context;
    const struct look *l = c->look;
    struct text_style style = look_text(l, LOOK_LABEL, l->quiet);
    struct buf text = BUF_INIT;
    double x = x_of(c, tick), y = c->plot.bottom;
    style.align = ALIGN_MIDDLE;
    axis_add_number(&c->x, tick, &text);
    if (labels_put(c->labels, c->canvas, (struct point){x, y + 5 * l->unit + style.size},
                   buf_text(&text), &style))
        canvas_stroke(c->canvas, (struct point){x, y}, (struct point){x, y + 5 * l->unit}, l->unit,
                      0, look_paint(l->axis, 1));
    buf_release(&text);
}

static const char *clock_words(const struct chart *c)
{
    static const struct {
        const char *name, *words;
    } all[] = {
        {"step", "steps"}, {"s", "seconds"}, {"min", "minutes"}, {"h", "hours"}, {"days", "days"}};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(all[i].name, c->x.name) == 0)
            return all[i].words;
    return c->x.name;
}

static void draw_clock(struct chart *c)
{
    const struct look *l = c->look;
    struct text_style style = look_text(l, LOOK_LABEL, l->quiet);
    style.align = ALIGN_RIGHT;
    canvas_stroke(c->canvas, (struct point){c->plot.left, c->plot.bottom},
                  (struct point){c->plot.right, c->plot.bottom}, l->unit, 0,
                  look_paint(l->axis, 1));
    labels_put(c->labels, c->canvas,
               (struct point){c->plot.right, c->plot.bottom + 5 * l->unit + style.size},
               clock_words(c), &style);
    each_tick(c, &c->x, draw_moment, NULL);
}

/* ---- phases ---- */

/* A level that looks flat has none. */
static bool has_rate(const struct chart *c, const struct phase *p)
{
    bool is_level = p->name == PHASE_STABLE || p->name == PHASE_LEVEL_SHIFT;
    double rise = fabs(p->rate) * (p->to - p->from);
    return p->to > p->from && isfinite(p->rate) && p->rate != 0 &&
           (!is_level || rise > SEEN_RISE * (c->y.high - c->y.low));
}

/* The first of the texts that fits between two places. */
static void name_phase(struct chart *c, const struct phase *p, double from, double to)
{
    struct text_style style = look_text(c->look, LOOK_SMALL, c->look->ink);
    struct buf texts[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    style.align = ALIGN_MIDDLE;
    if (has_rate(c, p)) {
        buf_addf(&texts[0], "%s, ", phase_name(p->name));
        format_rate(&texts[0], p->rate, c->s->info);
        format_rate(&texts[2], p->rate, c->s->info);
    }
    buf_adds(&texts[1], phase_name(p->name));
    bool is_done = false;
    for (unsigned i = 0; i < 3 && !is_done; i++) {
        double width = canvas_text_width(c->canvas, buf_text(&texts[i]), &style);
        if (texts[i].len > 0 && width + 6 * c->look->unit <= to - from)
            is_done = labels_put(c->labels, c->canvas,
                                 (struct point){(from + to) / 2, c->plot.top - 7 * c->look->unit},
                                 buf_text(&texts[i]), &style);
    }
    for (unsigned i = 0; i < 3; i++)
        buf_release(&texts[i]);
}

/* Its tint behind the chart, and its name above on a bar. */
static void draw_phase(struct chart *c, const struct phase *p, double from, double to)
{
    const struct look *l = c->look;
    uint32_t color = l->phase[p->name];
    double strip = c->plot.top - (STRIP - 2) * l->unit;
    if (to - from < 0.5 * l->unit)
        return;
    canvas_rect(c->canvas, (struct box){from, c->plot.top, to, c->plot.bottom}, 0,
                look_paint(color, l->phase_tint));
    canvas_rect(c->canvas, (struct box){from, strip, to - l->unit, c->plot.top - 3 * l->unit}, 0,
                look_paint(color, 2 * l->phase_tint));
    canvas_rect(c->canvas, (struct box){from, c->plot.top - 3 * l->unit, to - l->unit, c->plot.top},
                0, look_paint(color, 1));
    name_phase(c, p, from, to);
}

static void draw_phases(struct chart *c)
{
    const struct answer *a = c->s->answer;
    const struct history *h = c->s->history;
    double end = chart_x(c, h->blocks[h->count - 1].at);
    for (unsigned i = 0; i < a->phase_count; i++) {
        const struct phase *p = &a->phases[i];
        bool is_last = i + 1 == a->phase_count;
        double from = i == 0 ? c->plot.left : chart_x(c, a->phases[i - 1].to);
        double to = is_last ? end : chart_x(c, p->to);
        draw_phase(c, p, fmax(from, c->plot.left), fmin(to, c->plot.right));
    }
}

/* ---- the curve ---- */

static void draw_range(struct chart *c)
{
    struct point points[5 * HISTORY_BLOCKS], below[HISTORY_BLOCKS];
    unsigned count = c->s->history->count, all = c->top_count;
    floor_points(c, below);
    memcpy(points, c->top, all * sizeof(points[0]));
    for (unsigned i = count; i-- > 0;)
        points[all++] = below[i];
    canvas_area(c->canvas, points, all, look_paint(c->look->range, 0.55));
    canvas_line(c->canvas, c->top, c->top_count, c->look->unit, 0, look_paint(c->look->range, 1));
}

static void draw_floor(struct chart *c)
{
    struct point points[HISTORY_BLOCKS];
    unsigned count = c->s->history->count;
    floor_points(c, points);
    canvas_line(c->canvas, points, count, 3 * c->look->unit, 0, look_paint(c->look->floor, 1));
    if (count == 1)
        canvas_circle(c->canvas, points[0], 5 * c->look->unit, look_paint(c->look->floor, 1));
}

/* ---- all of it ---- */

/* The axes' labels take room, and how much depends on the axes. */
static void lay_out(struct chart *c, struct box box)
{
    const struct look *l = c->look;
    double widest = 0, label = look_text(l, LOOK_LABEL, 0).size;
    c->plot = box;
    c->plot.top += STRIP * l->unit;
    c->plot.bottom -= ROW * l->unit + label / 4;
    set_x(c);
    set_y(c);
    each_tick(c, &c->y, measure_value, &widest);
    c->plot.left += widest + 10 * l->unit;
    c->plot.right -= 4 * l->unit;
    set_x(c);
}

int chart_draw(struct chart *c, struct box box, bool by_time)
{
    int r = timeline_init(&c->timeline, c->s, by_time);
    if (r < 0)
        return r;
    report_floor(c->s->history, c->floor);
    forecast_find(c);
    lay_out(c, box);
    find_top(c);
    draw_phases(c);
    each_tick(c, &c->y, draw_value, NULL);
    struct box wide = {c->plot.left, c->plot.top - 2 * c->look->unit, c->plot.right,
                       c->plot.bottom};
    wide.left -= c->s->history->count == 1 ? 6 * c->look->unit : 0; /* a dot on the edge */
    canvas_clip(c->canvas, wide);
    forecast_draw(c);
    draw_range(c);
    draw_floor(c);
    canvas_unclip(c->canvas);
    draw_clock(c);
    marks_draw(c);
    forecast_label(c);
    return 0;
}
