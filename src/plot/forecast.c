/* plot/forecast.c: growth continued to the limit or the plan's end, as far as the chart reaches. */
#include "plot/chart.h"
#include "plot/lines.h"

#include <math.h>
#include <string.h>

/* Of the recorded span: what is ahead gets at most so much room, and so much where it is beyond. */
#define MOST_AHEAD 2.2
#define SOME_AHEAD 0.35

/* The first event of the forecast. NAN: none. */
static double target_of(const struct answer *a)
{
    double limit = isfinite(a->forecast.limit_at) ? a->forecast.limit_at : NAN;
    double plan = isfinite(a->forecast.plan_value) ? a->plan : NAN;
    return fmin(limit, plan);
}

static double end_of(const struct answer *a, double target)
{
    double span = a->last_at - a->first_at, ahead = target - a->last_at;
    if (ahead > MOST_AHEAD * span)
        return a->last_at + SOME_AHEAD * span;
    return target + 0.08 * (target - a->first_at);
}

static double known(double value, double otherwise)
{
    return isfinite(value) ? value : otherwise;
}

void forecast_find(struct chart *c)
{
    const struct answer *a = c->s->answer;
    const struct history *h = c->s->history;
    double target = target_of(a);
    bool grows = a->verdict == VERDICT_LEAK || a->suspect;
    c->ahead = (struct ahead){.is_shown = false};
    if (!grows || !(a->rate > 0) || !isfinite(a->rate) || !(target > a->last_at) ||
        !(a->last_at > a->first_at))
        return;
    c->ahead = (struct ahead){
        .is_shown = true,
        .from = h->blocks[h->count - 1].at,
        .end = end_of(a, target),
        .level = c->floor[h->count - 1],
        .rate = a->rate,
        .low = fmax(known(a->rate_low, a->rate), 0),
        .high = known(a->rate_high, a->rate),
    };
}

static double value_at(const struct ahead *f, double rate, double at)
{
    return f->level + rate * (at - f->from);
}

/* A limit is drawn where growth reaches it soon, or where it does not flatten the curve. */
static bool is_limit_near(const struct chart *c, double low, double high)
{
    const struct answer *a = c->s->answer;
    bool is_reached = c->ahead.is_shown && a->forecast.limit_at <= c->ahead.end;
    return isfinite(a->limit) && a->limit >= low &&
           (is_reached || a->limit - low <= 1.6 * (high - low));
}

void forecast_widen(const struct chart *c, double *low, double *high)
{
    const struct ahead *f = &c->ahead;
    if (f->is_shown)
        *high = fmax(*high, value_at(f, f->rate, f->end));
    if (is_limit_near(c, *low, *high))
        *high = fmax(*high, c->s->answer->limit + 0.06 * (c->s->answer->limit - *low));
    if (*low<0.25 * *high && * low> 0)
        *low = 0;
}

static struct point ahead_at(const struct chart *c, double rate, double at)
{
    return (struct point){chart_x(c, at), chart_y(c, value_at(&c->ahead, rate, at))};
}

void forecast_at(const struct chart *c, double x, double *ret_low, double *ret_high)
{
    const struct ahead *f = &c->ahead;
    struct point from = ahead_at(c, 0, f->from), low = ahead_at(c, f->low, f->end);
    struct point high = ahead_at(c, f->high, f->end);
    double part = low.x > from.x ? (x - from.x) / (low.x - from.x) : 1;
    *ret_low = from.y + part * (low.y - from.y);
    *ret_high = from.y + part * (high.y - from.y);
}

static bool is_limit_shown(const struct chart *c)
{
    const struct answer *a = c->s->answer;
    return isfinite(a->limit) && a->limit <= c->y.high && a->limit >= c->y.low;
}

static void draw_limit(struct chart *c)
{
    double y = chart_y(c, c->s->answer->limit);
    canvas_stroke(c->canvas, (struct point){c->plot.left, y}, (struct point){c->plot.right, y},
                  2 * c->look->unit, 7 * c->look->unit, look_paint(c->look->limit, 1));
}

void forecast_draw(struct chart *c)
{
    const struct ahead *f = &c->ahead;
    double unit = c->look->unit, limit_at = c->s->answer->forecast.limit_at;
    if (is_limit_shown(c))
        draw_limit(c);
    if (!f->is_shown)
        return;
    const struct point cone[3] = {ahead_at(c, 0, f->from), ahead_at(c, f->high, f->end),
                                  ahead_at(c, f->low, f->end)};
    canvas_area(c->canvas, cone, 3, look_paint(c->look->floor, 0.18));
    canvas_stroke(c->canvas, cone[0], ahead_at(c, f->rate, f->end), 2 * unit, 5 * unit,
                  look_paint(c->look->floor, 1));
    if (limit_at <= f->end) {
        struct point hit = ahead_at(c, f->rate, limit_at);
        canvas_circle(c->canvas, hit, 6 * unit, look_paint(c->look->limit, 1));
        canvas_circle(c->canvas, hit, 3 * unit, look_paint(c->look->background, 1));
    }
}

/* ---- words ---- */

/* "limit 32.0 GB". A series of a job has what the others leave of it. */
static void say_limit(const struct chart *c, struct buf *out)
{
    const struct answer *a = c->s->answer;
    struct buf own = BUF_INIT, all = BUF_INIT;
    series_add_value(&own, a->limit, c->s->info->unit);
    series_add_value(&all, answer_limit(a), c->s->info->unit);
    bool is_alike = strcmp(buf_text(&own), buf_text(&all)) == 0;
    buf_addf(out, "limit %s%s", buf_text(&all), is_alike ? "" : ", less what other memory takes");
    buf_release(&own);
    buf_release(&all);
}

/* Above or below its line: at its beginning, beside an upright line, or at its end. */
static void label_limit(struct chart *c)
{
    double gap = 6 * c->look->unit, size = look_text(c->look, LOOK_LABEL, 0).size;
    double y = chart_y(c, c->s->answer->limit);
    struct point places[8];
    enum align aligns[8];
    unsigned count = 0;
    for (unsigned below = 0; below < 2; below++) {
        double baseline = below ? y + gap + size : y - gap;
        for (unsigned i = 0; i <= c->upright_count; i++) {
            aligns[count] = ALIGN_LEFT;
            places[count++] =
                (struct point){(i > 0 ? c->upright[i - 1] : c->plot.left) + gap, baseline};
        }
        aligns[count] = ALIGN_RIGHT;
        places[count++] = (struct point){c->plot.right - gap, baseline};
    }
    struct buf text = BUF_INIT;
    say_limit(c, &text);
    chart_label(c, places, aligns, count, buf_text(&text), c->look->limit, true);
    buf_release(&text);
}

/* ---- a sentence in lines ---- */

#define NOTE_LINES 4u
#define NOTE_PLACES 10u

/* Its lines, aligned at their right, and the box around them. */
struct note {
    struct lines lines;
    struct text_style style;
    double width, height;
};

static void note_init(struct note *n, struct chart *c, const char *text)
{
    double unit = c->look->unit, room = c->plot.right - chart_x(c, c->ahead.from) - 20 * unit;
    n->style = look_text(c->look, LOOK_LABEL, c->look->ink);
    n->style.align = ALIGN_RIGHT;
    lines_wrap(&n->lines, c->canvas, text, 0, fmax(room, 180 * unit), NOTE_LINES, &n->style);
    n->width = 0;
    for (unsigned i = 0; i < n->lines.count; i++)
        n->width =
            fmax(n->width, canvas_text_width(c->canvas, buf_text(&n->lines.text[i]), &n->style));
    n->height = n->lines.count * 1.3 * n->style.size;
}

/* With its top right corner there, if all of it has room. */
static bool note_put(const struct note *n, struct chart *c, double right, double top)
{
    struct box box = {right - n->width, top, right, top + n->height};
    bool is_inside =
        box.left >= c->plot.left && box.top >= c->plot.top && box.bottom <= c->plot.bottom;
    if (!is_inside || !labels_fit(c->labels, box, 4 * c->look->unit) || chart_crosses(c, &box))
        return false;
    labels_take(c->labels, box);
    for (unsigned i = 0; i < n->lines.count; i++)
        canvas_text(c->canvas, (struct point){right, top + (1 + 1.3 * i) * n->style.size},
                    buf_text(&n->lines.text[i]), &n->style);
    return true;
}

/* Below the forecast's line, or else above it, as far right as there is room. */
static void note_place(const struct note *n, struct chart *c)
{
    double gap = 10 * c->look->unit, right = c->plot.right - gap, low, high;
    double from = chart_x(c, c->ahead.from);
    forecast_at(c, fmax(right - n->width, from), &low, &high);
    for (unsigned i = 0; i < NOTE_PLACES; i++)
        if (note_put(n, c, right, low + gap + i * n->style.size))
            return;
    for (unsigned i = 0; i < NOTE_PLACES; i++)
        if (note_put(n, c, right, c->plot.top + gap + i * n->style.size) ||
            note_put(n, c, from - gap, c->plot.top + gap + i * n->style.size))
            return;
}

void forecast_label(struct chart *c)
{
    struct buf text = BUF_INIT;
    struct note note = {.width = 0};
    if (is_limit_shown(c))
        label_limit(c);
    if (c->ahead.is_shown)
        details_limit(&text, c->s);
    if (c->ahead.is_shown && text.len == 0)
        details_plan(&text, c->s);
    if (text.len > 0) {
        note_init(&note, c, buf_text(&text));
        note_place(&note, c);
        lines_release(&note.lines);
    }
    buf_release(&text);
}
